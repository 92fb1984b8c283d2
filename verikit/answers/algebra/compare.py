"""Compares two trees under rules of equality: scalars, relations, collections, matrices and real sets.

Both trees are in `normal` form (plus-minus expanded, arithmetic on matrices and tuples evaluated). `compare` selects
the comparison by the type of the gold answer.
"""

from __future__ import annotations

from itertools import chain

from verikit.answers.algebra.chains import readings
from verikit.answers.algebra.equality import Equality, EqualityResult, all_of, different, equal, undecided
from verikit.answers.algebra.evaluate import numerator, substitute
from verikit.answers.algebra.identity import identical
from verikit.answers.algebra.labels import assigned, contradiction, is_label
from verikit.answers.algebra.matrices import as_row, entry_rows
from verikit.answers.algebra.normal import MAX_ITEMS
from verikit.answers.algebra.scalar import compare_scalars
from verikit.answers.algebra.sets import REALS, compare_pieces, infinite, to_pieces
from verikit.answers.algebra.vectors import components
from verikit.answers.parser.tree import COLLECTIONS, SCALARS, ZERO, Node, TooBig, children, num, symbols

_CAN_CONTRADICT = frozenset(("rel", "list", "set", "tuple"))
_REAL_SETS = frozenset(("interval", "union", "inter", "diff", "builder"))
_LISTS = frozenset(("list", "set", "tuple", "ratio"))
_RELATED = frozenset(("rel", "union", "inter"))


def compare(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    """Compare an answer's tree with a gold answer's, both in normal form.

    Raises:
        TooBig: Over a budget.
    """
    if gold == answer:
        return equal("same answer", "same tree")
    if gold.op == answer.op == "num":
        return compare_scalars(gold, answer, equality)
    golds, answers = readings(gold), readings(answer)
    if (golds, answers) != ([gold], [answer]):
        matches = [compare(g, a, equality) for g in golds for a in answers]
        return next((match for match in matches if match), matches[0])
    if answer.op in _CAN_CONTRADICT and (broken := contradiction(answer, equality)) is not None:
        return broken
    return _typed(gold, answer, equality)


def _typed(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    types = (gold.op, answer.op)
    if "rel" in types:
        return _with_relation(gold, answer, equality)
    if "matrix" in types:
        return _matrices(gold, answer, equality)
    if not _REAL_SETS.isdisjoint(types) or REALS in (gold, answer):
        return _real_sets(gold, answer, equality)
    if not _LISTS.isdisjoint(types):
        return _collections(gold, answer, equality)
    if infinite(gold) or infinite(answer):
        same = infinite(gold) == infinite(answer)
        return equal("infinity") if same else different("one is infinite")
    return compare_scalars(gold, answer, equality)


def _with_relation(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    if gold.op == answer.op == "rel":
        return compare_relations(gold, answer, equality)
    relation, other = (gold, answer) if gold.op == "rel" else (answer, gold)
    value = assigned(relation)
    if value is not None and not equality.assignment:
        return different("an assignment against a bare value")
    if value is None and relation.args[0] == ("in",) and other.op in _REAL_SETS | {"set", "const"}:
        value = relation.args[2]
    if value is not None:
        return _typed(value, answer, equality) if relation is gold else _typed(gold, value, equality)
    pieces, others = to_pieces(gold), to_pieces(answer)
    if pieces is not None and others is not None and other.op != "const":
        return compare_pieces(pieces, others, equality)
    return _with_equation(gold, answer, equality)


def _with_equation(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    """Compare an equation or inequality that is no set of numbers with a list or a number."""
    other = answer if gold.op == "rel" else gold
    if other.op in ("list", "set") and len(other.args) > 1:
        return _collections(gold, answer, equality)
    if other is answer and equality.assignment and other.op not in COLLECTIONS and _solves(gold, other):
        return equal("solves the gold's equation")
    return different("an equation or inequality against something else")


def _solves(equation: Node, value: Node) -> bool:
    """Whether a value solves an equation for a variable in which it is linear."""
    if equation.args[0] != ("=",) or {equation.args[1].op, equation.args[2].op} & COLLECTIONS:
        return False
    gap = Node("add", (equation.args[1], Node("neg", (equation.args[2],))))
    names = symbols(equation)
    for name in sorted(names - symbols(value)) if symbols(value) < names else ():
        at = [substitute(gap, name, num(k)) for k in (0, 1, 2)]
        linear = identical(Node("add", (at[0], at[2])), Node("mul", (num(2), at[1])))[0]
        if linear and not identical(at[0], at[1])[0] and identical(substitute(gap, name, value), ZERO)[0]:
            return True
    return False


def compare_relations(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    """Compare two relations: the same assigned values, the same solution set, or equality up to scaling."""
    operators, others = gold.args[0], answer.args[0]
    if set(operators) == set(others) == {"="}:
        match = _assignments(gold, answer, equality)
        if match is not None:
            return match
    if "in" in operators and "in" in others:
        return _typed(gold.args[-1], answer.args[-1], equality)
    pieces, other_pieces = to_pieces(gold), to_pieces(answer)
    if pieces is not None and other_pieces is not None and symbols(gold) == symbols(answer):
        return compare_pieces(pieces, other_pieces, equality)
    if len(operators) == len(others) == 1:
        return _scaled(gold, answer)
    return _chains(gold, answer, equality) if operators == others else different("another relation")


def _chains(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    """Compare two chains of the same relations member by member."""
    matches = [_typed(g, a, equality) for g, a in zip(gold.args[1:], answer.args[1:], strict=True)]
    return all_of(matches, "same chain of relations")


def _with_arguments(value: Node, names: tuple[Node, ...], wanted: tuple[Node, ...], equality: Equality) -> Node | None:
    """A function's value with other names for its arguments. None if an argument has another value."""
    for old, new in zip(names, wanted, strict=True):
        if old.op == new.op == "sym" and old != new and new.args[0] not in symbols(value):
            value = substitute(value, old.args[0], new)
        elif old != new and not compare_scalars(new, old, equality):
            return None
    return value


def _assignments(gold: Node, answer: Node, equality: Equality) -> EqualityResult | None:
    """Compare y = f(x) with y = g(x), allowing a renamed argument. None if they are not such a pair."""
    value, other = assigned(gold), assigned(answer)
    if value is None or other is None:
        return None
    name, other_name = _named(gold), _named(answer)
    if name.op == other_name.op == "apply" and name.args[0] != other_name.args[0]:
        return different("functions of different names")
    if name.op == other_name.op == "apply" and len(name.args) == len(other_name.args):
        renamed = _with_arguments(other, other_name.args[1:], name.args[1:], equality)
        return different("values at different places") if renamed is None else _typed(value, renamed, equality)
    if name == other_name or _bare(name, other_name) or _graph(name, other_name) or _graph(other_name, name):
        return _typed(value, other, equality)
    if not symbols(value) and not symbols(other) and value.op not in COLLECTIONS:
        return different("values of different names")
    return None


def _graph(name: Node, other: Node) -> bool:
    """Whether one name is f(x) and the other the y of the function's graph."""
    return name.op == "apply" and name.args[1:] == (Node("sym", ("x",)),) and other == Node("sym", ("y",))


def _bare(name: Node, other: Node) -> bool:
    """Whether one name is the other without its subscript."""
    if name.op != "sym" or other.op != "sym":
        return False
    stem, _, subscript = name.args[0].partition("_")
    other_stem, _, other_subscript = other.args[0].partition("_")
    return stem == other_stem and not (subscript and other_subscript)


def _named(relation: Node) -> Node:
    operands: list[Node] = list(relation.args[1:])
    return operands[0] if is_label(operands[0]) else operands[-1]


def _scaled(gold: Node, answer: Node) -> EqualityResult:
    """F < g and F < G are the same if f - g is a constant multiple of F - G, positive unless it is = or !=.

    The constant is found without solving: f(x) F(y) = F(x) f(y) for all x and y.
    """
    operator, left = _against_zero(gold)
    other_operator, right = _against_zero(answer)
    if operator != other_operator or left is None or right is None:
        return different("another relation")
    if operator in ("=", "!="):
        left, right = numerator(left)[0], numerator(right)[0]
    names = symbols(gold)
    if names != symbols(answer):
        return different("relations between other variables")
    moved, other_moved = left, right
    for name in sorted(names):
        fresh = Node("sym", (name + " elsewhere",))
        moved, other_moved = substitute(moved, name, fresh), substitute(other_moved, name, fresh)
    if identical(left, ZERO)[0] or identical(right, ZERO)[0]:
        return equal("both always hold") if identical(left, right)[0] else different("a relation that always holds")
    verdict, stage = identical(Node("mul", (left, other_moved)), Node("mul", (right, moved)))
    if verdict is None:
        return undecided("could not be shown to be multiples", stage)
    if not verdict:
        return different("not a multiple of the gold's relation", stage)
    if operator in ("=", "!="):
        return equal("same equation up to scaling", stage)
    same_sign = identical(Node("fn", ("sgn", left)), Node("fn", ("sgn", right)))[0]
    return equal("same inequality up to scaling", stage) if same_sign else different("the inequality turned around")


def _against_zero(relation: Node) -> tuple[str, Node | None]:
    operator, left, right = relation.args[0][0], relation.args[1], relation.args[2]
    if operator not in ("=", "!=", "<", "<=", ">", ">=") or {left.op, right.op} & COLLECTIONS:
        return operator, None
    if operator in (">", ">="):
        operator, left, right = operator.replace(">", "<"), right, left
    return operator, Node("add", (left, Node("neg", (right,))))


def _real_sets(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    if gold.op == answer.op == "builder":
        answer = _with_variable(answer, gold.args[0])
    if gold.op == "list" and answer.op == "list":
        return _collections(gold, answer, equality)
    if _conditions(gold) and _conditions(answer) and symbols(gold) != symbols(answer):
        return different("conditions on other variables")
    pieces, others = to_pieces(_as_set(gold)), to_pieces(_as_set(answer))
    if pieces is None or others is None:
        return _part_by_part(gold, answer, equality)
    return compare_pieces(pieces, others, equality)


def _with_variable(builder: Node, variable: Node) -> Node:
    """A set with another name for its variable, if both are only names."""
    if variable == builder.args[0] or variable.op != "sym":
        return builder
    conditions = tuple(substitute(c, builder.args[0].args[0], variable) for c in builder.args[1])
    return Node("builder", (variable, conditions))


def _part_by_part(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    """Compare sets that are not made of pieces of the real line."""
    if gold.op != answer.op or len(gold.args) != len(answer.args):
        return different("a set of numbers against something else")
    matches = [_typed(g, a, equality) for g, a in zip(children(gold), children(answer), strict=False)]
    return all_of(matches, "same set") if matches else different("another set")


def _as_set(node: Node) -> Node:
    """Convert a bare list of values to a set."""
    return Node("set", node.args) if node.op == "list" and all(a.op in SCALARS for a in node.args) else node


def _conditions(node: Node) -> bool:
    """Whether a tree consists only of inequalities, which name their variable."""
    return node.op in _RELATED and (node.op == "rel" or all(map(_conditions, node.args)))


def _collections(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    if gold.op == "ratio" or answer.op == "ratio":
        return _ratios(gold, answer, equality)
    if gold.op == "tuple":
        answer = components(answer, len(gold.args)) or answer
    elif answer.op == "tuple":
        gold = components(gold, len(answer.args)) or gold
    if gold.op == answer.op == "list" and any(a.args[0] != ("=",) for a in gold.args if a.op == "rel"):
        pieces, others = to_pieces(gold), to_pieces(answer)
        if pieces is not None and others is not None:
            return compare_pieces(pieces, others, equality)
    return _items(gold, answer, equality)


def _items(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    """Compare the values of two collections, in order if that matters."""
    items, other_items = _values_of(gold, answer, equality)
    if len(items) != len(other_items):
        return different(f"{len(other_items)} values against {len(items)}")
    if len(items) == 1:
        return _typed(items[0], other_items[0], equality)
    ordered = "tuple" in (gold.op, answer.op) if equality.order == "typed" else equality.order == "ordered"
    if ordered or items == other_items:
        return all_of([_typed(g, a, equality) for g, a in zip(items, other_items, strict=True)], "same values in order")
    return _any_order(items, other_items, equality)


def _values_of(gold: Node, answer: Node, equality: Equality) -> tuple[list[Node], list[Node]]:
    """The values of both collections, without duplicates if one is a set, and without the names of numbered roots."""
    items, others = _flat(gold), _flat(answer)
    if len(items) != len(others) and "set" in (gold.op, answer.op):
        items, others = _distinct(items, equality), _distinct(others, equality)
    names = _root_names(items) if len(items) == len(others) > 1 else []
    if names and names == _root_names(others):
        return [item.args[2] for item in items], [other.args[2] for other in others]
    return items, others


def _flat(node: Node) -> list[Node]:
    if node.op not in ("list", "set", "tuple"):
        return [node]
    items: list[Node] = []
    for arg in node.args:
        value = assigned(arg) if node.op == "list" and arg.op == "rel" else None
        items.extend(_flat(value) if value is not None and value.op in ("list", "set") else [arg])
    return items


def _root_names(items: list[Node]) -> list[str]:
    """The names of x_1 = 2, x_2 = 3, sorted: the numbering of roots carries no information."""
    names = [i.args[1].args[0] for i in items if i.op == "rel" and i.args[0] == ("=",) and i.args[1].op == "sym"]
    return sorted(names) if len(names) == len(items) and all(n.startswith("x_") for n in names) else []


def _distinct(items: list[Node], equality: Equality) -> list[Node]:
    if len(items) > MAX_ITEMS:
        raise TooBig("too many values")
    kept: list[Node] = []
    for item in items:
        if not any(_typed(k, item, equality) for k in kept):
            kept.append(item)
    return kept


def _numbers_in_any_order(items: list[Node], others: list[Node]) -> EqualityResult:
    same = sorted(a.args[0] for a in items) == sorted(a.args[0] for a in others)
    return equal("same numbers in any order", "exact numbers") if same else different("other numbers")


def _any_order(items: list[Node], others: list[Node], equality: Equality) -> EqualityResult:
    """Pair the values in any order."""
    if all(a.op == "num" for a in (*items, *others)):
        return _numbers_in_any_order(items, others)
    if len(items) > MAX_ITEMS:
        raise TooBig("too many values")
    left = list(others)
    doubt: EqualityResult | None = None
    for item in items:
        for other in left:
            match = _typed(item, other, equality)
            if match:
                left.remove(other)
                break
            if match.outcome == "undecided":
                doubt = match
        else:
            return doubt or different("a value without its like")
    return equal("same values in any order")


def _ratios(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    if gold.op == answer.op == "ratio":
        if len(gold.args) != len(answer.args):
            return different("ratios of different length")
        if ZERO in (*gold.args, *answer.args):
            pairs = zip(gold.args, answer.args, strict=True)
            return all_of([compare_scalars(g, a, equality) for g, a in pairs], "same terms")
        first, other = gold.args[0], answer.args[0]
        matches = [
            compare_scalars(Node("mul", (g, other)), Node("mul", (a, first)), equality)
            for g, a in zip(gold.args[1:], answer.args[1:], strict=True)
        ]
        return all_of(matches, "same ratio")
    ratio, other = (gold, answer) if gold.op == "ratio" else (answer, gold)
    if len(ratio.args) == 2 and other.op not in COLLECTIONS:
        quotient = Node("div", ratio.args)
        return compare_scalars(*((quotient, other) if ratio is gold else (other, quotient)), equality)
    return different("a ratio against something else")


def _matrices(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    """Compare matrices entry by entry. A row or column also matches a tuple or a sum of unit vectors."""
    matrix, other = (gold, answer) if gold.op == "matrix" else (answer, gold)
    size = len(matrix.args) * len(matrix.args[0])
    if other.op != "matrix" and (parts := components(other, size)) is not None:
        gold, answer = (gold, parts) if matrix is gold else (parts, answer)
    rows, others = entry_rows(gold), entry_rows(answer)
    if rows is None or others is None:
        return different("a matrix against something else")
    if gold.op != answer.op and 1 in (len(rows), len(others)):
        rows, others = as_row(rows), as_row(others)
    if list(map(len, rows)) != list(map(len, others)):
        return different("matrices of different shape")
    entries = zip(chain.from_iterable(rows), chain.from_iterable(others), strict=True)
    return all_of([_typed(g, a, equality) for g, a in entries], "same entries")
