"""Other readings of a gold answer: decimal comma, grouped digits or a list, power of ten, unit in plain letters."""

from __future__ import annotations

import re

from verikit.answers.decimal_commas import may_be_decimal
from verikit.answers.gold import read
from verikit.answers.parser.tree import Node
from verikit.answers.parser.units import parse_unit

_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d)")
_BRACKETS = re.compile(r"[(\[]|\\\{")
_UNIT_PART = re.compile(r"[a-zA-Z]+|\d+|[/*^-]")
_SPACED_POWER = re.compile(r"(\d)\s*e\s*(?:\\,)?([-+])\s*(?:\\,)?(\d)")
_PLAIN_UNIT = re.compile(
    r"(.{0,60}[\d})])\s+([a-zA-Z]{1,3}(?:\s*\^\s*\{?-?\d\}?)?(?:\s*[/*]\s*[a-zA-Z]{1,3}(?:\s*\^\s*\{?-?\d\}?)?)?)"
)


def gold_readings(text: str) -> list[Node]:
    """Other trees of a gold answer: a decimal comma, grouped digits or a list, a power of ten, a unit.

    An answer has only one reading: `0,5` is a list, `1,234` a number and `2e - 5` a difference.
    """
    texts: list[str] = []
    if may_be_decimal(text):
        texts.append(text.replace(",", "."))
    if _GROUPED.search(text):
        texts.append(_GROUPED.sub(_as_list, text))
        if ", " in text or not _BRACKETS.search(text):
            texts.append(_GROUPED.sub(lambda m: m[0].replace(",", ""), text))
    if _SPACED_POWER.search(text):
        texts.append(_SPACED_POWER.sub(r"\1e\2\3", text))
    return [tree for t in texts if t != text and (tree := read(t).tree) is not None] + with_unit(text)


def _as_list(match: re.Match[str]) -> str:
    """Read grouped digits as a list. A list does not contain items such as 000 or 045."""
    return match[0] if ",0" in match[0] else match[0].replace(",", ", ")


def with_unit(text: str) -> list[Node]:
    """The tree of a number with a known unit in plain letters, such as `5 g`, which the parser reads as a product."""
    match = _PLAIN_UNIT.fullmatch(text)
    if match is None or not (unit := parse_unit(_UNIT_PART.findall(match[2]))) or not unit.dimension:
        return []
    tree = read(f"{match[1]} \\text{{{match[2]}}}").tree
    return [] if tree is None else [tree]
