"""Numbers in arithmetic progression: congruence classes, multiples, odd numbers, general solutions with an integer k.

A text represents finitely many progressions a + dk, for any integer k: x = 3 mod 5, 5k - 2, x = pi/4 + k pi. Two unions
of progressions are equal if they have the same residues modulo a common multiple of their steps. A formula in k is read
this way only under one of three conditions, which either text may meet. It states that k is an integer, is a
congruence, or has steps that are multiples of pi.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from verikit.answers.algebra.analytic import FloatField
from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.algebra.evaluate import OpaqueTerm, Undefined, exact, substitute
from verikit.answers.algebra.identity import identical
from verikit.answers.algebra.labels import assigned
from verikit.answers.algebra.normal import normal
from verikit.answers.families.base import Context, Family
from verikit.answers.families.pieces import bare, pieces
from verikit.answers.parser import parse
from verikit.answers.parser.tree import SCALARS, ZERO, Node, NotMath, TooBig, children, num, symbols

_Placed = Sequence[tuple[Node, float]]
"""Numbers with their positions within a period, as fractions of it."""
MAX_CHARS = 400
MAX_CLASSES = 400
"""Maximum number of residues for comparing two unions."""
_LETTERS = frozenset("knmjl")
_EITHER = re.compile(r"(?:\\pm|±)\s?(\d+)")
_UNKNOWN = re.compile(r"\s{0,3}(?:[xyztuw]|\\(?:theta|alpha|phi|varphi|beta))\s{0,3}=")
_LIKELY = re.compile(
    r"\\?p?mod\b|equiv|≡|congruent|integer|\\(?:mathbb\s?\{?)?Z|ℤ|odd|even|multipl|divisible|remainder|pi|π|circ|°|\\mid"
)
_CONGRUENCE = re.compile(
    r"(?:[a-zA-Z]\s?)?(?:\\equiv|≡|=|(?:is |are |those |numbers |integers ){0,3}congruent to)?\s?"
    r"([-+\d,\s]{1,60}?(?:(?:and|or)[-+\d\s]{1,20}){0,9})\s?"
    r"[,(]{0,2}\s?\(?\s?(?:\\pmod|\\bmod|\\mod|modulo|mod)\s?\{?\s?(\d{1,6})\s?\}?\)?",
    re.IGNORECASE,
)
_WORDS = (
    (re.compile(r"(?:all |every |the )?odd (?:integers?|numbers?)|[a-z] is (?:an )?odd(?: integer| number)?"), 1, 2),
    (re.compile(r"(?:all |every |the )?even (?:integers?|numbers?)|[a-z] is (?:an )?even(?: integer| number)?"), 0, 2),
    (re.compile(
        r"(?:all |every |the |any )?(?:integers?|integer multiples?|multiples?|numbers?)(?: that are| which are)? ?"
        r"(?:divisible by|multiples? of|of) (\d{1,6})|[a-z] is (?:divisible by|a multiple of) (\d{1,6})"
        r"|(\d{1,6}) ?(?:\\mid|\||divides) ?[a-z]"), 0, 0),
)  # fmt: skip
_REMAINDER = re.compile(
    r"(?:all |the )?(?:integers?|numbers?|[a-z])(?: that| which)? (?:leaves?|has|have|with|gives?)(?: a)? remainder"
    r"(?: of)? (\d{1,6}) (?:when|on|upon|if|after) (?:divided|division) by (\d{1,6})"
)
_INTEGER = re.compile(
    r"[,;:|]?\s?(?:\\mid|\\forall)?\s?\(?\s?(?:where|with|for|and)?\s?(?:(?:any|all|some|every|each|arbitrary) ?)?"
    r"(?:integers? )?\$?[a-z]\$?\s?"
    r"(?:\\in|∈|is|are|\\forall)\s?(?:an? |any )?(?:\\mathbb\s?\{?Z\}?|ℤ|\\Z|Z|integers?)(?:\.|\))?\s*$"
    r"|[,;:]?\s?\(?\s?(?:where|with|for|and)?\s?(?:any |all |some |every |each )?"
    r"(?:integers?(?: values? of)?) \$?[a-z]\$?\)?\s*$"
)
_ASSIGNED = re.compile(r"\$?\s?([a-zA-Z]|\\[a-z]{2,8})\s?=")
_SET = re.compile(r"(?:[a-zA-Z]\s?\\in\s?)?\\\{(.*)\\\}", re.DOTALL)
_NAMED = re.compile(r"^(?:[a-zA-Z]|\\[a-z]{2,8})\s?(?:\\mid|\||:)\s?")


class Progressions(NamedTuple):
    """Starts and steps, and whether the text itself states that k is an integer, or names an unknown."""

    terms: tuple[tuple[Node, Node], ...]
    said: bool
    name: str = ""
    """The unknown to which the text gives values, if any: "x = 2k"."""


def _congruence(text: str) -> Progressions | None:
    """A residue class in the notation of congruences, or in words."""
    text = _EITHER.sub(r"\1, -\1", text.strip().rstrip("."))
    if match := _CONGRUENCE.fullmatch(text):
        residues, modulus = [int(r) for r in re.findall(r"[-+]?\d+", match[1])], int(match[2])
    else:
        residue, modulus = _class_in_words(text.lower())
        residues = [residue]
    if not residues or modulus < 2 or len(residues) > MAX_CLASSES:
        return None
    return Progressions(tuple((num(r), num(modulus)) for r in residues), True)


def _class_in_words(text: str) -> tuple[int, int]:
    """Residue and modulus of "odd numbers", "multiples of 3", "numbers that leave remainder 2 …". Both 0 for others."""
    if match := _REMAINDER.fullmatch(text):
        return int(match[1]), int(match[2])
    for pattern, residue, step in _WORDS:
        if match := pattern.fullmatch(text):
            return residue, step or int(next(g for g in match.groups() if g))
    return 0, 0


def read(text: str) -> Progressions | None:
    """The progressions that a text represents, or None if it represents anything else."""
    if len(text) > MAX_CHARS:
        return None
    text = " ".join(bare(text).split())
    if (found := _congruence(text)) is not None:
        return found
    if (inner := _SET.fullmatch(text)) is not None:
        text = _NAMED.sub("", inner[1], count=1)
    stated = _INTEGER.search(text)
    said = stated is not None
    if stated:
        text = text[: stated.start()].strip().rstrip("|:,; ").removesuffix("\\mid")
    terms: list[tuple[Node, Node]] = []
    for part in pieces(text):
        more = _congruence(part.text) or _steps(part.text)
        if more is None:
            return None
        terms += more.terms
        said = said or more.said
    name = _ASSIGNED.match(text)
    found = Progressions(tuple(terms), said, name[1] if name else "")
    return found if 0 < len(terms) <= MAX_CLASSES else None


def _steps(text: str) -> Progressions | None:
    """The progressions of a formula that is linear in its one symbol."""
    try:
        tree = normal(parse(text))
    except (NotMath, TooBig):
        return None
    found: list[tuple[Node, Node]] = []
    for value in _values(tree):
        term = None if value is None else _linear(value)
        if term is None:
            return None
        found.append(term)
    return Progressions(tuple(found), False)


def _values(tree: Node) -> Iterator[Node | None]:
    """The values of a list, without their names. None for a relation that is not an assignment."""
    for node in tree.args if tree.op == "list" else (tree,):
        value = assigned(node) if node.op == "rel" else node
        yield from value.args if value is not None and value.op == "list" else (value,)


def _linear(node: Node) -> tuple[Node, Node] | None:
    """Start and step of a scalar that is linear in its one symbol."""
    if node.op not in SCALARS:
        return None
    names = symbols(node)
    if len(names) != 1 or not names <= _LETTERS:
        return None
    name = next(iter(names))
    start = substitute(node, name, ZERO)
    step = _difference(substitute(node, name, num(1)), start)
    line = Node("add", (start, Node("mul", (step, Node("sym", (name,))))))
    try:
        return (start, step) if identical(node, line)[0] and not identical(step, ZERO)[0] else None
    except TooBig:
        return None


def _difference(left: Node, right: Node) -> Node:
    return Node("add", (left, Node("neg", (right,))))


def _turns(node: Node) -> bool:
    """Whether a step is a multiple of pi or written in degrees."""
    return node.op == "deg" or node == Node("const", ("pi",)) or any(map(_turns, children(node)))


def _gold(text: str) -> Progressions | None:
    if not _LIKELY.search(text):
        return None
    found = read(text)
    if found is None or found.said:
        return found
    unknown = _UNKNOWN.match(text) is not None or not re.search(r"(?<!\\)[nmjl](?![a-z])", text)
    return found if unknown and all(_turns(step) for _, step in found.terms) else None


def _match(gold: Progressions, text: str, context: Context) -> EqualityResult | None:
    answer = read(text)
    if answer is None:
        return None
    try:
        same = _same(gold, answer)
    except (Undefined, OpaqueTerm, TooBig):
        return None
    if same is None:
        return None
    if gold.name and answer.name and gold.name != answer.name:
        return different("values of different names")
    return equal("same numbers for every integer") if same else different("other numbers for some integers")


def _same(gold: Progressions, answer: Progressions) -> bool | None:
    """Compare two unions by their residues modulo a common multiple of the steps. None if undecided."""
    unit = gold.terms[0][1]
    steps = [_multiples(side, unit) for side in (gold, answer)]
    if not all(steps):
        return False
    common = _common_multiple([step for side in steps for step in side])
    if any(sum(int(common / size) for size in sizes) > MAX_CLASSES for sizes in steps):
        return None
    period = Node("mul", (num(common), unit))
    left, right = (
        [(node, _phase(node, period)) for node in _residues(side, sizes, common, unit)]
        for side, sizes in zip((gold, answer), steps, strict=True)
    )
    return _all_among(left, right, period) and _all_among(right, left, period)


def _residues(side: Progressions, sizes: Sequence[Fraction], common: Fraction, unit: Node) -> Iterator[Node]:
    """The residues of a union modulo a common multiple of its steps, which are `sizes` times the unit."""
    for (start, _), size in zip(side.terms, sizes, strict=True):
        for k in range(int(common / size)):
            yield Node("add", (start, Node("mul", (num(size * k), unit))))


def _multiples(side: Progressions, unit: Node) -> list[Fraction]:
    """The steps as multiples of a unit. Empty if one of them is not a multiple."""
    scales = [_ratio(step, unit) for _, step in side.terms]
    known = [abs(scale) for scale in scales if scale is not None]
    return known if len(known) == len(scales) else []


def _all_among(numbers: _Placed, others: _Placed, period: Node) -> bool:
    """Whether each number equals one of the others modulo the period."""
    return all(any(_congruent(a, b, x, y, period) for b, y in others) for a, x in numbers)


def _common_multiple(steps: Sequence[Fraction]) -> Fraction:
    bottom = lcm(*(step.denominator for step in steps))
    return Fraction(lcm(*(int(step * bottom) for step in steps)), bottom)


def _ratio(step: Node, unit: Node) -> Fraction | None:
    """A step as a rational multiple of another."""
    value = exact(Node("div", (step, unit)))
    if value is None:
        guess = Fraction(_quotient(step, unit)).limit_denominator(1_000)
        value = guess if identical(step, Node("mul", (num(guess), unit)))[0] else None
    return None if value is None else Fraction(value)


def _quotient(node: Node, unit: Node) -> float:
    """The real part of a quotient. A caller verifies a guess that rests on it, so the imaginary part may be ignored."""
    return float(complex(FloatField({}).value(node) / FloatField({}).value(unit)).real)


def _phase(node: Node, period: Node) -> float:
    return _quotient(node, period) % 1.0


def _congruent(a: Node, b: Node, x: float, y: float, period: Node) -> bool:
    """Whether two numbers differ by a multiple of the period: their phases agree, and the difference is verified."""
    gap = abs(x - y)
    if min(gap, 1 - gap) > 1e-9:
        return False
    turns = round(_quotient(a, period) - _quotient(b, period))
    return identical(_difference(a, b), Node("mul", (num(turns), period)))[0] is True


FAMILY = Family("progressions", _gold, _match)
