"""Values of several names: (x, y) = (2, 13), or y = 13, x = 2, or x = 2 and y = 13, with one or several solutions.

If the other side is a bare tuple, names that are neighbours in the alphabet (x and y, p and q) are used in that order.
Solutions may be in any order, and names identify the values within each.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from verikit.answers.algebra.equality import EqualityResult, all_of, different, equal
from verikit.answers.families.base import Context, Family
from verikit.answers.families.pieces import TextPiece, bare, pieces, system
from verikit.answers.families.plain import hedged
from verikit.answers.parser.operations import is_limit, is_operand

MAX_CHARS = 600
MAX_SOLUTIONS = 24
_NAME = re.compile(r"\s*((?:[A-Za-z]+ ){0,4})(\\?[A-Za-z]{1,12}(?:_\{?\w{1,6}\}?)?'{0,2}(?:\([a-z0-9,]{1,8}\))?)\s*")
_OTHER = re.compile(r"[<>]|\\(?:leq?|geq?|neq?|lt|gt|in|equiv|pmod|mod|approx|mapsto|to)(?![a-zA-Z])|≤|≥|≠|≈|≡")
_MEMBER = re.compile(r"\s*(\([^()=]{3,40}\))\s*(?:\\in\b|∈|=)\s*(?=\\?[{(])")
_JOINT = re.compile(r",|;|and|\\\\")
_GAP = re.compile(r"\\q?quad(?![a-z])")
_SET = re.compile(r"\s*\\?\{(.*?)\\?\}\s*", re.DOTALL)

Solution = dict[str, str]


class Assigned(NamedTuple):
    """Solutions with the order of their names, () if there are only tuples. The names of a tuple are numbers."""

    order: tuple[str, ...]
    solutions: tuple[Solution, ...]
    apart: bool
    """Whether the names got their values one by one, not as a tuple."""


def _tuple(text: str) -> list[str] | None:
    text = text.strip()
    if not (text.startswith("(") and text.endswith(")")):
        return None
    parts = pieces(text[1:-1], ",")
    return [part.text for part in parts] if len(parts) > 1 and all(p.before in ("", ",") for p in parts) else None


def _names(text: str) -> tuple[str, ...]:
    """The names in a tuple of names, or the name at the end of a label. () if it is not a label."""
    entries = _tuple(text)
    found = [_NAME.fullmatch(entry) for entry in (entries or [text])]
    names = tuple(match[2] for match in found if match is not None and not _changes(match[1]))
    return names if len(set(names)) == len(found) else ()


def _changes(label: str) -> bool:
    """Whether words before a name deny, limit or change its value: "at most x = 2"."""
    return hedged(label) or is_operand(label) or is_limit(label)


def read(text: str) -> Assigned | None:
    """The solutions in a text, which may be a bare list. None if it contains anything but assignments or tuples."""
    if len(text) > MAX_CHARS or _OTHER.search(text.replace("\\in", "")):
        return None
    text = system(bare(_GAP.sub(",", text)))
    if (member := _MEMBER.match(text)) is not None:
        order = _names(member[1])
        rest = text[member.end() :]
        if not order:
            return None
        inner = _SET.fullmatch(rest)
        return _from_tuples(pieces(inner[1] if inner else rest), order)
    if "=" not in text:
        inner = _SET.fullmatch(text)
        return _from_tuples(pieces(inner[1] if inner else text), ())
    return _by_name(pieces(text))


def _from_tuple(text: str, order: tuple[str, ...]) -> Solution | None:
    label, _, value = text.rpartition("=")
    entries = _tuple(value)
    if entries is None or (label and _names(label) != order) or len(entries) != len(order or entries):
        return None
    return dict(zip(order or map(str, range(len(entries))), entries, strict=True))


def _from_tuples(parts: list[TextPiece], order: tuple[str, ...]) -> Assigned | None:
    """Solutions as tuples, each of which may repeat the names: (p, q) = (5, 2) or (p, q) = (7, 2)."""
    if not order and len(parts) > 1 and not any("(" in part.text or part.before not in ("", ",") for part in parts):
        return Assigned((), ({str(i): part.text for i, part in enumerate(parts)},), False)
    solutions = []
    for part in parts:
        solution = _from_tuple(part.text, order)
        if solution is None:
            return None
        solutions.append(solution)
    if not solutions or len({len(s) for s in solutions}) != 1 or len(solutions) > MAX_SOLUTIONS:
        return None
    return Assigned(order, tuple(solutions), False)


def _assignment(text: str) -> tuple[list[str], str]:
    """The names and the value of a chain of equalities. No names if it has other members, and several names."""
    *labels, value = text.split("=")
    names = [names[0] for label in labels if len(names := _names(label)) == 1 and "(" not in label[:1]]
    return ([] if len(labels) > len(names) > 1 else names), value.strip()


def _by_name(parts: list[TextPiece]) -> Assigned | None:
    """Solutions as assignments. A repeated name or "or" begins the next one."""
    solutions: list[Solution] = []
    for part in parts:
        names, value = _assignment(part.text)
        if not names or not value:
            return None
        if not solutions or part.before == "or" or any(name in solutions[-1] for name in names):
            solutions.append({})
        solutions[-1].update(dict.fromkeys(names, value))
    if not solutions or len(solutions) > MAX_SOLUTIONS:
        return None
    return Assigned(tuple(solutions[0]), tuple(solutions), True)


def _gold(text: str) -> Assigned | None:
    if not (text.startswith("(") or ("=" in text and _JOINT.search(text))):
        return None
    found = read(text)
    if found is None or any(set(s) != set(found.solutions[0]) for s in found.solutions):
        return None
    names = found.solutions[0]
    return None if len(names) < 2 or all(name.startswith("x_") for name in names) else found


def _neighbours(names: list[str]) -> bool:
    """Whether names are consecutive letters of the alphabet."""
    return all(len(name) == 1 for name in names) and all(ord(b) == ord(a) + 1 for a, b in pairwise(names))


def _renamed(gold: Assigned, answer: Assigned) -> tuple[Assigned, Assigned] | None:
    """Both under the same names, or None if it is unknown which value belongs to which name."""
    ours, theirs = set(gold.solutions[0]), set().union(*answer.solutions)
    if gold.order and not answer.order:
        order = sorted(ours) if gold.apart and _neighbours(sorted(ours)) else list(gold.order)
        return (gold, _by_order(answer, order)) if len(order) == len(theirs) else None
    if answer.order and not gold.order:
        order = sorted(theirs)
        return (_by_order(gold, order), answer) if len(order) == len(ours) and _neighbours(order) else None
    return (gold, answer) if ours == theirs and gold.order else None


def _other_names(gold: Assigned, answer: Assigned) -> bool:
    return bool(gold.order and answer.order) and all(len(name) == 1 for name in (*gold.order, *answer.order))


def _by_order(given: Assigned, order: list[str]) -> Assigned:
    solutions = tuple(dict(zip(order, s.values(), strict=True)) for s in given.solutions)
    return given._replace(order=tuple(order), solutions=solutions)


def _match(gold: Assigned, text: str, context: Context) -> EqualityResult | None:
    answer = read(text)
    pair = _renamed(gold, answer) if answer is not None else None
    if answer is None or pair is None:
        return different("values of other names") if answer is not None and _other_names(gold, answer) else None
    golds, answers = pair[0].solutions, pair[1].solutions
    if len(golds) != len(answers) or any(set(a) != set(golds[0]) for a in answers):
        return different(f"{len(answers)} solutions against {len(golds)}, or values left out")
    left, doubt = list(answers), different("another solution")
    for solution in golds:
        for other in left:
            match = all_of(
                [context.same(value, other[name]) for name, value in solution.items()], "same values by name"
            )
            if match:
                left.remove(other)
                break
            doubt = match if match.outcome != "different" or len(golds) == 1 else doubt
        else:
            return doubt
    return equal("same values by name")


FAMILY = Family("assignments", _gold, _match)
