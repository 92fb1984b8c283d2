"""Paths within a workspace: as bytes in a string, as patterns, and as displayed to people.

A path is a string that represents bytes. Bytes that are not UTF-8 become surrogates, as in Python's file functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from unicodedata import normalize

MAX_SHOWN = 200


def as_bytes(path: str) -> bytes:
    """The bytes of a path.

    Raises:
        UnicodeEncodeError: It contains surrogates that represent no byte.
    """
    return path.encode("utf-8", "surrogateescape")


def as_text(path: bytes) -> str:
    """A path of these bytes."""
    return path.decode("utf-8", "surrogateescape")


def shown(path: str) -> str:
    """A path for display: unprintable, direction-changing and non-UTF-8 characters are escaped. Long paths are cut."""
    text = "".join(c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode() for c in path)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def parts(path: str) -> list[str] | None:
    """The names along a path within a folder; None if it leaves the folder or is impossible as a file's path."""
    if path.startswith("/") or "\0" in path:
        return None
    try:
        as_bytes(path)
    except UnicodeEncodeError:
        return None
    names = [name for name in path.split("/") if name not in ("", ".")]
    return None if ".." in names else names


def has_wildcards(pattern: str) -> bool:
    """Whether a pattern is more than one path."""
    return any(mark in pattern for mark in "*?")


def matches(pattern: str, path: str) -> bool:
    """Whether a path matches a pattern: `*` and `?` within a name, `**` for any number of folders.

    A pattern that ends in `/` or names a folder with `/**` matches everything below that folder.
    """
    wanted = [name for name in pattern.split("/") if name not in ("", ".")]
    if pattern.endswith("/"):
        wanted.append("**")
    # reached: how many names of the pattern may be used up so far. One step a name: linear in both.
    reached = _through_stars(wanted, {0})
    for name in path.split("/"):
        reached = _through_stars(wanted, _after(wanted, reached, name))
        if not reached:
            return False
    return len(wanted) in reached


def _after(wanted: Sequence[str], reached: set[int], name: str) -> set[int]:
    """How many names of the pattern may be used up after one more name of the path."""
    onward = set()
    for at in reached - {len(wanted)}:
        if wanted[at] == "**":
            onward.add(at)
            if at == len(wanted) - 1:
                onward.add(at + 1)
        elif _fits(wanted[at], name):
            onward.add(at + 1)
    return onward


def _through_stars(wanted: list[str], reached: set[int]) -> set[int]:
    """Add the positions after a `**`, which can match zero folders. A final `**` matches at least one name."""
    for at in sorted(reached):
        while at < len(wanted) - 1 and wanted[at] == "**":
            at += 1
            reached.add(at)
    return reached


def _fits(pattern: str, name: str) -> bool:
    """Whether a name matches `*` and `?`. Backtracks only to the last star: at most pattern times name steps."""
    at = here = 0
    star, since = -1, 0
    while here < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, since = at, here
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[here]):
            at += 1
            here += 1
        elif star >= 0:
            since += 1
            at, here = star + 1, since
        else:
            return False
    return all(mark == "*" for mark in pattern[at:])


def alike(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of paths that look the same to a person: they differ in case or in how accents are encoded."""
    seen: dict[str, str] = {}
    found = []
    for path in paths:
        key = normalize("NFC", path).casefold()
        if key in seen:
            found.append((seen[key], path))
        seen.setdefault(key, path)
    return found


def covers(output: str, path: str) -> bool:
    """Whether an output that a task declares takes in a path or a pattern, or is taken in by it."""
    output = output.lstrip("/")
    return matches(output, path) or matches(f"{output.rstrip('/')}/**", path) or matches(path, output)


def joined(folder: str, target: str) -> list[str]:
    """The names of a link's target, from the workspace's root; empty if it leads outside."""
    names = [name for name in folder.split("/") if name]
    for name in target.split("/"):
        if name == ".." and not names:
            return []
        if name == "..":
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    return names
