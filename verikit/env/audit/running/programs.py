"""Programs and Python packages that a task's scripts need and this machine lacks, read from their texts."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder

from verikit.env.audit.running.box import has_program
from verikit.env.audit.scripts import PlacedCommand, placed
from verikit.verifiers.patch.runs import job_packages
from verikit.verifiers.tools.shell import without_assignments

_BUILTINS = frozenset(
    """. : [ [[ alias bg break cd command continue declare dirs echo enable eval exec exit export false fg getopts hash
    jobs kill let local popd printf pushd pwd read readonly return set shift shopt source test times trap true type
    typeset ulimit umask unalias unset wait if then else elif fi for do done while until case esac in function select
    mapfile readarray (( ) { }""".split()
)
_NETWORK = frozenset("curl wget apt-get apt apk uv uvx npx pipx yum dnf brew conda".split())
_INSTALLS = {
    "pip": ("install",), "pip3": ("install",), "npm": ("install", "ci", "i"), "git": ("clone", "fetch", "pull"),
    "cargo": ("install",), "go": ("get", "install"), "gem": ("install",), "yarn": ("add", "install"),
}  # fmt: skip
_FUNCTION = re.compile(r"^[ \t]*(?:function[ \t]+)?([A-Za-z_][\w-]{0,60})[ \t]*(?:\(\)|\{)", re.MULTILINE)
_WRAPPERS = frozenset("env timeout nice nohup sudo exec command time xargs".split())
_MAX_NODES = 100_000


def shell_needs(text: str) -> Iterator[str]:
    """What a shell script needs that this machine does not have."""
    own = set(_FUNCTION.findall(text))
    for one in placed(text):
        if not one.command.words or not one.command.words[0].known:
            continue
        yield from _command_needs(one, own)
        if one.program.startswith("python") and one.command.given:
            yield from python_needs(one.command.given, frozenset())


def _command_needs(one: PlacedCommand, own: set[str]) -> Iterator[str]:
    words = [word.text for word in without_assignments(one.command).words]
    while len(words) > 1 and words[0] in _WRAPPERS:
        words = [word for word in words[1:] if not word.startswith("-") and not word[:1].isdigit()]
    if not words or "=" in words[0] or words[0] in own or words[0] in _BUILTINS or words[0].startswith(("/", ".", "$")):
        return
    name, told = words[0], words[1:3]
    if name in _NETWORK or (_INSTALLS.get(name, ()) and any(word in _INSTALLS[name] for word in told)):
        yield f"the network, for {name}"
    elif name.startswith("python") and told[:2] == ["-m", "pip"]:
        yield "the network, for pip"
    elif name and (name[0].isalpha() or name[0] == "_") and not has_program(name) and not one.guards:
        yield f"the program {name}"


def python_needs(text: str, local: frozenset[str]) -> Iterator[str]:
    """Packages that a Python text imports, outside of `try`, and that this machine does not have.

    Args:
        text: The text. It is not imported.
        local: Names of modules beside it.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    waiting: list[ast.AST] = [tree]
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        node = waiting.pop()
        if isinstance(node, ast.Try):
            continue
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in (one.partition(".")[0] for one in names):
            if name not in local and name not in sys.stdlib_module_names and not _installed(name):
                yield f"the Python package {name}"
        waiting.extend(ast.iter_child_nodes(node))


def _installed(name: str) -> bool:
    return PathFinder.find_spec(name, job_packages()) is not None


_GAPS = (
    ("command not found", "a program"), ("ModuleNotFoundError", "a Python module"), ("/dev/fd/", "/dev/fd"),
    ("/proc/", "/proc"), ("Read-only file system", "a system folder that can be written"),
    ("Operation not permitted", "the rights of root"), ("Permission denied", "the rights of root"),
    ("name resolution", "the network"), ("resolve host", "the network"), ("Network is unreachable", "the network"),
    ("Resource temporarily unavailable", "more processes"),
)  # fmt: skip


def gap_in(text: str) -> str:
    """What the output of a script says that it lacks; empty if it says nothing of the kind."""
    for mark, needs in _GAPS:
        if mark in text:
            line = next(line for line in text.splitlines() if mark in line)
            return f"{needs}: {line.strip()[:160]}"
    return ""
