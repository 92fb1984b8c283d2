"""Functions given by cases in any order and notation, also compared with |x - 3| and similar.

Two of them are equal if they are equal on each common interval of their conditions. The map a + (b - a) / (1 + t^2)
takes the whole line onto an interval (a, b), and a + t^2 onto a ray. So equality there is an identity in t.
"""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

from verikit.answers.algebra.equality import EqualityResult, different, equal, undecided
from verikit.answers.algebra.evaluate import OpaqueTerm, Undefined, substitute
from verikit.answers.algebra.identity import identical
from verikit.answers.algebra.labels import assigned
from verikit.answers.algebra.normal import normal
from verikit.answers.algebra.sets import (
    WHOLE_LINE,
    LinePiece,
    Pieces,
    compare_pieces,
    complement,
    infinite,
    intersection,
    merge,
    position,
    to_pieces,
)  # fmt: skip
from verikit.answers.extra import CASES
from verikit.answers.families.base import Context, Family
from verikit.answers.families.pieces import bare, pieces
from verikit.answers.parser import parse
from verikit.answers.parser.tree import ONE, SCALARS, Node, NotMath, TooBig, num, symbols

MAX_CHARS = 1_500
MAX_BRANCHES = 12
_CASES = re.compile(
    r"(?:[A-Za-z](?:\([a-z]\))?\s{0,9}=)?\s{0,9}(?:\\\{\s{0,9})?\\begin\{(?:cases|array)\}(?:\{[lcr| ]{1,8}\})?"
    r"(.*)\\end\{(?:cases|array)\}\s{0,9}\.?",
    re.DOTALL,
)
_LABEL = re.compile(r"\s*[A-Za-z](?:\([a-z]\))?\s*=(?!=)")
_FUNCTION = re.compile(r"^\s{0,9}[A-Za-z]\([a-z]\)\s{0,9}=(?!=)")
_IF = re.compile(r"[,\s]{0,9}\b(?:if|for|when|where|on)\b[,:\s]*")
_ELSE = re.compile(r"[,\s]{0,9}\b(?:otherwise|else|elsewhere)\b\s*")
_T = Node("sym", ("t of the line",))
_SQUARE = Node("pow", (_T, num(2)))


class Branches(NamedTuple):
    """A function's variable and its expressions, each with its condition."""

    variable: str
    branches: tuple[tuple[Node, Pieces], ...]


def _tree(text: str) -> Node | None:
    try:
        return normal(parse(text.strip().rstrip(",.;")))
    except (NotMath, TooBig):
        return None


def _rows(text: str) -> list[tuple[str, str]] | None:
    """(expression, condition) of each case, or None if a text has no cases."""
    cases = _CASES.fullmatch(text.strip())
    if cases:
        cells = [
            row.split("&", 1) if "&" in row else _IF.split(row, 1) for row in re.split(r"\\\\", cases[1]) if row.strip()
        ]
        return [(cell[0], cell[1]) for cell in cells if len(cell) == 2] if all(len(c) == 2 for c in cells) else None
    found: list[tuple[str, str]] = []
    for part in pieces(re.sub(r"\belse\b(?!\s*$)", ", otherwise: ", text)):
        cut = _IF.split(part.text, 1)
        if part.text.startswith("otherwise:"):
            found.append((part.text[10:], "otherwise"))
        elif len(cut) == 2:
            found.append((cut[0], cut[1]))
        elif other := _ELSE.search(part.text):
            found.append((part.text[: other.start()] or part.text[other.end() :], "otherwise"))
        elif found and part.before in ("and", "or"):
            found[-1] = (found[-1][0], f"{found[-1][1]} {part.before} {part.text}")
        else:
            return None
    return found


def read(text: str) -> Branches | None:
    """The cases in a text, at least two. None if there are fewer or one of them is not understood."""
    if len(text) > MAX_CHARS or not CASES.search(text):
        return None
    text = bare(text)
    rows = _rows(_LABEL.sub("", text, count=1) if "\\begin" not in text else text)
    if rows is None or not 2 <= len(rows) <= MAX_BRANCHES:
        return None
    found: list[tuple[Node, Pieces]] = []
    taken: Pieces = []
    names: set[str] = set()
    for expression, condition in rows:
        value = _tree(_FUNCTION.sub("", expression, count=1))
        where = None
        if _ELSE.fullmatch(condition):
            where = list(WHOLE_LINE)
        elif (tree := _tree(_IF.sub("", condition, count=1))) is not None:
            names |= symbols(tree)
            where = to_pieces(tree)
        if value is None or value.op not in SCALARS or where is None or len(names) > 1:
            return None
        try:
            found.append((value, intersection(where, complement(taken))))
            taken = merge(taken + where)
        except (Undefined, OpaqueTerm, TooBig):
            return None
    return Branches(names.pop(), tuple(found)) if names else None


def _everywhere(text: str) -> Branches | None:
    """A single expression in one variable, as a function of one case."""
    tree = _tree(text)
    if tree is not None and tree.op == "rel":
        tree = assigned(tree)
    if tree is None or tree.op not in SCALARS or len(names := symbols(tree)) > 1:
        return None
    return Branches(next(iter(names), ""), ((tree, list(WHOLE_LINE)),))


def _gold(text: str) -> Branches | None:
    return read(text) or (None if "begin" in text else _everywhere(text))


def _match(gold: Branches, text: str, context: Context) -> EqualityResult | None:
    answer = read(text) or (_everywhere(text) if len(gold.branches) > 1 else None)
    if answer is None or (gold.variable and answer.variable and gold.variable != answer.variable):
        return None
    try:
        return _compare(gold, answer, context)
    except (Undefined, OpaqueTerm, TooBig):
        return None


def _compare(gold: Branches, answer: Branches, context: Context) -> EqualityResult:
    domains = [merge([piece for _, where in side.branches for piece in where]) for side in (gold, answer)]
    if not (same := compare_pieces(domains[0], domains[1], context.equality)):
        return different(f"given elsewhere: {same.rule}")
    name, doubt = gold.variable or answer.variable, False
    for (left, where), (right, there) in product(gold.branches, answer.branches):
        for piece in intersection(where, there):
            inside = _onto(piece)
            verdict, stage = identical(substitute(left, name, inside), substitute(right, name, inside))
            if verdict is False:
                return different("another value in one case", stage)
            doubt |= verdict is None
    return undecided("a case that could not be shown equal") if doubt else equal("same function in every case")


def _onto(piece: LinePiece) -> Node:
    """An expression in t whose values are those of a piece, except for an end."""
    if not infinite(piece.low) and not infinite(piece.high):
        if position(piece.low) == position(piece.high):
            return piece.low
        width = Node("add", (piece.high, Node("neg", (piece.low,))))
        return Node("add", (piece.low, Node("div", (width, Node("add", (ONE, _SQUARE))))))
    if infinite(piece.low) and infinite(piece.high):
        return _T
    return Node("add", (piece.high, Node("neg", (_SQUARE,))) if infinite(piece.low) else (piece.low, _SQUARE))


FAMILY = Family("piecewise functions", _gold, _match)
FAMILIES = (FAMILY,)
