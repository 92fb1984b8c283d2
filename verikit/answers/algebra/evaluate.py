"""Evaluates a tree over a field: exact fractions, integers modulo a prime, floats, or many digits.

One traversal serves all fields. `verikit.answers.algebra.modular` and `verikit.answers.algebra.analytic` contain the
inexact ones. Every node uses one step of a budget and finite sums are unrolled within it, so the work is bounded for
any tree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from math import comb, gcd, isqrt, lcm
from typing import Any

from verikit.answers.parser.tree import MAX_BITS, ONE, Node, Number, TooBig, num

MAX_STEPS = 6_000
"""Maximum number of nodes visited in one evaluation."""
MAX_TERMS = 1_000
"""Maximum number of terms of a finite sum or product."""


class Undefined(Exception):
    """The value does not exist: a division by zero, an overflow, a point outside the domain."""


class Overflow(Undefined):
    """The value exists, but is too large or too small for a float."""


class OpaqueTerm(Exception):
    """The tree contains something that this field can't evaluate (an integral, a limit, an infinite sum)."""


class Field(ABC):
    """Arithmetic on one kind of value. Subclasses define numbers, symbols and functions."""

    def __init__(self) -> None:
        self.steps: int = 0
        self.known: dict[int, tuple[Node, Number | None]] = {}
        """Exact values found so far by the node's identity. The node is stored so that its identity is not reused."""

    @abstractmethod
    def number(self, value: Number) -> Any:
        """An exact number as a value."""

    @abstractmethod
    def leaf(self, op: str, name: str) -> Any:
        """A symbol or constant."""

    @abstractmethod
    def multiply(self, a: Any, b: Any) -> Any:
        """Product."""

    @abstractmethod
    def divide(self, a: Any, b: Any) -> Any:
        """Quotient. Raises `Undefined` at zero."""

    @abstractmethod
    def add(self, values: list[Any]) -> Any:
        """Sum."""

    @abstractmethod
    def power(self, base: Any, exponent: Node, base_node: Node) -> Any:
        """A power. The exponent's tree distinguishes integers and roots."""

    @abstractmethod
    def function(self, name: str, values: list[Any], free: bool) -> Any:
        """A named function. `free` means that only its name is known."""

    @abstractmethod
    def opaque(self, node: Node) -> Any:
        """A value for what can't be computed. A field may use a token of its structure."""

    def exact(self, node: Node) -> Number | None:
        """The rational value of a tree, or None if there is none or it is too large. Each node is tried once."""
        if node.op == "num":
            value: Number = node.args[0]
            return value
        if node.op in ("sym", "const"):
            return None
        if id(node) not in self.known:
            field = ExactField()
            field.known = self.known
            try:
                found = field.value(node)
            except (Undefined, OpaqueTerm, TooBig):
                found = None
            self.known[id(node)] = (node, found)
        return self.known[id(node)][1]

    def value(self, node: Node) -> Any:
        """Evaluate a scalar tree.

        Raises:
            Undefined: No value at this point.
            Opaque: The field can't evaluate some part.
            TooBig: Over the budget.
        """
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TooBig("too much work")
        op, args = node
        if op == "num":
            return self.number(args[0])
        if op == "sym" or op == "const":
            return self.leaf(op, args[0])
        if op == "add":
            return self.add([self.value(a) for a in args])
        if op == "mul":
            result = self.value(args[0])
            for arg in args[1:]:
                result = self.multiply(result, self.value(arg))
            return result
        if op == "div":
            return self.divide(self.value(args[0]), self.value(args[1]))
        if op == "neg":
            return self.multiply(self.number(-1), self.value(args[0]))
        if op == "pow":
            return self.power(self.value(args[0]), args[1], args[0])
        return self._rare(op, args, node)

    def _rare(self, op: str, args: tuple[Any, ...], node: Node) -> Any:
        if op == "fn":
            return self._function(args[0], args[1:])
        if op == "pct":
            return self.divide(self.value(args[0]), self.number(100))
        if op in ("deg", "prime"):
            return self._angle(args[0], 1 if op == "deg" else 60 ** args[1])
        if op == "fact":
            return self._factorial(args[0])
        if op == "based":
            return self.number(args[0])
        if op == "apply":
            return self.function(f"{args[0].args[0]}()", [self.value(a) for a in args[1:]], True)
        if op == "qty":
            return self._quantity(node)
        if op in ("sum", "prod"):
            return self._big(op, *args)
        return self.opaque(node)

    def _angle(self, value: Node, parts: int) -> Any:
        """An angle in degrees, or in so many parts of a degree."""
        return self.divide(self.multiply(self.value(value), self.leaf("const", "pi")), self.number(180 * parts))

    def _quantity(self, node: Node) -> Any:
        """A number times its unit, whose base units are symbols."""
        value, unit = node.args
        result = self.multiply(self.value(value), self.number(unit.scale))
        for base, exponent in unit.dimension:
            result = self.multiply(result, self.power(self.leaf("sym", f"unit {base}"), num(exponent), node))
        return result

    def _function(self, name: str, args: tuple[Node, ...]) -> Any:
        if name in _EXACT:
            known = [self.exact(a) for a in args]
            if all(k is not None for k in known):
                return self.number(_EXACT[name](*known))
        if name == "binom":
            top, bottom = args
            n, k = self.exact(top), self.exact(bottom)
            if n is not None and k is not None:
                return self.number(_binomial(n, k))
            below = Node("mul", (Node("fact", (bottom,)), Node("fact", (_minus(top, bottom),))))
            return self.value(Node("div", (Node("fact", (top,)), below)))
        return self.function(name, [self.value(a) for a in args], name.endswith(":") or name == "residue")

    def _factorial(self, arg: Node) -> Any:
        n = self.exact(arg)
        if isinstance(n, int) and 0 <= n <= 2500:
            product = 1
            for k in range(2, n + 1):
                product *= k
            return self.number(product)
        if isinstance(n, int) and n < 0:
            raise Undefined("the factorial of a negative number")
        return self.function("factorial", [self.value(arg)], False)

    def _big(self, op: str, variable: Node, low: Node, high: Node, body: Node) -> Any:
        first, last = self.exact(low), self.exact(high)
        if not (isinstance(first, int) and isinstance(last, int)):
            return self.opaque(Node(op, (variable, low, high, body)))
        if last - first >= MAX_TERMS:
            raise TooBig("a sum of too many terms")
        values = [self.value(substitute(body, variable.args[0], num(k))) for k in range(first, last + 1)]
        if op == "sum":
            return self.add(values) if values else self.number(0)
        result = self.number(1)
        for value in values:
            result = self.multiply(result, value)
        return result


def _minus(a: Node, b: Node) -> Node:
    return Node("add", (a, Node("neg", (b,))))


def _binomial(n: Number, k: Number) -> int:
    if not isinstance(n, int) or not isinstance(k, int) or k < 0 or n < 0:
        raise Undefined("a binomial of other than natural numbers")
    if min(k, n - k) > 1_000:
        raise TooBig("a binomial too large to compute")
    return comb(n, k)


def _gcd(*values: Number) -> Number:
    fractions = [Fraction(v) for v in values]
    bottom = lcm(*(f.denominator for f in fractions))
    return _tidy(Fraction(gcd(*(int(f * bottom) for f in fractions)), bottom))


def _lcm(*values: Number) -> Number:
    fractions = [Fraction(v) for v in values]
    bottom = lcm(*(f.denominator for f in fractions))
    return _tidy(Fraction(lcm(*(int(f * bottom) for f in fractions)), bottom))


def _mod(a: Number, b: Number) -> Number:
    if not b:
        raise Undefined("a remainder modulo zero")
    return _tidy(Fraction(a) % Fraction(b))


_EXACT: dict[str, Any] = {
    "gcd": _gcd, "lcm": _lcm, "max": lambda *a: max(a), "min": lambda *a: min(a), "mod": _mod, "abs": abs,
    "floor": lambda a: a // 1, "ceil": lambda a: -(-a // 1), "sgn": lambda a: (a > 0) - (a < 0),
}  # fmt: skip


def substitute(node: Node, name: str, value: Node) -> Node:
    """The tree with a symbol (also one read as a constant, like i) replaced."""
    if node.op in ("sym", "const"):
        return value if node.args[0] == name else node
    if node.op in ("num", "based"):
        return node
    if node.op in ("sum", "prod", "int", "lim") and node.args[0].args[0] == name:
        return node

    def within(argument: Any) -> Any:
        if type(argument) is Node:
            return substitute(argument, name, value)
        return tuple(map(within, argument)) if type(argument) is tuple else argument

    return Node(node.op, tuple(map(within, node.args)))


def _common_fraction(node: Node) -> tuple[Node, Node]:
    """A sum or product of fractions as one fraction."""
    top, bottom = numerator(node.args[0])
    for arg in node.args[1:]:
        c, d = numerator(arg)
        if node.op == "mul":
            top, bottom = _product(top, c), _product(bottom, d)
        else:
            top, bottom = Node("add", (_product(top, d), _product(c, bottom))), _product(bottom, d)
    return top, bottom


def numerator(node: Node) -> tuple[Node, Node]:
    """A tree as numerator and denominator, without divisions in sums, products and integer powers."""
    if node.op == "neg":
        top, bottom = numerator(node.args[0])
        return Node("neg", (top,)), bottom
    if node.op == "div":
        (a, b), (c, d) = numerator(node.args[0]), numerator(node.args[1])
        return _product(a, d), _product(b, c)
    if node.op in ("add", "mul"):
        return _common_fraction(node)
    if node.op == "pow" and (e := exact(node.args[1])) is not None and type(e) is int and e:
        top, bottom = numerator(node.args[0]) if e > 0 else numerator(node.args[0])[::-1]
        return Node("pow", (top, num(abs(e)))), bottom if bottom == ONE else Node("pow", (bottom, num(abs(e))))
    return node, ONE


def _product(a: Node, b: Node) -> Node:
    if a == ONE:
        return b
    return a if b == ONE else Node("mul", (a, b))


def _tidy(value: Number) -> Number:
    return value.numerator if type(value) is Fraction and value.denominator == 1 else value


def _bits(value: Number) -> int:
    return (
        value.bit_length() if type(value) is int else max(value.numerator.bit_length(), value.denominator.bit_length())
    )


class ExactField(Field):
    """Fractions. Anything else is opaque."""

    def number(self, value: Number) -> Number:
        """The number itself, below the cap on bits."""
        if _bits(value) > MAX_BITS:
            raise TooBig("a number too large to compute")
        return value

    def leaf(self, op: str, name: str) -> Number:
        """No symbol is exact."""
        raise OpaqueTerm(name)

    def multiply(self, a: Number, b: Number) -> Number:
        """Product, within the cap."""
        return self.number(_tidy(a * b))

    def divide(self, a: Number, b: Number) -> Number:
        """Quotient as a fraction."""
        if not b:
            raise Undefined("a division by zero")
        return _tidy(Fraction(a) / b)

    def add(self, values: list[Number]) -> Number:
        """Sum, within the cap."""
        return self.number(_tidy(sum(values)))

    def power(self, base: Number, exponent: Node, base_node: Node) -> Number:
        """Integer powers within the cap, and roots with a rational result."""
        e = self.value(exponent)
        if isinstance(e, int):
            return _integer_power(base, e)
        root = exact_root(base, e.denominator)
        if root is None or abs(e.numerator) > 1_000:
            raise OpaqueTerm("an irrational root")
        return self.power(root, num(e.numerator), base_node)

    def function(self, name: str, values: list[Any], free: bool) -> Number:
        """Functions of fractions are not exact, except for those computed exactly before."""
        raise OpaqueTerm(name)

    def opaque(self, node: Node) -> Number:
        """Never exact."""
        raise OpaqueTerm(node.op)


def exact(node: Node) -> Number | None:
    """The rational value of a tree, or None if it has no known rational value or is too large."""
    return ExactField().exact(node)


def _integer_power(base: Number, e: int) -> Number:
    """A power within the cap."""
    if not base and e < 0:
        raise Undefined("a division by zero")
    if abs(base) != 1 and base and _bits(base) * abs(e) > MAX_BITS:
        raise TooBig("a power too large to compute")
    if abs(e) > MAX_BITS and base in (0, 1, -1):
        e = e % 2 + 2  # as odd or even as it was, which decides the sign
    return _tidy(Fraction(base) ** e)


def exact_root(base: Number, degree: int) -> Number | None:
    """The rational root, if there is one. For odd degrees, negative numbers have real roots."""
    if base < 0:
        if degree % 2 == 0:
            return None
        root = exact_root(-base, degree)
        return None if root is None else -root
    if type(base) is Fraction:
        top, bottom = exact_root(base.numerator, degree), exact_root(base.denominator, degree)
        return None if top is None or bottom is None else _tidy(Fraction(top) / bottom)
    assert isinstance(base, int)
    return _integer_root(base, degree)


def _integer_root(base: int, degree: int) -> int | None:
    """The root of a natural number, if it is one."""
    if base < 2:
        return base
    if degree == 2:
        root_2 = isqrt(base)
        return root_2 if root_2 * root_2 == base else None
    if degree > 64 or base.bit_length() > 900:
        return None
    guess: int = round(base ** (1 / degree))
    return next((root for root in (guess - 1, guess, guess + 1) if root**degree == base), None)
