"""Whole files in a reply: JSON of names and contents, or fenced blocks whose fence or heading names the path.

A block with marks of an edit (SEARCH/REPLACE, `*** Update File`, a hunk) is never written as a file.
"""

from __future__ import annotations

import json
import re

from verikit.platform.numbers import distinct
from verikit.verifiers.patch.tree import Edited, PatchError, Tree, TreeFile, inside
from verikit.verifiers.reading.fences import fenced

_FENCE = re.compile(r"[ \t]{0,3}(?:`{3,}|~{3,})[ \t]*([^`\n]{0,500})")
_PATH = re.compile(r"(?:\./)?[\w.+-]+(?:/[\w.+-]+)*\.\w{1,10}")
_LABELS = ("file", "path", "filename", "title")
_EDIT = re.compile(r"[<>]{5,9} [A-Z]|\*\*\* (?:Begin|End) Patch|\*\*\* (?:Update|Add|Delete) File:|@@(?: .*)?$")
"""The start of a line that belongs to an edit and not to a file."""
_LEFT_OUT = re.compile(
    r"[ \t]{0,40}(?:#|//|--|/\*|<!--|;)?[ \t]{0,9}(?:\.\.\.|…)[ \t]{0,9}\(?(?:the )?"
    r"(?:rest|existing|unchanged|remaining|previous|other)\b",
    re.IGNORECASE,
)
"""The start of a line that replaces omitted lines."""


def as_json(reply: str, tree: Tree) -> dict[str, str]:
    """The files of a reply that is one JSON object of names and contents; empty for other replies.

    Raises:
        PatchError: A content is an edit that can't be read, or a path leads out of the tree.
    """
    if not reply.lstrip().startswith("{"):
        return {}
    try:
        read = json.loads(reply, object_pairs_hook=distinct)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(read, dict) or not all(isinstance(text, str) for text in read.values()):
        return {}
    found = {inside(name): text for name, text in read.items()}
    for name, text in found.items():
        _refuse_edits(name, text, tree)
    return found


def in_blocks(reply: str, tree: Tree) -> dict[str, str]:
    """The files of a reply's blocks; blocks without a path are skipped.

    Raises:
        PatchError: A block with a path is an edit that can't be read, or its path leads out of the tree.
    """
    found: dict[str, str] = {}
    lines = reply.split("\n")
    blocks = iter(fenced(reply))
    inner = False
    for at, line in enumerate(lines):
        fence = _FENCE.fullmatch(line.rstrip())
        if fence is None:
            continue
        if inner and not fence[1].strip():
            inner = False
            continue
        block = next(blocks, None)
        if block is None:
            break
        inner = True
        heading = next((text for text in reversed(lines[max(0, at - 2) : at]) if text.strip()), "")
        named = path_in(fence[1], tree) or path_in(heading, tree, alone=True)
        if named:
            name = inside(named)
            _refuse_edits(name, block[1], tree)
            found[name] = block[1] + "\n"
    return found


def _refuse_edits(name: str, text: str, tree: Tree) -> None:
    """Reject a block that is an edit of a file, or a part of it."""
    starts = set()
    for line in text.split("\n"):
        if line[:1] in "<>*@" and _EDIT.match(line[:200]):
            raise PatchError(f"the block under {name} is an edit that can't be read: {line[:60]!r}")
        if name in tree and ("..." in line[:80] or "…" in line[:80]) and _LEFT_OUT.match(line[:200]):
            raise PatchError(f"the block under {name} omits parts of the file: {line.strip()[:60]!r}")
        starts.add(line[:1] if line.strip() else "")
    if {"+", "-"} <= starts <= {"+", "-", " ", ""}:
        raise PatchError(f"the block under {name} is an edit that can't be read: lines of + and - without a header")


def path_in(text: str, tree: Tree, *, alone: bool = False) -> str:
    """The path among a fence's words; in a heading, only if the path is its only content."""
    words = [word for word in re.split(r"[ \t:=\"'`*#]+", text.strip()[:300]) if word]
    if alone:
        words = [word for word in words if word.lower() not in _LABELS]
        if len(words) != 1:
            return ""
    return next((word for word in reversed(words) if _PATH.fullmatch(word) or word in tree), "")


def written(tree: Tree, files: dict[str, str]) -> dict[str, TreeFile]:
    """The tree with these files.

    Raises:
        PatchError: One has the path of a folder, or is below a file.
    """
    edited = Edited(tree)
    for name, text in files.items():
        edited.write(name, text.encode("utf-8", "replace"))
    return edited.files
