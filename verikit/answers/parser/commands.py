"""LaTeX commands: constants, fractions, roots, functions, matrices."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from verikit.answers.parser.binders import big_operator, integral, limit
from verikit.answers.parser.leaves import differential_here, literal, subscript, subscripted
from verikit.answers.parser.lexer import FUNCTIONS, GREEK
from verikit.answers.parser.tree import HALF, INFINITY, ONE, Node, NotMath, num

if TYPE_CHECKING:
    from verikit.answers.parser.grammar import Parser

_CONSTANTS = {
    "pi": Node("const", ("pi",)), "infty": INFINITY, "e_const": Node("const", ("e",)), "i_const": Node("const", ("i",)),
    "dots": Node("sym", ("…",)), "empty": Node("set", ()),
}  # fmt: skip
_ARITY = {"binom": 2, "mod": 2}
_MANY = frozenset(("gcd", "lcm", "max", "min"))
_ACCENTS = frozenset("overline bar vec hat widehat tilde overrightarrow overset dot ddot underset".split())
_MATRICES = frozenset("matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix array cases".split())
_BARE = frozenset("frac sqrt cbrt pi infty binom e_const".split()) | GREEK


def command(parser: Parser) -> Node:
    """Read the expression of a command, with its arguments."""
    token = parser.take()
    name = token.text
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if name == "frac":
        return Node("div", (parser.argument(), parser.argument()))
    if name in ("sqrt", "cbrt"):
        return _root(parser, name)
    if name in FUNCTIONS or name in ("log10", "log2", "cis"):
        return _function(parser, name)
    if name in GREEK:
        return subscripted(parser, Node("sym", (name,)))
    if name in _ACCENTS:
        return Node("fn", (f"{name}:", parser.argument()))
    read = _READERS.get(name)
    if read is None:
        raise NotMath(f"unknown command \\{name[:30]}")
    return read(parser, name)


def _rounded(parser: Parser, name: str) -> Node:
    inner = parser.expression()
    parser.expect("r" + name[1:])
    return Node("fn", (name[1:], inner))


def _angle_brackets(parser: Parser, _: str) -> Node:
    items, _ = parser.items("rangle")
    return Node("tuple", tuple(items))


def _root(parser: Parser, name: str) -> Node:
    index: Node = num(3) if name == "cbrt" else num(2)
    if name == "sqrt" and parser.accept("["):
        index = parser.expression()
        parser.expect("]")
    if parser.token.kind == "num":
        radicand = literal(parser.take())
    elif parser.at("{"):
        radicand = parser.argument()
    else:
        parser.enter()
        radicand = parser.atom()
        parser.leave()
    if index.op == "num":
        if not index.args[0]:
            raise NotMath("a zeroth root")
        exponent = HALF if index.args[0] == 2 else num(Fraction(1) / index.args[0])
        return Node("pow", (radicand, exponent))
    return Node("pow", (radicand, Node("div", (ONE, index))))


def _function(parser: Parser, name: str) -> Node:
    base, exponent = None, None
    while parser.at("_", "^"):
        is_base = parser.take().text == "_"
        script = parser.argument() if parser.token.kind != "num" else literal(parser.take())
        base, exponent = (script, exponent) if is_base else (base, script)
    parser.enter()
    arguments = _function_arguments(parser, name)
    parser.leave()
    if name == "log" and base is None and len(arguments) == 2:
        base = arguments.pop()
    if len(arguments) != _ARITY.get(name, 1) and not (arguments and name in _MANY):
        raise NotMath(f"{name} of {len(arguments)} arguments")
    if name in ("log10", "log2"):
        name, base = "log", num(int(name[3:]))
    if exponent is not None and exponent in (num(-1), Node("neg", (ONE,))) and "arc" + name in FUNCTIONS:
        name, exponent = "arc" + name, None
    node = _applied(name, arguments, base)
    return node if exponent is None else Node("pow", (node, exponent))


def _applied(name: str, arguments: list[Node], base: Node | None) -> Node:
    """A function's value, where logarithms with a base and exp are written with ln and a power of e."""
    if name in ("log", "lg") and base is not None:
        return Node("div", (Node("fn", ("ln", *arguments)), Node("fn", ("ln", base))))
    if name == "exp":
        return Node("pow", (Node("const", ("e",)), arguments[0]))
    return Node("fact", (arguments[0],)) if name == "factorial" else Node("fn", (name, *arguments))


def _function_arguments(parser: Parser, name: str) -> list[Node]:
    if name == "binom" and not parser.at("("):
        return [parser.argument(), parser.argument()]
    if parser.at("(", "[", "{", "\\{"):
        opener = parser.take().text
        arguments, _ = parser.items({"(": ")", "[": "]", "{": "}", "\\{": "\\}"}[opener])
        if len(arguments) == 1 and arguments[0].op in ("list", "tuple", "set") and name in _MANY:
            arguments = list(arguments[0].args)
        return arguments
    if parser.token.kind == "cmd" and parser.token.text in FUNCTIONS:
        return [command(parser)]
    factors = [parser.power()]
    while parser.token.kind in ("num", "sym", "name") or (parser.token.kind == "cmd" and parser.token.text in _BARE):
        if differential_here(parser) or len(factors) > 20:
            break
        factors.append(parser.power())
    return [factors[0] if len(factors) == 1 else Node("mul", tuple(factors))]


def _rows(parser: Parser) -> list[tuple[Node, ...]]:
    """The nonempty rows up to the end of an environment."""
    rows: list[tuple[Node, ...]] = []
    row: list[Node] = []
    parser.enter()
    while not parser.accept("end"):
        if parser.accept("hline", "&"):
            continue
        if parser.accept("\\\\"):
            rows.append(tuple(row))
            row = []
        else:
            row.append(parser.relation())
    parser.leave()
    subscript(parser)
    return [r for r in (*rows, tuple(row)) if r]


def _matrix(parser: Parser) -> Node:
    environment = subscript(parser).rstrip("*")
    if environment not in _MATRICES:
        raise NotMath(f"unknown environment {environment[:30]}")
    if environment == "array" and parser.at("{"):
        subscript(parser)
    rows = _rows(parser)
    if not rows or len({len(r) for r in rows}) != 1:
        raise NotMath("a matrix with rows of unequal length")
    matrix = Node("matrix", tuple(rows))
    return Node("det", (matrix,)) if environment == "vmatrix" else matrix


_READERS: dict[str, Callable[[Parser, str], Node]] = {
    "lfloor": _rounded,
    "lceil": _rounded,
    "langle": _angle_brackets,
    "begin": lambda parser, _: _matrix(parser),
    "sum": big_operator,
    "prod": big_operator,
    "lim": lambda parser, _: limit(parser),
    "det": lambda parser, _: Node("det", (parser.power(),)),
    "mathbb": lambda parser, _: Node("const", (subscript(parser),)),
} | dict.fromkeys(("int", "iint", "iiint", "oint"), lambda parser, _: integral(parser))
"""The readers of the rarer commands."""
