"""What lasts between the calls of an agent: the shell's folder, the files that it wrote, and its links.

No format of trajectories tells whether the harness has one shell for all calls, or whether a `cd` succeeded. So the
effects of a call may have several readings.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace

MAX_TEXT = 1_000_000
"""Characters of the files that an agent wrote; what exceeds them is not known."""
_MOST_LINKS = 8  # that are followed one after the other


@dataclass(slots=True)
class AgentSession:
    """The state of an agent's machine as far as its calls show it, in one reading."""

    root: str
    keeps: bool = False
    """Whether a shell's folder lasts to the next call."""
    enters: bool = True
    """Whether every `cd` succeeds."""
    cwd: str | None = ""
    """The folder of the shell, relative to the root; None if it is not known."""
    moved: bool = False
    """Whether a call has changed the folder."""
    texts: dict[str, str | None] = field(default_factory=dict)
    """Files that the agent wrote, with their text; None if it is not known."""
    edited: dict[str, str] = field(default_factory=dict)
    """Given files that the agent changed, with the text that it added."""
    named: set[str] = field(default_factory=set)
    """Paths that unknown programs may have written."""
    links: dict[str, str] = field(default_factory=dict)
    """Links that the agent made, with their targets."""

    def copy(self, *, keeps: bool, enters: bool) -> AgentSession:
        """The same state in another reading."""
        return replace(
            self, keeps=keeps, enters=enters, texts=dict(self.texts), edited=dict(self.edited), named=set(self.named),
            links=dict(self.links),
        )  # fmt: skip

    def placed(self, path: str, cwd: str) -> str:
        """A path relative to the root, behind the agent's links; absolute if it is outside."""
        found = placed(path, cwd, self.root)
        for _ in range(_MOST_LINKS if self.links else 0):
            link = next((one for one in self.links if f"{found}/".startswith(f"{one}/")), None)
            if link is None:
                break
            found = placed(self.links[link] + found[len(link) :], "", self.root)
        return found

    def wrote(self, path: str, text: str | None, *, more: bool = False) -> None:
        """Note that the agent wrote a file, or added a text to it."""
        if more and path not in self.texts:
            self.edited[path] = (self.edited.get(path, "") + "\n" + (text or ""))[-MAX_TEXT:]
            return
        if more and text is not None:
            text = None if (old := self.texts[path]) is None else f"{old}\n{text}"
        self.texts[path] = text if text is not None and len(text) <= MAX_TEXT else None

    def copied(self, source: str, target: str) -> None:
        """Note that the agent copied a file, if it wrote it."""
        if source in self.texts:
            self.texts[target] = self.texts[source]
        if source in self.edited:
            self.edited[target] = self.edited[source]

    def all_texts(self) -> str:
        """All that the agent wrote."""
        return "\n".join([*(text or "" for text in self.texts.values()), *self.edited.values()])


def placed(path: str, cwd: str, root: str) -> str:
    """A path relative to the workspace's root; absolute if it is outside."""
    whole = posixpath.normpath(posixpath.join(root, cwd, path))
    base = posixpath.normpath(root)
    if whole == base:
        return "."
    return whole[len(base) :].lstrip("/") if whole.startswith(base.rstrip("/") + "/") else whole
