"""Two JSON values compared field by field: keys in any order, lists in order or not, numbers within a tolerance.

A field is a number, string, boolean, null, `{}` or `[]` of the gold answer, or an item of an unordered list. Its path
is written like `items[0].price`. The work is linear, except for unordered lists with items that don't match the gold
answer's exactly. The search for pairs among those is limited.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from verikit.stats.pairing import pairs

MAX_DEPTH = 100
"""Maximum number of levels of lists and objects. Deeper ones are not compared."""
MAX_STEPS = 200_000
"""Maximum number of values read while pairing the items of unordered lists."""
ExtraKeys = Literal["refuse", "ignore"]
_PLAIN_KEY = re.compile(r"[\w-]{1,80}")
_MAX_SHOWN = 40


class TooMuchWork(Exception):
    """The items of unordered lists can't be paired within `MAX_STEPS`."""


@dataclass(frozen=True)
class JsonRules:
    """The options of JSON equality."""

    rel_tol: Fraction = Fraction(0)
    abs_tol: Fraction = Fraction(0)
    unordered: frozenset[str] | bool = False
    """Whether lists are compared in any order, or the paths of those that are, with `[*]` for every index."""
    extra: ExtraKeys = "refuse"
    """Whether keys that the gold answer lacks are an error."""
    typed_numbers: bool = False
    """Whether 1 and 1.0 differ."""

    @property
    def exact(self) -> bool:
        """Whether equal values have the same canonical text."""
        return not (self.rel_tol or self.abs_tol) and self.extra == "refuse"


class FieldVerdict(NamedTuple):
    """One field and its problem. The problem is empty if the field is right."""

    path: str
    problem: str = ""


Tell = Callable[[FieldVerdict], None]


class JsonPlace(NamedTuple):
    """The location of a value: its path, and the path with `[*]` for every index."""

    path: str = ""
    pattern: str = ""

    def at_key(self, key: str) -> JsonPlace:
        """The location of a key's value."""
        step = key if _PLAIN_KEY.fullmatch(key) else f"[{_quoted(key)}]"
        dot = "." if self.path and not step.startswith("[") else ""
        return JsonPlace(f"{self.path}{dot}{step}", f"{self.pattern}{dot}{step}")

    def at_index(self, number: int) -> JsonPlace:
        """The location of a list's item."""
        return JsonPlace(f"{self.path}[{number}]", f"{self.pattern}[*]")

    def __str__(self) -> str:
        return self.path or "$"


def compare_fields(gold: Any, value: Any, rules: JsonRules) -> list[FieldVerdict]:
    """The gold answer's fields in order with the problem of each in the value, then the value's additional fields.

    Both have at most `MAX_DEPTH` levels.

    Raises:
        TooMuchWork: The items of unordered lists can't be paired within the limit.
    """
    return _Comparison(rules).fields(gold, value)


def canonical(value: Any, rules: JsonRules) -> str:
    """The same string for all values that are equal under rules without a tolerance."""
    return _Comparison(rules).canonical(value, JsonPlace())


class _Comparison:
    """One comparison, with the work done so far."""

    def __init__(self, rules: JsonRules) -> None:
        self._rules = rules
        self._pairing = False
        self._steps = 0

    def fields(self, gold: Any, value: Any) -> list[FieldVerdict]:
        found: list[FieldVerdict] = []
        self._compare(gold, value, JsonPlace(), found.append)
        return found

    def _compare(self, gold: Any, value: Any, place: JsonPlace, tell: Tell) -> None:
        self._count()
        if not gold or type(gold) not in (dict, list):
            tell(FieldVerdict(str(place), self._difference(gold, value)))
        elif type(gold) is not type(value):
            self._all_wrong(gold, place, f"{shown(value)}, not {_kind(gold)}", tell)
        elif type(gold) is dict:
            self._compare_objects(gold, value, place, tell)
        elif self._is_unordered(place):
            self._compare_unordered(gold, value, place, tell)
        else:
            for number, wanted in enumerate(gold):
                self._compare_part(wanted, value[number : number + 1], place.at_index(number), tell)
            for number in range(len(gold), len(value)):
                tell(FieldVerdict(str(place.at_index(number)), "extra"))

    def _compare_objects(self, gold: dict[str, Any], value: dict[str, Any], place: JsonPlace, tell: Tell) -> None:
        for key, wanted in gold.items():
            self._compare_part(wanted, [value[key]] if key in value else [], place.at_key(key), tell)
        if self._rules.extra == "refuse":
            for key in value:
                if key not in gold:
                    tell(FieldVerdict(str(place.at_key(key)), "extra"))

    def _compare_part(self, gold: Any, value: list[Any], place: JsonPlace, tell: Tell) -> None:
        """Compare a part with the one value at its location, if there is one."""
        if value:
            self._compare(gold, value[0], place, tell)
        else:
            self._all_wrong(gold, place, "missing", tell)

    def _all_wrong(self, gold: Any, place: JsonPlace, problem: str, tell: Tell) -> None:
        """Report every field of a part as wrong. The fields of an unordered list are its items."""
        if type(gold) is dict and gold:
            for key, part in gold.items():
                self._all_wrong(part, place.at_key(key), problem, tell)
        elif type(gold) is list and gold:
            whole = self._is_unordered(place)
            for number, part in enumerate(gold):
                at = place.at_index(number)
                self._all_wrong(None if whole else part, at, problem, tell)
        else:
            tell(FieldVerdict(str(place), problem))

    def _compare_unordered(self, gold: list[Any], value: list[Any], place: JsonPlace, tell: Tell) -> None:
        """Pair identical items first, since most are. Then pair items that are equal under the rules."""
        inside = place.at_index(0)
        texts = [self.canonical(item, inside) for item in value]
        unpaired = Counter(texts)
        left: list[int] = []
        for number, wanted in enumerate(gold):
            text = self.canonical(wanted, inside)
            if unpaired[text]:
                unpaired[text] -= 1
            else:
                left.append(number)
        if left and not self._rules.exact:
            left = self._unpaired(gold, left, _free(value, texts, unpaired, len(left)), inside)
        missing = set(left)
        for number in range(len(gold)):
            tell(FieldVerdict(str(place.at_index(number)), "no such item" if number in missing else ""))
        for number in range(len(gold), len(value)):
            tell(FieldVerdict(str(place.at_index(number)), "extra"))

    def _unpaired(self, gold: list[Any], left: list[int], free: list[Any], place: JsonPlace) -> list[int]:
        """The remaining gold items that have no partner among the free ones."""
        before, self._pairing = self._pairing, True
        paired = pairs(left, free, lambda number, item: self._same(gold[number], item, place))
        self._pairing = before
        matched = set(paired.values())
        return [number for index, number in enumerate(left) if index not in matched]

    def _same(self, gold: Any, value: Any, place: JsonPlace) -> bool:
        problems: list[str] = []
        self._compare(gold, value, place, lambda field: problems.append(field.problem))
        return not any(problems)

    def _difference(self, gold: Any, value: Any) -> str:
        """Why a value is not the gold's number, string, boolean, null or empty container. Empty if it is."""
        if _is_number(gold) and _is_number(value):
            same = self._near(gold, value)
        elif type(gold) is dict and type(value) is dict:
            same = not value or self._rules.extra == "ignore"
        else:
            same = type(gold) is type(value) and gold == value
        return "" if same else f"{shown(value)}, not {shown(gold)}"

    def _near(self, gold: float, value: float) -> bool:
        rules = self._rules
        if rules.typed_numbers and type(gold) is not type(value):
            return False
        if gold == value or not (rules.rel_tol or rules.abs_tol):
            return gold == value
        wanted = _as_written(gold)
        return abs(_as_written(value) - wanted) <= max(rules.abs_tol, rules.rel_tol * abs(wanted))

    def canonical(self, value: Any, place: JsonPlace) -> str:
        """The same string for equal values, regardless of the order of keys and unordered lists."""
        self._count()
        if type(value) is dict:
            texts = [f"{json.dumps(key)}:{self.canonical(item, place.at_key(key))}" for key, item in value.items()]
            return f"{{{','.join(sorted(texts))}}}"
        if type(value) is list:
            inside = place.at_index(0)
            texts = [self.canonical(item, inside) for item in value]
            return f"[{','.join(sorted(texts) if self._is_unordered(place) else texts)}]"
        if type(value) is float and value.is_integer() and not self._rules.typed_numbers:
            value = int(value)
        return json.dumps(value)

    def _is_unordered(self, place: JsonPlace) -> bool:
        unordered = self._rules.unordered
        return unordered if isinstance(unordered, bool) else (place.pattern or "$") in unordered

    def _count(self) -> None:
        if self._pairing:
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise TooMuchWork("the items of unordered lists differ too much to be paired")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _as_written(number: float) -> Fraction:
    """The exact value of a number as written: 0.1 is one tenth."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def _kind(value: Any) -> str:
    return "an object" if type(value) is dict else "a list"


def shown(value: Any) -> str:
    """A value for a message, short."""
    if type(value) in (dict, list):
        return f"{_kind(value)} of {len(value)}" if value else json.dumps(value)
    text = _quoted(value[: _MAX_SHOWN + 1]) if type(value) is str else json.dumps(value)
    return text if len(text) <= _MAX_SHOWN + 2 else text[:_MAX_SHOWN] + "…"


def _quoted(text: str) -> str:
    """A string as JSON writes it, with half a surrogate pair escaped."""
    return json.dumps(text, ensure_ascii=False).encode(errors="backslashreplace").decode()


def _free(value: list[Any], texts: list[str], unpaired: Counter[str], most: int) -> list[Any]:
    """The items without a partner. Of identical ones at most as many as there may be partners."""
    free: list[Any] = []
    copies: Counter[str] = Counter()
    for item, text in zip(value, texts, strict=True):
        if unpaired[text] and copies[text] < most:
            unpaired[text] -= 1
            copies[text] += 1
            free.append(item)
    return free


def _parts(value: Any) -> Iterable[Any]:
    if type(value) is dict:
        return value.values()
    return value if type(value) is list else ()


def unfit(value: Any) -> str:
    """Why a value can't be compared: it nests too deeply, or has a number beyond all floats. Empty if it can."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        if any(type(item) is float and not math.isfinite(item) for item in level):
            return "a number is too large"
        level = [part for item in level for part in _parts(item)]
        if not level:
            return ""
    return f"nested deeper than {MAX_DEPTH} levels"
