"""Formulas with arbitrary constants: antiderivatives, general solutions of linear differential equations.

Let p + C_1 b_1 + … + C_n b_n and q + K_1 d_1 + … + K_n d_n be two formulas. They are the same family of functions if
each d and q - p is a combination of the b's. A determinant decides whether a function is one: that of its values and
the b's at a free point and at n fixed points. It must vanish identically. With a single additive constant, b_1 = 1, so
the two may differ by a constant.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.algebra.evaluate import substitute
from verikit.answers.algebra.identity import identical
from verikit.answers.algebra.labels import assigned
from verikit.answers.algebra.normal import normal
from verikit.answers.families.base import Context, Family
from verikit.answers.families.pieces import bare
from verikit.answers.parser import parse
from verikit.answers.parser.tree import ONE, SCALARS, ZERO, Node, NotMath, TooBig, num, symbols

MAX_CHARS = 400
MAX_CONSTANTS = 3
_ADDED = re.compile(r"\+\s{0,3}c\s*$")
_SURE = re.compile(r"C(?:_\w+)?|c_\w+|K|k_\w+|K_\w+|constant")
_MAYBE = re.compile(r"[CcKkABDE](?:_\w+)?|constant")
_VARIABLES = frozenset("xtyzuvwrs") | {"theta", "phi"}
_WORD = re.compile(r"(?<![a-zA-Z])(?:constant|const\.?)(?![a-zA-Z])")
_WHERE = re.compile(
    r"[,;.]?\s{0,3}\(?(?:where|with|for|and)\s.{0,100}\b(?:constants?|arbitrary)\b.{0,40}$|[,;]\s?C\s?\\in\s?\\mathbb.{0,8}$"
)
_POINTS = (Fraction(7, 5), Fraction(12, 7), Fraction(5, 9))
"""The fixed points of the determinants, inside most domains."""


class General(NamedTuple):
    """A formula, its constants, and its variable."""

    tree: Node
    constants: tuple[str, ...]
    variable: str


def read(text: str, surely: bool) -> General | None:
    """A formula in one variable and constants. With `surely`, only customary names of constants are accepted."""
    if len(text) > MAX_CHARS:
        return None
    text = _WORD.sub("C", _WHERE.sub("", bare(text)))
    try:
        tree = normal(parse(text))
    except (NotMath, TooBig):
        return None
    value = assigned(tree) if tree.op == "rel" else tree
    if value is None or value.op not in SCALARS:
        return None
    names = symbols(value)
    constants = tuple(sorted(name for name in names if (_SURE if surely else _MAYBE).fullmatch(name)))
    others = names - set(constants)
    if not 0 < len(constants) <= MAX_CONSTANTS or len(others) > 1 or not others <= _VARIABLES:
        return None
    return General(value, constants, next(iter(others), "x"))


def _gold(text: str) -> General | None:
    found = read(_ADDED.sub("+ C", text), surely=True)
    return found if found is not None and found.variable in symbols(found.tree) else None


def _match(gold: General, text: str, context: Context) -> EqualityResult | None:
    if any(re.search(rf"(?<![a-zA-Z\\]){name}(?!\w)", context.question) for name in gold.constants):
        return None  # Names in the question are given, not arbitrary.
    answer = read(text, surely=False)
    if answer is None or answer.variable != gold.variable:
        return None
    try:
        verdict = _same(gold, answer)
    except TooBig:
        return None
    if verdict is None:
        return None
    return equal("same functions for all constants") if verdict else different("other functions for some constants")


def _same(gold: General, answer: General) -> bool | None:
    if len(gold.constants) != len(answer.constants):
        return False
    for names in permutations(gold.constants):
        renamed = answer.tree
        for old in answer.constants:
            renamed = substitute(renamed, old, Node("sym", (f"{old} of the answer",)))
        for old, new in zip(answer.constants, names, strict=True):
            renamed = substitute(renamed, f"{old} of the answer", Node("sym", (new,)))
        if identical(gold.tree, renamed)[0]:
            return True
    ours, theirs = _linear(gold), _linear(answer)
    if ours is None or theirs is None:
        return None
    basis, start = ours[1:], ours[0]
    gaps = [*theirs[1:], Node("add", (theirs[0], Node("neg", (start,))))]
    verdicts = [_depends(gap, basis, gold.variable) for gap in gaps]
    if _depends(theirs[1], theirs[2:], gold.variable) is not False:
        return None  # the answer's own constants are not independent
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _linear(general: General) -> list[Node] | None:
    """The part without constants, then the factor of each constant. None if the formula is not linear in them."""
    start = general.tree
    for name in general.constants:
        start = substitute(start, name, ZERO)
    factors = []
    for name in general.constants:
        alone = substitute(general.tree, name, ONE)
        for other in general.constants:
            alone = substitute(alone, other, ZERO)
        factors.append(Node("add", (alone, Node("neg", (start,)))))
    pairs = zip(general.constants, factors, strict=True)
    total = Node("add", (start, *(Node("mul", (Node("sym", (name,)), factor)) for name, factor in pairs)))
    return [start, *factors] if identical(total, general.tree)[0] else None


def _depends(function: Node, basis: list[Node], name: str) -> bool | None:
    """Whether a function is a combination of others, or None if undecided."""
    if identical(function, ZERO)[0]:
        return True
    points = [num(point) for point in _POINTS[: len(basis)]]
    free = [[f, *(substitute(f, name, point) for point in points)] for f in (function, *basis)]
    minor = _determinant([row[1:] for row in free[1:]])
    if identical(minor, ZERO)[0] is not False:
        return None
    return identical(_determinant(free), ZERO)[0]


def _determinant(rows: list[list[Node]]) -> Node:
    """Expansion along the first row. 1 for no rows."""
    if not rows:
        return ONE
    terms = []
    for column, entry in enumerate(rows[0]):
        product = Node("mul", (entry, _determinant([row[:column] + row[column + 1 :] for row in rows[1:]])))
        terms.append(Node("neg", (product,)) if column % 2 else product)
    return Node("add", tuple(terms))


FAMILY = Family("arbitrary constants", _gold, _match)
FAMILIES = (FAMILY,)
