"""An attack on what grades an agent's files, and the honest workspace next to it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import verikit
from verikit import Sample
from verikit.workspaces import Workspace

FILE, SAVED, REFERENCE = "FILE", "SAVED", "REFERENCE"
"""Arguments of another grader's function that are replaced by paths: what the agent left, the same saved by
LibreOffice, and the expected file."""
Calls = Mapping[str, list[list[Any]]]
"""How other graders are called: for each its function, arguments and options. Of several calls all must accept."""


@dataclass(frozen=True)
class Left:
    """What an agent left, and the verifier that scores it."""

    verifier: verikit.Verifier
    files: Mapping[str, str | bytes] | bytes | Callable[[Path], object]
    """Contents by name, a tar, or a function that fills a folder."""
    before: Mapping[str, str | bytes] | Callable[[Path], object] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the workspace."""
    turns: Sequence[Mapping[str, Any]] = ()
    text: str = "All done. All tests pass."
    peers: Calls = field(default_factory=dict)
    reference: bytes = b""
    """The file that other graders compare with. The default is the honest workspace's only file."""
    later: Callable[[Path], object] | None = None
    """What a process of the agent does after the files were collected."""

    def written(self, place: Path) -> Path:
        """The folder that the agent left."""
        after = place / "after"
        after.mkdir()
        fill(after, self.files)
        return after

    def score(self, place: Path) -> verikit.Score:
        """The score. The grader starts in the agent's folder, as a careless user might start it."""
        after: Any = self.files if isinstance(self.files, bytes) else self.written(place)
        given = None
        if self.before is not None:
            given = place / "before"
            given.mkdir()
            fill(given, self.before)
        workspace = Workspace(after, given, **self.options)
        if self.later is not None:
            assert workspace.digest
            self.later(after)
        sample = Sample("Do the task.", list(self.turns) or self.text, id="t1", workspace=workspace)
        with contextlib.chdir(place if isinstance(self.files, bytes) else after):
            return self.verifier.score([sample])[0]


def fill(folder: Path, files: Mapping[str, str | bytes] | bytes | Callable[[Path], object]) -> None:
    """Write files into a folder."""
    if callable(files):
        files(folder)
        return
    assert not isinstance(files, bytes)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


@dataclass(frozen=True)
class Attack:
    """A numbered attack. Several with the same number are variants."""

    number: int
    agent: str
    """What the agent does."""
    forged: Callable[[], Left]
    control: Callable[[], Left]
    unscored: bool = False
    """Whether the forged workspace has no value, instead of 0.0."""
    needs: str = ""
    """`browser`, the package that makes the files, or nothing."""
    seconds: float = 0.0
    """CPU seconds of both, if it takes a second or more."""
