"""Programs and Python packages that a task's scripts need and this machine lacks, read from their source code."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from itertools import pairwise

from verikit.env.audit.running.box import has_program
from verikit.env.audit.running.layout import missing_package, missing_program
from verikit.env.audit.running.stand_ins import INSTALLERS, UV, WITH
from verikit.env.audit.scripts import PlacedCommand, placed
from verikit.verifiers.patch.runs import job_packages
from verikit.verifiers.tools.commands import without_assignments

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
_NAME = re.compile(r"[A-Za-z_][\w.+-]{0,60}")
_WRAPPERS = frozenset("env timeout nice nohup sudo exec command time xargs".split())
_MAX_NODES = 100_000


def shell_needs(text: str) -> Iterator[str]:
    """The requirements of a shell script that this machine lacks."""
    own = set(_FUNCTION.findall(text))
    for one in placed(text):
        if not one.command.words or not one.command.words[0].known:
            continue
        yield from _command_needs(one, own)
        if one.program.startswith("python") and one.command.given:
            yield from python_needs(one.command.given, frozenset())


def _command_needs(one: PlacedCommand, own: set[str]) -> Iterator[str]:
    words = _unwrapped([word.text for word in without_assignments(one.command).words])
    name = words[0] if words else ""
    if name in own or name in _BUILTINS or not _NAME.fullmatch(name):
        return
    replaced = _installed_here(words) if name in INSTALLERS else None
    if replaced is not None:
        yield from replaced
    elif _needs_network(name, words[1:3]):
        yield f"the network, for {name}"
    elif not has_program(name) and not one.guards:
        yield f"the program {name}"


def _unwrapped(words: list[str]) -> list[str]:
    """The words from the program onwards, without `env`, `timeout 5` and similar wrappers."""
    while len(words) > 1 and words[0] in _WRAPPERS:
        words = [word for word in words[1:] if not word.startswith("-") and not word[:1].isdigit()]
    return words


def _installed_here(words: list[str]) -> list[str] | None:
    """The requirements of an installer's command that this machine lacks; None if a stand-in can't replace it."""
    program, told = words[0], words[1:]
    if program in ("apt-get", "apt"):
        return _installed_by_apt([word for word in told if not word.startswith("-")])
    if program == "curl":
        return [] if any(UV in word for word in told) else None
    return _installed_by_uv(program, told)


def _installed_by_apt(words: list[str]) -> list[str] | None:
    match words:
        case ["update" | "clean", *_]:
            return []
        case ["install", *names]:
            return [lack for one in names if (lack := missing_program(one))]
    return None


def _installed_by_uv(program: str, words: list[str]) -> list[str] | None:
    verb = words[0] if words else ""
    if program == "uv" and verb in ("venv", "init", "sync"):
        return []
    if program == "uv" and verb == "add":
        return [lack for one in words[1:] if not one.startswith("-") and (lack := missing_package(one))]
    if program == "uvx" or verb == "run":
        return [lack for one in _packages(words) if (lack := missing_package(one))]
    return None


def _packages(words: list[str]) -> Iterator[str]:
    """The packages that `uvx` and `uv run` would install."""
    for flag, value in pairwise(words):
        if flag in WITH:
            yield from value.split(",")


def _needs_network(name: str, told: list[str]) -> bool:
    by_pip = name.startswith("python") and told == ["-m", "pip"]
    return by_pip or name in _NETWORK or not set(_INSTALLS.get(name, ())).isdisjoint(told)


def python_needs(text: str, local: frozenset[str]) -> Iterator[str]:
    """Packages that Python code imports, outside of `try`, and that this machine does not have.

    Args:
        text: The text. It is not imported.
        local: Names of modules next to it.
    """
    try:
        waiting: list[ast.AST] = [ast.parse(text)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    known = local | sys.stdlib_module_names
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        node = waiting.pop()
        if isinstance(node, ast.Try):
            continue
        absent = (name for name in _imported(node) if name not in known and not _installed(name))
        yield from (f"the Python package {name}" for name in absent)
        waiting.extend(ast.iter_child_nodes(node))


def _imported(node: ast.AST) -> list[str]:
    """The packages that one statement imports."""
    names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [node.module]
    return [name.partition(".")[0] for name in names]


def _installed(name: str) -> bool:
    return PathFinder.find_spec(name, job_packages()) is not None


_GAPS = (
    ("verikit: no value", "a machine on which the verifier has a value"),
    ("command not found", "a program"), ("ModuleNotFoundError", "a Python module"), ("/dev/fd/", "/dev/fd"),
    ("/proc/", "/proc"), ("Read-only file system", "a system folder that can be written"),
    ("pytest: error: unrecognized", "a plugin of pytest"), ("__main__.py: error: unrecognized", "a plugin of pytest"),
    ("Operation not permitted", "the rights of root"), ("Permission denied", "the rights of root"),
    ("name resolution", "the network"), ("resolve host", "the network"), ("Network is unreachable", "the network"),
    ("Resource temporarily unavailable", "more processes"),
)  # fmt: skip


def gap_in(text: str) -> str:
    """The missing requirement in the output of a script; empty if it mentions nothing similar."""
    for mark, needs in _GAPS:
        if mark in text:
            line = next(line for line in text.splitlines() if mark in line)
            return f"{needs}: {line.strip()[:160]}"
    return ""
