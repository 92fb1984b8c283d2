"""The result protocol: exact for honest values, harmless for all others."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from verikit.sandbox import records, values
from verikit.sandbox.foreign import OpaqueValue
from verikit.sandbox.records import same
from verikit.sandbox.types import RunLimits, RunResult
from verikit.sandbox.values import MAX_BYTES, dumps, loads

text = st.text(st.characters(exclude_categories=())) | st.sampled_from(["\ud83d\ude00", "😀", "\ud800", ""])
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | text
    | st.binary()
    | st.fractions()
    | st.decimals(allow_nan=False).filter(lambda d: abs(d.adjusted()) < 10_000 if d.is_finite() else True)
)
keys = st.recursive(
    scalars.filter(lambda v: v == v),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=4,
)
anything = st.recursive(
    scalars | st.sets(keys, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=12,
)


@given(anything)
def test_every_value_comes_back_the_same_and_of_the_same_types(value: Any) -> None:
    assert same(loads(dumps(value)), value)


@given(anything, anything)
def test_same_values_are_equal_and_written_alike(a: Any, b: Any) -> None:
    if same(a, b):
        assert same(b, a)
        assert a == b or "nan" in dumps(a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, True),
        (1, 1.0),
        ([1], (1,)),
        ("\ud83d\ude00", "😀"),
        ({1: 1}, {1.0: 1}),
        ({1}, {True}),
        ({1}, frozenset({1})),
        (b"", ""),
        (Decimal(1), Fraction(1)),
        (OpaqueValue("t"), OpaqueValue("t")),
        ({(1,)}, {(True,)}),
    ],
)
def test_what_differs_in_type_is_not_the_same(a: Any, b: Any) -> None:
    assert not same(a, b)
    assert same(a, a) is not isinstance(a, OpaqueValue)


class Liar(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "value",
    [Liar(3), object(), [Liar(3)], (x for x in ()), range(3), bytearray(b"x"), float, type("F", (float,), {})(1)],
)
def test_other_types_become_opaque_and_equal_nothing(value: Any) -> None:
    found = loads(dumps(value))
    found = found[0] if isinstance(found, list) else found
    assert isinstance(found, OpaqueValue)
    assert found != found
    assert not same(found, found)


# ---- hostile input -------------------------------------------------------------------------------------------------

tags = st.sampled_from([*values._READERS, "eval", ""])
junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["0x1", "-0x0", "0x", "0x1.8p+1", "nan", "inf", "0x1.0p+99999", "1E+99", "zz", "f" * 40, "<i8"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3)
        | st.tuples(tags, inner).map(list)
        | st.tuples(tags, inner, inner).map(list)
        | st.tuples(tags, inner, inner, inner).map(list)
    ),
    max_leaves=10,
)
claims = st.fixed_dictionaries(
    {},
    optional={
        k: junk | st.sampled_from(["ok", "error", "memory", "infra_error", "call"])
        for k in ("status", "value", "type", "message", "line")
    },
)
DATA = {"stdout": b"", "stderr": b""}
ENDED = {"why": "exit", "exit": 0, "seconds": 0.1, "cpu_over": False, "disk_full": False}


def judged(record: bytes) -> RunResult:
    result = records.result(ENDED, "", DATA | {"record": record}, RunLimits(wall_s=1.0))
    assert result.status in ("ok", "error", "memory", "disk", "no_result")
    assert result.status == "ok" or result.value is None
    repr(result.error)
    return result


@settings(max_examples=examples(400))
@given(claims.map(lambda claim: json.dumps(claim).encode()) | st.binary() | junk.map(lambda j: json.dumps(j).encode()))
def test_no_record_crashes_or_fools_the_parent(record: bytes) -> None:
    result = judged(record + b"\n")
    if result.status == "ok":
        assert json.loads(record).get("status") == "ok"
        assert not same(result.value, 12345) or json.loads(record)["value"] == ["int", "0x3039"]


@settings(max_examples=examples(200))
@given(anything.map(lambda v: b'{"status":"ok","value":' + dumps(v).encode() + b"}\n"), st.data())
def test_a_damaged_record_is_another_value_or_none(record: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(record) - 1))
    judged(record[:at] + data.draw(st.binary(max_size=3)) + record[at + data.draw(st.integers(0, 3)) :])


@settings(max_examples=examples(300))
@given(junk)
def test_hostile_nodes_raise_only_value_errors(node: Any) -> None:
    try:
        found = values.decode(node)
    except ValueError:
        return
    assert found == found or "nan" in repr(found).lower() or "OpaqueValue" in repr(found)


ok = b'{"status":"ok","value":%s}\n'
ATTACKS = {
    "deep": ok % (b'["list",[' * 50_000 + b"]]" * 50_000),
    "deep raw": b"[" * 500_000,
    "deep dict": b'{"a":' * 100_000,
    "huge int": ok % (b'["int","0x%s"]' % (b"f" * 900_000)),
    "bare int": ok % (b"9" * 900_000),
    "colliding ints": ok
    % (b'["set",[%s]]' % b",".join(b'["int","%s"]' % hex(n * (2**61 - 1)).encode() for n in range(30_000))),
    "colliding keys": ok
    % (b'["dict",[%s]]' % b",".join(b'[["int","%s"],null]' % hex(n * (2**61 - 1)).encode() for n in range(20_000))),
    "gcd": ok % (b'["fraction","0x%s","0x%s"]' % (b"f" * 400_000, b"e" * 399_999 + b"1")),
    "decimal": ok % b'["decimal","1E+999999999999999999"]',
    "bytes": ok % (b'["bytes","%s"]' % (b"f" * 999_999)),
    "wide": ok % (b'["list",[%s]]' % b",".join([b"null"] * 150_000)),
    "shape": ok % b'["array","<i8",["0xffffffff","0xffffffff"],[]]',
    "two records": ok % b"null" + ok % b"null",
    "no line": b'{"status":"ok","value":null}' * 2,
    "numbers": ok % b"9",
    "unhashable": ok % b'["set",[["list",[]]]]',
    "status list": b'{"status":["ok"],"value":null}\n',
    "infra": b'{"status":"infra_error","type":"x","message":"y","line":"0x1"}\n',
    "invalid utf-8": b'{"status":"ok","value":"\xff"}\n',
    "nothing": b"",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_on_the_parent_are_refused_before_they_cost_anything(name: str) -> None:
    """By caps on numbers, depth and keys that collide: without its cap a costly value would be read to the end."""
    result = judged(ATTACKS[name])
    assert result.status == ("ok" if name == "wide" else "no_result")


def test_large_values_are_refused_by_size() -> None:
    with pytest.raises(ValueError, match=str(MAX_BYTES)):
        dumps("x" * MAX_BYTES)
    with pytest.raises(ValueError):
        loads('"' + "x" * MAX_BYTES + '"')


def test_depth_is_bounded_on_the_way_out_too() -> None:
    value: Any = []
    for _ in range(values.MAX_DEPTH + 5):
        value = [value]
    with pytest.raises(ValueError, match="deeper"):
        dumps(value)


def test_not_a_number_equals_itself_here() -> None:
    assert same([math.nan], [math.nan])
    assert same(-0.0, 0.0)
