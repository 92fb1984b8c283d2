"""Operators that bind a variable: sums, products, integrals, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verikit.answers.parser.leaves import differential, differential_here, letter, literal
from verikit.answers.parser.tree import ONE, ZERO, Node, NotMath

if TYPE_CHECKING:
    from verikit.answers.parser.grammar import Parser


def big_operator(parser: Parser, name: str) -> Node:
    """Read a sum or product after its sign."""
    below, above = _bounds(parser)
    if below is None or below.op != "rel" or below.args[1].op not in ("sym", "const") or above is None:
        raise NotMath(f"a {name} without bounds")
    parser.enter()
    body = parser.product()
    parser.leave()
    return Node(name, (Node("sym", (below.args[1].args[0],)), below.args[2], above, body))


def integral(parser: Parser) -> Node:
    """Read an integral after its sign, up to its differential."""
    below, above = _bounds(parser)
    outer, parser.integral = parser.integral, parser.depth + 1
    parser.variable = None
    parser.enter()
    body = parser.expression() if not differential_here(parser) else ONE
    if differential_here(parser):
        differential(parser)
    parser.leave()
    parser.integral = outer
    variable = parser.variable or Node("sym", ("x",))
    return Node("int", (variable, below or ZERO, above or ZERO, body, below is not None))


def limit(parser: Parser) -> Node:
    """Read a limit after its sign."""
    parser.expect("_")
    parser.expect("{")
    variable = parser.atom()
    parser.expect("to")
    target = _point_and_side(parser)
    parser.enter()
    body = parser.product()
    parser.leave()
    return Node("lim", (variable, *target, body))


def _bounds(parser: Parser) -> tuple[Node | None, Node | None]:
    below = above = None
    while parser.at("_", "^"):
        which = parser.take().text
        if parser.at("{") and parser.ahead().text == "}":
            parser.seek(parser.index + 2)
            continue
        if parser.token.kind == "sym":
            found = letter(parser.take().text)
        else:
            found = parser.argument() if parser.token.kind != "num" else literal(parser.take())
        below, above = (found, above) if which == "_" else (below, found)
    return below, above


def _point_and_side(parser: Parser) -> tuple[Node, str]:
    """The point of a limit and the side from which it is approached ('+' is the default)."""
    sign = -1 if parser.accept("-") else 1
    point = parser.atom()
    side = "+"
    if parser.at("^") and (parser.ahead().text in "+-" or parser.ahead(2).text in "+-"):
        parser.take()
        braced = bool(parser.accept("{"))
        side = parser.take().text
        if braced:
            parser.expect("}")
    parser.expect("}")
    return (point if sign > 0 else Node("neg", (point,))), side
