"""The grammar's upper half: elements, relations, sums, products, powers. Other modules read the atoms."""

from __future__ import annotations

from verikit.answers.parser.brackets import OPENERS
from verikit.answers.parser.commands import command
from verikit.answers.parser.connectives import connected
from verikit.answers.parser.cursor import Cursor
from verikit.answers.parser.labels import skip_label, with_unit
from verikit.answers.parser.leaves import based, differential_here, letter, literal, subscripted, symbol
from verikit.answers.parser.lexer import GREEK, Token
from verikit.answers.parser.tree import ONE, ZERO, Node, NotMath, TooBig, children, num
from verikit.answers.parser.units import currency

_RELATIONS = {
    "=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "=<": "<=", "le": "<=", "ge": ">=", "!=": "!=",
    "ne": "!=", "approx": "≈", "sim": "=", "simeq": "=", "cong": "=", "in": "in", "notin": "notin", "subset": "subset",
    "subseteq": "subset",
}  # fmt: skip
_SET_OPERATORS = {"cup": "union", "cap": "inter", "setminus": "diff"}
_TIMES = frozenset(("*", "times", "cdot"))
_NOT_FACTORS = frozenset(
    "cup cap setminus over pm mp end rangle rfloor rceil to le ge ne in notin approx mod pmod bmod".split()
)
_DIFFERENTIALS = (Node("sym", ("d",)), Node("sym", ("partial",)))
MAX_POSTFIXES = 24
"""Maximum number of factorial, percent and prime signs and exponents after one atom."""


class Parser(Cursor):
    """Recursive descent over tokens, with a method per level of the grammar, loosest first."""

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self.bars: int = 0
        """Number of open absolute values that a bar would close."""
        self.reversed: bool = False
        """Whether a bracket that opens with ] is being read, which [ may close."""
        self.integral: int = -1
        """Depth at which an integrand is being read, -1 outside of integrals."""
        self.variable: Node | None = None
        """The variable of the last differential."""

    def answer(self) -> Node:
        """Read the whole text.

        Raises:
            NotMath: Some text is left over or not understood.
        """
        items, _ = self.items("")
        if not items:
            raise NotMath("nothing to read")
        return items[0] if len(items) == 1 else Node("list", tuple(items))

    def items(self, *closers: str) -> tuple[list[Node], str]:
        """Read elements up to one of `closers` ('' is the end of the text)."""
        found: list[Node] = []
        words: list[str] = []
        marks: set[str] = set()
        while True:
            word = ""
            while self.token.kind == "sep" or (self.at(".") and self.ahead().text in closers):
                text = self.take().text
                word = text if text in ("and", "or") else word
                marks.add(text)
            if self.token.kind == "end":
                if "" in closers:
                    return connected(found, words), ""
                raise NotMath("a bracket does not close")
            if (self.token.kind == "op" or self.token.text in closers) and (closer := self.accept(*closers)):
                if closer == "]" and marks >= {",", ";"}:
                    raise NotMath("rows of numbers in square brackets")
                return connected(found, words), closer
            if found:
                words.append(word)
            found.append(self._element())
            if not (self.token.kind in ("sep", "end") or self.at(*closers) or self.at(".")):
                raise NotMath(f"not understood: {self.token.text[:40]!r}")

    def _element(self) -> Node:
        skip_label(self)
        node = self.relation()
        if self.at("pmod", "mod") and node.op == "rel":
            return Node("fn", ("residue", node, self._modulus()))
        if self.token.kind in ("word", "unit") or (self.at("(") and self.ahead().kind in ("word", "unit")):
            node = with_unit(self, node)
        return node

    def relation(self) -> Node:
        """Read an expression, a ratio or a chain of relations."""
        operands, operators = [self._ratio()], []
        while self.token.kind in ("op", "cmd") and (operator := self._relation_operator()):
            operators.append(operator)
            operands.append(self._ratio())
            if len(operators) > 30:
                raise TooBig("a chain of too many relations")
        return operands[0] if not operators else Node("rel", (tuple(operators), *operands))

    def _relation_operator(self) -> str:
        token = self.token
        if token.text == "not" and self.ahead().text in ("=", "in"):
            self.seek(self.index + 2)
            return "!=" if self.tokens[self.index - 1].text == "=" else "notin"
        if token.text in ("<", ">", "!") and self.ahead().text == "=" and not self.ahead().spaced:
            self.seek(self.index + 2)
            return token.text + "="
        if token.text in _RELATIONS:
            self.take()
            if token.text == "=":
                while self.at("="):
                    self.take()
            return _RELATIONS[token.text]
        return ""

    def _ratio(self) -> Node:
        first = self.expression()
        if not self.at(":") or self.bars:
            return first
        terms = [first]
        while self.accept(":") and len(terms) < 10:
            if self.token.kind == "num" and len(self.token.text) == 2 and self.token.text[0] == "0":
                raise NotMath("a time of day")
            terms.append(self.expression())
        return Node("ratio", tuple(terms))

    def expression(self) -> Node:
        """Read sums joined by set operators, left to right."""
        node = self._sum_of_terms()
        while self.token.text in _SET_OPERATORS and self.token.kind == "cmd":
            operator = _SET_OPERATORS[self.take().text]
            node = Node(operator, (node, self._sum_of_terms()))
        return node

    def _sum_of_terms(self) -> Node:
        if self.at("pm", "mp"):
            self.take()
            terms = [Node("pm", (ZERO, self.product()))]
        else:
            terms = [self.product()]
        while True:
            if self.accept("+"):
                terms.append(self.product())
            elif self.accept("-"):
                terms.append(Node("neg", (self.product(),)))
            elif self.at("pm", "mp"):
                sign = self.take().text
                left, right = _added(terms), self.product()
                terms = [Node("pm", (left, right if sign == "pm" else Node("neg", (right,))))]
            elif self.at("bmod", "pmod"):  # of all terms before it
                terms = [Node("fn", ("mod", _added(terms), self._modulus()))]
            else:
                return _added(terms)

    def product(self) -> Node:
        """Read a product or quotient, written or by juxtaposition, left to right."""
        negative = False
        while self.token.text in ("-", "+") and self.token.kind == "op":
            negative ^= self.take().text == "-"
        node, factors, plain = self.power(), 0, True
        while True:
            factors += 1
            if factors > 400:
                raise TooBig("a product of too many factors")
            if self.token.text in _TIMES and self.token.kind in ("op", "cmd"):
                self.take()
                node, plain = _times(node, self._signed_power()), False
            elif (self.at("/") and self.ahead().kind not in ("unit", "word")) or self.at("div"):
                self.take()
                node, plain = Node("div", (node, self._signed_power())), False
            elif self.at("mod"):
                node, plain = Node("fn", ("mod", node, self._modulus())), False
            elif self._juxtaposed():
                plain = plain and not self.at("(", "{")
                before, first, right = self.tokens[self.index - 1], self.token, self.power()
                if first.kind == "num" and right.op != "prime" and _closed(before, node):
                    raise NotMath("a number right after a unit or a sign")
                node, plain = self._join(node, right, plain), False
            else:
                return Node("neg", (node,)) if negative else node

    def _modulus(self) -> Node:
        self.take()
        return self._signed_power()

    def _signed_power(self) -> Node:
        negative = False
        while self.token.text in ("-", "+") and self.token.kind == "op":
            negative ^= self.take().text == "-"
        node = self.power()
        return Node("neg", (node,)) if negative else node

    def _juxtaposed(self) -> bool:
        token = self.token
        if self.integral >= 0 and differential_here(self):
            return self.integral != self.depth
        if token.kind in ("num", "sym", "name"):
            return True
        if token.kind == "cmd":
            return token.text not in _NOT_FACTORS and (token.text in GREEK or token.text not in _RELATIONS)
        return (
            token.text in ("(", "{", "\\{")
            or (token.text == "|" and not self.bars)
            or (token.text == "[" and not self.reversed)
        )

    def _join(self, left: Node, right: Node, plain: bool) -> Node:
        """The meaning of two adjacent values: a mixed number, degrees with minutes, or a product."""
        previous = self.tokens[self.index - 1]
        if right is ONE:
            return left  # A differential inside of the integrand.
        if plain and right.op == "div" and left.op == "num" and type(left.args[0]) is int and left.args[1] is None:
            top, bottom = right.args
            if top.op == bottom.op == "num" and previous.kind != "word" and 0 < top.args[0] < bottom.args[0]:
                return Node("add", (left, right))
        if (order := _derivative(left)) is not None:
            return Node("deriv", (*order, right))
        if left.op in ("deg", "prime") and right.op == "prime":
            return Node("add", (left, right))
        if left.op == "add" and right.op == "prime" and children(left)[0].op == "deg":
            return Node("add", (*left.args, right))
        if left.op == right.op == "num" and previous.kind == "num":
            raise NotMath("two numbers side by side")
        return _times(left, right)

    def power(self) -> Node:
        """Read an atom, then its postfixes and exponents."""
        self.enter()
        self._skip_empty_groups()
        node = self._postfixes(self.atom())
        self._skip_empty_groups()
        self.leave()
        return node

    def _skip_empty_groups(self) -> None:
        """Skip {}, which shows nothing, unless it has an index or exponent."""
        while self.at("{") and self.ahead().text == "}" and self.ahead(2).text not in ("^", "_"):
            self.seek(self.index + 2)

    def _postfixes(self, node: Node) -> Node:
        start = self.index
        while self.token.kind in ("op", "cmd"):
            if self.index - start > MAX_POSTFIXES:
                raise TooBig("too many signs after a value")
            text = self.token.text
            if text in ("^", "**"):
                self.take()
                node = self._exponent(node)
            elif text == "!" and (self.ahead().text != "=" or self.ahead().spaced):
                self.take()
                node = Node("fact", (node,))
            elif text == "%":
                self.take()
                node = Node("pct", (node,))
            elif text == "deg_mark":
                self.take()
                node = Node("deg", (node,))
            elif text in ("'", '"'):
                self.take()
                node = Node("prime", (node, 2 if text == '"' or self.accept("'") else 1))
            else:
                break
        return node

    def _exponent(self, base: Node) -> Node:
        for mark in ("circ", "deg_mark"):
            if self.at(mark):
                self.take()
                return Node("deg", (base,))
        if self.at("{") and self.ahead().text == "circ" and self.ahead(2).text == "}":
            self.seek(self.index + 3)
            return Node("deg", (base,))
        if self.at("'") or (self.at("{") and self.ahead().text == "'"):
            braced = bool(self.accept("{"))
            count = 0
            while self.accept("'"):
                count += 1
            if braced:
                self.expect("}")
            return Node("prime", (base, count))
        negative = False
        while self.token.text in ("-", "+") and self.token.kind == "op":
            negative ^= self.take().text == "-"
        if self.at("{"):
            exponent = self.argument()
            if self.at("^"):
                exponent = self._postfixes(exponent)
        else:
            exponent = self.power()
        return Node("pow", (base, Node("neg", (exponent,)) if negative else exponent))

    def _letters(self) -> Node:
        """The product of the letters of a name, the last of which may have a subscript."""
        letters = tuple(map(letter, self.take().text))
        return Node("mul", (*letters[:-1], subscripted(self, letters[-1])))

    def atom(self) -> Node:
        """Read one operand.

        Raises:
            NotMath: There is no operand.
        """
        token = self.token
        kind, text = token.kind, token.text
        if kind == "num":
            self.take()
            return based(self, token) if self.at("_") else literal(token)
        if kind == "sym":
            return symbol(self)
        if kind == "cmd":
            return command(self)
        if kind == "op":
            if read := OPENERS.get(text):
                self.enter()
                node = read(self)
                self.leave()
                return node
            if currency(text) is not None:
                self.take()
                return Node("qty", (self.power(), currency(text)))
        if kind == "name":
            return self._letters()
        raise NotMath(f"not understood: {text[:40] or 'the end'!r}")

    def argument(self) -> Node:
        """Read a LaTeX argument: a braced group, or a single digit, letter or command."""
        token = self.token
        if self.accept("{"):
            self.enter()
            found = self.relation()
            if self.accept("over"):
                found = Node("div", (found, self.relation()))
            self.expect("}")
            self.leave()
            return found.args[0] if found.op == "set" and len(found.args) == 1 else found
        if token.kind == "num" and len(token.text) > 1 and token.text.isdigit():
            self.shorten()
            return num(int(token.text[0]))
        return self.atom()


def _closed(before: Token, left: Node) -> bool:
    """Whether a number right after a value is not a factor: 10°10 and 5'11 are angles and lengths, 1h30 is a time."""
    if left.op != "mul":
        return left.op in ("pct", "deg", "prime")
    return left.args[-1].op in ("pct", "deg", "prime") or (before.kind == "sym" and before.text in ("h", "e", "E"))


def _added(terms: list[Node]) -> Node:
    return terms[0] if len(terms) == 1 else Node("add", tuple(terms))


def _times(left: Node, right: Node) -> Node:
    """A product, flattened so that a long product is not deeply nested."""
    return Node("mul", (*left.args, right) if left.op == "mul" else (left, right))


def _derivative(node: Node) -> tuple[Node, int] | None:
    """The variable and order of d/dx or d^2/dx^2, or None if a tree is not such an operator."""
    if node.op != "div":
        return None
    top, bottom = node.args
    order, power = 1, None
    if top.op == "pow" and top.args[1].op == "num":
        top, order = top.args[0], top.args[1].args[0]
    if top not in _DIFFERENTIALS or bottom.op != "mul" or len(bottom.args) != 2 or bottom.args[0] != top:
        return None
    variable = bottom.args[1]
    if variable.op == "pow" and variable.args[1].op == "num":
        variable, power = variable.args[0], variable.args[1].args[0]
    if variable.op != "sym" or (power or 1) != order or not isinstance(order, int) or order > 20:
        return None
    return variable, order
