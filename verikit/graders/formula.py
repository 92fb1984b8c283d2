"""`calculate_output`: arithmetic over graders' names, parsed with a dedicated grammar and never evaluated as code.

sum     := product (('+' | '-') product)*
product := sign (('*' | '/') sign)*
sign    := ('+' | '-') sign | power
power   := atom ('^' sign)?                    a ^ b ^ c is a ^ (b ^ c), -a ^ b is -(a ^ b)
atom    := number | name | function '(' sum (',' sum)* ')' | '(' sum ')'
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from verikit.errors import UsageError

LONGEST, MOST, DEEPEST = 10_000, 600, 100
"""Maximum numbers of characters, tokens, and nested brackets."""
_TOKEN = re.compile(r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)|([A-Za-z_]\w*)|([-+*/^(),]))")
FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "abs": math.fabs,
    "floor": math.floor,
    "ceil": math.ceil,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "log": math.log,
}
_ANY = ("min", "max")
"""Functions of any number of values. The other functions take one value."""
_BINARY: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": math.pow,
}


@dataclass(frozen=True, slots=True)
class FormulaNode:
    """A part of a formula: a number, a grader's name, or an operation on parts."""

    kind: str
    """`number`, `name`, `negative`, an operator or a function."""
    parts: tuple[FormulaNode, ...] = ()
    number: float = 0.0
    name: str = ""


class Formula:
    """A parsed formula."""

    def __init__(self, text: str) -> None:
        """Parse the formula.

        Raises:
            UsageError: The text is not a formula.
        """
        if not isinstance(text, str) or len(text) > LONGEST:
            raise UsageError(f"calculate_output is a formula of at most {LONGEST} characters")
        self.text = text
        self._tokens = list(_tokens(text))
        if len(self._tokens) > MOST:
            raise self._refused(f"it has more than {MOST} tokens")
        self._at = 0
        self.root: FormulaNode = self._sum(0)
        if self._at < len(self._tokens):
            raise self._refused(f"{self._tokens[self._at][1]!r} is not expected")

    @property
    def names(self) -> frozenset[str]:
        """The graders that the formula names."""
        found, stack = set(), [self.root]
        while stack:
            node = stack.pop()
            stack += node.parts
            if node.kind == "name":
                found.add(node.name)
        return frozenset(found)

    def value(self, scores: Mapping[str, float]) -> float:
        """The value of the formula.

        Raises:
            ArithmeticError, ValueError: A division by zero, a root or logarithm outside its domain, or an overflow.
            KeyError: A name without a score.
        """
        found = _value(self.root, scores)
        if not math.isfinite(found):
            raise OverflowError("the result is not finite")
        return found

    @property
    def grades_the_best(self) -> bool:
        """Whether the formula has a value if every grade is 1. If not, the formula is wrong, not the grades."""
        try:
            self.value(dict.fromkeys(self.names, 1.0))
        except (ArithmeticError, ValueError):
            return False
        return True

    def _refused(self, problem: str) -> UsageError:
        return UsageError(f"calculate_output {self.text[:200]!r}: {problem}", hint="e.g. 0.5*a + 0.5*min(b, c)")

    def _next(self, *wanted: str) -> str:
        """The next token, if it is one of these signs."""
        if self._at < len(self._tokens) and self._tokens[self._at] in [("sign", sign) for sign in wanted]:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return ""

    def _sum(self, depth: int) -> FormulaNode:
        if depth > DEEPEST:
            raise self._refused("it is nested too deeply")
        node = self._product(depth)
        while sign := self._next("+", "-"):
            node = FormulaNode(sign, (node, self._product(depth)))
        return node

    def _product(self, depth: int) -> FormulaNode:
        node = self._sign(depth)
        while sign := self._next("*", "/"):
            node = FormulaNode(sign, (node, self._sign(depth)))
        return node

    def _sign(self, depth: int) -> FormulaNode:
        if depth > DEEPEST:
            raise self._refused("it is nested too deeply")
        if sign := self._next("+", "-"):
            inner = self._sign(depth + 1)
            return FormulaNode("negative", (inner,)) if sign == "-" else inner
        base = self._atom(depth)
        return FormulaNode("^", (base, self._sign(depth + 1))) if self._next("^") else base

    def _atom(self, depth: int) -> FormulaNode:
        if self._next("("):
            node = self._sum(depth + 1)
            self._closed()
            return node
        if self._at == len(self._tokens):
            raise self._refused("it ends too early")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            return FormulaNode("number", number=float(text))
        if kind == "sign":
            raise self._refused(f"{text!r} is not expected")
        return self._call(text, depth) if self._next("(") else FormulaNode("name", name=text)

    def _call(self, name: str, depth: int) -> FormulaNode:
        if name not in FUNCTIONS:
            raise self._refused(f"there is no function {name}; there are {', '.join(FUNCTIONS)}")
        parts = [self._sum(depth + 1)]
        while self._next(","):
            parts.append(self._sum(depth + 1))
        self._closed()
        if len(parts) != 1 and name not in _ANY:
            raise self._refused(f"{name} takes one value, not {len(parts)}")
        return FormulaNode(name, tuple(parts))

    def _closed(self) -> None:
        if not self._next(")"):
            raise self._refused("a bracket is not closed")


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A formula with its graders renamed. Functions stay unchanged, even if a grader has the same name.

    Raises:
        UsageError: The text is not a formula.
    """
    wanted = Formula(text).names
    tokens = list(_tokens(text))
    words = []
    for (kind, word), after in zip(tokens, [*tokens[1:], ("", "")], strict=True):
        grader = kind == "name" and word in wanted and after != ("sign", "(")
        words.append(names.get(word, word) if grader else word)
    return " ".join(words)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise UsageError(f"calculate_output {text[:200]!r}: {text[at:].lstrip()[:1]!r} is not expected")
        at = match.end()
        number, name, sign = match.groups()
        if number:
            yield "number", number
        elif name:
            yield "name", name
        else:
            yield "sign", sign


def _value(node: FormulaNode, scores: Mapping[str, float]) -> float:
    if node.kind == "number":
        return node.number
    if node.kind == "name":
        return scores[node.name]
    parts: Sequence[float] = [_value(part, scores) for part in node.parts]
    if node.kind == "negative":
        return -parts[0]
    return float(_BINARY[node.kind](*parts)) if node.kind in _BINARY else float(FUNCTIONS[node.kind](*parts))
