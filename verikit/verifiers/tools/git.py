"""Effects of `git` on the files of the working tree, by its action and options."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from verikit.verifiers.tools.shell import Word

_LOOKS = frozenset("show log diff blame cat-file grep reflog whatchanged format-patch archive bundle".split())
_HARMLESS = frozenset(
    """add annotate bisect-log branch check-ignore commit config count-objects describe fetch for-each-ref fsck gc
    hash-object help init ls-files ls-remote ls-tree merge-base name-rev notes prune push remote rev-list rev-parse
    shortlog show-branch show-ref status symbolic-ref tag update-index update-ref var verify-commit version
    write-tree""".split()
)
_OUTPUTS = ("--output=", "--output-directory=", "-o")
_VALUES = frozenset(
    ("-s", "--source", "-m", "-o", "--output", "--output-directory", "-b", "-B", "-c", "-C", "--orphan")
)
_KEEPS = {
    "reset": lambda flags: not flags & {"--hard", "--merge", "--keep"},
    "apply": lambda flags: (
        bool(flags & {"--check", "--stat", "--numstat", "--summary", "--cached"}) and "--apply" not in flags
    ),
    "clean": lambda flags: (
        bool(flags & {"-n", "--dry-run"}) or any(one[:1] == "-" and one[1:2] != "-" and "n" in one for one in flags)
    ),
    "rm": lambda flags: bool(flags & {"--cached", "-n", "--dry-run"}),
    "mv": lambda flags: bool(flags & {"-n", "--dry-run"}),
    "restore": lambda flags: bool(flags & {"--staged", "-S"}) and not flags & {"--worktree", "-W"},
}
"""Whether options keep an action from changing the working tree."""
_CREATES = frozenset(("-b", "-B", "-c", "-C", "--orphan"))
_UNKNOWN = frozenset(
    """am apply bisect checkout-index cherry-pick clean merge pull read-tree rebase reset revert sparse-checkout stash
    submodule switch update""".split()
)
"""Actions that change files which they do not name."""
_NAMED = frozenset("checkout restore rm mv".split())


@dataclass(slots=True)
class GitEffect:
    """What an action does."""

    reads: list[Word] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    history: bool = False
    """Whether it reads the history."""
    unknown: bool = False
    """Whether it writes files that the command doesn't name."""
    alias: bool = False
    """Whether it may be an alias for another command."""


def git_effect(words: Sequence[Word]) -> GitEffect:
    """The effect of `git`'s words from its action on."""
    action = words[0].text if words else "status"
    flags = {word.text for word in words[1:] if word.text.startswith("-")}
    if words and not words[0].known:
        return GitEffect(alias=True)
    if action in _HARMLESS or (action in _KEEPS and _KEEPS[action](flags)):
        return GitEffect()
    if action in _LOOKS:
        paths = [word for word in words[1:] if not word.text.startswith("-")]
        return GitEffect(paths, _outputs(words), history=True, unknown=action == "format-patch" and not _outputs(words))
    return _changes(action, words, flags)


def _changes(action: str, words: Sequence[Word], flags: set[str]) -> GitEffect:
    """The effect of an action that may change files."""
    if action in ("checkout", "switch") and flags & _CREATES:
        return GitEffect(unknown=len(words) > 3)  # it starts at another commit
    if action in _NAMED:
        return _named(action, words)
    if action in ("clone", "worktree"):
        return GitEffect(writes=list(words[-1:]))
    return GitEffect(unknown=action in _UNKNOWN and not _is_look(words), alias=action not in _UNKNOWN)


def _is_look(words: Sequence[Word]) -> bool:
    """Whether `stash` only shows or drops what is stored."""
    return [word.text for word in words[:2]] in [["stash", one] for one in ("list", "show", "drop", "clear")]


def _named(action: str, words: Sequence[Word]) -> GitEffect:
    """An action on the paths that it names. A single word of `checkout` may be a branch."""
    paths = [
        word for before, word in pairwise(words)
        if not word.text.startswith("-") and before.text not in _VALUES
    ]  # fmt: skip
    after = any(word.text == "--" for word in words)
    branch = action == "checkout" and not after and len(paths) <= 1 and not any(map(_is_file, paths))
    return GitEffect(writes=paths, unknown=branch or not paths)


def _is_file(word: Word) -> bool:
    """Whether a word looks like a file or a folder rather than a branch or a commit."""
    return (
        word.text.endswith("/")
        or word.text in (".", "..")
        or "." in posixpath.basename(word.text).strip("0123456789.v")
    )


def _outputs(words: Sequence[Word]) -> list[Word]:
    """The files that options name as outputs."""
    found = list[Word]()
    for before, word in zip(["", *(each.text for each in words)], words, strict=False):
        joined = next((one for one in _OUTPUTS if word.text.startswith(one) and word.text != one), "")
        if joined:
            found.append(Word(word.text[len(joined) :], word.known))
        elif before in ("-o", "--output", "--output-directory"):
            found.append(word)
    return found
