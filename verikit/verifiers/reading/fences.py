"""Fenced blocks of a reply, found by one pass over its lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MARK = re.compile(
    r"(?P<lead>[ \t]{0,40}(?:(?:[-*+>]|\d{1,9}[.)])[ \t]{1,4}){0,3})(?P<mark>`{3,}|~{3,})(?P<info>[^`\n]{0,500})"
)
_LABEL = re.compile(r"[{. \t]{0,4}([\w+#-]*)")


def fenced(text: str) -> list[tuple[str, str]]:
    """(label, content) of each fenced block, in order; labels are lower-case, content is without the fence's indent.

    Fences follow CommonMark: backticks or tildes, closed by a mark at least as long. They may be indented, in lists and
    quotes, and have more after the label (`python title="x.py"`). A labelled mark within an open block starts another
    block, unless its indent makes it part of the code. An open block at the end counts: if it was cut off, it fails on
    its own.
    """
    found: list[tuple[str, str]] = []
    mark, label, indent = "", "", 0
    block: list[str] = []
    for line in text.split("\n"):
        match = _MARK.fullmatch(line.rstrip())
        if match is None or (mark and not _ends(match, mark, indent)):
            block.append(line)
            continue
        info = match["info"].strip()
        if mark:
            found.append((label, _dedented(block, indent)))
        if mark and not info:
            mark = ""
            continue
        mark, indent, block = match["mark"], len(match["lead"]), []
        label = _label(info)
    if mark:
        found.append((label, _dedented(block, indent)))
    return found


def _label(info: str) -> str:
    if info.split(" ")[0].endswith(".py"):
        return "python"
    named = _LABEL.match(info)
    return named[1].lower() if named else ""


def _ends(match: re.Match[str], mark: str, indent: int) -> bool:
    """Whether a mark within a block ends it, as its closing mark or as the opening one of the next."""
    return match["mark"][0] == mark[0] and len(match["mark"]) >= len(mark) and len(match["lead"]) <= indent + 3


def _dedented(block: Sequence[str], indent: int) -> str:
    """The lines without the indent that they share with the fence, and without the marks of a quotation."""
    if not indent:
        return "\n".join(block)
    lines = [re.sub(r"^[ \t]{0,3}> ?", "", line) for line in block] if all(_quoted(line) for line in block) else block
    shared = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[min(indent, shared) :] for line in lines)


def _quoted(line: str) -> bool:
    return line.lstrip().startswith(">")


def last(text: str, *labels: str) -> str | None:
    """Content of the last block with one of these labels."""
    return next((content for label, content in reversed(fenced(text)) if label in labels), None)
