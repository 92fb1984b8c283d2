"""Identity testing modulo primes: exact for rational functions and for roots of rationals, with powers of any size.

A tree is a function of its symbols. At random points modulo a 57-bit prime, two different rational functions agree with
probability about degree / 2**57 (Schwartz 1980, Zippel 1979). Both primes are 1 mod 24 and have square roots of the
primes below 43 and sixth roots of 2, 3, 5, so roots of such numbers have images too. The real roots of distinct primes
are independent (Besicovitch 1940), so any choice of roots is a ring homomorphism, and unequal images show unequal
numbers. A part without an image (sin, a symbolic exponent) is replaced by a hash of its name and its arguments' images.
Then equal images still show equality, but unequal ones are inconclusive, which `opaque_seen` records.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import lru_cache
from typing import Any

from verikit.answers.algebra.evaluate import Field, Undefined, substitute
from verikit.answers.parser.tree import INFINITY, Node, Number, TooBig

PRIMES = (123892423119921481, 504447943151558641)
_SMALL = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)
MAX_EXPONENT_BITS = 4_096


@lru_cache(maxsize=20_000)
def _hash(prime: int, *parts: Any) -> int:
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()
    return int.from_bytes(digest, "big") % (prime - 2) + 2


@lru_cache(maxsize=256)
def _root(prime: int, q: int, degree: int) -> int | None:
    """A `degree`-th root (2, 3 or 6) of a small prime q modulo `prime`, consistent over the degrees, or None."""
    top = 6 if q in (2, 3, 5) else 2
    if top % degree:
        return None
    if pow(q, (prime - 1) // top, prime) != 1:
        return None
    return pow(_any_root(prime, q, top), top // degree, prime)


def _any_root(prime: int, q: int, degree: int) -> int:
    """A root of q: split x**degree - q by random powers (Cantor and Zassenhaus 1981), for degree 2 and 3 in turn."""
    for factor in (2, 3):
        while degree % factor == 0:
            q = _prime_root(prime, q, factor, degree // factor)
            degree //= factor
    return q


def _prime_root(prime: int, q: int, r: int, rest: int) -> int:
    """An r-th root of q that itself has `rest`-th roots (Adleman, Manders and Miller 1977)."""
    odd, power = prime - 1, 0
    while odd % r == 0:
        odd //= r
        power += 1
    nonresidue = next(z for z in range(2, 1_000) if pow(z, (prime - 1) // r, prime) != 1)
    generator = pow(nonresidue, odd, prime)
    unity = pow(generator, r ** (power - 1), prime)
    inverse = pow(r, -1, odd)
    root, rest_part = pow(q, inverse, prime), pow(q, inverse * r - 1, prime)
    # root**r == q * rest_part, and rest_part lies in the group of order r**(power-1) that `generator`**r spans.
    logarithm = _discrete_log(rest_part, pow(generator, r, prime), r, power - 1, prime)
    root = root * pow(generator, -logarithm, prime) % prime
    for _ in range(r):
        if rest == 1 or pow(root, (prime - 1) // rest, prime) == 1:
            return root
        root = root * unity % prime
    raise ArithmeticError("no such root")


def _discrete_log(target: int, base: int, r: int, power: int, prime: int) -> int:
    """X with base**x == target, where base has order r**power and power is small."""
    current, step, result = target, 1, 0
    for k in range(power):
        shifted = pow(current, r ** (power - 1 - k), prime)
        small = pow(base, r ** (power - 1), prime)
        digit = next(d for d in range(r) if pow(small, d, prime) == shifted)
        result += digit * step
        current = current * pow(base, -digit * step, prime) % prime
        step *= r
    return result


class ModularField(Field):
    """Integers modulo one of `PRIMES`. Symbols are random points, determined by name and `seed`."""

    def __init__(self, prime: int, seed: int = 0, log_base: str = "e") -> None:
        super().__init__()
        self.prime = prime
        self.seed = seed
        self.log_base = log_base
        self.opaque_seen: bool = False

    def number(self, value: Number) -> int:
        """The image of a fraction."""
        if type(value) is int:
            return value % self.prime
        bottom = value.denominator % self.prime
        if not bottom:
            raise Undefined("a denominator that vanishes modulo the prime")
        return value.numerator * pow(bottom, -1, self.prime) % self.prime

    def leaf(self, op: str, name: str) -> int:
        """A random point. i is a square root of -1."""
        if op == "const":
            if name == "i":
                return _imaginary(self.prime)
            if name == "inf":
                raise Undefined("arithmetic with infinity")
            return _hash(self.prime, "const", name)
        return _hash(self.prime, self.seed, name)

    def multiply(self, a: int, b: int) -> int:
        """Product modulo the prime."""
        return a * b % self.prime

    def divide(self, a: int, b: int) -> int:
        """Quotient modulo the prime."""
        if not b:
            raise Undefined("a division by zero")
        return a * pow(b, -1, self.prime) % self.prime

    def add(self, values: list[int]) -> int:
        """Sum modulo the prime."""
        return sum(values) % self.prime

    def power(self, base: int, exponent: Node, base_node: Node) -> int:
        """Integer powers of any size, roots of rationals whose primes have images, and a stand-in for other powers."""
        e = self.exact(exponent)
        if e is None:
            self.opaque_seen = True
            return _hash(self.prime, "pow", base, self.value(exponent))
        if type(e) is int:
            if e.bit_length() > MAX_EXPONENT_BITS:
                raise TooBig("an exponent too large")
            if not base and e < 0:
                raise Undefined("a division by zero")
            return pow(base, e, self.prime)
        assert isinstance(e, Fraction)
        image = self._rational_root(base_node, e)
        if image is None:
            self.opaque_seen = True
            image = pow(_hash(self.prime, "root", base, e.denominator), e.numerator, self.prime)
        return image

    def _rational_root(self, base_node: Node, e: Fraction) -> int | None:
        """The image of the e-th power of a rational tree, or None if it has none."""
        base = self.exact(base_node)
        if base is None or abs(e.numerator) > 1_000 or e.denominator > 12:
            return None
        base = Fraction(base)
        if not base:
            return 0 if e > 0 else None
        result = 1 if base > 0 else self._root_of_minus_one(e)
        if result is None:
            return None
        for number, sign in ((abs(base.numerator), 1), (base.denominator, -1)):
            if number.bit_length() > 200:
                return None
            image = self._integer_root(number, e)
            if image is None:
                return None
            result = result * pow(image, sign, self.prime) % self.prime
        return result

    def _root_of_minus_one(self, e: Fraction) -> int | None:
        """The image of the e-th power of -1, or None if it has none."""
        if e.denominator % 2:
            return -1 if e.numerator % 2 else 1
        return pow(_imaginary(self.prime), e.numerator, self.prime) if e.denominator == 2 else None

    def _integer_root(self, number: int, e: Fraction) -> int | None:
        result = 1
        for q in _SMALL:
            times = 0
            while number % q == 0:
                number //= q
                times += 1
            if not times:
                continue
            power = times * e
            whole = power.numerator // power.denominator
            rest = power - whole
            result = result * pow(q, whole, self.prime) % self.prime
            if rest:
                root = _root(self.prime, q, rest.denominator)
                if root is None:
                    return None
                result = result * pow(root, rest.numerator, self.prime) % self.prime
        if number > 1:
            # The rest is one opaque generator. It may share factors with another, so a difference can't be shown.
            self.opaque_seen = True
            result = (
                result * pow(_hash(self.prime, "root", number, e.denominator), e.numerator, self.prime) % self.prime
            )
        return result

    def function(self, name: str, values: list[int], free: bool) -> int:
        """A stand-in: a hash of the name and the arguments' images."""
        if not free:
            self.opaque_seen = True
        if name == "log":
            name = "ln"
            if self.log_base == "10":
                return self.divide(_hash(self.prime, "ln", *values), _hash(self.prime, "ln", 10))
        return _hash(self.prime, name, *values)

    def opaque(self, node: Node) -> int:
        """A stand-in derived from the structure, with bound variables renamed and the images of the parts."""
        self.opaque_seen = True
        parts: list[Any] = [node.op]
        bound = node.args[0].args[0] if node.op in ("sum", "prod", "int", "lim", "deriv") else None
        for arg in node.args:
            if type(arg) is Node and (arg == INFINITY or (arg.op == "neg" and arg.args[0] == INFINITY)):
                parts.append(arg.op)  # A bound.
            elif type(arg) is Node:
                arg = substitute(arg, bound, Node("sym", ("bound variable",))) if bound else arg
                parts.append(self.value(arg))
            elif type(arg) is not tuple:
                parts.append(arg)
            else:
                raise TooBig("a structure that has no image")
        return _hash(self.prime, *parts)


@lru_cache(maxsize=8)
def _imaginary(prime: int) -> int:
    return next(r for z in range(2, 1_000) if (r := pow(z, (prime - 1) // 4, prime)) * r % prime == prime - 1)
