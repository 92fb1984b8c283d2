"""Splits spreadsheet formulas into pieces: references to cells, names, functions, and other text.

It makes one pass over the characters, without a regular expression on the whole. It evaluates nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
_CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})\Z")
_COLUMN = re.compile(r"\$?([A-Za-z]{1,3})\Z")
_ROW = re.compile(r"\$?([0-9]{1,7})\Z")
_WORD = re.compile(r"[^\W\d]|[$\\?.0-9]|\w")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?\Z")

Kind = Literal["text", "area", "name", "table", "function", "unknown"]


@dataclass(frozen=True, slots=True)
class CellArea:
    """A rectangle of cells; rows and columns count from 1."""

    sheet: str
    """Its title, or "" for the formula's own sheet."""
    top: int
    left: int
    bottom: int
    right: int

    @property
    def size(self) -> int:
        """How many cells it has."""
        return (self.bottom - self.top + 1) * (self.right - self.left + 1)

    @property
    def open_ended(self) -> bool:
        """Whether it consists of whole columns or rows."""
        return self.bottom == MOST_ROWS or self.right == MOST_COLUMNS


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a formula. `text` is its own spelling."""

    kind: Kind
    text: str
    area: CellArea | None = None
    sheet: str = ""
    """Of a name: the sheet before the exclamation mark."""


def letters(column: int) -> str:
    """The name of a column."""
    name = ""
    while column:
        column, digit = divmod(column - 1, 26)
        name = chr(65 + digit) + name
    return name


def column_number(name: str) -> int:
    """The number of a column, or 0 if it doesn't exist."""
    number = 0
    for letter in name.upper():
        number = number * 26 + ord(letter) - 64
    return number if number <= MOST_COLUMNS else 0


def area_of(text: str, sheet: str = "") -> CellArea | None:
    """`A1`, `$A$1:B2`, `A:C` or `1:3` as an area; None if it has another format."""
    first, colon, last = text.partition(":")
    one, other = _corner(first), _corner(last or first)
    if one is not None and other is not None:
        (top, left), (bottom, right) = one, other
        return CellArea(sheet, min(top, bottom), min(left, right), max(top, bottom), max(left, right))
    if not colon:
        return None
    columns = [_COLUMN.match(part) for part in (first, last)]
    if columns[0] and columns[1]:
        low, high = sorted(column_number(match[1]) for match in columns if match)
        return CellArea(sheet, 1, low, MOST_ROWS, high) if low else None
    rows = [_ROW.match(part) for part in (first, last)]
    if rows[0] and rows[1]:
        low, high = sorted(int(match[1]) for match in rows if match)
        return CellArea(sheet, low, 1, high, MOST_COLUMNS) if low > 0 and high <= MOST_ROWS else None
    return None


def _corner(text: str) -> tuple[int, int] | None:
    match = _CELL.match(text)
    if not match:
        return None
    row, column = int(match[2]), column_number(match[1])
    return (row, column) if column and 0 < row <= MOST_ROWS else None


def reference(text: str) -> CellArea | None:
    """`B2`, `Sheet1!B2:C5` or `'My sheet'!B2` as an area; None if it has another format."""
    found = [piece for piece in pieces("=" + text.strip()) if piece.text.strip() not in ("", "=")]
    return found[0].area if len(found) == 1 else None


def pieces(formula: str) -> list[Piece]:
    """All pieces of a formula, in order. Joined, they equal the formula."""
    found: list[Piece] = []
    position = 0
    while position < len(formula):
        piece = _piece(formula, position)
        position += len(piece.text)
        found.append(piece)
    return found


def rewritten(formula: str, change: Callable[[Piece], str]) -> str:
    """The formula with `change` applied to each piece except plain text."""
    return "".join(piece.text if piece.kind == "text" else change(piece) for piece in pieces(formula))


def _piece(formula: str, start: int) -> Piece:
    mark = formula[start]
    if mark == '"':
        return Piece("text", formula[start : _quoted(formula, start)])
    if mark == "'":
        end = _quoted(formula, start)
        sheet = formula[start + 1 : end - 1].replace("''", "'")
        return _after_sheet(formula, start, end, sheet)
    if mark == "[":
        return Piece("unknown", formula[start : _bracketed(formula, start)])
    if mark == "{":
        end = formula.find("}", start)
        return Piece("text", formula[start : end + 1 if end >= 0 else len(formula)])
    if _WORD.match(mark):
        return _word(formula, start)
    if mark == "#":
        end = _end_of_error(formula, start)
        return Piece("text" if end > start + 1 else "unknown", formula[start:end])
    return Piece("unknown" if mark in ":@" else "text", mark)


def _word(formula: str, start: int) -> Piece:
    end = _end_of_word(formula, start)
    word, after = formula[start:end], formula[end : end + 1]
    if after == "!":
        return _after_sheet(formula, start, end, word)
    if after == "(":
        return Piece("function", word)
    if after == "[":
        return Piece("table", formula[start : _bracketed(formula, end)])
    if after == ":":
        second = _end_of_word(formula, end + 1)
        if formula[second : second + 1] == "!":  # the same cells of several sheets
            return Piece("unknown", formula[start : second + 1])
        if second > end + 1 and (area := area_of(formula[start:second])) and formula[second : second + 1] != "(":
            return Piece("area", formula[start:second], area)
    if area := area_of(word):
        return Piece("area", word, area)
    if _NUMBER.match(word) or word.upper() in ("TRUE", "FALSE"):
        return Piece("text", word)
    return Piece("name", word)


def _after_sheet(formula: str, start: int, end: int, sheet: str) -> Piece:
    """A reference with a sheet before it."""
    if formula[end : end + 1] != "!":
        return Piece("unknown", formula[start:end])
    stop = _end_of_word(formula, end + 1)
    if formula[stop : stop + 1] == ":":
        second = _end_of_word(formula, stop + 1)
        if area := area_of(formula[end + 1 : second], sheet):
            return _unless_external(Piece("area", formula[start:second], area))
    word = formula[end + 1 : stop]
    if area := area_of(word, sheet):
        return _unless_external(Piece("area", formula[start:stop], area))
    return Piece("name" if word else "unknown", formula[start : max(stop, end + 1)], sheet=sheet)


def _unless_external(piece: Piece) -> Piece:
    assert piece.area is not None
    outside = "[" in piece.area.sheet or ":" in piece.area.sheet
    return Piece("unknown", piece.text) if outside else piece


def _end_of_word(formula: str, start: int) -> int:
    end = start
    while end < len(formula) and _WORD.match(formula[end]):
        end += 1
    if _NUMBER.match(formula[start:end]) and formula[end - 1] in "eE" and formula[end : end + 1] in ("+", "-"):
        end += 1
    return end


def _end_of_error(formula: str, start: int) -> int:
    """`#N/A`, `#DIV/0!` and their kin; a lone `#` is the mark of a spilled range."""
    for name in ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"):
        if formula.startswith(name, start):
            return start + len(name)
    return start + 1


def _quoted(formula: str, start: int) -> int:
    """The end of a quoted string. A doubled quote is one of its characters."""
    mark, position = formula[start], start + 1
    while position < len(formula):
        if formula[position] == mark:
            if formula[position + 1 : position + 2] != mark:
                return position + 1
            position += 1
        position += 1
    return len(formula)


def _bracketed(formula: str, start: int) -> int:
    depth, position = 0, start
    while position < len(formula):
        if formula[position] == "'":
            position += 1  # it makes the next character plain
        elif formula[position] == "[":
            depth += 1
        elif formula[position] == "]":
            depth -= 1
            if not depth:
                return position + 1
        position += 1
    return len(formula)
