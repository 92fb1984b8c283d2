"""Typed JSON: how values cross the sandbox's wall, exactly and without code.

None, booleans and strings are themselves. Every other value is a list `[tag, …]`, its numbers in hexadecimal, so types
and bits are preserved. A value without a tag becomes `OpaqueValue`, equal to nothing, not even itself: no `__eq__`
travels. `dumps` runs in the candidate's process and may be tampered with. `loads` treats its input as hostile: bounded
bytes, depth and numbers, one exact grammar, and `ValueError` otherwise. numpy arrays and sympy expressions arrive as
plain data (`Array`, `Symbolic`); neither library is needed to read them.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from verikit.sandbox.foreign import Array, OpaqueValue, Symbolic, carried, well_formed

MAX_BYTES = 1 << 20
MAX_LINE = 8 << 20
"""Of a line in a conversation (`proxies`), in bytes."""
MAX_DEPTH = 60
MAX_INT_DIGITS = 250_000
"""Hexadecimal: a million bits."""
MAX_FRACTION_DIGITS = 4096
"""Hexadecimal; their common divisor takes quadratic time."""
MAX_ARRAY = 65_536
_MAX_SAME_HASH = 50
"""Maximum keys of one set or dict with the same hash. More are an attack on the table."""
_HEX_INT = re.compile(r"-?0x[0-9a-f]+")
_HEX_FLOAT = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}|-?inf|nan")
_DECIMAL = re.compile(
    r"-?(?:[0-9]{1,5000}(?:E[+-]?[0-9]{1,6})?|[0-9]{0,5000}\.[0-9]{1,5000}(?:E[+-]?[0-9]{1,6})?|Infinity|NaN)"
)
_DTYPE = re.compile(r"[<>|=]?[biufcSUmM][0-9]{1,4}(?:\[[a-zA-Z0-9]{1,8}\])?")


# ---- out of the sandbox --------------------------------------------------------------------------------------------


def dumps(value: object) -> str:
    """Write a value as typed JSON.

    Raises:
        ValueError: It nests deeper than `MAX_DEPTH`, or does not fit into `MAX_BYTES`.
    """
    text = json.dumps(encode(value, MAX_DEPTH), ensure_ascii=True, separators=(",", ":"))
    if len(text) > MAX_BYTES:
        raise ValueError(f"the value takes {len(text)} bytes, more than {MAX_BYTES}")
    return text


def encode(value: Any, depth: int = MAX_DEPTH) -> Any:
    """The JSON form of a value, of exactly its type, or as `foreign.carried` has it."""
    if depth < 0:
        raise ValueError(f"the value nests deeper than {MAX_DEPTH}")
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return value if well_formed(value) else ["str", value.encode("utf-8", "surrogatepass").hex()]
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return scalar(value)
    if kind in (list, tuple, set, frozenset):
        return [kind.__name__, [encode(item, depth - 1) for item in value]]
    if kind is dict:
        return ["dict", [[encode(k, depth - 1), encode(v, depth - 1)] for k, v in value.items()]]
    return encode(carried(value, MAX_ARRAY), depth)


_SCALARS: dict[type, Callable[[Any], list[Any]]] = {
    int: lambda v: ["int", hex(v)],
    float: lambda v: ["float", v.hex()],
    complex: lambda v: ["complex", v.real.hex(), v.imag.hex()],
    bytes: lambda v: ["bytes", v.hex()],
    Fraction: lambda v: ["fraction", hex(v.numerator), hex(v.denominator)],
    Decimal: lambda v: ["decimal", str(v)],
    OpaqueValue: lambda v: ["opaque", v.type, v.repr],
    Symbolic: lambda v: ["sympy", v.srepr],
    Array: lambda v: ["array", v.dtype, v.shape and [hex(n) for n in v.shape], [encode(item, 1) for item in v.items]],
}


# ---- into the caller -----------------------------------------------------------------------------------------------


def loads(text: str | bytes) -> Any:
    """Read typed JSON that may be hostile.

    Raises:
        ValueError: Anything but one well-formed value within the bounds.
    """
    return decode(parse(text))


def parse(text: str | bytes, most: int = MAX_BYTES) -> Any:
    """Plain JSON without numbers, within the bounds. Raises `ValueError` otherwise."""
    if len(text) > most:
        raise ValueError(f"{len(text)} bytes, more than {most}")
    try:
        return json.loads(text, parse_int=_no_number, parse_float=_no_number, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_number(text: str) -> Any:
    raise ValueError("bare numbers do not occur in typed JSON")


def decode(node: Any, depth: int = MAX_DEPTH) -> Any:
    """The value of a parsed node; see `loads`."""
    if depth < 0:
        raise ValueError("nested too deeply")
    if node is None or isinstance(node, bool | str):
        return node
    if not isinstance(node, list) or not node or not isinstance(node[0], str):
        raise ValueError("not a tagged value")
    tag, *fields = node
    reader = _READERS.get(tag)
    if reader is None:
        raise ValueError(f"unknown tag {tag[:20]!r}")
    return reader(fields, depth - 1)


def _single(fields: list[Any], kind: type) -> Any:
    if len(fields) != 1 or not isinstance(fields[0], kind):
        raise ValueError("wrong fields")
    return fields[0]


def _integer(text: Any, digits: int = MAX_INT_DIGITS) -> int:
    if not isinstance(text, str) or len(text) > digits + 3 or not _HEX_INT.fullmatch(text):
        raise ValueError("not a hexadecimal integer")
    return int(text, 16)


def _float(text: Any) -> float:
    if not isinstance(text, str) or len(text) > 40 or not _HEX_FLOAT.fullmatch(text):
        raise ValueError("not a hexadecimal float")
    try:
        return float.fromhex(text)
    except OverflowError:
        raise ValueError("not a hexadecimal float") from None


def _complex(fields: list[Any], depth: int) -> complex:
    real, imag = fields
    return complex(_float(real), _float(imag))


def _fraction(fields: list[Any], depth: int) -> Fraction:
    above, below = (_integer(field, MAX_FRACTION_DIGITS) for field in fields)
    if below <= 0 or math.gcd(above, below) != 1:
        raise ValueError("not a fraction in lowest terms")
    return Fraction(above, below)


def _decimal(fields: list[Any], depth: int) -> Decimal:
    text = _single(fields, str)
    if len(text) > 10_010 or not _DECIMAL.fullmatch(text):
        raise ValueError("not a decimal")
    return Decimal(text)


def _items(fields: list[Any], depth: int) -> list[Any]:
    return [decode(item, depth) for item in _single(fields, list)]


def hashable(items: list[Any]) -> list[Any]:
    """The same items, if a hash table of them can be built in linear time.

    Raises:
        ValueError: It can't.
    """
    try:
        hashes = Counter(map(hash, items))
    except TypeError:
        raise ValueError("a key that can't be hashed") from None
    if hashes and max(hashes.values()) > _MAX_SAME_HASH:
        raise ValueError("keys that collide")
    return items


def _dict(fields: list[Any], depth: int) -> dict[Any, Any]:
    pairs = _single(fields, list)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError("not key-value pairs")
    keys = hashable([decode(key, depth) for key, _ in pairs])
    return dict(zip(keys, (decode(value, depth) for _, value in pairs), strict=True))


def _sizes(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, list) or len(shape) > 32:
        raise ValueError("not a shape")
    return tuple(_integer(size, 16) for size in shape)


def _array(fields: list[Any], depth: int) -> Array:
    dtype, shape, items = fields
    if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype):
        raise ValueError("not an array")
    if not isinstance(items, list) or len(items) > MAX_ARRAY:
        raise ValueError("not an array")
    sizes = None if shape is None else _sizes(shape)
    if min(sizes or (0,)) < 0 or math.prod(sizes or ()) != len(items):
        raise ValueError("shape and items differ")
    values = tuple(decode(item, 1) for item in items)
    if not all(isinstance(value, bool | int | float | complex | str | bytes) for value in values):
        raise ValueError("an array of something else than numbers and text")
    return Array(dtype, sizes, values)


def _opaque(fields: list[Any], depth: int) -> OpaqueValue:
    kind, shown = fields
    if not isinstance(kind, str) or not isinstance(shown, str) or len(kind) > 200 or len(shown) > 25_000:
        raise ValueError("not an opaque value")
    return OpaqueValue(kind, shown)


_READERS: dict[str, Callable[[list[Any], int], Any]] = {
    "int": lambda fields, depth: _integer(_single(fields, str)),
    "float": lambda fields, depth: _float(_single(fields, str)),
    "complex": _complex,
    "str": lambda fields, depth: bytes.fromhex(_single(fields, str)).decode("utf-8", "surrogatepass"),
    "bytes": lambda fields, depth: bytes.fromhex(_single(fields, str)),
    "fraction": _fraction,
    "decimal": _decimal,
    "list": _items,
    "tuple": lambda fields, depth: tuple(_items(fields, depth)),
    "set": lambda fields, depth: set(hashable(_items(fields, depth))),
    "frozenset": lambda fields, depth: frozenset(hashable(_items(fields, depth))),
    "dict": _dict,
    "array": _array,
    "sympy": lambda fields, depth: Symbolic(_single(fields, str)),
    "opaque": _opaque,
}
