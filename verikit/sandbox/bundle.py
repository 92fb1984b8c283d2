"""verikit's runner as one self-contained program, for machines without verikit.

The modules travel as strings and are assembled in memory. The machine only needs Python 3.11 or newer.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

MODULES = (
    "foreign", "values", "plain", "lost", "guest", "guest.closed", "guest.strict", "proxies", "proxies.plain",
    "proxies.containers", "proxies.frames", "proxies.natives", "proxies.raised", "proxies.describe", "proxies.mirror",
    "proxies.border", "proxies.peer", "proxies.near", "proxies.claims", "proxies.program", "proxies.tests",
    "proxies.names", "runner",
)  # fmt: skip
"""Modules of this package, each after its imports."""
RECORD = "verikit.record"
"""The file that a bundled program leaves its record in, in its working directory."""
OLD = "verikit needs Python 3.11 or newer to run programs here, not "
"""The message on standard error of a bundle that can't run."""

_LOADER = """\
import sys, types
if sys.version_info < (3, 11):
    sys.exit({old!r} + sys.version.split()[0])
def verikit_load(modules):
    for name in ("verikit", "verikit.sandbox"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    for name, text in modules:
        module = types.ModuleType("verikit.sandbox." + name)
        sys.modules[module.__name__] = module
        module.__path__ = []
        home, _, last = module.__name__.rpartition(".")
        setattr(sys.modules[home], last, module)
        exec(compile(text, "<verikit>", "exec"), module.__dict__)
"""

_PROGRAM = """\
verikit_load({modules!r})
import os
commands = os.memfd_create("verikit")
os.write(commands, {payload!r})
os.lseek(commands, 0, 0)
record = os.open({record!r}, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
high = [os.dup(os.dup(os.dup(os.dup(d)))) for d in (record, commands)]
os.dup2(high[0], 3)
os.dup2(high[1], 4)
os.closerange(5, 64)
from verikit.sandbox import runner
runner.main(session=False)
"""


def loader() -> str:
    """The source that defines `verikit_load`, or exits if Python is too old."""
    return _LOADER.format(old=OLD)


@cache
def modules(names: tuple[str, ...] = MODULES) -> tuple[tuple[str, str], ...]:
    """The modules, as (name, text)."""
    folder = Path(__file__).parent
    return tuple((name, _source(folder / name.replace(".", "/")).read_text("utf-8")) for name in names)


def _source(module: Path) -> Path:
    return module / "__init__.py" if module.is_dir() else module.with_suffix(".py")


def program(payload: bytes) -> str:
    """The source of a program that runs a payload of `records.payload`, and leaves its record in `RECORD`."""
    whole = _PROGRAM.format(modules=modules(), payload=payload, record=RECORD)
    json.dumps(whole)  # it travels as JSON
    return loader() + whole
