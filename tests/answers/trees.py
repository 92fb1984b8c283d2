"""Random expression trees, each printed in several notations and built in sympy, which reads none of our own grammar.

A tree is a tuple: ``("num", n)``, ``("sym", name)``, ``("const", name)``, ``("add", …)``, ``("mul", …)``,
``("neg", a)``, ``("div", a, b)``, ``("pow", a, b)``, ``("root", n, a)``, ``("fn", name, a)``, ``("abs", a)``,
``("fact", a)``.
"""

import re

LETTERS = "abckmnpqrstuvwxyz" + "ABUMRV"
SYMBOLS = [*LETTERS, r"\alpha", r"\theta", r"\mu", "x_1", "x_2", "a_n", r"\beta_0", r"v_{max}"]
FUNCTIONS = ["sin", "cos", "tan", "ln", "arctan", "sinh"]
STYLES = ["adjacent", "spaced", "cdot", "star", "braced", "reordered", "mixed", "sized"]
# What the text itself says is a name: units after numbers, functions, words (the tests of letters hold those).
NAMES = re.compile(
    r"abs|gcd|lcm|det|lim|eV|sin|cos|tan|log|ln|exp|max|min|pi|mu|nu|xi|cis|mod|"
    r"(?<![a-zA-Z\\])(?:a[nsmty]|b[ey]|m[ey]|my|us|up|i[fnst]|he|we|any|was|via|six|ten|per|two|the|and|[kcmnpuμ]?(?:m|g|s|A|K|V)|"
    r"amp|cent|yuan|buck|mins|rs|cu|sq|st|art|[mknpcu](?:m|g|s|V|A)|ct|yd|pct|unit|am|pm|bc|ac)(?![a-z])"
)


def grow(rng, depth):
    """A random tree of at most this depth."""
    if depth <= 0 or rng.random() < 0.15:
        pick = rng.random()
        if pick < 0.3:
            return ("num", rng.randint(0, 20))
        return ("sym", rng.choice(SYMBOLS)) if pick < 0.92 else ("const", rng.choice(["pi", "e", "i"]))
    kind = rng.choice(["add", "mul", "mul", "mul", "div", "pow", "pow", "neg", "root", "fn", "abs", "fact"])
    if kind in ("add", "mul"):
        return (kind, *(grow(rng, depth - 1) for _ in range(rng.randint(2, 4))))
    if kind == "div":
        return (kind, grow(rng, depth - 1), grow(rng, depth - 2))
    if kind == "pow":
        return (kind, grow(rng, depth - 2), _exponent(rng))
    if kind == "root":
        return (kind, rng.choice([2, 2, 3, 5]), grow(rng, depth - 1))
    if kind == "fn":
        return (kind, rng.choice(FUNCTIONS), grow(rng, depth - 1))
    if kind == "fact":
        return (kind, ("num", rng.randint(0, 9)) if rng.random() < 0.3 else ("sym", rng.choice(SYMBOLS)))
    return (kind, grow(rng, depth - (1 if kind == "neg" else 2)))


def _exponent(rng):
    """No towers: sympy computes powers of numbers."""
    small, letter = ("num", rng.randint(2, 9)), ("sym", rng.choice(LETTERS))
    return rng.choice([small, small, small, letter, ("neg", letter), ("add", letter, small), ("mul", small, letter)])


def to_sympy(tree):
    """The tree as a sympy object."""
    import sympy

    kind, *args = tree
    if kind == "num":
        return sympy.Integer(args[0])
    if kind == "sym":
        return sympy.Symbol(args[0].replace("\\", "").replace("{", "").replace("}", ""), real=True)
    if kind == "const":
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I}[args[0]]
    if kind == "root":
        return to_sympy(args[1]) ** sympy.Rational(1, args[0])
    if kind == "fn":
        name = {"ln": "log", "arctan": "atan"}.get(str(args[0]), str(args[0]))
        return getattr(sympy, name)(to_sympy(args[1]))
    values = [to_sympy(a) for a in args]
    if kind == "add":
        return sympy.Add(*values)
    if kind == "mul":
        return sympy.Mul(*values)
    if kind == "neg":
        return -values[0]
    if kind == "div":
        return values[0] / values[1]
    if kind == "pow":
        return values[0] ** values[1]
    return sympy.Abs(values[0]) if kind == "abs" else sympy.factorial(values[0])


class Printer:
    """Prints a tree in one of `STYLES`."""

    def __init__(self, style, rng):
        self.style, self.rng = style, rng

    def text(self, tree) -> str:
        """The tree as a whole text."""
        text = self.sum(tree)
        if self.style != "star" and re.fullmatch(r"-?[A-Za-z ]+", text):  # Letters alone are words.
            return "-" * (text[0] == "-") + r" \cdot ".join(re.sub("[- ]", "", text))
        return text

    def ordered(self, parts):
        return self.rng.sample(parts, len(parts)) if self.style in ("reordered", "mixed") else list(parts)

    def sum(self, tree) -> str:
        """As a term of nothing: sums and signs stand free."""
        gap = " " if self.style in ("spaced", "cdot") or (self.style == "mixed" and self.rng.random() < 0.5) else ""
        if tree[0] == "add":
            text = ""
            for part in self.ordered(tree[1:]):
                sign, part = ("-", part[1]) if part[0] == "neg" else ("+", part)
                body = self.product(part) if part[0] not in ("add", "neg") else self.group(part)
                text += f"{gap}{sign}{gap}{body}" if text else ("-" + body if sign == "-" else body)
            return text
        if tree[0] == "neg":
            return "-" + (self.product(tree[1]) if tree[1][0] not in ("add", "neg") else self.group(tree[1]))
        return self.product(tree)

    def product(self, tree) -> str:
        """As a term of a sum."""
        if tree[0] == "mul":
            factors = [self.factor(a) for a in self.ordered(tree[1:])]
            text = factors[0]
            for factor in factors[1:]:
                text = self.join(text, factor)
            return text
        if tree[0] == "div" and (self.style == "star" or (self.style == "mixed" and self.rng.random() < 0.3)):
            return f"{self.factor(tree[1])}/{self.factor(tree[2])}"
        return self.factor(tree)

    def join(self, left, right) -> str:
        """Two factors side by side, as the style has it, or with a sign where they would run into one another."""
        style = self.style if self.style != "mixed" else self.rng.choice(["adjacent", "spaced", "cdot", "star"])
        if style == "star":
            return f"{left}*{right}"
        if (
            style == "cdot"
            or right[0].isdigit()
            or (left[-1].isdigit() and right[0] == "e")
            or (left[-1].isdigit() and right.startswith((r"\frac", r"{\frac")))
        ):
            return rf"{left} \cdot {right}"
        if left[-1] == "|" or right[0] == "|":
            return rf"{left} \cdot {right}"
        command = re.search(r"\\[A-Za-z]+$", left) and right[0].isalpha()
        capitals = left[-1].isupper() and right[0].isalpha()
        subscript = re.search(r"_.$", left) and right[0].isalpha()
        if style == "spaced" and self.style == "mixed" and left[-1].isdigit():
            return rf"{left} \cdot {right}"  # A number, a space and letters are a count of something.
        gap = " " if style == "spaced" or command or capitals or subscript else ""
        joined = left + gap + right
        around = "".join(re.findall(r"[A-Za-z]*$", left)) + gap + "".join(re.findall(r"^[A-Za-z]*", right))
        return rf"{left} \cdot {right}" if NAMES.search(around) else joined

    def factor(self, tree) -> str:
        """As a factor: sums and signs in brackets."""
        kind = tree[0]
        if kind in ("add", "neg", "mul"):
            return self.group(tree)
        if kind == "div":
            if self.style in ("star",):
                return self.group(tree)
            return rf"\frac{{{self.sum(tree[1])}}}{{{self.sum(tree[2])}}}"
        if kind == "pow":
            return self.power(tree)
        if kind == "fact":
            return self.base(tree[1]) + "!"
        text = self.atom(tree)
        return "{" + text + "}" if self.style == "braced" and self.rng.random() < 0.5 else text

    def power(self, tree) -> str:
        """Base and exponent; one character needs no braces."""
        base, exponent = self.base(tree[1]), tree[2]
        sign = "**" if self.style == "star" else "^"
        if exponent[0] == "num" and exponent[1] < 10:
            return f"{base}{sign}{exponent[1]}" if self.style != "braced" else f"{base}^{{{exponent[1]}}}"
        if self.style == "star":
            return f"{base}**({self.sum(exponent)})"
        if exponent[0] == "sym" and len(exponent[1]) == 1 and self.style in ("adjacent", "mixed", "reordered"):
            return f"{base}^{exponent[1]}"
        return f"{base}^{{{self.sum(exponent)}}}"

    def base(self, tree) -> str:
        """What a power or factorial sign binds to."""
        if tree[0] in ("num", "sym", "const", "abs"):
            text = self.atom(tree)
            return "{" + text + "}" if self.style == "braced" and self.rng.random() < 0.5 else text
        return self.group(tree)

    def group(self, tree) -> str:
        inner = self.sum(tree)
        if self.style == "sized":
            return rf"\left({inner}\right)"
        return rf"\left[{inner}\right]" if self.style == "braced" and self.rng.random() < 0.2 else f"({inner})"

    def atom(self, tree) -> str:
        """Leaves, roots and functions."""
        kind, *args = tree
        if kind == "num":
            return str(args[0])
        if kind == "sym":
            return str(args[0])
        if kind == "const":
            return r"\pi" if args[0] == "pi" and self.style != "star" else str(args[0])
        if kind == "root":
            if self.style == "star":
                return f"({self.sum(args[1])})**(1/{args[0]})"
            return r"\sqrt" + (f"[{args[0]}]" if args[0] != 2 else "") + f"{{{self.sum(args[1])}}}"
        if kind == "fn":
            slash = "" if self.style == "star" else "\\"
            return f"{slash}{args[0]}{self.group(args[1])}"
        inner = self.sum(args[0])
        inner = f"({inner})" if "|" in inner else inner  # Bars inside of bars don't tell where they open.
        return rf"\left|{inner}\right|" if self.style == "sized" else f"|{inner}|"
