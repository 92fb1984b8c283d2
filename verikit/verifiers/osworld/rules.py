"""Rules over the values of a JSON file and the rows of a CSV file."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verikit.errors import AgentFault, WorkspaceError
from verikit.types import Score
from verikit.verifiers.osworld.visible import csv_rows, decoded
from verikit.verifiers.reading.json_reply import parsed

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
METHODS = ("eq", "ne", "approx", *_ORDERS)
"""The methods of a rule. `approx:0.1` has its tolerance behind the name."""
Rule = Mapping[str, Any]


def method_of(rule: Rule) -> str:
    """The name of a rule's method, without its tolerance."""
    return str(rule.get("method")).partition(":")[0]


def same(value: Any, wanted: Any) -> bool:
    """Whether two JSON values are equal, where `true` is not 1."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, dict) and isinstance(wanted, dict):
        return value.keys() == wanted.keys() and all(same(value[key], wanted[key]) for key in wanted)
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(same, value, wanted))
    return bool(value == wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def holds(value: Any, rule: Rule) -> bool:
    """Whether a value is as a rule describes it.

    Raises:
        WorkspaceError: The rule has an unknown method, or no tolerance.
    """
    method, wanted = method_of(rule), rule.get("ref")
    if method in ("eq", "ne"):
        return same(value, wanted) is (method == "eq")
    if method not in METHODS or not _is_number(wanted):
        raise WorkspaceError(f"a rule of the row can't be used: {dict(rule)!r:.200}")
    if not _is_number(value):
        return False
    if method in _ORDERS:
        return _ORDERS[method](value, wanted)
    try:
        tolerance = float(str(rule["method"]).partition(":")[2])
    except ValueError:
        raise WorkspaceError(f"a rule of the row has no tolerance: {rule['method']!r:.100}") from None
    try:
        return bool(abs(value - wanted) <= tolerance)
    except OverflowError:  # an integer beyond all floats
        return False


def json_faults(data: bytes, expect: Sequence[Rule], unexpect: Sequence[Rule]) -> Score:
    """Whether the values at some keys are as expected. Duplicate keys and NaN are rejected."""
    document = parsed(decoded(data))
    if document.problem:
        raise AgentFault(document.problem)
    for rule in expect:
        found, value = _at(document.value, rule["key"])
        if not found or not holds(value, rule):
            return Score(0.0, reason=f"{rule['key']!r} is {f'{value!r:.80}' if found else 'missing'}")
    for rule in unexpect:
        if holds(_at(document.value, rule["key"])[1], rule):
            return Score(0.0, reason=f"{rule['key']!r} has a value that it must not have")
    return Score(1.0, reason="as the rules expect")


def _at(value: Any, path: Sequence[Any]) -> tuple[bool, Any]:
    """Whether there is something under a list of keys and positions, and what."""
    for key in path:
        listed = isinstance(value, list) and type(key) is int and -len(value) <= key < len(value)
        if not listed and not (isinstance(value, dict) and key in value):
            return False, None
        value = value[key]
    return True, value


def record_faults(data: bytes, expect: Sequence[Mapping[str, str]], unexpect: Sequence[Mapping[str, str]]) -> Score:
    """Whether a CSV has a row for each expected record, and none for the others."""
    head, *body = [row for row in csv_rows(data) if row] or [[]]
    rows = [dict(zip(head, row, strict=False)) for row in body]
    for record in expect:
        if not any(_fits(row, record) for row in rows):
            return Score(0.0, reason=f"a row is missing: {dict(record)!r:.200}")
    for record in unexpect:
        if any(_fits(row, record) for row in rows):
            return Score(0.0, reason=f"a rejected row exists: {dict(record)!r:.200}")
    return Score(1.0, reason="as the rules expect")


def _fits(row: Mapping[str, Any], record: Mapping[str, str]) -> bool:
    return all(row.get(key) == value for key, value in record.items())
