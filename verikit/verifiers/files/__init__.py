"""Did the agent leave the expected files, and nothing else?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from verikit.base import Verifier
from verikit.errors import AgentFault, UsageError, WorkspaceError
from verikit.names.spec import load
from verikit.types import Sample, Score
from verikit.workspaces.grading import WorkspaceVerifier, all_hold, part_of
from verikit.workspaces.names import has_wildcards, matches, shown
from verikit.workspaces.workspace import Workspace

Patterns = str | Sequence[str]
Check = Callable[[Workspace, Sample], Score]
SHA256_DIGITS = 64
_SHOWN = 3


def _patterns(option: str, value: str | Sequence[str] | None) -> tuple[str, ...] | None:
    patterns = (value,) if isinstance(value, str) else value
    if patterns is None:
        return None
    if not all(isinstance(one, str) and one for one in patterns):
        raise UsageError(f"{option} must be a list of paths and patterns")
    return tuple(patterns)


@dataclass(frozen=True, eq=False)
class LeftFiles(WorkspaceVerifier):
    """1.0 if the files pass every requested check.

    A path may be a pattern: `*` and `?` within a name, `**` for any folders. Times are ignored. Links, fifos and
    folders are not files.
    """

    exist: Patterns = ()
    """Files that must exist. A pattern needs at least one."""
    absent: Patterns = ()
    """Files or folders that must not exist."""
    unchanged: Patterns = ()
    """Files that must be unchanged: not edited, added or removed under a pattern."""
    changed: Patterns = ()
    """Files that existed and whose content must differ. A pattern needs at least one."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """The required SHA-256 of a file, by path."""
    same_as: Mapping[str, str] = field(default_factory=dict)
    """By path, the file of `before` whose content it must have: a rename or a copy."""
    content: Mapping[str, Verifier | str] = field(default_factory=dict)
    """By path, the verifier that receives a file's text."""
    only: Patterns | None = None
    """Patterns. Outside them content, kind and executable bit must not change."""
    name = "files"

    def __post_init__(self) -> None:
        for option in ("exist", "absent", "unchanged", "changed", "only"):
            object.__setattr__(self, option, _patterns(option, getattr(self, option)))
        if wrong := next((one for one in self.sha256.values() if len(one) != SHA256_DIGITS), None):
            raise UsageError(f"sha256 has {SHA256_DIGITS} hexadecimal digits, {wrong!r} has not")
        loaded = {path: load(spec) if isinstance(spec, str) else spec for path, spec in self.content.items()}
        object.__setattr__(self, "content", loaded)
        told = (self.exist, self.absent, self.unchanged, self.changed, self.sha256, self.same_as, self.content)
        if not any(told) and self.only is None:
            raise UsageError("files needs something to check", hint="exist=['out.csv'], only=['out/**'], …")

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Do all checks, each as a part."""
        return all_hold({
            name: part_of(workspace, f"files {name}", partial(check, workspace, sample))
            for name, check in self._checks()
        })  # fmt: skip

    def _checks(self) -> Iterator[tuple[str, Check]]:
        """Each check by its name."""
        listed = (
            ("exist", self.exist, _exists), ("absent", self.absent, _absent), ("unchanged", self.unchanged, _unchanged),
            ("changed", self.changed, _changed),
        )  # fmt: skip
        for name, paths, function in listed:
            yield from ((f"{name} {path}", partial(function, path)) for path in paths)
        for path, digest in self.sha256.items():
            yield f"sha256 {path}", partial(_has, path, digest.lower())
        for path, origin in self.same_as.items():
            yield f"same_as {path}", partial(_same, path, origin)
        for path, spec in self.content.items():
            yield f"content {path}", partial(_content, path, spec)
        if self.only is not None:
            yield "only", partial(_only, self.only)


def _exists(path: str, workspace: Workspace, _: Sample) -> Score:
    found = workspace.many(path)
    return Score(1.0, reason=_told([blob.path for blob in found]))


def _absent(path: str, workspace: Workspace, _: Sample) -> Score:
    found = [entry.path for entry in workspace.find(path)]
    return Score(float(not found), reason=f"there is {_told(found)}" if found else "not there")


def _unchanged(path: str, workspace: Workspace, _: Sample) -> Score:
    if not workspace.find(path, "before"):
        raise WorkspaceError(f"{shown(path)} is not among the agent's input files")
    found = workspace.compared(partial(_concerns, path))
    return Score(float(not found), reason=f"differs: {_told(found)}" if found else "as it was")


def _concerns(pattern: str, path: str) -> bool:
    """Whether a pattern matches a path, or a folder that contains it."""
    pattern = pattern.strip("/")
    return matches(pattern, path) or (not has_wildcards(pattern) and path.startswith(f"{pattern}/"))


def _changed(path: str, workspace: Workspace, _: Sample) -> Score:
    given = [entry for entry in workspace.find(path, "before") if entry.kind == "file"]
    if not given:
        raise WorkspaceError(f"{shown(path)} is not one of the agent's input files")
    found = [entry.path for entry in given if workspace.one(entry.path).sha256 != entry.sha256]
    return Score(float(bool(found)), reason=f"{_told(found)} changed" if found else "the content is the same")


def _has(path: str, digest: str, workspace: Workspace, _: Sample) -> Score:
    blob = workspace.one(path)
    same = blob.sha256 == digest
    return Score(float(same), reason=shown(blob.path) if same else f"{shown(blob.path)} has another content")


def _same(path: str, origin: str, workspace: Workspace, sample: Sample) -> Score:
    return _has(path, workspace.one(origin, "before").sha256, workspace, sample)


def _content(path: str, spec: Verifier | str, workspace: Workspace, sample: Sample) -> Score:
    blob = workspace.one(path)
    try:
        text = blob.data().decode()
    except UnicodeDecodeError:
        raise AgentFault(f"{shown(blob.path)} is not UTF-8 text") from None
    verifier = load(spec) if isinstance(spec, str) else spec
    [score] = verifier.score([replace(sample, completion=text, thoughts="", messages=())])
    return score


def _only(patterns: Sequence[str], workspace: Workspace, _: Sample) -> Score:
    found = workspace.compared(lambda path: not any(_concerns(pattern, path) for pattern in patterns))
    return Score(float(not found), reason=f"beside them differs {_told(found)}" if found else "nothing else differs")


def _told(paths: Sequence[str]) -> str:
    names = ", ".join(shown(path) for path in paths[:_SHOWN])
    return f"{names} and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else names
