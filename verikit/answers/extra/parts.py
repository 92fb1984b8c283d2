"""Answers in parts: (a) 3, (b) 5; Part 1: 12; Part 2: 15. Each part is compared like a whole answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verikit.answers.algebra.equality import EqualityResult, all_of, different
from verikit.answers.families.base import Context, Family
from verikit.answers.families.pieces import bare, pieces

MAX_CHARS = 2_000
_ORDERS = (tuple("abcdefgh"), ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii"), tuple("12345678"))
_NAME = r"([a-h]|i{1,3}|iv|vi{0,3}|[1-8])"
_LABEL = re.compile(
    rf"(?<![\w\\^_(])(?:(?:[Pp]art|[Qq]uestion)\s{{0,3}}\(?{_NAME}\)?(?:\s{{0,3}}[:.=]|(?=\s))|\({_NAME}\)\s{{0,3}}[:.]?"
    rf"|{_NAME}\)\s{{0,3}}[:.]?)|^[^\S\n]{{0,9}}{_NAME}\.(?=\s)",
    re.MULTILINE,
)
_BRACKET = re.compile(r"[()\[\]{}]")
_LEAD = re.compile(r"[\s*]{0,9}")
_OPERATORS = ("+", "-", "*", "/", "^", "=", "<", ">", "!", "\\cdot", "\\times")
_EDGES = " \t\n,;*"


def _outside(text: str) -> Iterator[re.Match[str]]:
    """The labels outside brackets."""
    depth, position = 0, 0
    for match in _LABEL.finditer(text):
        for bracket in _BRACKET.findall(text, position, match.start()):
            depth = depth + 1 if bracket in "([{" else max(0, depth - 1)
        if depth:
            position = match.start()
        else:
            position = match.end()
            yield match


def labelled(text: str) -> dict[int, str] | None:
    """The parts of a text by number, starting at 0. None if it does not begin with a label or repeats one."""
    if len(text) > MAX_CHARS:
        return None
    text = bare(text)
    lead = _LEAD.match(text)
    marks = [(match, next(name for name in match.groups() if name)) for match in _outside(text)]
    if not marks or lead is None or marks[0][0].start() > lead.end():
        return None
    order = next((o for o in _ORDERS if marks[0][1] in o and all(name in o for _, name in marks)), None)
    if order is None:
        return None
    found: dict[int, str] = {}
    ends = [match.start() for match, _ in marks[1:]] + [len(text)]
    for (match, name), end in zip(marks, ends, strict=True):
        content = re.sub(r"\s(?:and|or)$", "", text[match.end() : end].strip(_EDGES)).strip(_EDGES)
        if not content or (match[0].endswith(")") and text.startswith(_OPERATORS, match.end())):
            return None  # (1)-(2) is a difference
        if order.index(name) in found:
            return None
        found[order.index(name)] = content.removesuffix(".")
    return found


def _gold(text: str) -> tuple[str, ...] | None:
    found = labelled(text)
    if found is None or len(found) < 2 or set(found) != set(range(len(found))):
        return None
    return tuple(found[index] for index in range(len(found)))


def _match(gold: tuple[str, ...], text: str, context: Context) -> EqualityResult | None:
    found = labelled(text)
    if found is None and next(_outside(bare(text)), None):
        # The first label may have been read as the label of the whole answer.
        found = next(filter(None, (labelled(f"{order[0]}) {text}") for order in _ORDERS)), None)
    if found is None:
        listed = [part.text for part in pieces(bare(text))]
        if len(listed) != len(gold):
            return different(f"{len(listed)} parts against {len(gold)}")
        found = dict(enumerate(listed))
    if set(found) != set(range(len(gold))):
        return different("parts left out")
    return all_of([context.same(part, found[index]) for index, part in enumerate(gold)], "same parts")


FAMILY = Family("parts", _gold, _match)
FAMILIES = (FAMILY,)
