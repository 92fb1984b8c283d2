"""The leaves of an expression: numbers (with an optional base as subscript), symbols with subscripts and primes, dx."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from verikit.answers.parser.lexer import GREEK, Token
from verikit.answers.parser.tree import ONE, Node, NotMath, num

if TYPE_CHECKING:
    from verikit.answers.parser.grammar import Parser

_CALLABLE = frozenset("fghFGHPQWTS")


def literal(token: Token) -> Node:
    """The exact number that a token spells."""
    text = token.text
    if "(" in text:
        head, _, repeat = text.rstrip(")").partition("(")
        whole, _, decimals = head.partition(".")
        places = len(decimals)
        base = Fraction(f"{whole or 0}.{decimals or 0}")
        return num(base + Fraction(int(repeat), 10**places * (10 ** len(repeat) - 1)))
    mantissa, _, exponent = text.lower().partition("e")
    if exponent and abs(int(exponent)) > 400:
        return Node("mul", (num(Fraction(mantissa)), Node("pow", (num(10), num(int(exponent))))))
    if "." in mantissa:
        return num(Fraction(text.rstrip(".")), len(mantissa.partition(".")[2]) or None)
    return num(Fraction(text) if exponent else int(text))


def letter(char: str) -> Node:
    """A one-letter symbol. e and i are constants."""
    return Node("const", (char,)) if char in "ei" else Node("sym", (char,))


def based(parser: Parser, token: Token) -> Node:
    """A literal with a base as subscript: 1202_3."""
    parser.take()
    base = parser.argument()
    radix = base.args[0] if base.op == "num" else None
    if not isinstance(radix, int) or not 2 <= radix <= 36 or not token.text.isdigit():
        raise NotMath("a subscript that is not a base")
    if any(int(digit) >= radix for digit in token.text):
        raise NotMath("a digit outside of its base")
    return Node("based", (int(token.text, radix), token.text, radix))


def symbol(parser: Parser) -> Node:
    """Read a symbol, the arguments it is applied to, or a differential."""
    if differential_here(parser):
        return differential(parser)
    token = parser.take()
    node = subscripted(parser, letter(token.text))
    if parser.at("(") and not parser.token.spaced and token.text in _CALLABLE:
        parser.take()
        parser.enter()
        arguments, _ = parser.items(")")
        parser.leave()
        if not arguments:
            raise NotMath("a function of nothing")
        return Node("apply", (node, *arguments))
    return node


def subscripted(parser: Parser, node: Node) -> Node:
    """Give a symbol its subscript and primes."""
    name = str(node.args[0])
    if parser.at("_"):
        parser.take()
        name += "_" + subscript(parser)
    while parser.at("'") or (parser.at("^") and parser.ahead().text == "'"):
        name += "'" * (len(parser.take().text) if not parser.at("^") else parser.take() and len(parser.take().text))
    return node if name == node.args[0] else Node("sym", (name,))


def subscript(parser: Parser) -> str:
    """Read a braced group, or one token, as text."""
    if parser.accept("{"):
        parts, depth = [], 1
        while depth and parser.token.kind != "end":
            text = parser.take().text
            depth += (text == "{") - (text == "}")
            parts.append(text)
        return "".join(parts[:-1])
    return parser.take().text


def differential_here(parser: Parser) -> bool:
    """Whether a differential (dx) is next, inside an integral."""
    if parser.integral < 0:
        return False
    token, after = parser.token, parser.ahead()
    return token == ("sym", "d", token.spaced) and (after.kind == "sym" or after.text in GREEK)


def differential(parser: Parser) -> Node:
    """Read a differential. It gives the variable and is a factor of 1."""
    parser.take()
    parser.variable = Node("sym", (parser.take().text,))
    return ONE
