"""Sample points for an identity: spread in sign and size and, for functions with branches, on every side of them.

Roots, absolute values and steps combine pieces that agree only on a part of the line: `sqrt((x - 50)**2)` is `x - 50`
beyond 50 and its negative before. Such pieces meet at a sign change of some sum in the trees. So a point is sampled on
either side of every sign change that a scan of each variable finds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product

from verikit.answers.algebra.analytic import FloatField
from verikit.answers.algebra.evaluate import OpaqueTerm, Undefined
from verikit.answers.parser.tree import Node, children, symbols

Point = dict[str, Fraction]
TRIALS = 8
"""Number of points for trees without branches."""
MAX_SUMS = 12
"""Maximum number of sums whose signs are tracked."""
MAX_STEPS = 40_000
"""Maximum number of nodes evaluated while searching for sign changes from one base point."""
MAX_CELLS = 24
"""Maximum number of pieces of one variable's line that get a point."""
_PARTS = (0.34, 0.6)
"""Where the points of a piece lie. Functions often have no value, or zero, at its middle."""
_BRANCHED = frozenset("abs sgn max min floor ceil mod arcsin arccos arctan arccot arcsec arccsc".split())
_GRID = sorted({s * k * 10.0**e for e in (-2, -1, 0, 1, 2, 3) for k in (1.1, 3.7) for s in (1, -1)} | {0.003})


@lru_cache(maxsize=512)
def _sample(name: str, trial: int) -> Fraction:
    digest = hashlib.blake2b(f"{name} {trial}".encode(), digest_size=4).digest()
    return Fraction(int.from_bytes(digest, "big") % 9_973 + 401, 4_001)


def spread_points(names: tuple[str, ...], factor: int = 1) -> Iterator[Point]:
    """One point for constants. Otherwise positive, mixed, negative, small and large ones, `factor` times as far."""
    if not names:
        yield {}
        return
    for trial in range(TRIALS):
        point: Point = {}
        for index, name in enumerate(names):
            value = _sample(name, trial)
            if trial in (1, 5):
                value = value if (index + trial) % 2 else -value
            elif trial in (2, 6):
                value = -value
            elif trial == 3:
                value = value / 4
            elif trial == 4:
                value = value * 7 + 3
            point[name] = value * factor
        yield point


def branched(node: Node) -> bool:
    """Whether a tree combines pieces: steps, absolute values, inverse functions, roots of symbols."""
    stack = [node]
    while stack:
        top = stack.pop()
        if top.op == "fn" and top.args[0] in _BRANCHED:
            return True
        if top.op == "pow" and not _whole(top.args[1]) and symbols(top.args[0]):
            return True
        stack.extend(children(top))
    return False


def _whole(exponent: Node) -> bool:
    while exponent.op == "neg":
        exponent = exponent.args[0]
    return exponent.op == "num" and type(exponent.args[0]) is int


def branch_points(names: tuple[str, ...], a: Node, b: Node, log_base: str, agreed: Point) -> Iterator[Point]:
    """Points of every sign, and on either side of the sign changes of both trees' sums along one variable.

    Both trees have a value at `agreed`. At the other points with its signs, they may have none.
    """
    yield from _orthants(names)
    sums = list(dict.fromkeys((*_sums(a), *_sums(b), a, b)))[-MAX_SUMS:]
    spread = list(spread_points(names))
    bases = [spread[0], spread[2]] if len(names) <= 2 else spread[:1]
    for base in bases if agreed in bases else [*bases, agreed]:
        scan = _Scan(base, log_base)
        for name in names:
            for value in scan.cells(sums, name):
                yield base | {name: Fraction(value).limit_denominator(10**6)}


def _orthants(names: tuple[str, ...]) -> Iterator[Point]:
    """A small and a larger point for each pattern of signs. With more than four variables, some move together."""
    for trial, base in enumerate(spread_points(names)):
        if trial in (0, 4):
            for signs in product((1, -1), repeat=min(len(names), 4)):
                yield {name: abs(base[name]) * signs[index % 4] for index, name in enumerate(names)}


def _sums(node: Node) -> Iterator[Node]:
    """The sums with symbols inside of a tree."""
    stack = [node]
    while stack:
        top = stack.pop()
        if top.op == "add" and symbols(top):
            yield top
        stack.extend(children(top))


class _Scan:
    """Searches for sign changes along one variable, with the others fixed at `base`, within a budget of steps."""

    def __init__(self, base: Point, log_base: str) -> None:
        self.base = base
        self.log_base = log_base
        self.steps = MAX_STEPS

    def cells(self, sums: list[Node], name: str) -> list[float]:
        """Values of the variable in each piece of its line between sign changes."""
        found = {0.0}
        for node in sums:
            if name in symbols(node):
                found.update(self._sign_changes(node, name))
        cuts = sorted(found)[:MAX_CELLS]
        pieces = [(low, high) for low, high in pairwise(cuts) if high - low > 1e-9 * max(1, abs(low))]
        inner = [low + part * (high - low) for low, high in pieces for part in _PARTS]
        return [cuts[0] - 1.7, cuts[-1] + 1.9, *inner, -0.4, 0.3, -12.3, 1e4, -1e4]

    def _sign_changes(self, node: Node, name: str) -> list[float]:
        """The sign changes of a sum: the roots of parabolas, or a scan with bisection."""
        known = [(x, value) for x in _GRID if (value := self._value(node, name, x)) is not None]
        if (roots := _parabola(known)) is not None:
            return roots
        return [
            self._halve(node, name, left[0], right[0], left[1] < 0)
            for left, right in pairwise(known)
            if (left[1] < 0) != (right[1] < 0)
        ]

    def _halve(self, node: Node, name: str, low: float, high: float, below: bool) -> float:
        for _ in range(24):
            middle = (low + high) / 2
            if (value := self._value(node, name, middle)) is None:
                break
            low, high = (middle, high) if (value < 0) == below else (low, middle)
        return (low + high) / 2

    def _value(self, node: Node, name: str, x: float) -> float | None:
        if self.steps <= 0:
            return None
        field = FloatField(self.base | {name: Fraction(x)}, self.log_base)
        try:
            value = field.value(node)
        except (Undefined, OpaqueTerm):
            return None
        finally:
            self.steps -= field.steps
        return value if isinstance(value, float) else None


def _parabola(known: list[tuple[float, float]]) -> list[float] | None:
    """The roots of the parabola (or line) through all points, or None if there is no such parabola."""
    if len(known) < 6:
        return None
    (x0, y0), (x1, y1), (x2, y2) = known[0], known[len(known) // 2], known[-1]
    slope, other = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    a = (other - slope) / (x2 - x0)
    b = slope - a * (x0 + x1)
    c = y0 - x0 * (b + a * x0)
    scale = abs(a * x0 * x0) + abs(b * x0) + abs(c)
    a, b = a if abs(a * x0 * x0) > 1e-12 * scale else 0, b
    if any(abs(y - (a * x * x + b * x + c)) > 1e-9 * scale for x, y in known):
        return None
    if not a:
        return [-c / b] if b else []
    square = b * b - 4 * a * c
    return sorted((-b + sign * square**0.5) / (2 * a) for sign in (1, -1)) if square >= 0 else []
