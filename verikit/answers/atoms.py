"""Atoms of an expression: literals, symbols, brackets, fractions, roots, functions, matrices, sums and integrals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from verikit.answers.calculus import CalculusParser, letter, literal
from verikit.answers.lexer import FUNCTIONS, GREEK, Token
from verikit.answers.tree import HALF, INFINITY, ONE, Node, NotMath, num
from verikit.answers.units import currency

_CONSTANTS = {
    "pi": Node("const", ("pi",)), "infty": INFINITY, "e_const": Node("const", ("e",)), "i_const": Node("const", ("i",)),
    "dots": Node("sym", ("…",)), "empty": Node("set", ()),
}  # fmt: skip
_CALLABLE = frozenset("fghFGHPQWTS")
_ARITY = {"binom": 2, "mod": 2}
_MANY = frozenset(("gcd", "lcm", "max", "min"))
_ACCENTS = frozenset("overline bar vec hat widehat tilde overrightarrow overset dot ddot underset".split())
_MATRICES = frozenset("matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix array cases".split())
_INTEGRALS = frozenset("int iint iiint oint".split())
_BARE = frozenset("frac sqrt cbrt pi infty binom e_const".split()) | GREEK


class AtomParser(CalculusParser):
    """Reads one atom; see `verikit.answers.parser` for the grammar's upper half."""

    def atom(self) -> Node:
        """Read one operand.

        Raises:
            NotMath: no operand stands here.
        """
        token = self.token
        kind, text = token.kind, token.text
        if kind == "num":
            self.take()
            return self._based(token) if self.at("_") else literal(token)
        if kind == "sym":
            return self._symbol()
        if kind == "cmd":
            return self._command()
        if kind == "op":
            if text in _OPENERS:
                return self._bracket()
            if currency(text) is not None:
                self.take()
                return Node("qty", (self.power(), currency(text)))
        if kind == "name":
            self.take()
            letters = tuple(letter(c) for c in text)
            return Node("mul", (*letters[:-1], self._subscripted(letters[-1])))
        raise NotMath(f"not understood: {text[:40] or 'the end'!r}")

    def _based(self, token: Token) -> Node:
        """A literal with a base as subscript: 1202_3."""
        self.take()
        base = self.argument()
        radix = base.args[0] if base.op == "num" else None
        if not isinstance(radix, int) or not 2 <= radix <= 36 or not token.text.isdigit():
            raise NotMath("a subscript that is no base")
        if any(int(digit) >= radix for digit in token.text):
            raise NotMath("a digit outside of its base")
        return Node("based", (int(token.text, radix), token.text, radix))

    def _symbol(self) -> Node:
        if self.differential_here():
            return self.inner_differential()
        token = self.take()
        node = self._subscripted(letter(token.text))
        if self.at("(") and not self.token.spaced and token.text in _CALLABLE:
            self.take()
            self.enter()
            arguments, _ = self.items(")")
            self.leave()
            if not arguments:
                raise NotMath("a function of nothing")
            return Node("apply", (node, *arguments))
        return node

    def _subscripted(self, node: Node) -> Node:
        """Give a symbol its subscript and primes."""
        name = str(node.args[0])
        if self.at("_"):
            self.take()
            name += "_" + self._subscript()
        while self.at("'") or (self.at("^") and self.ahead().text == "'"):
            name += "'" * (len(self.take().text) if not self.at("^") else self.take() and len(self.take().text))
        return node if name == node.args[0] else Node("sym", (name,))

    def _subscript(self) -> str:
        if self.accept("{"):
            parts, depth = [], 1
            while depth and self.token.kind != "end":
                text = self.take().text
                depth += (text == "{") - (text == "}")
                parts.append(text)
            return "".join(parts[:-1])
        return self.take().text

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
            self.tokens[self.index] = self.token = token._replace(text=token.text[1:])
            return num(int(token.text[0]))
        return self.atom()

    def _bracket(self) -> Node:
        self.enter()
        node = _OPENERS[self.token.text](self)
        self.leave()
        return node

    def _round(self) -> Node:
        """Parentheses and square brackets: a group, a tuple, an interval; mixed ones may be half open."""
        opener = self.take().text
        outer = self.bars, self.reversed
        self.bars, self.reversed = 0, opener == "]"
        items, closer = self.items(")", "]", "[") if self.reversed else self.items(")", "]")
        self.bars, self.reversed = outer
        if not items:
            raise NotMath("empty brackets")
        if opener == "]":
            if len(items) != 2:
                raise NotMath("brackets that don't match")
            return Node("interval", (items[0], items[1], False, closer == "]"))
        if len(items) == 1 and opener + closer in ("()", "[]"):
            return items[0]
        if len(items) == 2 and opener + closer != "()":
            return Node("interval", (items[0], items[1], opener == "[", closer == "]"))
        if len(items) > 1 and opener + closer in ("()", "[]"):
            return Node("tuple", tuple(items))
        raise NotMath("brackets that don't match")

    def _absolute(self) -> Node:
        self.take()
        self.bars += 1
        inner = self.expression()
        self.bars -= 1
        self.expect("|")
        return Node("fn", ("abs", inner))

    def _set(self) -> Node:
        self.take()
        if self.accept("\\}"):
            return Node("set", ())
        start = self.index
        bars, self.bars = self.bars, 1
        first = self.relation()
        self.bars = bars
        if self.accept("|", ":"):
            conditions, _ = self.items("\\}")
            variable = first.args[1] if first.op == "rel" else first
            if first.op == "rel":
                conditions.insert(0, first)
            return Node("builder", (variable, tuple(conditions)))
        if first.op == "ratio" and len(first.args) == 2:
            raise NotMath("a set builder that is not understood")
        self.seek(start)
        items, _ = self.items("\\}")
        return Node("set", tuple(items))

    def _braces(self) -> Node:
        """Plain braces: a LaTeX group, or a set whose backslashes were left out."""
        self.take()
        items, _ = self.items("}", "over")
        if self.tokens[self.index - 1].text == "over":
            if len(items) != 1:
                raise NotMath("a fraction of lists")
            bottom, _ = self.items("}")
            return Node("div", (items[0], bottom[0])) if len(bottom) == 1 else Node("set", ())
        if len(items) == 1 and items[0].op != "pm":
            return items[0]
        if not items:
            raise NotMath("empty braces")
        return Node("set", tuple(items))

    def _command(self) -> Node:
        token = self.take()
        name = token.text
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name == "frac":
            return Node("div", (self.argument(), self.argument()))
        if name in ("sqrt", "cbrt"):
            return self._root(name)
        if name in FUNCTIONS or name in ("log10", "log2", "cis"):
            return self._function(name)
        if name in GREEK:
            return self._subscripted(Node("sym", (name,)))
        if name in ("lfloor", "lceil"):
            inner = self.expression()
            self.expect("r" + name[1:])
            return Node("fn", (name[1:], inner))
        if name == "langle":
            items, _ = self.items("rangle")
            return Node("tuple", tuple(items))
        if name == "begin":
            return self._matrix()
        if name in ("sum", "prod"):
            return self.big_operator(name)
        if name in _INTEGRALS:
            return self.integral_of()
        if name == "lim":
            return self.limit_of()
        if name == "det":
            return Node("det", (self.power(),))
        if name == "mathbb":
            return Node("const", (self._subscript(),))
        if name in _ACCENTS:
            return Node("fn", (f"{name}:", self.argument()))
        raise NotMath(f"unknown command \\{name[:30]}")

    def _root(self, name: str) -> Node:
        index: Node = num(3) if name == "cbrt" else num(2)
        if name == "sqrt" and self.accept("["):
            index = self.expression()
            self.expect("]")
        if self.token.kind == "num":
            radicand = literal(self.take())
        elif self.at("{"):
            radicand = self.argument()
        else:
            self.enter()
            radicand = self.atom()
            self.leave()
        if index.op == "num":
            if not index.args[0]:
                raise NotMath("a zeroth root")
            exponent = HALF if index.args[0] == 2 else num(Fraction(1) / index.args[0])
            return Node("pow", (radicand, exponent))
        return Node("pow", (radicand, Node("div", (ONE, index))))

    def _function(self, name: str) -> Node:
        base, exponent = None, None
        while self.at("_", "^"):
            if self.take().text == "_":
                base = self.argument() if self.token.kind != "num" else literal(self.take())
            else:
                exponent = self.argument() if self.token.kind != "num" else literal(self.take())
        self.enter()
        arguments = self._function_arguments(name)
        self.leave()
        if name == "log" and base is None and len(arguments) == 2:
            base = arguments.pop()
        if len(arguments) != _ARITY.get(name, 1) and not (arguments and name in _MANY):
            raise NotMath(f"{name} of {len(arguments)} arguments")
        if name in ("log10", "log2"):
            name, base = "log", num(int(name[3:]))
        if exponent is not None and exponent in (num(-1), Node("neg", (ONE,))) and "arc" + name in FUNCTIONS:
            name, exponent = "arc" + name, None
        node = Node("fn", (name, *arguments))
        if name in ("log", "lg") and base is not None:
            node = Node("div", (Node("fn", ("ln", *arguments)), Node("fn", ("ln", base))))
        elif name == "exp":
            node = Node("pow", (Node("const", ("e",)), arguments[0]))
        elif name == "factorial":
            node = Node("fact", (arguments[0],))
        return node if exponent is None else Node("pow", (node, exponent))

    def _function_arguments(self, name: str) -> list[Node]:
        if name == "binom" and not self.at("("):
            return [self.argument(), self.argument()]
        if self.at("(", "[", "{", "\\{"):
            opener = self.take().text
            arguments, _ = self.items({"(": ")", "[": "]", "{": "}", "\\{": "\\}"}[opener])
            if len(arguments) == 1 and arguments[0].op in ("list", "tuple", "set") and name in _MANY:
                arguments = list(arguments[0].args)
            return arguments
        if self.token.kind == "cmd" and self.token.text in FUNCTIONS:
            return [self._command()]
        factors = [self.power()]
        while self.token.kind in ("num", "sym", "name") or (self.token.kind == "cmd" and self.token.text in _BARE):
            if self.differential_here() or len(factors) > 20:
                break
            factors.append(self.power())
        return [factors[0] if len(factors) == 1 else Node("mul", tuple(factors))]

    def _matrix(self) -> Node:
        environment = self._subscript().rstrip("*")
        if environment not in _MATRICES:
            raise NotMath(f"unknown environment {environment[:30]}")
        if environment == "array" and self.at("{"):
            self._subscript()
        rows: list[tuple[Node, ...]] = []
        row: list[Node] = []
        self.enter()
        while not self.accept("end"):
            if self.accept("hline", "&"):
                continue
            if self.accept("\\\\"):
                rows.append(tuple(row))
                row = []
            else:
                row.append(self.relation())
        self.leave()
        self._subscript()
        rows = [r for r in (*rows, tuple(row)) if r]
        if not rows or len({len(r) for r in rows}) != 1:
            raise NotMath("a matrix with rows of unequal length")
        matrix = Node("matrix", tuple(rows))
        return Node("det", (matrix,)) if environment == "vmatrix" else matrix


_OPENERS: dict[str, Callable[[AtomParser], Node]] = {
    "(": AtomParser._round, "[": AtomParser._round, "]": AtomParser._round, "{": AtomParser._braces,
    "\\{": AtomParser._set, "|": AtomParser._absolute,
}  # fmt: skip
