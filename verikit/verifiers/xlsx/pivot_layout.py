"""Reads what a pivot table shows: the item or total that each of its rows and columns stands for.

Programs write several layouts. All are tried, and one must explain every label. The declared layout is not trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

Item = tuple[str, str | float]
"""An item of a field: its type, and its value without upper case."""
Prefix = tuple[Item, ...]
"""The items that a row or column stands for. All records if empty, a subtotal if shorter than the fields."""
Content = str | bool | float | None
Tree = dict[Item, "Tree"]
Subtotals = Literal["none", "top", "bottom"]
BLANK: Item = ("blank", "")
_TOTALS = (
    "total", "result", "résultat", "gesamt", "ergebnis", "totaal", "totaux", "summa", "suma", "yhteensä", "összes",
    "toplam", "celkov", "итог", "підсумок", "усього", "σύνολο", "άθροισμα", "总", "總", "総", "合计", "合計", "총",
    "합계", "الإجمالي", "סכום",
)  # fmt: skip
"""Words of the label of grand totals, in the languages of Excel and LibreOffice."""


def item_of(value: Content) -> Item:
    """The item of a cell of the source. Pivot tables do not tell upper from lower case."""
    if value is None or value == "":
        return BLANK
    if isinstance(value, bool):
        return ("truth", float(value))
    return ("text", value.casefold()) if isinstance(value, str) else ("number", value)


def tree_of(keys: Sequence[Prefix]) -> Tree:
    """The items of the records, each below the item of the field before."""
    tree: Tree = {}
    for key in keys:
        below = tree
        for item in key:
            below = below.setdefault(item, {})
    return tree


@dataclass(frozen=True)
class AxisLayout:
    """How an axis lists its items."""

    own_line: bool
    """Whether outer items have lines of their own, before those of their inner items."""
    one_column: bool
    """Whether all fields share one column of labels."""
    subtotals: Subtotals
    grand: bool
    """Whether there is a line of totals at the end."""


def layouts(depth: int, *, columns: bool) -> Iterator[AxisLayout]:
    """The layouts of an axis with some fields."""
    kinds: list[tuple[bool, bool, Subtotals]] = [(False, False, "none")]
    if depth > 1:
        kinds.append((False, False, "bottom"))
    if depth > 1 and not columns:
        kinds += [(True, one, subtotals) for one, subtotals in product((True, False), get_args(Subtotals))]
    for (own, one, subtotals), grand in product(kinds, (True, False)):
        yield AxisLayout(own, one, subtotals, grand)


Line = Sequence[Content]
"""The labels of a row or column, from the outermost field to the innermost."""


def prefixes(lines: Sequence[Line], tree: Tree, depth: int, layout: AxisLayout, captions: Sequence[str] = (),
             total: str = "") -> list[tuple[Prefix, int] | None] | None:  # fmt: skip
    """What each line of an axis stands for: items and the number of a caption, or None for a line without numbers.

    None: the layout does not explain the labels.

    Args:
        lines: The labels of each line.
        tree: The items of the records.
        depth: The number of fields.
        layout: The layout.
        captions: The names of several values, which are the innermost labels. Empty: there is one value.
        total: The pivot table's own label of grand totals. Empty: the usual one.
    """
    reading = _Reading(lines, depth, layout, [caption.strip().casefold() for caption in captions],
                       total.strip().casefold())  # fmt: skip
    return reading.found if reading.whole(tree) else None


class _Reading:
    def __init__(self, lines: Sequence[Line], depth: int, layout: AxisLayout, captions: Sequence[str], total: str
                 ) -> None:  # fmt: skip
        self._lines, self._depth, self._layout, self._captions, self._total = lines, depth, layout, captions, total
        self.found: list[tuple[Prefix, int] | None] = []

    def whole(self, tree: Tree) -> bool:
        if self._depth and not self._level((), tree):
            return False
        if self._layout.grand and self._depth and not self._is_total(self._next()[:1], tree):
            return False
        if (self._layout.grand or not self._depth) and not self._totals((), 0):
            return False
        return len(self.found) == len(self._lines)

    def _is_total(self, labels: Line, tree: Tree) -> bool:
        """Whether a label is that of a grand total, and not an item."""
        label = _text(labels)
        named = bool(label and label == self._total) or any(word in label for word in _TOTALS)
        return item_of(label) not in tree and named

    def _next(self) -> Line:
        at = len(self.found)
        return self._lines[at] if at < len(self._lines) else ()

    def _level(self, prefix: Prefix, tree: Tree) -> bool:
        level, left = len(prefix), dict(tree)
        column = 0 if self._layout.one_column else level
        while left:
            line = self._next()
            item = _item(line[column], left) if column < len(line) else None
            if item is None:
                return False
            below, inner = left.pop(item), (*prefix, item)
            if not (self._items(inner) if level == self._depth - 1 else self._group(inner, below, column)):
                return False
        return True

    def _group(self, prefix: Prefix, tree: Tree, column: int) -> bool:
        """The lines of an outer item."""
        if self._layout.own_line:
            if not _blank(self._next()[column + 1 :]):
                return False
            self.found.append((prefix, 0) if self._layout.subtotals == "top" else None)
        return self._level(prefix, tree) and (self._layout.subtotals != "bottom" or self._totals(prefix, column))

    def _items(self, prefix: Prefix) -> bool:
        """The lines of an innermost item: one for each caption."""
        for number in range(len(self._captions) or 1):
            line = self._next()
            if self._captions and _text(line[-1:]) != self._captions[number]:
                return False
            column = 0 if self._layout.one_column else len(prefix) - 1
            if not _blank(line[column + 1 : len(line) - bool(self._captions)]):
                return False
            if number and not _blank_or(line[column : column + 1], prefix[-1]):
                return False
            if (not line and self._depth) or not self._repeats(line, prefix[:-1]):
                return False
            self.found.append((prefix, number))
        return True

    def _repeats(self, line: Line, outer: Prefix) -> bool:
        """Whether the labels of outer items are theirs, or are left out as they are in all lines but the first."""
        return self._layout.one_column or all(
            _blank_or(line[column : column + 1], item) for column, item in enumerate(outer)
        )

    def _totals(self, prefix: Prefix, column: int) -> bool:
        """The lines of a total: one for each caption. The label of a subtotal contains that of its item."""
        for number in range(len(self._captions) or 1):
            line = self._next()
            if len(self.found) >= len(self._lines):
                return False
            label, end = _text(line[column : column + 1]), len(line) - bool(self._captions)
            if not _blank(line[column + 1 : end]) or not self._repeats(line, prefix[:-1]):
                return False
            if self._depth and not label:
                return False
            if prefix and prefix[-1][0] == "text" and str(prefix[-1][1]) not in label:
                return False
            if self._captions and not self._is_captioned(label, _text(line[-1:]), number):
                return False
            self.found.append((prefix, number))
        return True

    def _is_captioned(self, label: str, last: str, number: int) -> bool:
        """Whether the labels of a total name a caption: the innermost label, or else a part of the outer one."""
        caption = self._captions[number]
        return last == caption or bool(self._depth and not last and caption in label)


def shows_item(label: Content, items: Set[Item]) -> bool:
    """Whether a label is a number, or one of some items."""
    number = _as_number(label)
    return number[0] != "text" or item_of(label.strip() if isinstance(label, str) else label) in items


def _item(label: Content, left: Tree) -> Item | None:
    """The item among some that a label shows."""
    item = item_of(label.strip() if isinstance(label, str) else label)
    if item in left and item != BLANK:
        return item
    for other in (item_of(label), _as_number(label)):
        if other in left and other != BLANK:
            return other
    empty = isinstance(label, str) and label.startswith("(")  # (blank), in any language
    return BLANK if BLANK in left and empty else None


def _as_number(label: Content) -> Item:
    try:
        return ("number", float(label)) if isinstance(label, str) else item_of(label)
    except ValueError:
        return item_of(label)


def _blank_or(labels: Line, item: Item) -> bool:
    return _blank(labels) or _item(labels[0], {item: {}}) == item


def _blank(labels: Line) -> bool:
    return all(label is None or label == "" for label in labels)


def _text(labels: Line) -> str:
    """The only label as text; empty if it is blank or missing."""
    return "" if _blank(labels) else str(labels[0]).strip().casefold()
