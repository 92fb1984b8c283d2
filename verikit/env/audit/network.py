"""The check `network`: solutions and tests reach no host that the declared network mode forbids.

Images are built with a network, whatever the mode is. Only a constant address or an installer counts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verikit.env.audit.formats.code import dotted
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.scripts import PlacedCommand, placed, unwrapped
from verikit.env.audit.task import AuditedTask, TaskPart, table
from verikit.verifiers.tools.shell import without_assignments
from verikit.workspaces.names import shown

MAX_FINDINGS = 20
_HOST = re.compile(r"(?:https?|ftp|wss?|ssh|git)://(?:[^/\s@'\"]{1,200}@)?([A-Za-z0-9][A-Za-z0-9.-]{0,250})")
_HERE = ("localhost", "127.", "0.0.0.0", "::1", "host.docker.internal")
_FETCHERS = frozenset("curl wget git".split())
_CALLS = re.compile(
    r"(?:requests|httpx|session|client|aiohttp)\.(?:get|post|put|head|request|stream)"
    r"|(?:urllib\.request\.|request\.)?(?:urlopen|urlretrieve)|(?:datasets\.)?load_dataset"
)
_HUB = "huggingface.co"
_INDEXES = {
    "pip": ("install", "pypi.org"), "pip3": ("install", "pypi.org"), "uvx": ("", "pypi.org"),
    "npm": ("install", "registry.npmjs.org"), "npx": ("", "registry.npmjs.org"),
    "apt-get": ("install", "deb.debian.org"), "apt": ("install", "deb.debian.org"),
    "apk": ("add", "dl-cdn.alpinelinux.org"), "cargo": ("install", "crates.io"),
}  # fmt: skip
"""Installers with their verb and the host of their index."""
_LOCAL = (".", "/", "~", "-", "$")


def check_network(task: AuditedTask) -> CheckRecord:
    """Compare the hosts that scripts name with the declared network modes of their boxes."""
    findings: dict[EnvFinding, None] = {}
    declared = False
    own = table(task.config, "environment")
    agent = table(task.config, "agent")
    for part in task.parts:
        for folders, boxes in ((part.solutions, (agent, own)), (part.tests, _graders(part, own))):
            allowed = _allowed(boxes)
            declared = declared or allowed is not None
            for found in _reached(task, folders) if allowed is not None else ():
                if not _permits(allowed or (), found[0]):
                    what = f"{shown(found[1])} reaches {shown(found[0])}, which the network mode does not allow"
                    findings[EnvFinding("undeclared", what, found[2])] = None
    notes = () if declared else ("no network mode is declared that limits the network",)
    return judged(list(findings)[:MAX_FINDINGS], notes=notes)


def _graders(part: TaskPart, own: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The tables that may declare the network of the box that grades, the nearest first."""
    return part.verifier, table(part.verifier, "environment"), own


def _allowed(boxes: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """The hosts that a box may reach; None if the network is not limited."""
    for box in boxes:
        mode = box.get("network_mode")
        if mode is None and isinstance(box.get("allow_internet"), bool):
            mode = "public" if box["allow_internet"] else "no-network"
        if mode == "no-network":
            return ()
        if mode == "allowlist":
            hosts = box.get("allowed_hosts")
            return tuple(map(str, hosts)) if isinstance(hosts, list) else ()
        if mode is not None:
            return None
    return None


def _permits(allowed: Sequence[str], host: str) -> bool:
    return any(host == one or host.endswith(f".{one.removeprefix('*.')}") for one in allowed)


def _reached(task: AuditedTask, folders: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Each host with the program or function that reaches it, and the place."""
    for path in (path for folder in folders for path in task.files(folder)):
        text = task.text(path) if path.endswith((".sh", ".py")) else None
        for host, program, line in _of_file(path, text) if text else ():
            if not host.startswith(_HERE):
                yield host, program, f"{shown(path)}:{line}"


def _of_file(path: str, text: str) -> Iterator[tuple[str, str, int]]:
    if path.endswith(".sh"):
        for one in placed(text):
            yield from ((host, one.program, one.line) for host in _of_command(one))
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # `declared` reports it
    for node in ast.walk(tree):
        host = _of_call(node) if isinstance(node, ast.Call) and node.args else ""
        if host and isinstance(node, ast.Call):
            yield host, dotted(node.func), node.lineno


def _of_call(call: ast.Call) -> str:
    """The host of a call of an HTTP client; empty for other calls."""
    name = dotted(call.func)
    if not _CALLS.fullmatch(name):
        return ""
    if name.endswith("load_dataset"):
        return _HUB
    second = name.endswith((".request", ".stream")) and len(call.args) > 1
    found = _HOST.search(_begins(call.args[int(second)]))
    return found[1] if found else ""


def _begins(node: ast.expr) -> str:
    """The constant begin of a string."""
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _of_command(one: PlacedCommand) -> list[str]:
    """The hosts of a command that fetches something."""
    words = unwrapped([word.text for word in without_assignments(one.command).words])
    program = words[0].rpartition("/")[2] if words else ""
    if program in _FETCHERS:
        return [host for word in words[1:] for host in _HOST.findall(word)]
    if program.startswith("python") and words[1:3] == ["-m", "pip"]:
        return _index("pip", words[3:])
    return _index(program, words[1:])


def _index(program: str, words: list[str]) -> list[str]:
    """The host that an installer needs, unless its packages are files."""
    verb, host = _INDEXES.get(program, ("", ""))
    if not host or (verb and verb not in words[:3]) or "--no-index" in words:
        return []
    return [host] if "-r" in words or any(_is_package(word) for word in words if word != verb) else []


def _is_package(word: str) -> bool:
    return not word.startswith(_LOCAL) and not word.endswith(".whl")
