"""Literals and letters, and what binds a variable: sums, products, integrals, limits."""

from __future__ import annotations

from fractions import Fraction

from verikit.answers.cursor import Cursor
from verikit.answers.lexer import GREEK, Token
from verikit.answers.tree import ONE, ZERO, Node, NotMath, num


def literal(token: Token) -> Node:
    """The number a token spells, exactly."""
    text = token.text
    if "(" in text:
        head, _, repeat = text.rstrip(")").partition("(")
        places = len(head.partition(".")[2])
        base = Fraction(head + "0" if head[-1] == "." else head) if head != "." else Fraction(0)
        return num(base + Fraction(int(repeat), 10**places * (10 ** len(repeat) - 1)))
    mantissa, _, exponent = text.lower().partition("e")
    if exponent and abs(int(exponent)) > 400:
        return Node("mul", (num(Fraction(mantissa)), Node("pow", (num(10), num(int(exponent))))))
    if "." in mantissa:
        return num(Fraction(text.rstrip(".")), len(mantissa.partition(".")[2]) or None)
    return num(Fraction(text) if exponent else int(text))


def letter(char: str) -> Node:
    """A one-letter symbol; e and i are constants."""
    return Node("const", (char,)) if char in "ei" else Node("sym", (char,))


class CalculusParser(Cursor):
    """Reads operators that bind a variable."""

    def _bounds(self) -> tuple[Node | None, Node | None]:
        below = above = None
        while self.at("_", "^"):
            which = self.take().text
            if self.at("{") and self.ahead().text == "}":
                self.seek(self.index + 2)
                continue
            if self.token.kind == "sym":
                found = letter(self.take().text)
            else:
                found = self.argument() if self.token.kind != "num" else literal(self.take())
            below, above = (found, above) if which == "_" else (below, found)
        return below, above

    def big_operator(self, name: str) -> Node:
        """Read a sum or product after its sign."""
        below, above = self._bounds()
        if below is None or below.op != "rel" or below.args[1].op not in ("sym", "const") or above is None:
            raise NotMath(f"a {name} without bounds")
        self.enter()
        body = self.product()
        self.leave()
        return Node(name, (Node("sym", (below.args[1].args[0],)), below.args[2], above, body))

    def integral_of(self) -> Node:
        """Read an integral after its sign, up to its differential."""
        below, above = self._bounds()
        outer, self.integral = self.integral, self.depth + 1
        self.variable: Node | None = None
        self.enter()
        body = self.expression() if not self.differential_here() else ONE
        if self.differential_here():
            self.inner_differential()
        self.leave()
        self.integral = outer
        variable = self.variable or Node("sym", ("x",))
        return Node("int", (variable, below or ZERO, above or ZERO, body, below is not None))

    def differential_here(self) -> bool:
        """Whether a differential (dx) stands here inside of an integral."""
        if self.integral < 0:
            return False
        token, after = self.token, self.ahead()
        return token == ("sym", "d", token.spaced) and (after.kind == "sym" or after.text in GREEK)

    def inner_differential(self) -> Node:
        """Read a differential: it names the variable and counts as a factor of 1."""
        self.take()
        self.variable = Node("sym", (self.take().text,))
        return ONE

    def limit_of(self) -> Node:
        """Read a limit after its sign."""
        self.expect("_")
        self.expect("{")
        variable = self.atom()
        self.expect("to")
        target = self._point_and_side()
        self.enter()
        body = self.product()
        self.leave()
        return Node("lim", (variable, *target, body))

    def _point_and_side(self) -> tuple[Node, str]:
        """The point of a limit and the side it is taken from ('+' is the default)."""
        sign = -1 if self.accept("-") else 1
        point = self.atom()
        side = "+"
        if self.at("^") and (self.ahead().text in "+-" or self.ahead(2).text in "+-"):
            self.take()
            braced = bool(self.accept("{"))
            side = self.take().text
            if braced:
                self.expect("}")
        self.expect("}")
        return (point if sign > 0 else Node("neg", (point,))), side
