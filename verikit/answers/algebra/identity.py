"""Whether two scalar trees are equal everywhere: exactly, then modulo primes, then at sample points.

Equal images modulo two primes show equality. Unequal images show a difference, unless a part had no image. Otherwise
real sample points of both signs decide. One clear difference is a difference, and agreement is accepted only if 60
digits confirm it. Points at which either side is undefined or not real are skipped.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from verikit.answers.algebra.analytic import AnalyticField, FloatField, ManyDigits
from verikit.answers.algebra.evaluate import OpaqueTerm, Overflow, Undefined
from verikit.answers.algebra.modular import PRIMES, ModularField
from verikit.answers.algebra.samples import TRIALS, branch_points, branched, spread_points
from verikit.answers.parser.tree import Node, TooBig, symbols

NEEDED = 3
"""Minimum number of sample points that must agree, if there are symbols."""
_LOG = frozenset(("log",))
_STEPPED = frozenset(("floor", "ceil", "mod", "sgn", "max", "min"))
_WHOLE = frozenset("nmkjl")
_DIFFERENT = 1e-7
_SAME = 1e-11
_LARGE = 1e4


def identical(a: Node, b: Node) -> tuple[bool | None, str]:
    """Whether two scalars are the same function of their symbols, and the stage that decided.

    A log without a base in `a`, the gold answer, may be natural or decimal. A log only in `b` is natural.

    None: undecided (no common domain found, or only a computer algebra system can decide).

    Raises:
        TooBig: Over a budget.
    """
    if a == b:
        return True, "same tree"
    if a.op == "num" and b.op == "num":
        return a.args[0] == b.args[0], "exact numbers"
    verdict, stage = _identical(a, b, "e")
    if not verdict and _calls(a, _LOG):
        other, other_stage = _identical(a, b, "10")
        if other or verdict is None:
            return other, other_stage
    return verdict, stage


def _calls(node: Node, names: frozenset[str]) -> bool:
    """Whether a tree applies one of these functions."""
    stack = [node]
    while stack:
        top = stack.pop()
        if top.op == "fn" and top.args[0] in names:
            return True
        stack.extend(arg for arg in top.args if type(arg) is Node)
    return False


def _identical(a: Node, b: Node, log_base: str) -> tuple[bool | None, str]:
    verdict = _modular(a, b, log_base)
    if verdict is not None:
        return verdict, "modular"
    return _numeric(a, b, log_base), "numeric"


def _image(field: ModularField, node: Node) -> int | None:
    try:
        image: int = field.value(node)
    except Undefined:
        return None
    return image


def _modular(a: Node, b: Node, log_base: str) -> bool | None:
    """Equality of images modulo each prime. None if unequal images are inconclusive."""
    for seed, prime in enumerate(PRIMES):
        field = ModularField(prime, seed, log_base)
        left, right = _image(field, a), _image(field, b)
        if left is None or right is None:
            return None if (left is None and right is None) or field.opaque_seen else False
        if left != right:
            return None if field.opaque_seen else False
    return True


def _outcome_at(point: dict[str, Fraction], a: Node, b: Node, log_base: str) -> str:
    """The outcome with floats, or with many digits if rounding could hide it."""
    outcome = _compare_at(point, a, b, log_base, FloatField(point, log_base))
    return outcome if outcome != "unsure" else _compare_at(point, a, b, log_base, ManyDigits(point, log_base))


def _numeric(a: Node, b: Node, log_base: str) -> bool | None:
    names = sorted(symbols(a) | symbols(b))
    stepped = bool(names) and (_calls(a, _STEPPED) or _calls(b, _STEPPED))
    needed = TRIALS if stepped else NEEDED
    agreed: list[dict[str, Fraction]] = []
    for point in spread_points(tuple(names), 41 if stepped else 1):
        outcome = _outcome_at(point, a, b, log_base)
        if outcome in ("different", "unsure"):
            return False if outcome == "different" else None
        if outcome == "same":
            agreed.append(point)
            if len(agreed) >= (needed if names else 1):
                break
    if not agreed and names and _WHOLE.issuperset(names):
        return _at_whole_numbers(names, a, b, log_base)
    if not agreed or (names and len(agreed) < 2):
        return None
    if names and _differ_between_branches(names, a, b, log_base, agreed[0]):
        return False
    confirmed = _compare_at(agreed[-1], a, b, log_base, ManyDigits(agreed[-1], log_base))
    return {"same": True, "different": False}.get(confirmed)


def _differ_between_branches(names: list[str], a: Node, b: Node, log_base: str, agreed: dict[str, Fraction]) -> bool:
    """Whether functions with branches, such as |x|, differ at a point of some branch."""
    if not (branched(a) or branched(b)):
        return False
    return any(_differ_at(point, a, b, log_base) for point in branch_points(tuple(names), a, b, log_base, agreed))


def _differ_at(point: dict[str, Fraction], a: Node, b: Node, log_base: str) -> bool:
    """Whether two trees certainly differ at a point. Floats are not used if large terms could hide the difference."""
    field = FloatField(point, log_base)
    outcome = _compare_at(point, a, b, log_base, field)
    if outcome == "skip" or (outcome == "same" and field.widest < _LARGE):
        return False
    return _compare_at(point, a, b, log_base, ManyDigits(point, log_base)) == "different"


def _at_whole_numbers(names: list[str], a: Node, b: Node, log_base: str) -> bool | None:
    """Compare functions of n, k, m that have no value between the integers, like (-1)**n."""
    for trial in range(6):
        point = {name: Fraction(trial * (index + 1) % 7 + 1) for index, name in enumerate(names)}
        outcome = _compare_at(point, a, b, log_base, ManyDigits(point, log_base))
        if outcome != "same":
            return False if outcome == "different" else None
    return True


def _by_gap(gap: Any, size: Any, field: ManyDigits) -> str:
    """Whether a gap is one of rounding only, in numbers of this size and of the field's digits."""
    same = field.context.mpf(10) ** -(field.digits * 2 // 3)
    if gap <= same * size:
        return "same"
    return "different" if gap > same * size * 10**6 else "unsure"


def _compare_at(point: dict[str, Fraction], a: Node, b: Node, log_base: str, field: AnalyticField) -> str:
    """'same', 'different', 'unsure' (rounding could hide either) or 'skip' (no value there)."""
    try:
        left, right = field.value(a), field.value(b)
    except Overflow as error:
        if point:
            return "skip"
        if isinstance(field, FloatField):
            return "unsure"
        raise TooBig(str(error)) from None
    except (Undefined, OpaqueTerm):
        return "skip"
    if point and not field.is_complex and (field.complex_value(left) or field.complex_value(right)):
        return "skip"
    gap: Any = abs(left - right)
    size: Any = max(abs(left), abs(right), field.scale)
    if isinstance(field, ManyDigits):
        widest = max(field.scale, field.widest)
        if widest > 10 ** (field.digits // 4) and field.digits < 700:
            more = 60 + 3 * len(str(int(widest)))
            return _compare_at(point, a, b, log_base, ManyDigits(point, log_base, max(more, field.digits * 2)))
        return _by_gap(gap, size, field)
    if field.huge_argument:
        return "unsure"
    if gap > _DIFFERENT * size:
        return "different"
    return "same" if gap <= _SAME * size else "unsure"
