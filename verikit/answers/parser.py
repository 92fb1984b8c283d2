"""The parser: an answer's text to a tree, in time linear in its tokens; no evaluation, no regular expressions.

Grammar, loosest first: a list of elements (comma, semicolon, and, or); an element is a labelled relation with a unit
after it; a relation chains set expressions; then union and difference, sums, products (juxtaposition too), signs,
powers and postfixes, atoms. What is not understood raises `NotMath` with the place, never drops text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from verikit.answers.atoms import AtomParser
from verikit.answers.clean import clean
from verikit.answers.connectives import connected
from verikit.answers.letters import split_letters
from verikit.answers.lexer import GREEK, Token, lex
from verikit.answers.tree import MAX_CHARS, ONE, ZERO, Node, NotMath, TooBig, children, num
from verikit.answers.units import COUNT, parse_unit

_RELATIONS = {
    "=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "=<": "<=", "le": "<=", "ge": ">=", "!=": "!=",
    "ne": "!=", "approx": "≈", "sim": "=", "simeq": "=", "cong": "=", "in": "in", "notin": "notin", "subset": "subset",
    "subseteq": "subset",
}  # fmt: skip
_SET_OPERATORS = {"cup": "union", "cap": "inter", "setminus": "diff"}
_TIMES = frozenset(("*", "times", "cdot"))
_PROSE = frozenset(
    "is are was were be not no nor but if when where for because so since then that which this than with without the "
    "wrong incorrect maybe perhaps either neither except of it he she they we you".split()
)
_NOT_FACTORS = frozenset(
    "cup cap setminus over pm mp end rangle rfloor rceil to le ge ne in notin approx mod pmod bmod".split()
)
_DIFFERENTIALS = (Node("sym", ("d",)), Node("sym", ("partial",)))
_PLAIN = re.compile(r"(-?)(\d{1,18})(?:\.(\d{1,18}))?")
_PERCENT = frozenset(("percent", "pct", "percentage", "percents"))
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12,
           "lakh": 10**5, "lakhs": 10**5, "crore": 10**7, "crores": 10**7}  # fmt: skip
_NO_NOUN = _PROSE | frozenset(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec bc ad bce ce am pm st nd rd th".split()
)
MAX_POSTFIXES = 24
"""Tokens of factorial, percent and prime signs and exponents after one atom."""
MAX_LABEL = 6
"""Words of a noun after a number, or of a label before one."""


class Parser(AtomParser):
    """Recursive descent over tokens; the atoms are read by `AtomParser`."""

    def answer(self) -> Node:
        """Read the whole text.

        Raises:
            NotMath: something is left over or not understood.
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
        self._skip_label()
        node = self.relation()
        if self.at("pmod", "mod") and node.op == "rel":
            return Node("fn", ("residue", node, self._modulus()))
        if self.token.kind in ("word", "unit") or (self.at("(") and self.ahead().kind in ("word", "unit")):
            node = self._with_unit(node)
        return node

    def _skip_label(self) -> None:
        """Skip words before ``=`` or ``:``, and a quantifier."""
        if self.accept("forall", "therefore", "exists", "approx", "sim"):
            return
        index = self.index
        while index < len(self.tokens) and self.tokens[index].kind == "word":
            index += 1
        words = self.tokens[self.index : index]
        if len(words) == 1 and len(words[0].text) <= 3 and not words[0].text.istitle():
            return  # A product of symbols, AB = 5.
        if 0 < len(words) <= MAX_LABEL and self.tokens[index].text in ("=", ":"):
            if any(word.text.lower() in _PROSE - {"the"} for word in words):
                raise NotMath("prose before the value")
            self.seek(index + 1)

    def _with_unit(self, node: Node) -> Node:
        """Attach the unit or noun that follows a value."""
        start = self.index
        parts: list[str] = []
        while self.token.kind in ("word", "unit", "sym", "num") or self.at(
            "/", "^", "{", "}", "cdot", "*", "-", "(", ")"
        ):
            if self.at("}", ")") and parts.count(self.token.text) >= parts.count("{" if self.at("}") else "("):
                break
            parts.extend(self.take().text.replace("^", " ^ ").replace("/", " / ").split())
        if "".join(parts).lower() in _PERCENT:
            return self._on_last(node, lambda value: Node("pct", (value,)))
        if parts and (scale := _SCALES.get(parts[0].lower())):
            node, parts = self._on_last(node, lambda value: Node("mul", (value, num(scale)))), parts[1:]
            if not parts:
                return node
        unit = parse_unit([p for p in parts if p not in "()"])
        if unit is None:
            words = [p for p in parts if p.isalpha()]
            if (
                any(p.isdigit() for p in parts)
                or len(words) > MAX_LABEL
                or any(w.lower() in _NO_NOUN for w in words)
                or len(words) < len(parts) - 2
            ):
                raise NotMath(f"not understood: {' '.join(t.text for t in self.tokens[start : start + 8])[:60]!r}")
            unit = COUNT
        if unit.dimension == (("d", 1),):
            return self._on_last(node, lambda value: Node("deg", (value,)))
        return self._on_last(node, lambda value: Node("qty", (value, unit)))

    @staticmethod
    def _on_last(node: Node, wrap: Callable[[Node], Node]) -> Node:
        """Give the value of a relation, or the node itself, its unit."""
        if node.op == "rel":
            return Node("rel", (*node.args[:-1], wrap(node.args[-1])))
        return wrap(node)

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
                left = terms[0] if len(terms) == 1 else Node("add", tuple(terms))
                right = self.product()
                terms = [Node("pm", (left, right if sign == "pm" else Node("neg", (right,))))]
            else:
                return terms[0] if len(terms) == 1 else Node("add", tuple(terms))

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
            elif self.at("mod", "bmod", "pmod"):
                node, plain = Node("fn", ("mod", node, self._modulus())), False
            elif self._juxtaposed():
                plain = plain and not self.at("(", "{")
                node, plain = self._join(node, self.power(), plain), False
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
        if self.integral >= 0 and self.differential_here():
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
        """What two neighbours mean: a mixed number, degrees with minutes, or a product."""
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
        node = self._postfixes(self.atom())
        self.leave()
        return node

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


def _times(left: Node, right: Node) -> Node:
    """A product, kept flat so that a long one is not a deep one."""
    return Node("mul", (*left.args, right) if left.op == "mul" else (left, right))


def _derivative(node: Node) -> tuple[Node, int] | None:
    """The variable and order of d/dx or d^2/dx^2; None if a tree is no such operator."""
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


def parse(text: str) -> Node:
    """The tree of an answer's text.

    Raises:
        NotMath: it is not mathematics this parser understands; says where.
        TooBig: it is over a cap.
    """
    if match := _PLAIN.fullmatch(text):
        sign, whole, places = match.groups()
        value = num(Fraction(f"{whole}.{places}"), len(places)) if places else num(int(whole))
        return Node("neg", (value,)) if sign else value
    if len(text) > MAX_CHARS:
        raise TooBig("the answer is too long")
    return parse_tokens(split_letters(lex(clean(text))))


def parse_tokens(tokens: list[Token]) -> Node:
    """The tree of a list of tokens; see `parse`."""
    while tokens and tokens[-1].text in (".", "\\\\", "\\", ":", "^", "_") and tokens[-1].kind in ("op", "cmd"):
        tokens.pop()
    short = [t for t in tokens if t.kind == "word" and len(t.text) <= 3]
    if len(short) > 1 and all(t.kind in ("word", "sym", "num", "sep") for t in tokens):
        raise NotMath("words, not symbols")
    try:
        return Parser(tokens).answer()
    except RecursionError:
        raise TooBig("the answer nests too deep") from None
