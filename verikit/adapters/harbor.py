"""Harbor task folders from rows with workspaces: `verikit adapter write harbor`.

Each task has a container for the agent (`environment/`) and one for the grader (`tests/`), which runs verikit on the
files that the agent left in /app. Expected values are only in `tests/`. There, the agent's input files and the
solution's files are tars, so none of them is mistaken for a test or an expected value.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from verikit.adapters.harbor_grader import BEFORE, EXPECTED, REWARD, TESTS, WORK
from verikit.adapters.packages import check_target
from verikit.adapters.reward import gold_of
from verikit.adapters.spec_files import split_file
from verikit.adapters.stacks import Stack
from verikit.errors import UsageError, VerikitError, WorkspaceError
from verikit.messages import media_of
from verikit.names.spec import load
from verikit.readers.problems import CANDIDATES
from verikit.types import WORKSPACE, Group
from verikit.workspaces import TaskWorkspace, Workspace
from verikit.workspaces.names import shown
from verikit.workspaces.tree import Tree

ORACLE = "oracle"
"""The row's key for the files of a right solution, in the formats of a workspace's `after`."""
IMAGE = "python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea"
"""The image of both containers, unless `--image` sets another."""
HARBOR = Stack(
    "Harbor 0.25 (schema 1.4)",
    "harbor run -p DIR -a oracle",
    {"/app": "<the files that the agent left>", "/tests/expected.json": "<the row and the spec>"},
    "/logs/verifier/reward.json with the reward, and verikit.json with parts and reasons",
    (),
    no_score="no reward is written, and the tests end with exit code 1, which Harbor stores as an error of the trial",
)
_EXTRAS = {"docx": "office", "pptx": "office", "xlsx": "office", "image": "image", "pdf": "image", "html": "web",
           "osworld": "artifacts"}  # fmt: skip
"""Extras of verikit by the verifiers that need them in the grader's image."""
_EXACT = re.compile(r"\b(?:same_as|sha256)\b")
_EXACTLY = "Files may be compared byte by byte.\n"
_TOML = """schema_version = "1.4"
artifacts = ["{work}"]

[task]
name = "{org}/{name}"

[agent]
timeout_sec = 1800.0

[verifier]
timeout_sec = 600.0
environment_mode = "separate"

[verifier.environment]
network_mode = "no-network"
cpus = 1
memory_mb = 2048

[environment]
cpus = 1
memory_mb = 2048
"""
_TEST = f"#!/bin/bash\npython3 -P -m verikit.adapters.harbor_grader /tests {WORK} {REWARD}\n"
_GRADER = "FROM {image}\nRUN pip install --no-cache-dir '{requirement}'\nWORKDIR /grader\nCOPY . /tests/\n"


@dataclass(frozen=True, slots=True)
class WrittenTasks:
    """The task folders that were written."""

    names: tuple[str, ...]
    solved: int
    """Number of tasks with a solution."""
    repeated: int
    """Rows that are another trial of a task."""


@dataclass(frozen=True, slots=True)
class _Task:
    row: Group
    workspace: Workspace
    before: Tree | None
    oracle: Tree | None


class _Images(NamedTuple):
    base: str
    requirement: str
    """Requirement of verikit in the grader's image."""
    exact: bool
    """Whether the spec compares bytes, which the agent must be told."""


def write_tasks(
    spec: str, rows: Sequence[Group], data_folder: str | None, folder: Path, name: str, image: str, *, force: bool
) -> WrittenTasks:
    """Write a folder for each task among the rows.

    Args:
        spec: The verifier that rewards. A TOML or Python file that it starts with is copied to the grader.
        rows: Rows with `workspace`. Several trials of the same task are one task.
        data_folder: The folder to which the workspaces' paths are relative.
        folder: Receives a folder per task.
        name: The organisation in the tasks' names. Empty uses the folder's name.
        image: The base image of both containers.
        force: Write into a folder that is not empty.

    Raises:
        UsageError: There is no task, a file can't be part of one, or the folder is not empty.
        SpecError: The spec can't be parsed.
        VerikitError: A file can't be written.
    """
    load(spec)
    if any(char.isspace() for char in image) or not image:
        raise UsageError(f"{image!r} can't be the name of an image")
    check_target(folder, force=force)
    tasks: dict[str, _Task] = {}
    for row in rows:
        task = _task(row, data_folder)
        key = _identity(task)
        if key not in tasks or (tasks[key].oracle is None and task.oracle is not None):
            tasks[key] = task
    if not tasks:
        raise UsageError("an environment needs at least one task in the data")
    told, spec_file = _graders_spec(spec)
    told_files = "\n".join([spec, *(content.decode("utf-8", "replace") for content in spec_file.values())])
    requirement = _requirement(told_files)
    names: dict[str, None] = {}
    for task in tasks.values():
        at = _free(_slug(task.row.id) or "task", names)
        full_name = f"{_slug(name or folder.name) or 'verikit'}/{at}"
        texts = _texts(task, told, full_name, _Images(image, requirement, _EXACT.search(told_files) is not None))
        _put(folder / at, {**texts, **{f"tests/{file}": content for file, content in spec_file.items()}})
    solved = sum(task.oracle is not None for task in tasks.values())
    return WrittenTasks(tuple(names), solved, len(rows) - len(tasks))


def _task(row: Group, data_folder: str | None) -> _Task:
    told = row.meta.get(WORKSPACE)
    if told is None:
        raise UsageError(f"the row {row.id} has no workspace", hint='"workspace": {"before": …, "outputs": […]}')
    named = TaskWorkspace(told, data_folder)
    try:
        workspace = named.make()
        before = whole_tree(workspace.before) if workspace.knows_before else None
        given = row.meta.get(ORACLE)
        oracle = (
            None if given is None else whole_tree(named.beside({"after": given, "packed_by": "collector"}).make().after)
        )
    except WorkspaceError as error:
        raise UsageError(f"the row {row.id}: {error}", hint=error.hint) from None
    return _Task(row, workspace, before, oracle)


def whole_tree(tree: Tree) -> Tree:
    """Return a tree whose files can all be part of a task.

    Raises:
        WorkspaceError: One is a link, a device, unreadable or over a limit, or has a name that is not UTF-8.
    """
    if tree.unknown:
        raise WorkspaceError(f"some of its files are unknown: {tree.unknown}")
    for path, entry in tree.manifest.items():
        if entry.kind not in ("file", "folder") or not path.isprintable():
            raise WorkspaceError(f"{shown(path)} is a {entry.kind} that can't be part of a written task")
        if entry.problem or (entry.kind == "file" and not entry.sha256):
            raise WorkspaceError(f"{shown(path)} can't be read: {entry.problem or 'it is over the limit mb'}")
    return tree


def _identity(task: _Task) -> str:
    """Key that is equal for rows of the same task: everything but the trial."""
    digest = task.before.manifest.digest if task.before else ""
    return json.dumps([_instruction(task.row), digest, task.row.answer, _meta(task.row)], sort_keys=True, default=str)


def _meta(row: Group) -> dict[str, Any]:
    """The keys of a row that a verifier may read."""
    return {key: value for key, value in row.meta.items() if key not in (WORKSPACE, ORACLE, *CANDIDATES)}


def _check_text(id: str, turns: Sequence[Any]) -> None:
    if shown := [word for turn in turns for word in media_of(turn)]:
        raise UsageError(f"the prompt of the row {id} has a {shown[0]}: an instruction is text")


def _instruction(row: Group) -> str:
    turns = [row.prompt] if isinstance(row.prompt, str) else [turn.get("content") for turn in row.prompt]
    _check_text(row.id, turns)
    texts = [turn for turn in turns if isinstance(turn, str) and turn.strip()]
    if not texts:
        raise UsageError(f"the prompt of the row {row.id} must be a string")
    return "\n\n".join([*(text.strip() for text in texts), f"Work in the folder {WORK}."]) + "\n"


def _graders_spec(spec: str) -> tuple[str, dict[str, bytes]]:
    """Return the spec for the grader, and the file that it starts with by its name in `tests/`."""
    named = split_file(spec)
    if named is None:
        return spec, {}
    file, rest = named
    try:
        return f"{TESTS}{file.name}{rest}", {file.name: file.read_bytes()}
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from None


def _texts(task: _Task, spec: str, full_name: str, images: _Images) -> dict[str, bytes]:
    """The files of a task folder."""
    org, _, name = full_name.partition("/")
    workspace = task.workspace
    expected = {
        "spec": spec,
        "id": task.row.id,
        "prompt": task.row.prompt,
        "answer": gold_of(task.row.answer),
        "meta": _meta(task.row),
        "outputs": workspace.outputs,
        "limits": {limit: getattr(workspace.limits, limit) for limit in sorted(workspace.limits.stated)},
        "links": workspace.links,
    }
    texts = {
        "task.toml": _TOML.format(work=WORK, org=org, name=name),
        "instruction.md": _instruction(task.row) + (_EXACTLY if images.exact else ""),
        "environment/Dockerfile": _dockerfile(images.base, task.before),
        "tests/Dockerfile": _GRADER.format(image=images.base, requirement=images.requirement),
        "tests/test.sh": _TEST,
        f"tests/{EXPECTED}": json.dumps(expected, indent=1, default=str) + "\n",
    }
    found = {path: text.encode("utf-8", "replace") for path, text in texts.items()}
    if task.before is not None:
        found |= {f"environment/files/{path}": content for path, content in _contents(task.before).items()}
        found[f"tests/{BEFORE}"] = _packed(task.before, task.before.manifest)
    return found | (_solution(task.before, task.oracle) if task.oracle is not None else {})


def _requirement(spec: str) -> str:
    extras = sorted({extra for name, extra in _EXTRAS.items() if re.search(rf"\b{name}\b", spec)})
    return f"verikit{'[' + ','.join(extras) + ']' if extras else ''}=={version('verikit')}"


def _dockerfile(image: str, before: Tree | None) -> str:
    lines = [f"FROM {image}", f"WORKDIR {WORK}"]
    return "\n".join(lines + (_steps(before) if before is not None else [])) + "\n"


def _steps(before: Tree) -> list[str]:
    """Copy the files, and restore what the copy of a task's files loses: empty folders and executable bits."""
    lines = [f"COPY files/ {WORK}/"] if _contents(before) else []
    for path, entry in before.manifest.items():
        if entry.kind == "folder" and not any(other.startswith(f"{path}/") for other in before.manifest):
            lines.append(f"RUN mkdir -p {shlex.quote(f'{WORK}/{path}')}")
        elif entry.executable:
            lines.append(f"RUN chmod 755 {shlex.quote(f'{WORK}/{path}')}")
    return lines


def _solution(before: Tree | None, oracle: Tree) -> dict[str, bytes]:
    """Return a script that turns the given files into the oracle's files."""
    given: Mapping[str, Any] = before.manifest if before else {}
    new = [path for path, entry in oracle.manifest.items() if path not in given or given[path].told() != entry.told()]
    gone = [path for path in given if path not in oracle.manifest]
    lines = ["#!/bin/bash", "set -e"]
    # a file may replace a folder, so removals come first
    lines += [f"rm -rf -- {shlex.quote(f'{WORK}/{path}')}" for path in gone]
    found = {}
    if new:
        lines.append(f"tar -xf /solution/files.tar -C {WORK}")
        found["solution/files.tar"] = _packed(oracle, new)
    return found | {"solution/solve.sh": ("\n".join(lines) + "\n").encode()}


def _packed(tree: Tree, paths: Iterator[str] | Sequence[str] | Mapping[str, Any]) -> bytes:
    """Pack entries of a tree as a tar. Equal entries give byte-identical tars."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in paths:
            entry = tree.manifest[path]
            member = tarfile.TarInfo(path)
            if entry.kind == "folder":
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(member)
                continue
            content = tree.content(entry)
            member.size, member.mode = len(content), 0o755 if entry.executable else 0o644
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _contents(tree: Tree) -> dict[str, bytes]:
    return {path: tree.content(entry) for path, entry in tree.manifest.items() if entry.kind == "file"}


def _slug(text: str) -> str:
    """Convert a string to a Harbor name: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()[:80]).strip("-")


def _free(name: str, taken: dict[str, None]) -> str:
    """A name that no other task has."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    taken[found] = None
    return found


def _put(folder: Path, files: Mapping[str, bytes]) -> None:
    try:
        for path, content in files.items():
            at = folder / path
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(content)
            if path.endswith(("test.sh", "solve.sh")):
                at.chmod(0o755)
    except (OSError, ValueError) as error:
        raise VerikitError(f"can't write {shown(str(folder))}: {error}") from None
