"""A patch for errors with one right fix. The audited folder is never changed: people read the patch and apply it.

| error | change |
|---|---|
| the tests read a path that no artifact declares | the path is added to `artifacts` of task.toml |
| the tests run in the agent's box | `environment_mode = "separate"`, and the artifacts that the tests then need |
| a reward is written outside Harbor's folder | the right path in the files of the tests |
| a requirement has no version, and a lock file has one | the version of the lock file |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from verikit.env.audit.declared import check_declared
from verikit.env.audit.formats import FoundEnv, found_environments
from verikit.env.audit.locks import locked_versions
from verikit.env.audit.mode import check_mode
from verikit.env.audit.pins import is_pinned
from verikit.env.audit.scripts import REWARDS
from verikit.env.audit.task import CONFIG, AuditedTask
from verikit.env.audit.unified import patch_of
from verikit.errors import WorkspaceError
from verikit.workspaces.config import parse_config
from verikit.workspaces.names import shown

_UNDECLARED = re.compile(r"the tests read (/[\w.@+/-]{1,400}), which")
_OWNED = re.compile(r"a reward is written to (/[\w.@+/-]{1,400}/(reward\.(?:txt|json))), not to")
_TABLE = re.compile(r"^\s*\[", re.MULTILINE)
_ARTIFACTS = re.compile(r"^artifacts\s*=\s*\[", re.MULTILINE)
_VERIFIER = re.compile(r"^\[verifier\][ \t]*(?:#.*)?$", re.MULTILINE)
_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(\[[\w, .-]{0,200}\])?\s*(?:[<>=!~].*)?")
MAX_ROUNDS = 4


@dataclass
class EnvPatch:
    """A patch for one environment."""

    task: str
    diff: str = ""
    fixed: list[str] = field(default_factory=list)
    """The errors that it fixes."""


def fix_environments(root: str) -> Iterator[EnvPatch]:
    """A patch for each environment of a folder, empty if it has no error with one right fix.

    Raises:
        OSError: The folder can't be listed.
    """
    for found in found_environments(root):
        task = None
        if not found.doubt:
            try:
                task = AuditedTask.open(root, found.within)
            except (WorkspaceError, OSError):
                task = None  # the audit reports it
        if task is not None:
            yield _fixed(task, found)


def _fixed(task: AuditedTask, found: FoundEnv) -> EnvPatch:
    patch = EnvPatch(task.name)
    changed: dict[str, str] = {}
    if found.format == "harbor":
        _fix_config(task, changed, patch)
        _fix_reward(task, changed, patch)
    _fix_requirements(task, changed, patch)
    for path, text in changed.items():
        old = _whole(task, path)
        if old is not None and old != text:
            patch.diff += patch_of("/".join((*found.within, path)), old, text)
    return patch


def _whole(task: AuditedTask, path: str) -> str | None:
    """The text of a file; None if it is not UTF-8 from end to end, or too long."""
    data = task.data(path)
    entry = task.tree.manifest.get(path)
    if data is None or entry is None or entry.size != len(data):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _fix_config(task: AuditedTask, changed: dict[str, str], patch: EnvPatch) -> None:
    """Declare the files that the tests read, and grade in a separate box if all requirements of the tests are known."""
    text = _whole(task, CONFIG)
    try:
        steps = task.config.get("steps")
    except WorkspaceError:
        return
    if text is None or steps or "\r" in text:
        return
    shared = any(one.kind == "shared" for one in check_mode(task).findings)
    separate = _separated(text) if shared else text
    new = _declared(task, separate) if separate is not None else None
    if new is None and shared:
        return
    if new is not None and new != text:
        changed[CONFIG] = new
        if shared:
            patch.fixed.append("mode.shared: the tests get their own box")
        if new != separate:
            patch.fixed.append("declared.undeclared: artifacts has the paths that the tests read")


def _separated(text: str) -> str | None:
    """The configuration with a box for the tests; None if its text has an unusual form."""
    line = 'environment_mode = "separate"\n'
    if "environment_mode" in text:
        new = re.sub(r'^environment_mode\s*=\s*"shared"', line.strip(), text, count=1, flags=re.MULTILINE)
    elif match := _VERIFIER.search(text):
        new = f"{text[: match.end()]}\n{line}{text[match.end() + 1 :]}"
    else:
        new = f"{text}{'' if text.endswith(chr(10)) else chr(10)}\n[verifier]\n{line}"
    try:
        told = parse_config(new.encode())
    except ValueError:
        return None
    verifier = told.get("verifier")
    return new if isinstance(verifier, dict) and verifier.get("environment_mode") == "separate" else None


def _declared(task: AuditedTask, text: str) -> str | None:
    """The configuration with all paths that the tests read among its artifacts; None if they can't be known."""
    for _ in range(MAX_ROUNDS):
        found = check_declared(_with_config(task, text))
        if found.status == "pass":
            return text
        paths = [match[1] for one in found.findings if (match := _UNDECLARED.match(one.what))]
        if found.status != "fail" or len(paths) < len(found.findings):
            return None
        new = _with_artifacts(text, sorted(set(paths)))
        if new is None:
            return None
        text = new
    return None


def _with_config(task: AuditedTask, text: str) -> AuditedTask:
    """The task as it would be with another configuration."""
    other = AuditedTask(task.root, task.within, task.tree)
    other.__dict__["config"] = parse_config(text.encode())
    return other


def _with_artifacts(text: str, paths: list[str]) -> str | None:
    told = ", ".join(f'"{path}"' for path in paths)
    table = _TABLE.search(text)
    head = text[: table.start()] if table else text
    match = _ARTIFACTS.search(head)
    try:
        before = parse_config(text.encode()).get("artifacts", [])
        if match:
            more = f"{told}, " if before else told
            new = f"{text[: match.end()]}{more}{text[match.end() :]}"
        else:
            lines = head.rstrip("\n")
            new = (
                f"{lines}\nartifacts = [{told}]\n{text[len(lines) + 1 :]}" if lines else f"artifacts = [{told}]\n{text}"
            )
        after = parse_config(new.encode()).get("artifacts")
    except ValueError:
        return None
    return new if isinstance(after, list) and sorted(map(str, after)) == sorted([*map(str, before), *paths]) else None


def _fix_reward(task: AuditedTask, changed: dict[str, str], patch: EnvPatch) -> None:
    """Write the reward where Harbor looks for it."""
    wrong = {match[1]: match[2] for one in check_mode(task).findings if (match := _OWNED.match(one.what))}
    if len(wrong) != 1:
        return
    ((path, name),) = wrong.items()
    for file in (file for part in task.parts for folder in part.tests for file in task.files(folder)):
        text = _whole(task, file)
        if text is not None and path in text:
            changed[file] = text.replace(path, f"{REWARDS}/{name}")
    patch.fixed.append(f"mode.owned: the reward is written to {REWARDS}/{name}")


def _fix_requirements(task: AuditedTask, changed: dict[str, str], patch: EnvPatch) -> None:
    """Give requirements the versions of a lock file in the same environment."""
    versions = locked_versions(task)
    for path in task.files() if versions else ():
        name = path.rpartition("/")[2]
        text = _whole(task, path) if name.startswith("requirements") and name.endswith((".txt", ".in")) else None
        if text is None:
            continue
        new = "\n".join(_pinned(line, versions) for line in text.split("\n"))
        if new != text:
            changed[path] = new
            patch.fixed.append(f"pins.package: {shown(path)} has the versions of the lock file")


def _pinned(line: str, versions: dict[str, str]) -> str:
    told = line.partition(" #")[0].strip()
    match = _NAME.fullmatch(told)
    if not match or told.startswith(("#", "-")) or ";" in told or is_pinned(told):
        return line
    version = versions.get(re.sub(r"[-_.]+", "-", match[1]).lower())
    return line.replace(told, f"{match[1]}{match[2] or ''}=={version}", 1) if version else line
