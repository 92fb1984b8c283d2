"""SEARCH/REPLACE blocks, as aider, Agentless and SWE-RL prompt for them.

    path/to/file.py
    ```python
    <<<<<<< SEARCH
    old lines
    =======
    new lines
    >>>>>>> REPLACE
    ```

The path is on a line before the block, before its fence, or inside the fence (`### path/to/file.py`). A block without
one edits the file of the block before it. The old lines have to be in the file word for word, in one place only: aider
would change the first place and Agentless all of them. Whitespace at the end of lines does not count. An empty SEARCH
part makes a new file. Line ends follow the file's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from verikit.verifiers.patch.lines import FileLines
from verikit.verifiers.patch.tree import Edited, PatchError, Tree, TreeFile, inside

_SEARCH = re.compile(r"(<{5,9}) SEARCH>?[ \t]*")
_DIVIDER = re.compile(r"(={5,9})[ \t]*")
_REPLACE = re.compile(r"(>{5,9}) REPLACE[ \t]*")
_FENCE = re.compile(r"[ \t]{0,12}(?:`{3,}|~{3,})(.{0,300})")
_LABELS = re.compile(r"(?:file|path|filename|file path)[ \t]*:[ \t]*", re.IGNORECASE)
_NEW_PATH = re.compile(r"[\w.+@-]+(?:/[\w.+@-]+)+|[\w+@-]*\.[\w.+@-]*\w")
"""A path that is not in the tree: with a folder, or with a dot in its name."""
_MOST_DIVIDERS = 8
"""Maximum lines of a block that could divide it; each is tried."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block: its position, its file, and the ways to divide it into old and new lines."""

    line: int
    path: str
    splits: tuple[tuple[Sequence[str], Sequence[str]], ...]


def is_in(lines: Sequence[str]) -> bool:
    """Whether lines contain the start of a block."""
    return any(line.startswith("<") and _SEARCH.fullmatch(line) for line in lines)


def parse(lines: Sequence[str], tree: Tree) -> list[Block]:
    """The blocks among the lines of a reply; other text is skipped.

    Raises:
        PatchError: A block has no end, no dividing line, or no path.
    """
    blocks: list[Block] = []
    path, at = "", 0
    while at < len(lines):
        start = _SEARCH.fullmatch(lines[at]) if lines[at].startswith("<") else None
        if start is None:
            at += 1
            continue
        path = _path_before(lines, at, tree) or path
        if not path:
            raise PatchError(f"line {at + 1}: no path before the SEARCH/REPLACE block")
        end = _end(lines, at)
        blocks.append(Block(at + 1, inside(path), _splits(lines[at + 1 : end], len(start[1]), at)))
        at = end + 1
    return blocks


def _end(lines: Sequence[str], begun: int) -> int:
    """The line that ends a block."""
    for at in range(begun + 1, len(lines)):
        line = lines[at]
        if line.startswith(">") and _REPLACE.fullmatch(line):
            return at
        if line.startswith("<") and _SEARCH.fullmatch(line):
            break
    raise PatchError(f"line {begun + 1}: the SEARCH/REPLACE block has no end (>>>>>>> REPLACE)")


def _splits(body: Sequence[str], width: int, begun: int) -> tuple[tuple[Sequence[str], Sequence[str]], ...]:
    """Old and new lines for each line that could divide the block.

    A file may itself contain lines of `=`, such as underlined headings. Lines as long as the block's mark come first.
    """
    found = [(at, _DIVIDER.fullmatch(line)) for at, line in enumerate(body) if line[:1] == "="]
    lengths = {at: len(match[1]) for at, match in found if match}
    places = [at for at, length in lengths.items() if length == width] or list(lengths)
    if not places:
        raise PatchError(f"line {begun + 1}: the SEARCH/REPLACE block has no dividing line (=======)")
    if len(places) > _MOST_DIVIDERS:
        raise PatchError(f"line {begun + 1}: the SEARCH/REPLACE block has {len(places)} possible dividing lines")
    return tuple((body[:at], body[at + 1 :]) for at in places)


def _path_before(lines: Sequence[str], at: int, tree: Tree) -> str:
    """The path on the nearest of the three lines before a block, across the mark of a fence; otherwise empty."""
    for line in reversed(lines[max(0, at - 3) : at]):
        fence = _FENCE.fullmatch(line)
        if found := _path_on(fence[1] if fence else line, tree):
            return found
        if fence is None and line.strip():
            break
    return ""


def _path_on(line: str, tree: Tree) -> str:
    """The path that a line consists of; for a fence, its last word."""
    text = line.strip()[:1200].strip("#*` \t")
    text = text[_LABELS.match(text).end() :] if _LABELS.match(text) else text  # type: ignore[union-attr]
    text = text.rstrip(":").strip("*`'\" \t").removeprefix("./")
    for word in (text, *text.split(" ")[-1:]):
        if word in tree or (text == word and (_NEW_PATH.fullmatch(word) or word.startswith(("/", "../")))):
            return word
    return ""


def applied(tree: Tree, blocks: Sequence[Block]) -> dict[str, TreeFile]:
    """The tree after the blocks, each applied to the result of the previous ones.

    Raises:
        PatchError: One does not apply; the tree is then unchanged.
    """
    edited = Edited(tree)
    for block in blocks:
        _apply(edited, block)
    return edited.files


def _apply(edited: Edited, block: Block) -> None:
    empty = [new for old, new in block.splits if not any(line.strip() for line in old)]
    if block.path not in edited.files or not edited.files[block.path].content.strip():
        if len(block.splits) == 1 and empty:
            edited.write(block.path, FileLines(b"").replaced(0, 0, empty[0]))
            return
        edited.read(block.path)
    elif len(block.splits) == 1 and empty:
        raise PatchError(f"line {block.line}: an empty SEARCH part makes a new file, but {block.path} exists")
    lines = FileLines(edited.read(block.path).content)
    for old, new in reversed(block.splits):  # a dividing line that the file has too belongs to the old lines
        places = lines.places(old) if old else []
        if len(places) > 1:
            raise PatchError(f"{block.path}: the SEARCH part of line {block.line} is in several places")
        if places:
            edited.write(block.path, lines.replaced(places[0], len(old), new))
            return
    raise PatchError(f"{block.path}: the SEARCH part of line {block.line} is not found")
