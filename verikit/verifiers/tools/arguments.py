"""Expected calls with plain arguments: equal as JSON values, after conversion to the types of the tool's schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verikit.calls import ToolCall, deeper_than, load_json
from verikit.calls.python import MAX_DEPTH

MISSING = object()
_PLAIN = frozenset((str, int, float, bool, type(None)))


class PlainCall:
    """One expected call as a model makes it."""

    __slots__ = ("_names", "_required", "_schema", "_wanted", "coerce", "name")

    def __init__(self, call: ToolCall, schema: Mapping[str, Any] | None, coerce: bool) -> None:
        """Prepare it; the schema is the tool's parameters."""
        self.name: str = call.name
        self.coerce: bool = coerce and schema is not None
        self._names = (call.name, call.name.replace(".", "_"))
        self._schema: Mapping[str, Any] = schema or {}
        required = self._schema.get("required")
        self._required: Sequence[Any] = required if isinstance(required, list) else ()
        self._wanted = self._filled(call.arguments)

    def problem(self, call: ToolCall) -> str:
        """The problem with a call; "" if it is the expected one."""
        if call.name != self.name and (call.written or call.name not in self._names):
            return f"calls {call.name[:80]!r}, not {self.name!r}"
        if call.problem:
            return call.problem
        if deeper_than(call.arguments, MAX_DEPTH):
            return f"arguments of {self.name} are nested deeper than {MAX_DEPTH} levels"
        given = self._filled(call.arguments)
        for key, value in self._wanted.items():
            if value is None and key not in call.arguments and key not in self._required:
                continue  # also if it has a default
            if key not in given:
                return f"{self.name}: no argument {key!r}"
            if not agrees(given[key], value):
                return f"{self.name}: {key} is {shown(given[key])}, not {shown(value)}"
        extra = next((key for key in given if key not in self._wanted), MISSING)
        return "" if extra is MISSING else f"{self.name}: an argument {str(extra)[:80]!r} that is not expected"

    def _filled(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments with the schema's types and defaults."""
        properties = self._schema.get("properties")
        if not isinstance(properties, Mapping):
            return dict(arguments)
        defaults = {
            key: described["default"]
            for key, described in properties.items()
            if isinstance(described, Mapping) and "default" in described
        }
        found = defaults | dict(arguments)
        if self.coerce:
            return {key: coerced(value, properties.get(key)) for key, value in found.items()}
        return found


def shown(value: Any) -> str:
    """The start of any value's text, for use in a reason."""
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError) as error:  # a number with too many digits, or nesting
        return f"a {type(value).__name__} that can't be written ({type(error).__name__})"


def coerced(value: Any, schema: Any, depth: int = 0) -> Any:
    """A value as the type that a JSON Schema states, if it is that value in another form; otherwise unchanged."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return value
    kinds = schema.get("type")
    kind = next((kind for kind in kinds if kind != "null"), None) if isinstance(kinds, list) else kinds
    if isinstance(value, str) and kind not in ("string", "any", None):
        value = _read(value, kind)
    if kind == "integer" and type(value) is float and value.is_integer():
        return int(value)
    if kind == "string" and type(value) in (int, float):
        try:
            return repr(value)
        except ValueError:  # more digits than Python writes
            return value
    if isinstance(value, (list, tuple)):
        return [coerced(item, schema.get("items"), depth + 1) for item in value]
    properties = schema.get("properties")
    if isinstance(value, Mapping) and isinstance(properties, Mapping):
        return {key: coerced(item, properties.get(key), depth + 1) for key, item in value.items()}
    return value


def _read(text: str, kind: Any) -> Any:
    """A number, truth value, list or object that was written as a string."""
    if kind in ("boolean", "bool"):
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    value, problem = load_json(text)
    if problem:
        return text
    wanted: Mapping[Any, tuple[type, ...]] = {
        **dict.fromkeys(("integer", "number", "float"), (int, float)),
        **dict.fromkeys(("array", "tuple"), (list,)),
        **dict.fromkeys(("object", "dict"), (dict,)),
    }
    return value if type(value) in wanted.get(kind, ()) else text


def agrees(given: Any, expected: Any) -> bool:
    """Whether a JSON value is the expected one. A key that is expected to be null may be missing.

    Tables of datasets and parquet give all rows the same keys: those that a row did not have are null.
    """
    if type(given) is type(expected) and type(given) in _PLAIN:
        return bool(given == expected)
    if isinstance(given, Mapping) and isinstance(expected, Mapping):
        return given.keys() <= expected.keys() and all(agrees(given.get(key), expected[key]) for key in expected)
    if _is_list(given) and _is_list(expected):
        return len(given) == len(expected) and all(map(agrees, given, expected))
    return same(given, expected)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal; 1 and 1.0 are, true and 1 are not."""
    if type(a) is type(b) and type(a) in _PLAIN:
        return bool(a == b)
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if _is_list(a) and _is_list(b):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return isinstance(a, (int, float)) and isinstance(b, (int, float)) and a == b
