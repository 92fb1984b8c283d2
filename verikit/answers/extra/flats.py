"""Lines and planes in space, in the plane: points with directions, coordinates by parameters, equations.

Every notation is read as an affine subspace with rational coordinates: a point and the directions from it. The
directions are in reduced row echelon form, and the point's coordinates at the pivots are zero. That form is unique, so
two texts have the same form exactly if they describe the same line or plane.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.algebra.evaluate import exact, substitute
from verikit.answers.algebra.normal import normal
from verikit.answers.algebra.vectors import components
from verikit.answers.families.base import Context, Family
from verikit.answers.parser import parse
from verikit.answers.parser.tree import SCALARS, Node, NotMath, TooBig, num, symbols

MAX_CHARS = 400
_PARAMETERS = frozenset(("t", "s", "u", "v", "r", "k", "lambda", "mu", "alpha", "beta"))
_AXES = ("x", "y", "z")
_MOVING = re.compile(r"veloc|position|particle|moves|time t|trajector|acceler|at time", re.IGNORECASE)

Row = list[Fraction]


class Flat(NamedTuple):
    """An affine subspace: the reduced point, the directions in reduced row echelon form, and the notation."""

    point: tuple[Fraction, ...]
    directions: tuple[tuple[Fraction, ...], ...]
    parametric: bool


def _echelon(rows: list[Row]) -> tuple[list[Row], list[int]]:
    """Reduced row echelon form without zero rows, and the pivots' columns."""
    rows = [row[:] for row in rows]
    pivots: list[int] = []
    for column in range(len(rows[0]) if rows else 0):
        done = len(pivots)
        lead = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if lead is None:
            continue
        rows[done], rows[lead] = rows[lead], rows[done]
        rows[done] = [value / rows[done][column] for value in rows[done]]
        for i, row in enumerate(rows):
            if i != done and row[column]:
                rows[i] = [a - row[column] * b for a, b in zip(row, rows[done], strict=True)]
        pivots.append(column)
    return rows[: len(pivots)], pivots


def _flat(point: Row, directions: list[Row], parametric: bool) -> Flat | None:
    """The unique form of a point with directions, or None if it is a point or the whole space."""
    basis, pivots = _echelon(directions)
    if not 0 < len(basis) < len(point):
        return None
    for row, column in zip(basis, pivots, strict=True):
        point = [a - point[column] * b for a, b in zip(point, row, strict=True)]
    return Flat(tuple(point), tuple(map(tuple, basis)), parametric)


def _affine(node: Node, names: list[str]) -> Row | None:
    """Constant and coefficients of a scalar that is linear in `names` with rational coefficients. Otherwise None."""

    def at(values: dict[str, int]) -> Fraction | None:
        point = node
        for name in names:
            point = substitute(point, name, num(values.get(name, 0)))
        found = exact(point)
        return None if found is None else Fraction(found)

    if not symbols(node) <= set(names):
        return None
    start, ones = at({}), [at({name: 1}) for name in names]
    if start is None or None in ones:
        return None
    slopes = [end - start for end in ones if end is not None]
    for scale in (1, -1, 1_000_003, -1_000_003):  # on both sides of any bend of an absolute value
        values = {name: scale * (3 + 5 * i) for i, name in enumerate(names)}
        expected = start + sum(slope * values[name] for slope, name in zip(slopes, names, strict=True))
        if at(values) != expected:
            return None
    return [start, *slopes]


def _entries(node: Node) -> list[Node] | None:
    """The entries of a vector: a tuple, a column, sums and multiples of them. None if a tree is not a vector."""
    if node.op == "tuple":
        return list(node.args)
    if node.op == "matrix":
        return _only_line(node.args)
    if node.op == "neg":
        inner = _entries(node.args[0])
        return None if inner is None else [Node("neg", (entry,)) for entry in inner]
    if node.op == "add":
        return _summed(node.args)
    if node.op == "mul":
        return _multiplied(node.args)
    return None


def _only_line(rows: Sequence[Sequence[Node]]) -> list[Node] | None:
    """The entries of a matrix that is one column or one row."""
    if all(len(row) == 1 for row in rows):
        return [row[0] for row in rows]
    return list(rows[0]) if len(rows) == 1 else None


def _summed(args: Sequence[Node]) -> list[Node] | None:
    parts = [_entries(arg) for arg in args]
    kept = [part for part in parts if part is not None]
    if len(kept) != len(parts) or len({len(part) for part in kept}) != 1:
        return None
    return [Node("add", entries) for entries in zip(*kept, strict=True)]


def _multiplied(args: Sequence[Node]) -> list[Node] | None:
    vectors = [arg for arg in args if _entries(arg) is not None]
    if len(vectors) != 1:
        return None
    factors = tuple(arg for arg in args if arg is not vectors[0])
    return [Node("mul", (*factors, entry)) for entry in _entries(vectors[0]) or []]


def _from_entries(entries: list[Node]) -> Flat | None:
    names = sorted(set().union(*map(symbols, entries)))
    if not names or not _PARAMETERS.issuperset(names) or not 2 <= len(entries) <= 4:
        return None
    rows = [_affine(entry, names) for entry in entries]
    kept = [row for row in rows if row is not None]
    if len(kept) < len(rows):
        return None
    point, *directions = (list(column) for column in zip(*kept, strict=True))
    return _flat(point, directions, True)


def _coordinates(relations: list[Node]) -> list[Node] | None:
    """The right sides of x = …, y = …, z = … in the order of the axes. None for other relations."""
    found: dict[str, Node] = {}
    for relation in relations:
        if relation.op != "rel" or relation.args[0] != ("=",) or relation.args[1].op != "sym":
            return None
        found[relation.args[1].args[0]] = relation.args[2]
    axes = _AXES[: len(relations)]
    return [found[axis] for axis in axes] if set(found) == set(axes) and len(axes) >= 2 else None


def _from_equations(relations: list[Node]) -> Flat | None:
    """The solutions of linear equations in x, y and z."""
    if not all(map(_is_scalar_equation, relations)):
        return None
    gaps = [
        Node("add", (left, Node("neg", (right,))))
        for relation in relations
        for left, right in pairwise(relation.args[1:])
    ]
    names = set().union(*map(symbols, gaps)) if gaps else set()
    axes: list[str] = [*_AXES] if "z" in names else [*_AXES[:2]]
    rows = [_affine(gap, axes) for gap in gaps] if names and names <= set(axes) else []
    kept = [row for row in rows if row is not None]
    if not kept or len(kept) < len(rows):
        return None
    basis, pivots = _echelon([[*row[1:], -row[0]] for row in kept])
    size = len(axes)
    if size in pivots:
        return None
    point = [Fraction(0)] * size
    for row, column in zip(basis, pivots, strict=True):
        point[column] = row[size]
    directions = [_along(column, basis, pivots, size) for column in range(size) if column not in pivots]
    return _flat(point, directions, False)


def _is_scalar_equation(relation: Node) -> bool:
    is_equation = relation.op == "rel" and set(relation.args[0]) == {"="}
    return is_equation and all(side.op in SCALARS for side in relation.args[1:])


def _along(free: int, basis: list[list[Fraction]], pivots: list[int], size: int) -> list[Fraction]:
    """The direction of the solutions along which the unknown of a free column increases by one."""
    direction = [Fraction(int(axis == free)) for axis in range(size)]
    for row, pivot in zip(basis, pivots, strict=True):
        direction[pivot] = -row[free]
    return direction


def read(text: str) -> Flat | None:
    """The line or plane that a text describes. None if there is none, or its coordinates are not rational."""
    if len(text) > MAX_CHARS:
        return None
    try:
        tree = normal(parse(text))
        items = list(tree.args) if tree.op == "list" else [tree]
        items = [item for item in items if not _quantifies(item)]
        if len(items) == 1 and items[0].op == "matrix" and len(items[0].args) > 1 and items[0].args[0][0].op == "rel":
            items = [row[0] for row in items[0].args]
        if (coordinates := _coordinates(items)) is not None and (found := _from_entries(coordinates)) is not None:
            return found
        if len(items) == 1:
            tree = items[0].args[-1] if items[0].op == "rel" and len(items[0].args) == 3 else items[0]
            entries = _entries(tree)
            if entries is None and tree.op in SCALARS and (parts := components(tree, 3)) is not None:
                entries = list(parts.args)
            if entries is not None:
                return _from_entries(entries)
        return _from_equations(items)
    except (NotMath, TooBig):
        return None


def _quantifies(node: Node) -> bool:
    """Whether a tree only states that a parameter is real."""
    return node.op == "rel" and node.args[0] == ("in",) and node.args[2] == Node("const", ("R",))


def _gold(text: str) -> Flat | None:
    found = read(text)
    if found is None or (not found.parametric and text.count("=") < 2):
        return None
    bare_pair = len(found.point) == 2 and re.fullmatch(r"\s*\([^()]*\)\s*", text) is not None
    return None if bare_pair else found


def _match(gold: Flat, text: str, context: Context) -> EqualityResult | None:
    if gold.parametric and _MOVING.search(context.question):
        return None
    answer = read(text)
    if answer is None or len(answer.point) != len(gold.point):
        return None
    same = answer.point == gold.point and answer.directions == gold.directions
    return equal("same line or plane") if same else different("another line or plane")


FAMILY = Family("lines and planes", _gold, _match)
FAMILIES = (FAMILY,)
