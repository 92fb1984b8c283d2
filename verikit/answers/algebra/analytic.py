"""Numeric evaluation at real sample points: floats first, then many digits (mpmath) to confirm.

A field tracks the largest term of any sum, so a difference counts only if it exceeds the possible rounding error.
Values for which floats are unreliable (huge arguments of periodic functions) are left to `ManyDigits`. Principal values
are used, except that odd roots of negative numbers are real.
"""

from __future__ import annotations

import cmath
import math
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from verikit.answers.algebra.evaluate import Field, OpaqueTerm, Overflow, Undefined
from verikit.answers.parser.tree import Node, Number

DIGITS = 60


def _reciprocal(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: 1 / f(x)


def _table(lib: Any) -> dict[str, Callable[[Any], Any]]:
    names = {"sin": "sin", "cos": "cos", "tan": "tan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "ln": "log",
             "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
             "arctanh": "atanh"}  # fmt: skip
    table = {name: getattr(lib, function) for name, function in names.items()}
    for name, of in {"sec": "cos", "csc": "sin", "cot": "tan", "sech": "cosh", "csch": "sinh", "coth": "tanh"}.items():
        table[name] = _reciprocal(table[of])
    for name, of in {"arcsec": "arccos", "arccsc": "arcsin"}.items():
        table[name] = lambda x, f=table[of]: f(1 / x)
    return table


_REAL = _table(math)
_COMPLEX = _table(cmath)
_PERIODIC = frozenset("sin cos tan sec csc cot".split())


class AnalyticField(Field):
    """The common part of floats and many digits. `point` maps symbol names to exact sample values."""

    def __init__(self, point: Mapping[str, Fraction], log_base: str = "e") -> None:
        super().__init__()
        self.point = point
        self.log_base = log_base
        self.scale: Any = 0
        """The largest term of any sum, and the largest argument of a periodic function."""
        self.widest: Any = 0
        """The largest number so far, which determines how many digits are compared."""
        self.is_complex: bool = False
        self.huge_argument: bool = False

    def multiply(self, a: Any, b: Any) -> Any:
        """Product."""
        return self.note(a * b)

    def divide(self, a: Any, b: Any) -> Any:
        """Quotient. A divisor within rounding error of zero is undefined."""
        if not b or abs(b) <= self.tiny * self.scale:
            raise Undefined("a division by zero")
        return self.note(a / b)

    def add(self, values: list[Any]) -> Any:
        """Sum. The largest term bounds the rounding error."""
        for value in values:
            if abs(value) > self.scale:
                self.scale = abs(value)
        return self.note(sum(values))

    tiny: Any = 1e-14
    largest: Any = 1e300

    def note(self, value: Any) -> Any:
        """Record a value. A result that is not a number, or out of a float's range, is undefined."""
        size = abs(value)
        if not size < self.largest or 0 < size < 1 / self.largest:
            raise Overflow("a number out of a float's range")
        if size > self.widest:
            self.widest = size
        return value

    def power(self, base: Any, exponent: Node, base_node: Node) -> Any:
        """Real powers if they exist, including odd roots of negative numbers."""
        e = self.exact(exponent)
        value = self.number(e) if e is not None else self.value(exponent)
        try:
            if base == 0:
                if (value.real if self.complex_value(value) else value) <= 0 and value != 0:
                    raise Undefined("a division by zero")
                return self.number(1 if value == 0 else 0)
            if not self.complex_value(base) and base < 0 and type(e) is Fraction and e.denominator % 2:
                return self.note((-1) ** e.numerator * (-base) ** value)
            return self.note(self.raise_to(base, e if type(e) is int and abs(e) < 10_000 else value))
        except (OverflowError, ZeroDivisionError, ValueError):
            raise Overflow("a number out of a float's range") from None

    def raise_to(self, base: Any, exponent: Any) -> Any:
        """Base ** exponent."""
        return base**exponent

    @abstractmethod
    def complex_value(self, value: Any) -> bool:
        """Whether a value has an imaginary part."""

    def opaque(self, node: Node) -> Any:
        """No value."""
        raise OpaqueTerm(node.op)

    def function(self, name: str, values: list[Any], free: bool) -> Any:
        """A function's principal value. A free function is some smooth function determined by its name."""
        x = values[0]
        if free:
            return self.note(self._free(name, values))
        if name in _PERIODIC:
            self.scale = max(self.scale, abs(x))
            self.huge_argument |= abs(x) > 1e6
        if name in ("log", "lg", "ln") and not x:
            raise Undefined("the logarithm of zero")
        if name in ("log", "lg"):
            value = self.apply("ln", x)
            return value / self.apply("ln", self.number(10)) if name == "lg" or self.log_base == "10" else value
        if name == "factorial":
            return self.note(self.gamma(x + 1))
        if name in ("abs", "max", "min", "floor", "ceil", "sgn", "mod"):
            try:
                return self._stepwise(name, values)
            except (OverflowError, ValueError):  # steps of an infinite value
                raise Overflow("a number out of a float's range") from None
        if name == "cis":
            return self.note(self.apply("cos", x) + self.number(1) * 1j * self.apply("sin", x))
        if name in ("arccot",):
            return self.note(self.apply("arctan", 1 / x) if x else self.leaf("const", "pi") / 2)
        return self.note(self.apply(name, x))

    def _stepwise(self, name: str, values: list[Any]) -> Any:
        x = values[0]
        if name == "abs":
            return abs(x)
        if any(self.complex_value(v) for v in values):
            raise Undefined(f"{name} of a complex number")
        if name in ("max", "min"):
            return max(values) if name == "max" else min(values)
        if name == "sgn":
            return self.number((x > 0) - (x < 0))
        if name == "mod":
            if not values[1]:
                raise Undefined("a remainder modulo zero")
            return x - values[1] * math.floor(x / values[1])
        return self.number(math.floor(x) if name == "floor" else math.ceil(x))

    def _free(self, name: str, values: list[Any]) -> Any:
        total = self.number(sum(map(ord, name)) % 97)
        for factor, value in enumerate(values, 2):
            total = total + value * value / factor + self.number(factor) * value
        return total

    @abstractmethod
    def apply(self, name: str, x: Any) -> Any:
        """A named function of one value."""

    @abstractmethod
    def gamma(self, x: Any) -> Any:
        """The gamma function of a real value."""


class FloatField(AnalyticField):
    """Python floats and complex numbers."""

    def number(self, value: Number) -> float:
        """Nearest float."""
        try:
            return float(value)
        except OverflowError:
            raise Overflow("a number out of a float's range") from None

    def leaf(self, op: str, name: str) -> Any:
        """A constant, or the sample value of a symbol."""
        if op == "const" and name in _FLOAT_CONSTANTS:
            if name == "i":
                self.is_complex = True
            return _FLOAT_CONSTANTS[name]
        if name not in self.point:
            raise OpaqueTerm(name)
        return float(self.point[name])

    def complex_value(self, value: Any) -> bool:
        """Whether Python returned a complex number."""
        return type(value) is complex

    def apply(self, name: str, x: Any) -> Any:
        """The real function if it is defined, otherwise the complex one."""
        try:
            if type(x) is not complex:
                try:
                    return _REAL[name](x)
                except ValueError:
                    pass
            return _COMPLEX[name](x)
        except (ValueError, ZeroDivisionError):
            raise Undefined(f"{name} has no value there") from None
        except OverflowError:
            raise Overflow("a number out of a float's range") from None
        except KeyError:
            raise OpaqueTerm(name) from None

    def gamma(self, x: Any) -> Any:
        """math.gamma."""
        if type(x) is complex:
            raise OpaqueTerm("factorial")
        try:
            return math.gamma(x)
        except (ValueError, OverflowError):
            raise Overflow("a number out of a float's range") from None


_FLOAT_CONSTANTS: dict[str, Any] = {"pi": math.pi, "e": math.e, "i": 1j}


class ManyDigits(AnalyticField):
    """mpmath numbers in a context per thread, so that threads don't share a precision."""

    def __init__(self, point: Mapping[str, Fraction], log_base: str = "e", digits: int = DIGITS) -> None:
        super().__init__(point, log_base)
        context, table = _mpmath()
        self.context: Any = context
        self.table: dict[str, Callable[[Any], Any]] = table
        self.digits: int = digits
        context.dps = digits
        self.tiny: Any = context.mpf(10) ** (8 - digits)
        self.largest: Any = context.mpf(10) ** 4_000

    def number(self, value: Number) -> Any:
        """Correctly rounded quotient."""
        top, bottom = value.numerator, value.denominator
        self.widest: Any = max(self.widest, abs(top), bottom)
        return self.context.mpf(top) / bottom

    def leaf(self, op: str, name: str) -> Any:
        """A constant, or the sample value of a symbol."""
        if op == "const" and name in ("pi", "e", "i"):
            return {"pi": +self.context.pi, "e": +self.context.e, "i": self.context.mpc(0, 1)}[name]
        if name not in self.point:
            raise OpaqueTerm(name)
        return self.number(self.point[name])

    def complex_value(self, value: Any) -> bool:
        """Whether mpmath returned a complex number."""
        return isinstance(value, self.context.mpc)

    def apply(self, name: str, x: Any) -> Any:
        """Mpmath's function."""
        if name not in self.table:
            raise OpaqueTerm(name)
        try:
            return self.table[name](x)
        except (ValueError, ZeroDivisionError):
            raise Undefined(f"{name} has no value there") from None

    def gamma(self, x: Any) -> Any:
        """Mpmath's gamma."""
        try:
            return self.context.gamma(x)
        except ValueError:
            raise Undefined("a pole") from None


_thread = threading.local()


def _mpmath() -> tuple[Any, dict[str, Callable[[Any], Any]]]:
    """The thread's mpmath context and its functions."""
    if not hasattr(_thread, "context"):
        from mpmath import MPContext

        _thread.context = MPContext()
        _thread.table = _table(_thread.context)
    return _thread.context, _thread.table
