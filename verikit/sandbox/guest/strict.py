"""Prepended to changed tests (`verifiers/changed_tests.py`): other expected values, and strict comparisons.

Runs in the process of the tests. An alarm is not an `Exception`, so no handler of a test mistakes it for the expected
failure.
"""

import operator
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any


class VerikitAlarm(BaseException):
    """A check that passes regardless of the expected value."""


class Unchanged(Exception):
    """A check without information: its value can't be changed, or it compares nothing."""


def alarm(line: str) -> None:
    """Report a check that passes even if another value is expected."""
    raise VerikitAlarm(f"line {line} of the tests also passes if another value is expected there")


def changed(value: Any, variant: int) -> Any:
    """Another value of the same form; outside usual tolerances, but not recognizable by its size.

    Raises:
        Unchanged: It is empty, or not a plain value.
    """
    kind = type(value)
    if kind is bool:
        return not value
    if value is None:
        return 10**15 + variant
    if kind in (int, float, complex, Decimal, Fraction):
        return 7 * value + 111 if variant else 3 * value + 37
    if kind is str:
        return "changed~" + value if variant else value + "~changed"
    if kind is bytes:
        return b"changed~" + value if variant else value + b"~changed"
    if kind.__module__ == "numpy" and hasattr(value, "tolist"):
        import numpy

        return numpy.array(changed(value.tolist(), variant))
    if kind in (list, tuple):
        return kind(_one_changed(list(value), variant))
    if kind is dict:
        return dict(zip(value, _one_changed(list(value.values()), variant), strict=True))
    if kind in (set, frozenset) and value:
        return kind([*value, "changed~" if variant else "~changed"])
    raise Unchanged(f"{kind.__name__} can't be changed")


def _one_changed(items: list[Any], variant: int) -> list[Any]:
    """The items, with the last changeable one changed."""
    for at in reversed(range(len(items))):
        try:
            return [*items[:at], changed(items[at], variant), *items[at + 1 :]]
        except Unchanged:
            continue
    raise Unchanged("nothing in it can be changed")


def compare(line: int, name: str, expected: int | None, sized: bool, left: Any, right: Any) -> Any:
    """`left == right`, or another comparison of `operator`, if both have suitable shapes."""
    if any(type(value).__module__ == "numpy" and hasattr(value, "shape") for value in (left, right)):
        _meet(line, left, right, expected, sized if name in ("eq", "ne") else None)
    return getattr(operator, name)(left, right)


def call(
    line: int, expected: int | None, sized: bool, function: Any, left: Any, right: Any, *more: Any, **named: Any
) -> Any:
    """A call of a function that compares its first two arguments as arrays, if both have suitable shapes."""
    if "numpy" in sys.modules:
        _meet(line, left, right, expected, sized)
    return function(left, right, *more, **named)


def pair(line: int, sized: bool, *sequences: Any, **named: Any) -> Any:
    """`zip`, unless one of its sequences is empty and another is not."""
    lengths = [len(sequence) for sequence in sequences if hasattr(sequence, "__len__")]
    if 0 in lengths and any(lengths) and not sized:
        raise VerikitAlarm(f"line {line} of the tests pairs an empty value with one of {max(lengths)} items")
    return zip(*sequences, **named)  # noqa: B905 - as the tests call it


def _meet(line: int, left: Any, right: Any, expected: int | None, sized: bool | None) -> None:
    """Reject comparing an empty array with a non-empty one, or a value with an expected value of another shape.

    `sized`: whether the tests check sizes themselves, and `None` if a single number is not a value to be equal to. A
    property of all items is then also true for no items.
    """
    shapes = [_shape(left), _shape(right)]
    if shapes[0] is None or shapes[1] is None:
        return
    empty = [0 in shape for shape in shapes if shape is not None]
    if empty[0] != empty[1]:
        single = () in shapes
        if single and sized is None:
            return
        if single and sized:
            raise Unchanged("nothing is compared")
        raise VerikitAlarm(f"line {line} of the tests compares an empty value with one that is not: {_told(shapes)}")
    if expected is None or 0 in (shapes[expected] or (0,)):
        return
    wanted, given = _without_ones(shapes[expected]), _without_ones(shapes[1 - expected])
    if wanted != given and wanted:
        raise VerikitAlarm(f"line {line} of the tests compares values of different shapes: {_told(shapes)}")


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of a value that compares item by item; None for other values."""
    if type(value).__module__.startswith("_pytest") and hasattr(value, "expected"):
        value = value.expected
    if value is None or isinstance(value, str | bytes | dict):
        return None
    import numpy

    try:
        return tuple(numpy.shape(value))
    except (TypeError, ValueError):
        return None


def _without_ones(shape: Any) -> tuple[int, ...]:
    """The shape without axes of length one before it, which compare as if they were not there."""
    while shape[:1] == (1,):
        shape = shape[1:]
    return tuple(shape)


def _told(shapes: Any) -> str:
    return " and ".join(str(shape) for shape in shapes)
