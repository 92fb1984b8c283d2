"""The tail: sympy, for the few pairs of scalars that stay undecided, in a helper process with a deadline.

The helper gets our own trees as JSON and builds sympy objects from a whitelist of operators; no text is parsed by
sympy, and nothing is evaluated that the caps did not let through. What runs out of time or memory is a limit, which the
candidate caused; a helper that can't be started is an error, which it did not.
"""

from __future__ import annotations

from typing import Any

from verikit.answers.equality import EqualityResult, different, equal, undecided
from verikit.answers.evaluate import exact
from verikit.answers.tree import Node, from_json, to_json
from verikit.errors import HelperTimeout
from verikit.helper import Helper

_FUNCTIONS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "coth": "coth", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arccot": "acot",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "ln": "log", "log": "log", "abs": "Abs",
    "floor": "floor", "ceil": "ceiling", "gcd": "gcd", "lcm": "lcm", "max": "Max", "min": "Min", "mod": "Mod",
    "binom": "binomial", "sgn": "sign",
}  # fmt: skip
MAX_POWER = 2_000
"""Exponents beyond it are not given to sympy."""


class Tail:
    """Decides two scalar trees with sympy within `seconds`."""

    def __init__(self, seconds: float = 0.2, memory_mb: int = 2048, workers: int = 2) -> None:
        self.seconds = seconds
        self.helper: Helper = Helper(workers, memory_mb, preload=("verikit.answers.tail:warm",))

    def __call__(self, gold: Node, answer: Node) -> EqualityResult:
        """Compare; a pair sympy can't decide stays undecided.

        Raises:
            HelperError: the helper process could not be started or died.
        """
        try:
            verdict = self.helper.call(
                "verikit.answers.tail:decide", to_json(gold), to_json(answer), timeout=self.seconds
            )
        except HelperTimeout as error:
            return EqualityResult("limit", f"the computer algebra ran {error}", "sympy")
        if verdict is True:
            return equal("shown equal by computer algebra", "sympy")
        if verdict is False:
            return different("shown different by computer algebra", "sympy")
        return undecided("could not be shown equal or different", "sympy")


def warm() -> None:
    """In the helper, before its workers are forked: what sympy loads and caches at the first use of each operation."""
    import sympy

    x, n = sympy.Symbol("x", real=True), sympy.Symbol("n", real=True)
    sympy.simplify(sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - x)
    (sympy.sqrt(2) + sympy.sqrt(3) - sympy.sqrt(5 + 2 * sympy.sqrt(6))).equals(0)
    for lazy in (sympy.Integral(x * sympy.exp(x), (x, 0, 1)), sympy.Sum(1 / n**2, (n, 1, sympy.oo))):
        lazy.doit()
    sympy.Limit(sympy.sin(x) / x, x, 0).doit()


def decide(gold: Any, answer: Any) -> bool | None:
    """In the helper: whether two trees are equal, None if sympy can't tell."""
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
        ValueError: an operator that is not on the whitelist, or a power too large.
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
        if op == "lim":
            return sympy.Limit(body, bound, build(args[1]), args[2]).doit()
        if op == "int":
            limits = (bound, build(args[1]), build(args[2])) if args[4] else bound
            return sympy.Integral(body, limits)
        return (sympy.Sum if op == "sum" else sympy.Product)(body, (bound, build(args[1]), build(args[2])))
    raise ValueError(f"no sympy for {op}")
