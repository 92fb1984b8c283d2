"""The tail: sympy decides the few undecided pairs of scalars, in a helper process, within a budget of steps.

The helper receives verikit's trees as JSON and builds sympy objects from a whitelist of operators. sympy parses no
text, and evaluates only what is within the caps. Running out of steps or memory is a limit caused by the candidate. A
helper that can't be started is an error that the candidate did not cause.

A step is a call or return within sympy, so no verdict depends on the clock or the machine's load. The pairs of a group
share a budget. Up to `FULL` pairs have a full budget each. More pairs have equal parts, in any order.
"""

from __future__ import annotations

import math
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from verikit.answers.algebra.equality import EqualityResult, different, equal, undecided
from verikit.answers.algebra.evaluate import exact
from verikit.answers.parser.tree import Node, from_json, to_json
from verikit.errors import HelperError, HelperTimeout
from verikit.helper import Helper

_FUNCTIONS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "coth": "coth", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arccot": "acot",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "ln": "log", "log": "log", "abs": "Abs",
    "floor": "floor", "ceil": "ceiling", "gcd": "gcd", "lcm": "lcm", "max": "Max", "min": "Min", "mod": "Mod",
    "binom": "binomial", "sgn": "sign",
}  # fmt: skip
MAX_POWER = 2_000
"""Maximum exponent passed to sympy."""
STEPS_PER_SECOND = 5_000_000
"""Approximate rate on a typical CPU."""
FULL = 20
"""Maximum number of pairs in a group with a full budget each. More pairs share the total."""
LEAST = 10
"""A pair gets at least 1 / `LEAST` of a full budget."""
BACKSTOP = 5
"""A call ends after this multiple of the usual CPU time of its steps, in case a single step is slow."""
_WAIT_S = 60.0
"""Wall-clock limit of a call, for a busy machine."""
_KEPT = 4096
_OUT_OF_STEPS = "out of steps"


class Tail:
    """Decides two scalar trees with sympy, in about `seconds` of CPU time, counted in steps."""

    def __init__(self, seconds: float = 0.2, memory_mb: int = 2048, workers: int = 2) -> None:
        self.seconds = seconds
        self.helper: Helper = Helper(workers, memory_mb, preload=("verikit.answers.tail:warm",))
        self._known: OrderedDict[tuple[Node, Node, float], EqualityResult] = OrderedDict()

    def __call__(self, gold: Node, answer: Node) -> EqualityResult:
        """Compare two trees. Pairs that sympy can't decide stay undecided.

        Raises:
            HelperError: The helper process could not be started or died, or the machine is too busy.
        """
        return self._within(self.seconds, gold, answer)

    def shared(self, pairs: int) -> Callable[[Node, Node], EqualityResult]:
        """A comparison for each of this number of pairs, with its part of the group's budget."""
        seconds = self.seconds * min(1.0, max(1 / LEAST, FULL / max(1, pairs)))
        return lambda gold, answer: self._within(seconds, gold, answer)

    def _within(self, seconds: float, gold: Node, answer: Node) -> EqualityResult:
        key = (gold, answer, seconds)
        if (known := self._known.get(key)) is not None:
            return known
        found = self._known[key] = self._ask(seconds, gold, answer)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return found

    def _ask(self, seconds: float, gold: Node, answer: Node) -> EqualityResult:
        steps, cpu_s = int(seconds * STEPS_PER_SECOND), seconds * BACKSTOP
        try:
            verdict = self.helper.call(
                "verikit.answers.tail:within", to_json(gold), to_json(answer), steps, cpu_s, timeout=_WAIT_S
            )
        except HelperTimeout as error:
            if "time" in str(error):  # far more CPU time than available
                raise HelperError(f"the machine is too busy: no reply within {_WAIT_S:.0f} s") from None
            verdict = "out of memory" if "memory" in str(error) else _OUT_OF_STEPS
        if isinstance(verdict, str):
            return EqualityResult("limit", f"the computer algebra ran {verdict}", "sympy")
        if verdict is True:
            return equal("shown equal by computer algebra", "sympy")
        if verdict is False:
            return different("shown different by computer algebra", "sympy")
        return undecided("could not be shown equal or different", "sympy")


def warm() -> None:
    """In the helper, before its workers are forked: load and cache what sympy needs at the first use of operations."""
    import sympy

    x, n = sympy.Symbol("x", real=True), sympy.Symbol("n", real=True)
    sympy.simplify(sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - x)
    (sympy.sqrt(2) + sympy.sqrt(3) - sympy.sqrt(5 + 2 * sympy.sqrt(6))).equals(0)
    bell = sympy.Integral(sympy.exp(-(x**2)), (x, 0, sympy.oo))
    for lazy in (bell, sympy.Integral(x * sympy.exp(x), (x, 0, 1)), sympy.Sum(1 / n**2, (n, 1, sympy.oo))):
        lazy.doit()
    sympy.Limit(sympy.sin(x) / x, x, 0).doit()


class _OutOfStepsError(BaseException):
    """Derives from `BaseException` to pass every `except Exception` in sympy."""


def within(gold: Any, answer: Any, steps: int, cpu_s: float) -> bool | str | None:
    """In the helper: the result of `decide`, or "out of steps". The process ends if one step takes too long."""
    import resource

    from sympy.core.cache import clear_cache

    clear_cache()  # caches filled by an earlier pair would save steps of this one
    taken = 0

    def count(*_: Any) -> None:
        nonlocal taken
        taken += 1
        if taken > steps:
            raise _OutOfStepsError

    before, most = resource.getrlimit(resource.RLIMIT_CPU)
    end = math.ceil(time.process_time() + cpu_s)
    resource.setrlimit(resource.RLIMIT_CPU, (end if before == resource.RLIM_INFINITY else min(end, before), most))
    sys.setprofile(count)
    try:
        return decide(gold, answer)
    except _OutOfStepsError:
        return _OUT_OF_STEPS
    finally:
        sys.setprofile(None)
        resource.setrlimit(resource.RLIMIT_CPU, (before, most))


def decide(gold: Any, answer: Any) -> bool | None:
    """In the helper: whether two trees are equal, or None if sympy can't decide."""
    try:
        gap = build(from_json(gold)) - build(from_json(answer))
        return _zero(gap)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - sympy raises whatever an answer brings about, and the pair is undecided then
        return None


def _zero(gap: Any) -> bool | None:
    import sympy

    if gap == 0:
        return True
    done = gap.doit()
    if done == 0:
        return True
    verdict = sympy.simplify(done)
    if verdict == 0:
        return True
    if verdict.free_symbols or not verdict.is_number:
        return None
    known: bool | None = verdict.equals(0)
    return known


def build(node: Node) -> Any:
    """The sympy object of a scalar tree.

    Raises:
        ValueError: An operator that is not on the whitelist, or a power that is too large.
    """
    import sympy

    op, args = node
    if op == "num":
        return sympy.Rational(args[0].numerator, args[0].denominator)
    if op == "sym":
        return sympy.Symbol(args[0], real=True)
    if op == "const":
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "inf": sympy.oo}[args[0]]
    if op in ("add", "mul"):
        return (sympy.Add if op == "add" else sympy.Mul)(*(build(a) for a in args))
    if op == "neg":
        return -build(args[0])
    if op == "div":
        return build(args[0]) / build(args[1])
    if op == "pow":
        power = exact(args[1])
        if power is not None and abs(float(power)) > MAX_POWER:
            raise ValueError("a power too large")
        return build(args[0]) ** build(args[1])
    if op == "fn" and args[0] in _FUNCTIONS:
        values = [build(a) for a in args[1:]]
        function = getattr(sympy, _FUNCTIONS[args[0]])
        return function(values) if args[0] in ("gcd", "lcm") else function(*values)
    return _rarely(op, args)


def _over_range(op: str, args: tuple[Any, ...], body: Any, variable: Any) -> Any:
    """A limit, an integral, a sum or a product."""
    import sympy

    if op == "lim":
        return sympy.Limit(body, variable, build(args[1]), args[2]).doit()
    if op == "int":
        limits = (variable, build(args[1]), build(args[2])) if args[4] else variable
        return sympy.Integral(body, limits)
    return (sympy.Sum if op == "sum" else sympy.Product)(body, (variable, build(args[1]), build(args[2])))


def _rarely(op: str, args: tuple[Any, ...]) -> Any:
    import sympy

    if op == "apply":
        return sympy.Function(args[0].args[0])(*(build(a) for a in args[1:]))
    if op == "fact":
        n = exact(args[0])
        if n is not None and abs(float(n)) > MAX_POWER:
            raise ValueError("a factorial too large")
        return sympy.factorial(build(args[0]))
    if op == "pct":
        return build(args[0]) / 100
    if op == "deg":
        return build(args[0]) * sympy.pi / 180
    if op == "deriv":
        variable = sympy.Symbol(args[0].args[0], real=True)
        return sympy.Derivative(build(args[2]), (variable, args[1]))
    if op in ("sum", "prod", "int", "lim"):
        variable = sympy.Symbol(args[0].args[0], real=True)
        body = build(args[3])
        bound = next((s for s in body.free_symbols if s.name == variable.name), variable)
        return _over_range(op, args, body, bound)
    raise ValueError(f"sympy has no form of {op}")
