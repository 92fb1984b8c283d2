"""Expected calls in the Berkeley Function Calling Leaderboard's format, and its equality rules.

A call is `{name: {parameter: [alternatives]}}`; `""` among the alternatives makes the parameter optional. Rules (BFCL
v4, `ast_checker`): types come from the tool's description, and an integer is accepted for a float. One level of nested
types is checked. Strings are compared without case, spaces and `,./-_*^`. A value of the alternatives' type is accepted
for the described type (a variable). Java's and JavaScript's arguments come as source text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verikit.calls import Language, ToolCall
from verikit.verifiers.tools.arguments import shown
from verikit.verifiers.tools.literals import JAVA_TYPES, JAVASCRIPT_TYPES, java_value, javascript_value

TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "number": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "object": dict,
    "any": str,
}
_TYPES: Mapping[Language, Mapping[str, type]] = {"python": TYPES, "java": JAVA_TYPES, "javascript": JAVASCRIPT_TYPES}
_DROPPED = b" ,./-_*^"
_ONE_QUOTE = bytes.maketrans(b"'", b'"')
_ENCODING = ("utf-8", "surrogatepass")
OPTIONAL = ""
_OBJECT = (dict, Mapping)
"""JSON objects; a dict is recognized immediately."""
_LISTS = frozenset(("array", "tuple", "Array", "ArrayList"))
_PLAIN = frozenset((str, int, float, bool))
_AS_TEXT = frozenset(("String", "char", "any"))
"""Types of Java and JavaScript whose values are the text, unless it is a string literal."""
_QUOTES = frozenset("\"'`")


def loose(value: Any) -> Any:
    """A string without case, spaces and punctuation; other values unchanged."""
    if type(value) is not str:
        return value
    return value.encode(*_ENCODING).translate(_ONE_QUOTE, _DROPPED).decode(*_ENCODING).lower()  # faster than for text


class ExpectedCall:
    """One expected call."""

    __slots__ = ("_alternatives", "_language", "_properties", "_required", "name")

    def __init__(
        self, name: str, alternatives: Mapping[str, Any], schema: Mapping[str, Any] | None, language: Language
    ) -> None:
        """Check the expected call.

        Args:
            name: The tool's name.
            alternatives: Parameter -> list of accepted values.
            schema: The tool's parameters (`properties`, `required`); None: types are not checked.
            language: The language of the arguments.

        Raises:
            ValueError: The expected call or the schema is malformed.
        """
        self.name: str = name
        self._alternatives = alternatives
        self._language: Language = language
        self._properties: Mapping[str, Any] | None = None if schema is None else schema.get("properties") or {}
        self._required: Sequence[str] = [*schema.get("required", ())] if schema else ()
        for accepted in alternatives.values():
            if not isinstance(accepted, list):
                raise ValueError(f"expected arguments of {name!r} are lists of alternatives")

    def problem(self, call: ToolCall) -> str:
        """The problem with a call; "" if it is the expected one."""
        name, given, properties = self.name, call.arguments, self._properties
        if call.name != name and (call.written or call.name != name.replace(".", "_")):
            return f"calls {call.name[:80]!r}, not {name!r}"
        if call.problem:
            return call.problem
        for key in self._required:
            if key not in given:
                return f"{name}: no argument {key!r}"
        alternatives, language = self._alternatives, self._language
        for key, accepted in alternatives.items():
            if key not in given and OPTIONAL not in accepted:
                return f"{name}: no argument {key!r}"
        for key, value in given.items():
            accepted = alternatives.get(key)
            if accepted is None or (properties is not None and key not in properties):
                return f"{name}: an argument {str(key)[:80]!r} that is not expected"
            described = None if properties is None else properties[key]
            if not (_fits(value, accepted, described, language) or _accepts(value, accepted, described, language)):
                return f"{name}: {key} is {shown(value)}, which is not expected"
        return ""


def _fits(value: Any, accepted: list[Any], described: Any, language: Language) -> bool:
    """Whether a value is accepted as it is, as most are. `_accepts` has the whole rule."""
    stated = described.get("type") if type(described) is dict else None
    if type(stated) is not str:
        return False
    kind = type(value)
    if language == "python":
        return TYPES.get(stated) is kind and kind in _PLAIN and value in accepted
    return kind is str and stated in _AS_TEXT and value[:1] not in _QUOTES and value in accepted


def _accepts(value: Any, accepted: list[Any], described: Any, language: Language) -> bool:
    """Whether a value is accepted by all rules for a parameter."""
    stated = _described_type(described)
    nested = _nested(stated, described)
    first = _type_of_first(accepted)
    wanted: type = _TYPES[language].get(stated) or first or str
    convert = _CONVERTERS[language] if stated else None
    if convert is None:
        value = _as_type(value, wanted)
    elif type(value) is not str:
        return False
    elif value != "null" or None not in accepted:  # otherwise `null` is text like any other word
        value = convert(value, stated, nested or None)
    else:
        value = None
    if type(value) is not wanted:  # a variable
        return type(value) is first and value in accepted
    inner = _inner(nested, language)
    if not _items_fit(value, accepted, inner):
        return False
    return _equal(value, accepted, inner) if first in (None, wanted) else value in accepted


def _described_type(described: Any) -> str:
    """The described type of a parameter or of a list's items. "" if there is none."""
    stated = described.get("type") if isinstance(described, _OBJECT) else None
    return stated if isinstance(stated, str) else ""


def _as_type(value: Any, wanted: type) -> Any:
    """A value of Python as the parameter's type: a tuple as a list, an integer as a float."""
    if type(value) is tuple and wanted is list:
        return list(value)
    if type(value) is int and wanted is float:
        try:
            return float(value)
        except OverflowError:
            return math.nan  # equals no float
    return value


def _equal(value: Any, accepted: list[Any], inner: type | None) -> bool:
    """Whether a value equals one of the accepted ones of its type. Strings are compared loosely."""
    if type(value) is str:
        return loose(value) in map(loose, accepted)
    if type(value) is dict:
        return any(_same_dict(value, option) for option in accepted if option != OPTIONAL)
    if type(value) is not list:
        return value in accepted
    if inner is dict:
        return any(_same_dicts(value, option) for option in accepted)
    given = [*map(loose, value)]
    return any(given == [*map(loose, option)] for option in accepted if isinstance(option, (list, str)))


def _items_fit(items: Any, accepted: list[Any], inner: type | None) -> bool:
    """Whether a list's items are of the described inner type, or of the type of an alternative's items."""
    if inner is None or type(items) is not list:
        return True
    types = set(map(type, items)) - {inner}
    return any(not isinstance(option, list) or types <= {_type_of_first(option)} for option in accepted)


def _type_of_first(accepted: list[Any]) -> type | None:
    """The type of the first alternative that is a value."""
    for value in accepted:
        if value != OPTIONAL:
            return type(value)
    return None


def _nested(stated: str, described: Any) -> str:
    """The described type of a list's items. "" if there is none."""
    return _described_type(described.get("items")) if stated in _LISTS else ""


def _inner(nested: str, language: Language) -> type | None:
    """The type of a list's items. None if any is right."""
    return None if nested == "any" and language != "python" else _TYPES[language].get(nested)


_CONVERTERS: Mapping[Language, Callable[[str, str, str | None], Any] | None] = {
    "python": None, "java": java_value, "javascript": javascript_value,
}  # fmt: skip
"""What makes values of source text."""


def _same_dict(value: Mapping[Any, Any], accepted: Any) -> bool:
    if not isinstance(accepted, Mapping) or any(key not in accepted for key in value):
        return False
    if any(key not in value and OPTIONAL not in _listed(options) for key, options in accepted.items()):
        return False
    return all(loose(item) in [loose(option) for option in _listed(accepted[key])] for key, item in value.items())


def _listed(options: Any) -> list[Any]:
    return options if isinstance(options, list) else [options]


def _same_dicts(value: Sequence[Any], accepted: Any) -> bool:
    if not isinstance(accepted, (list, str)) or len(value) != len(accepted):
        return False
    return all(
        isinstance(item, Mapping) and _same_dict(item, option) and option != OPTIONAL
        for item, option in zip(value, accepted, strict=True)
    )
