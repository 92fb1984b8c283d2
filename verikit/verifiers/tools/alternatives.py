"""Expected calls in the Berkeley Function Calling Leaderboard's format, and its equality rules.

A call is `{name: {parameter: [alternatives]}}`; `""` among the alternatives makes the parameter optional. Rules (BFCL
v4, `ast_checker`): types come from the tool's description, and an integer is accepted for a float. One level of nested
types is checked. Strings are compared without case, spaces and `,./-_*^`. A value of the alternatives' type is accepted
for the described type (a variable). Java's and JavaScript's arguments come as source text.
"""

from __future__ import annotations

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
_DROPPED = str.maketrans(dict.fromkeys(" ,./-_*^") | {"'": '"'})
OPTIONAL = ""
_PLAIN = frozenset((str, int, float, bool))
_AS_TEXT = frozenset(("String", "char", "any"))
"""Types of Java and JavaScript whose values are the text, unless it is a string literal."""
_QUOTES = frozenset("\"'`")


class _NotText(Exception):
    """A value is not a string, but a literal of another language must be read from it."""


def loose(value: Any) -> Any:
    """A string without case, spaces and punctuation; other values unchanged."""
    return value.translate(_DROPPED).lower() if type(value) is str else value


class ExpectedCall:
    """One expected call. Rules of a parameter are prepared when a value needs more than a look-up."""

    __slots__ = ("_alternatives", "_language", "_parameters", "_properties", "_required", "name")

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
        self._parameters: dict[str, _Parameter] = {}
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
        alternatives, fits = self._alternatives, self._fits
        for key, accepted in alternatives.items():
            if key not in given and OPTIONAL not in accepted:
                return f"{name}: no argument {key!r}"
        for key, value in given.items():
            accepted = alternatives.get(key)
            if accepted is None or (properties is not None and key not in properties):
                return f"{name}: an argument {str(key)[:80]!r} that is not expected"
            described = None if properties is None else properties[key]
            if not fits(key, value, accepted, described):
                return f"{name}: {key} is {shown(value)}, which is not expected"
        return ""

    def _fits(self, key: str, value: Any, accepted: list[Any], described: Any) -> bool:
        """Whether a value is accepted; plain ones, as most are, are decided before a parameter's rules are prepared."""
        stated = described.get("type") if type(described) is dict else None
        if type(stated) is str:
            kind = type(value)
            if self._language != "python":
                if stated in _AS_TEXT and kind is str and value[:1] not in _QUOTES and value in accepted:
                    return True
            elif kind in _PLAIN and TYPES.get(stated) is kind:
                return value in accepted or (kind is str and _alike(value, accepted))
        parameter = self._parameters.get(key)
        if parameter is None:
            parameter = self._parameters[key] = _Parameter(accepted, described, self._language)
        return parameter.accepts(value)


def _alike(text: str, accepted: list[Any]) -> bool:
    """Whether a string is one of the alternatives, ignoring case, spaces and punctuation; never a variable's name."""
    return _type_of_first(accepted) in (str, None) and loose(text) in map(loose, accepted)


class _Parameter:
    """The accepted values of one parameter."""

    __slots__ = ("_accepted", "_convert", "_inner", "_nested", "_stated", "_type", "_variable")

    def __init__(self, accepted: list[Any], described: Any, language: Language) -> None:
        stated = described.get("type") if isinstance(described, Mapping) else None
        self._accepted = accepted
        self._variable = _type_of_first(accepted)
        self._stated: str = stated if isinstance(stated, str) else ""
        self._nested = _nested(self._stated, described)
        self._convert = _CONVERTERS[language] if self._stated else None
        self._type: type = _TYPES[language].get(self._stated) or self._variable or str
        self._inner = None if self._nested is None else _TYPES[language].get(self._nested)
        if self._nested == "any" and language != "python":
            self._inner = None  # any item is right

    def accepts(self, value: Any) -> bool:
        """Whether a value is accepted."""
        wanted = self._type
        try:
            value = self._as_type(value)
        except (OverflowError, _NotText):
            return False
        variable = self._variable is not None and self._variable is not wanted
        if type(value) is not wanted:
            variable = True
            if self._variable is None or type(value) is not self._variable:
                return False
        elif wanted is list and not self._items_fit(value):
            return False
        if variable or type(value) not in (str, list, dict):
            return value in self._accepted
        if type(value) is str:
            return loose(value) in map(loose, self._accepted)
        if type(value) is dict:
            return any(_same_dict(value, option) for option in self._accepted if option != OPTIONAL)
        return self._same_list(value)

    def _as_type(self, value: Any) -> Any:
        """A value as the parameter's type, if the language converts it.

        Raises:
            OverflowError: An integer too large for a float.
            _NotText: a literal of another language has to be read from text, and this is not a string.
        """
        if self._convert is not None:
            if type(value) is not str:
                raise _NotText
            null = value == "null" and None in self._accepted  # otherwise text like any other word
            return None if null else self._convert(value, self._stated, self._nested)
        if type(value) is tuple and self._type is list:
            return list(value)
        return float(value) if type(value) is int and self._type is float else value

    def _same_list(self, items: Any) -> bool:
        if self._inner is dict:
            return any(_same_dicts(items, option) for option in self._accepted)
        given = [*map(loose, items)]
        lists = (option for option in self._accepted if isinstance(option, (list, str)))
        return any(given == [*map(loose, option)] for option in lists)

    def _items_fit(self, items: Any) -> bool:
        """Whether the items are of the described inner type, or of the type of an alternative's items."""
        if self._inner is None:
            return True
        types = set(map(type, items)) - {self._inner}
        return any(not isinstance(option, list) or types <= {_type_of_first(option)} for option in self._accepted)


def _type_of_first(accepted: list[Any]) -> type | None:
    """The type of the first alternative that is a value."""
    for value in accepted:
        if value != OPTIONAL:
            return type(value)
    return None


def _nested(stated: str, described: Any) -> str | None:
    """The described type of a list's items."""
    if stated not in ("array", "tuple", "Array", "ArrayList"):
        return None
    items = described.get("items")
    found = items.get("type") if isinstance(items, Mapping) else None
    return found if isinstance(found, str) else None


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
