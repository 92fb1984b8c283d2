"""The form of a formula: the operations left to evaluate, and the formula without neutral parts.

`unevaluated` reports what an answer leaves to evaluate if an evaluated form is required. It is required if a gold
answer is a plain number, or the question asks for a value. An answer may have the kinds of operations of a gold answer,
and a few more operations than it. `plain` drops neutral parts of a tree (+ 0, times 1, to the power of 1, double signs,
a term and its negative). `ordered` also ignores the order of sums and products.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache

from verikit.answers.algebra.compare import compare
from verikit.answers.algebra.equality import Equality
from verikit.answers.algebra.evaluate import exact
from verikit.answers.gold import MAX_CACHED, NUMERAL, read_gold
from verikit.answers.parser import parse
from verikit.answers.parser.tree import ONE, ZERO, Node, NotMath, TooBig, children, symbols
from verikit.answers.spellings import respelled

MORE = 1
"""Operations that an answer may have beyond those of a gold answer that is a plain number."""
MORE_EXACT = 4
"""The same number if the answer is an exact form with a root or a constant, or the gold answer is such a form."""
MAX_CHARS = 2_000
"""Characters that a formula may have beyond four times those of the gold answer."""
MAX_EXPONENT = 64
"""Maximum exponent of a power that is evaluated."""
MAX_FACTORIAL = 5
_ASKS_FOR_VALUE = re.compile(
    r"\b(?:comput|evaluat|calculat)(?:e|ed|ing)\b|\b(?:find|determine|give|what (?:is|are))\b[^.?!]{0,40}\bvalues?\b",
    re.IGNORECASE,
)
_KINDS = {
    kind: frozenset(names.split())
    for kind, names in {
        "a logarithm": "ln log lg",
        "a trigonometric function": "sin cos tan cot sec csc",
        "an inverse trigonometric function": "arcsin arccos arctan arccot arcsec arccsc",
        "a hyperbolic function": "sinh cosh tanh coth sech csch",
    }.items()
}
_BINDERS = {"sum": "a sum", "prod": "a product", "int": "an integral", "lim": "a limit", "deriv": "a derivative"}
_COMMANDS = re.compile(
    r"\\(?:sum|prod|i{0,3}int|oint|lim|det|gcd|lcm|bmod|pmod|mod|[dt]?binom|max|min|lfloor|lceil|log|ln|sin|cos|tan)"
    r"(?![A-Za-z])"
)
_EXACT_FORMS = frozenset(("a root", "the constant pi", "the constant e"))


@lru_cache(maxsize=4096)
def _written_short(text: str) -> Node | None:
    for spelling in (text, *respelled(text)):
        try:
            return parse(spelling)
        except NotMath:
            continue
        except TooBig:
            return None
    return None


def written(text: str) -> Node | None:
    """The tree of a formula as written, without any evaluation, or None if it can't be read."""
    return _written_short(text) if len(text) <= MAX_CACHED else _written_short.__wrapped__(text)


# ---- what is left to compute -----------------------------------------------------------------------------------------


def unevaluated(answer: str, golds: Iterable[str], question: str = "") -> str:
    """The operations of an answer left to evaluate. Empty if none, or if no evaluated form is required.

    Args:
        answer: An answer that is equal to one of the gold answers.
        golds: The accepted answers.
        question: The question, which may ask for a value.
    """
    if NUMERAL.fullmatch(answer):
        return ""
    texts = [read_gold(gold).text for gold in golds]
    trees = [unlabelled(gold) for text in texts if (gold := written(text)) is not None]
    tree = written(answer)
    if trees and tree is not None and len(answer) > MAX_CHARS + 4 * max(map(len, texts)):
        return f"{len(answer):,} characters"
    if not any(map(_plain_number, trees)) and not (trees and _ASKS_FOR_VALUE.search(question)):
        return ""
    if tree is None:
        left = {match[0] for match in _COMMANDS.finditer(answer)} - set(_COMMANDS.findall(" ".join(texts)))
        return min(left) if left else ""
    found = [_left(claim, trees) for claim in claims(tree, trees)]
    return "" if "" in found else found[0]


def claims(tree: Node, golds: Iterable[Node]) -> list[Node]:
    """The values that an answer gives: the members of a chain of equalities that equal a gold answer, or all of it."""
    if not _chain(tree):
        return [unlabelled(tree)]
    equal = [member for member in _members(tree) if any(same_value(gold, member) for gold in golds)]
    return equal or [unlabelled(tree)]


def unlabelled(tree: Node) -> Node:
    """The values of a tree without their names. For x = 2 + 3 = 5, the simplest member if all are shown equal."""
    if tree.op in ("list", "tuple", "set"):
        return Node(tree.op, tuple(map(unlabelled, tree.args)))
    if not _chain(tree) or not (members := _members(tree)):
        return tree
    simplest = min(members, key=lambda member: (len(set(kinds(member))), size(member)))
    return simplest if all(same_value(simplest, member) for member in members) else Node("list", tuple(members))


def _chain(tree: Node) -> bool:
    return tree.op == "rel" and {"=", "≈"}.issuperset(tree.args[0])


def _members(chain: Node) -> list[Node]:
    """The members of a chain of equalities that are not just a name."""
    return [member for member in chain.args[1:] if member.op not in ("sym", "apply")]


def same_value(gold: Node, tree: Node) -> bool:
    """Whether the in-process comparison shows that two trees are equal."""
    try:
        return bool(compare(gold, tree, Equality()))
    except (TooBig, RecursionError):
        return False


def _left(tree: Node, golds: list[Node]) -> str:
    """The operations of a tree left to evaluate, beyond those of the gold answers."""
    tree = plain(tree)
    known = {kind for gold in golds for kind in kinds(gold)}
    if any(map(_decimal, golds)):
        known |= _EXACT_FORMS
    own = set(kinds(tree))
    is_formula = symbols(tree) and not any(map(_plain_number, golds))
    if is_formula:
        own &= set(_BINDERS.values())  # n(n + 1)/2 may be a binomial coefficient
    if own - known:
        return min(own - known)
    allowed = max(map(size, golds)) + (MORE_EXACT if own & _EXACT_FORMS else MORE)
    return f"{size(tree)} operations" if not is_formula and size(tree) > allowed else ""


def _plain_number(gold: Node) -> bool:
    """Whether a gold answer is an evaluated number, including complex ones, or a collection of such numbers."""
    own = set(kinds(gold))
    return not symbols(gold) and own <= {"the constant i"} and size(gold) <= 2 * len(own)


def _decimal(node: Node) -> bool:
    return (node.op == "num" and node.args[1] is not None) or any(map(_decimal, children(node)))


def size(node: Node) -> int:
    """The number of operations in a tree. Letters in a product may be units and are not counted."""
    own = 0
    if node.op == "add":
        own = len(node.args) - 1
    elif node.op == "mul":
        own = max(0, sum(not symbols(arg) for arg in node.args) - 1)
    elif node.op in ("div", "pow") and not symbols(node):
        own = 0 if _fraction(node) or _power_of_ten(node) else 1
    return own + sum(map(size, children(node)))


def _fraction(node: Node) -> bool:
    return node.op == "div" and all(_integer(arg) is not None for arg in node.args)


def _power_of_ten(node: Node) -> bool:
    return node.op == "pow" and _integer(node.args[0]) == 10 and _integer(node.args[1]) is not None


def _integer(node: Node) -> int | None:
    """An integer in digits, with its sign."""
    if node.op == "neg":
        return None if (inner := _integer(node.args[0])) is None else -inner
    return node.args[0] if node.op == "num" and type(node.args[0]) is int else None


def kinds(node: Node) -> Iterator[str]:
    """The kinds of operations in a tree, except the four basic ones and powers."""
    stack = [node]
    while stack:
        top = stack.pop()
        stack.extend(children(top))
        if kind := _kind(top):
            yield kind


def _kind(node: Node) -> str:
    op, args = node.op, node.args
    if op in _BINDERS:
        return _BINDERS[op]
    if op == "det" or (op in ("mul", "pow", "add") and sum(arg.op == "matrix" for arg in args) > (op != "pow")):
        return "matrix arithmetic"
    if op == "const" and args[0] in ("pi", "e", "i"):
        return f"the constant {args[0]}"
    if op == "fact":
        small = _integer(args[0])
        return "" if small is not None and 0 <= small <= MAX_FACTORIAL else "a factorial"
    if op == "pow":
        return _kind_of_power(*args)
    if op == "fn" and not args[0].endswith(":"):
        return next((kind for kind, names in _KINDS.items() if args[0] in names), str(args[0]))
    return ""


def _kind_of_power(base: Node, exponent: Node) -> str:
    value = exact(exponent)
    if isinstance(value, Fraction) and value.denominator > 1:
        return "a root"
    large = value is not None and not -MAX_EXPONENT <= value <= MAX_EXPONENT
    return "a large power" if large and _integer(base) != 10 else ""


# ---- neutral parts ---------------------------------------------------------------------------------------------------


def plain(node: Node) -> Node:
    """The tree without neutral parts. Linear in the tree, except for the width of its sums and products."""
    node = _with_parts(node, plain)
    return _PLAIN[node.op](node) if node.op in _PLAIN else node


def _with_parts(node: Node, change: Callable[[Node], Node]) -> Node:
    """Apply a change to a node's operands, including entries of rows."""

    def changed(arg: object) -> object:
        if type(arg) is Node:
            return change(arg)
        return tuple(map(changed, arg)) if type(arg) is tuple else arg

    return Node(node.op, tuple(map(changed, node.args)))


def _operands(node: Node) -> Iterator[Node]:
    """The operands of a sum or product, and those of its operands that are the same operation."""
    for arg in node.args:
        yield from arg.args if arg.op == node.op else (arg,)


def _plain_sum(node: Node) -> Node:
    terms: list[Node] = []
    for term in _operands(node):
        if _is(term, 0):
            continue
        if (opposite := _negative(term)) in terms:
            terms.remove(opposite)
        else:
            terms.append(term)
    return Node("add", tuple(terms)) if len(terms) > 1 else (terms or [ZERO])[0]


def _plain_product(node: Node) -> Node:
    factors: list[Node] = []
    negative = False
    for factor in _operands(node):
        if factor.op == "neg":
            negative, factor = not negative, factor.args[0]
        if not _is(factor, 1):
            factors.append(factor)
    if any(_is(factor, 0) for factor in factors):
        return ZERO
    product = Node("mul", tuple(factors)) if len(factors) > 1 else (factors or [ONE])[0]
    return _negative(product) if negative else product


def _plain_quotient(node: Node) -> Node:
    top, bottom = node.args
    if bottom.op == "neg":
        top, bottom = _negative(top), bottom.args[0]
    if top.op == "neg":
        return _negative(_plain_quotient(Node("div", (top.args[0], bottom))))
    factors, others = _factors(top), _factors(bottom)
    for factor in [factor for factor in others if factor in factors]:
        if factor in factors and factor in others:
            factors.remove(factor)
            others.remove(factor)
    top, bottom = (_plain_product(Node("mul", tuple(rest))) for rest in (factors, others))
    return top if _is(bottom, 1) else Node("div", (top, bottom))


def _factors(node: Node) -> list[Node]:
    return list(node.args) if node.op == "mul" else [node]


def _plain_power(node: Node) -> Node:
    base, exponent = node.args
    if base.op == "pow" and exact(Node("mul", (base.args[1], exponent))) == 1:
        inner: Node = base.args[0]
        return inner
    if _is(base, 1) or _is(exponent, 0):
        return ONE
    return base if _is(exponent, 1) else node


def _negative(node: Node) -> Node:
    return node.args[0] if node.op == "neg" else Node("neg", (node,))


def _plain_negative(node: Node) -> Node:
    return ZERO if _is(node.args[0], 0) else _negative(node.args[0])


def _is(node: Node, value: int) -> bool:
    """Whether a node is this number, including as a decimal (1.0)."""
    return node.op == "num" and bool(node.args[0] == value)


_PLAIN = {
    "add": _plain_sum, "mul": _plain_product, "div": _plain_quotient, "pow": _plain_power, "neg": _plain_negative,
}  # fmt: skip


def ordered(node: Node) -> Node:
    """The tree without neutral parts, with sums and products in one order and with one sign."""
    return _in_order(plain(node))


def _in_order(node: Node) -> Node:
    node = _with_parts(node, _in_order)
    args = node.args
    if node.op == "add":
        terms = sorted(args, key=lambda term: repr(unsigned(term)))
        if terms[0].op == "neg":
            return Node("neg", (Node("add", tuple(map(_negative, terms))),))
        return Node("add", tuple(terms))
    if node.op == "mul":
        factors = sorted(map(unsigned, args), key=repr)
        product = Node("mul", tuple(factors))
        return Node("neg", (product,)) if sum(arg.op == "neg" for arg in args) % 2 else product
    if node.op == "neg":
        return _negative(args[0])
    return node


def unsigned(node: Node) -> Node:
    """A tree without its leading sign."""
    return node.args[0] if node.op == "neg" else node


def holds(tree: Node, part: Node) -> bool:
    """Whether an ordered tree contains another: as a subtree, as terms of a sum, or as factors of a product.

    Its leading sign is ignored, because it may have moved outwards.
    """
    part = unsigned(part)
    ways = [part.args, tuple(map(_negative, part.args))] if part.op == "add" else [part.args]
    stack = [tree]
    while stack:
        top = stack.pop()
        split = top.op == part.op and part.op in ("add", "mul")
        if top == part or (split and any(_some_of(args, top.args) for args in ways)):
            return True
        stack.extend(children(top))
    return False


def _some_of(parts: tuple[Node, ...], args: tuple[Node, ...]) -> bool:
    rest = list(args)
    for part in parts:
        if part not in rest:
            return False
        rest.remove(part)
    return True
