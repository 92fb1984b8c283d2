"""Compares two scalars: units, percent and money are removed, and decimals rounded if the gold answer is rounded."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from verikit.answers.algebra.equality import Equality, EqualityResult, different, equal, undecided
from verikit.answers.algebra.evaluate import OpaqueTerm, Undefined, exact
from verikit.answers.algebra.identity import identical
from verikit.answers.parser.tree import Node, TooBig, children, num, symbols
from verikit.answers.parser.units import Unit

_MARKS = frozenset(("pct", "deg", "qty"))
_HUNDRED = num(100)
_LONG_DECIMAL = 10
"""Number of significant digits at which a decimal can represent the exact number that it rounds."""


class Peeled(NamedTuple):
    """A value without its outermost mark, and the mark: '', 'pct', 'deg', or 'qty' with its unit."""

    value: Node
    mark: str
    unit: Unit | None


def peel(node: Node) -> Peeled:
    """Move a leading sign inwards and remove the outermost percent sign, degree sign or unit."""
    if node.op == "neg" and node.args[0].op in _MARKS:
        inner = peel(node.args[0])
        return Peeled(Node("neg", (inner.value,)), inner.mark, inner.unit)
    if node.op in ("pct", "deg"):
        return Peeled(node.args[0], node.op, None)
    if node.op == "qty":
        if node.args[0].op in ("deg", "pct"):
            return peel(node.args[0])
        return Peeled(node.args[0], "qty", node.args[1])
    return _peel_product(node) if node.op == "mul" else Peeled(node, "", None)


def _peel_product(node: Node) -> Peeled:
    """Peel the only factor with a mark, if the others are numbers."""
    marked = [arg for arg in node.args if _is_marked(arg)]
    if len(marked) == 1 and all(arg is marked[0] or not symbols(arg) for arg in node.args):
        inner = peel(marked[0])
        if inner.mark:
            args = tuple(inner.value if arg is marked[0] else arg for arg in node.args)
            return Peeled(Node("mul", args), inner.mark, inner.unit)
    return Peeled(node, "", None)


def _is_marked(node: Node) -> bool:
    return node.op in _MARKS or (node.op == "neg" and node.args[0].op in _MARKS)


def compare_scalars(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    """Compare two scalars.

    Raises:
        TooBig: Over a budget.
    """
    if gold == answer:
        return equal("same expression", "same tree")
    if gold.op == answer.op == "num":
        if gold.args[1] is answer.args[1] is None and not equality.tolerance:
            return different("another value", "exact numbers")  # neither is a decimal, so nothing is rounded
        return _values(gold, answer, equality)
    if gold.op == "based" or answer.op == "based":
        match = _bases(gold, answer)
        if match is not None:
            return match
    return _with_marks(gold, answer, equality)


def _with_marks(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    """Compare scalars that may have a unit or a percent sign."""
    g, a = peel(gold), peel(answer)
    if g.mark == a.mark == "":
        return _values(gold, answer, equality)
    if g.mark == a.mark:
        other_units = g.unit is not None and a.unit is not None and g.unit != a.unit
        return _two_units(g, a, equality) if other_units else _values(g.value, a.value, equality)
    if equality.units == "required" and not a.mark:
        return different("the gold's unit is missing")
    if g.mark and a.mark and not (equality.lenient or _counts(g) or _counts(a)):
        return different("units that disagree")
    match = _values(g.value, a.value, equality)
    return match if match else _other_reading(g, a, equality) or match


def _counts(peeled: Peeled) -> bool:
    return peeled.unit is not None and not peeled.unit.dimension


def _other_reading(g: Peeled, a: Peeled, equality: Equality) -> EqualityResult | None:
    """5% as 0.05, 180 degrees as pi. None if that does not match either."""
    for mark, scale in (("pct", "percent as a fraction"), ("deg", "degrees as radians")):
        if mark == "pct" and not equality.percent:
            continue
        pair = _without_mark(g, a, mark)
        if pair is not None and (match := _values(*pair, equality)):
            return equal(scale, match.stage)
    return None


def _without_mark(g: Peeled, a: Peeled, mark: str) -> tuple[Node, Node] | None:
    """Two values that are equal if a mark that only one of them has can be left out. None if not only one has it."""
    if a.mark == mark and not g.mark:
        return g.value, Node(mark, (a.value,))
    if g.mark != mark or a.mark:
        return None
    return (g.value, Node("mul", (a.value, _HUNDRED))) if mark == "pct" else (Node("deg", (g.value,)), a.value)


def _two_units(g: Peeled, a: Peeled, equality: Equality) -> EqualityResult:
    assert g.unit is not None
    assert a.unit is not None
    if equality.units == "ignored" or _counts(g) or _counts(a):
        return _values(g.value, a.value, equality)
    if g.unit.dimension != a.unit.dimension:
        return _values(g.value, a.value, equality) if equality.lenient else different("units that disagree")
    factor = a.unit.scale / g.unit.scale
    return _values(g.value, Node("mul", (a.value, num(factor))) if factor != 1 else a.value, equality)


def _bases(gold: Node, answer: Node) -> EqualityResult | None:
    """Compare numbers in other bases. If one side has no base, its digits are read in the other's.

    A gold answer without a base is never the value: 101_2 is a right answer for 101 or for 5, not for both.
    """
    if gold.op == answer.op == "based":
        return equal("same value in its base") if gold.args[0] == answer.args[0] else different("other value")
    based, plain = (gold, answer) if gold.op == "based" else (answer, gold)
    if plain.op == "num" and str(plain.args[0]) == based.args[1]:
        return equal("the base left out")
    return different("other digits in a base") if answer is based else None


def _values(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    """Compare without marks, then with the roundings that the rules allow."""
    try:
        verdict, stage = identical(gold, answer)
    except TooBig:
        verdict, stage = _by_structure(gold, answer), "structure"
        if verdict is None:
            raise
    if verdict:
        return equal(f"same {_kind(gold)}", stage)
    if equality.rounding == "gold" and _rounds(gold, answer):
        return equal("rounds to the gold", "exact numbers")
    if equality.tolerance and _within(gold, answer, equality.tolerance):
        return equal(f"within {equality.tolerance:g}", "tolerance")
    if verdict is None:
        return _compare_structures(gold, answer, stage)
    return different("another expression" if symbols(gold) else "another value", stage)


def _kind(gold: Node) -> str:
    return "expression" if symbols(gold) else "number"


def _compare_structures(gold: Node, answer: Node, stage: str) -> EqualityResult:
    """Compare what could not be computed."""
    same = _by_structure(gold, answer)
    if same is None:
        return undecided("could not be shown equal or different", stage)
    return equal("same structure") if same else different("powers that differ", "structure")


def _by_structure(a: Node, b: Node) -> bool | None:
    """Compare numbers that are too large to compute: powers of one base by exponents, factorials by arguments."""
    if a.op == b.op == "pow" and a.args[0] == b.args[0]:
        base = exact(a.args[0])
        if base is not None and base > 1:
            return _maybe(a.args[1], b.args[1])
    if a.op == b.op == "fact":
        return _maybe(a.args[0], b.args[0])
    if a.op == b.op == "neg":
        return _by_structure(a.args[0], b.args[0])
    return None


def _maybe(a: Node, b: Node) -> bool | None:
    try:
        verdict = identical(a, b)[0]
    except TooBig:
        verdict = None
    return _by_structure(a, b) if verdict is None else verdict


def _decimal(node: Node) -> tuple[Fraction, int] | None:
    """Value and places of a decimal literal, with its sign."""
    sign = 1
    if node.op == "neg":
        sign, node = -1, node.args[0]
    if node.op != "num" or node.args[1] is None:
        return None
    return sign * Fraction(node.args[0]), node.args[1]


def _has_decimal(node: Node) -> bool:
    stack = [node]
    while stack:
        top = stack.pop()
        if top.op == "num":
            if top.args[1] is not None:
                return True
        else:
            stack.extend(children(top))
    return False


def _rounds(gold: Node, answer: Node) -> bool:
    """Whether one is a decimal with enough digits and the other an exact number that rounds to it.

    A decimal gold answer needs two places and three digits. A decimal answer to an exact gold answer needs
    `_LONG_DECIMAL` digits.
    """
    decimal, exact_side, needed = _decimal(gold), answer, 3
    if decimal is None:
        decimal, exact_side, needed = _decimal(answer), gold, _LONG_DECIMAL
    if decimal is None or symbols(exact_side) or _has_decimal(exact_side):
        return False
    value, places = decimal
    digits = len(str(abs(value.numerator * 10**places // value.denominator)))
    if places < 2 or digits < needed:
        return False
    rational = exact(exact_side)
    if rational is not None and _terminates(Fraction(rational)):
        return False
    return _near(exact_side, value, Fraction(1, 2 * 10**places))


def _terminates(value: Fraction) -> bool:
    bottom = value.denominator
    for factor in (2, 5):
        while bottom % factor == 0:
            bottom //= factor
    return bottom == 1


def _near(node: Node, value: Fraction, gap: Fraction) -> bool:
    """Whether a constant is within `gap` of `value`."""
    from verikit.answers.algebra.analytic import ManyDigits

    rational = exact(node)
    if rational is not None:
        return abs(rational - value) <= gap
    field = ManyDigits({})
    try:
        found = field.value(node)
    except (Undefined, OpaqueTerm, TooBig):
        return False
    if field.complex_value(found):
        return False
    return bool(abs(found - field.number(value)) <= field.number(gap))


def _within(gold: Node, answer: Node, tolerance: float) -> bool:
    value = exact(gold)
    if value is None or symbols(answer):
        return False
    return _near(answer, Fraction(value), abs(Fraction(value)) * Fraction(tolerance))
