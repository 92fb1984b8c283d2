"""The check `declared`: in a separate box, tests can only read files that the task declares or the box has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from verikit.env.audit.dockerfile import instructions, workdir
from verikit.env.audit.python_paths import opened_paths
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.scripts import PlacedCommand, placed, writes
from verikit.env.audit.task import AuditedTask, TaskPart, joined, table
from verikit.workspaces.harbor import placed_files
from verikit.workspaces.manifest import FileEntry
from verikit.workspaces.names import matches, shown

_SYSTEM = tuple(
    f"/{name}" for name in "tests usr bin sbin lib lib64 etc proc dev sys tmp run logs/verifier root/.local".split()
)
"""Folders of the grader and of its image."""
ALWAYS = "/logs/artifacts"
"""The folder that Harbor collects without a declaration."""
_READERS = frozenset("cat diff cmp grep egrep head tail wc jq test [ [[ stat sha256sum md5sum sort".split())


@dataclass
class _Reads:
    """Paths that the tests of a part need, with the place where each is read."""

    paths: dict[str, str] = field(default_factory=dict)
    mentioned: dict[str, str] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    undecided: list[str] = field(default_factory=list)


def check_declared(task: AuditedTask) -> CheckRecord:
    """Compare the paths that tests open with the declared artifacts."""
    findings: list[EnvFinding] = []
    undecided: list[str] = []
    notes: list[str] = []
    for part in task.parts:
        if not part.separate:
            notes.append("the tests run in the agent's box, so they need no collected files")
            continue
        found, missing = undeclared(task, part)
        findings += found
        undecided += missing
    return judged(findings, undecided, tuple(dict.fromkeys(notes)))


def undeclared(task: AuditedTask, part: TaskPart) -> tuple[list[EnvFinding], list[str]]:
    """The paths that the tests of a part read and no artifact declares, and the unknown paths that they read."""
    reads = _reads(task, part)
    return list(_undeclared(task, part, reads)), reads.undecided


def _reads(task: AuditedTask, part: TaskPart) -> _Reads:
    reads = _Reads()
    at, variables = graders_workdir(task, part), _variables(task, part)
    for folder in part.tests:
        for path in task.files(folder):
            text = task.text(path)
            place = f"/tests/{path[len(folder) + 1 :]}"
            if text is not None and path.endswith(".py"):
                _python(reads, path, text, at, place, variables)
            elif text is not None and path.endswith(".sh"):
                _shell(reads, path, text, at)
    return reads


def graders_workdir(task: AuditedTask, part: TaskPart) -> str:
    """The working directory of a part's test script."""
    environment = part.verifier.get("environment")
    own = environment if isinstance(environment, Mapping) else table(task.config, "environment")
    if isinstance(own.get("workdir"), str):
        return str(own["workdir"])
    image = task.verifier_image(part)
    return workdir(task.text(image) or "") if image else "/"


def _variables(task: AuditedTask, part: TaskPart) -> dict[str, str]:
    """Variables with known values in the box that grades: of its image and of the configuration."""
    environment = table(part.verifier, "environment") or table(task.config, "environment")
    told = {**table(environment, "env"), **table(part.verifier, "env")}
    image = task.verifier_image(part)
    lines = instructions(task.text(image) or "") if image else ()
    words = [word for line in lines if line.word == "ENV" for word in line.rest.split()]
    found = {name: value.strip("\"'") for name, sign, value in (word.partition("=") for word in words) if sign}
    found |= {str(name): str(value) for name, value in told.items()}
    return {name: value for name, value in found.items() if "$" not in value}


def _python(reads: _Reads, path: str, text: str, at: str, place: str, variables: Mapping[str, str]) -> None:
    found = opened_paths(text, at, place, variables)
    if found.problem:
        reads.undecided.append(f"Python that can be parsed in {shown(path)} ({found.problem})")
    for name, line in found.reads.items():
        reads.paths.setdefault(name, f"{shown(path)}:{line}")
    for name, line in found.mentioned.items():
        reads.mentioned.setdefault(name, f"{shown(path)}:{line}")
    reads.written |= found.written
    reads.undecided += [f"the path that is opened in {shown(path)}:{line}" for line in found.undecided]


def _shell(reads: _Reads, path: str, text: str, at: str) -> None:
    for one in placed(text):
        where = f"{shown(path)}:{one.line}"
        written = set(writes(one))
        reads.written |= {joined(at, name) for name in written}
        for word in [*one.command.words, *(target for sign, target in one.command.redirects if "<" in sign)]:
            if word.text in written:
                continue
            if word.text.startswith("/") and word.known and not word.pattern:
                reads.paths.setdefault(joined("/", word.text), where)
            elif not word.known and "/" in word.text and _may_be_theirs(word.text):
                reads.undecided.append(f"the value of {shown(word.text)} in {where}")
            elif word.known and _is_relative_file(one, word.text):
                reads.paths.setdefault(joined(at, word.text), where)


def _may_be_theirs(text: str) -> bool:
    """Whether a word with an unknown variable may be a path of the agent's. Hidden folders of a home are not."""
    return text.startswith(("$", "/")) and "(" not in text and not text.startswith(("$HOME/.", "$PWD/."))


def _is_relative_file(one: PlacedCommand, text: str) -> bool:
    named = "." in text.rpartition("/")[2][1:] and not text.startswith(("-", "/", "$")) and " " not in text
    return named and one.program in _READERS and text.isascii() and not text.replace(".", "").isdecimal()


def _undeclared(task: AuditedTask, part: TaskPart, reads: _Reads) -> Iterator[EnvFinding]:
    at = agents_workdir(task)
    held, whole = _in_the_box(task, part)
    changed = set(_solved(task, part, at))
    told = (task.text(part.instruction) or "") + " ".join(changed)
    for path, where, inside in _uncovered(part, reads, at, changed):
        asked = path in changed or path in told or (inside and path.rpartition("/")[2] in told)
        if _holds(held, path):
            if path in changed:
                what = f"the tests read {shown(path)}, which the solution changes and no artifact declares"
                yield EnvFinding("undeclared", what, where)
        elif asked or (whole and inside):
            yield EnvFinding("undeclared", f"the tests read {shown(path)}, which no artifact declares", where)
        elif inside:
            reads.undecided.append(f"the files of the grader's image, for {shown(path)} in {where}")


def _uncovered(part: TaskPart, reads: _Reads, at: str, changed: set[str]) -> Iterator[tuple[str, str, bool]]:
    """Paths of the agent's box that tests read and no artifact covers.

    Each has the place that reads it, and whether it is in the agent's folder or among the files that a solution
    changes.
    """
    declared = [one for one in (_artifact(one, at) for one in part.artifacts) if one is not None]
    for path, where in [*reads.paths.items(), *reads.mentioned.items()]:
        inside = _is_below(path, (at, *changed))
        if (path not in reads.paths and not inside) or path in ("/", at) or path in reads.written:
            continue
        if not _is_below(path, (*_SYSTEM, ALWAYS)) and not any(_agrees(one, path) for one in declared):
            yield path, where, inside


def _holds(held: set[str], path: str) -> bool:
    """Whether these files include a path, or are below it."""
    return path in held or any(name.startswith(f"{path}/") for name in held)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of these folders or is below one."""
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def declared_artifacts(task: AuditedTask, part: TaskPart) -> list[tuple[str, list[str]]]:
    """Each declared artifact of a part as its path in the agent's box, and its excluded patterns."""
    at = agents_workdir(task)
    return [(ALWAYS, []), *(one for one in (_artifact(one, at) for one in part.artifacts) if one is not None)]


def _agrees(artifact: tuple[str, list[str]], path: str) -> bool:
    """Whether an artifact covers a path, or is below it."""
    return covers(artifact, path) or artifact[0].startswith(f"{path}/")


def agents_workdir(task: AuditedTask) -> str:
    """The agent's working directory."""
    own = table(task.config, "environment").get("workdir")
    return str(own) if isinstance(own, str) else workdir(task.text("environment/Dockerfile") or "")


def _artifact(entry: Any, at: str) -> tuple[str, list[str]] | None:
    """The path of an artifact in the agent's box, and its excluded patterns."""
    if isinstance(entry, str):
        return joined(at, entry), []
    source = entry.get("source") if isinstance(entry, Mapping) else None
    if not isinstance(source, str):
        return None
    left_out = entry.get("exclude")
    return joined(at, source), [one for one in left_out if isinstance(one, str)] if isinstance(left_out, list) else []


def covers(artifact: tuple[str, list[str]], path: str) -> bool:
    """Whether an artifact has a path."""
    source, left_out = artifact
    if path != source and not path.startswith(f"{source.rstrip('/')}/"):
        return False
    names = path[len(source) :].strip("/").split("/")
    return not any(matches(pattern.strip("/"), name) for name in names if name for pattern in left_out)


def _in_the_box(task: AuditedTask, part: TaskPart) -> tuple[set[str], bool]:
    """Files that the grader's image receives by `COPY`, and whether all its other files come from its base image."""
    image = task.verifier_image(part)
    if image is None:
        return set(), False
    folder = image.rpartition("/")[0]
    manifest: dict[str, FileEntry] = {
        path[len(folder) + 1 :]: entry
        for path, entry in task.tree.manifest.items()
        if path.startswith(f"{folder}/") and path != image
    }
    places, unknown = placed_files(manifest, task.text(image) or "")
    return {f"/{path}" for path in places}, not unknown


def _solved(task: AuditedTask, part: TaskPart, at: str) -> Iterator[str]:
    """Paths that the solution writes, as its script shows them."""
    script = task.script(tuple(reversed(part.solutions)), "solve.sh")
    for one in placed(task.text(script) or "") if script else ():
        yield from (joined(at, path) for path in writes(one) if "$" not in path and len(path) < 500)
        if one.program in ("sed", "patch", "touch") and one.arguments:
            last = one.arguments[-1]
            if last.known and (one.program != "sed" or any(word.text.startswith("-i") for word in one.arguments)):
                yield joined(at, last.text)
    for folder in part.solutions:
        for path in task.files(folder):
            if path.endswith(".py"):
                yield from opened_paths(task.text(path) or "", at, f"/solution/{path[len(folder) + 1 :]}").written
