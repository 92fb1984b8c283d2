"""Expected calls in the Berkeley Function Calling Leaderboard's form, and its rules of what is the same.

A call is `{name: {parameter: [alternatives]}}`; `""` among the alternatives makes the parameter optional. Rules (BFCL
v4, `ast_checker`): types are those of the tool's description, a whole number may stand for a float, one level of nested
types is checked, texts are compared without case, spaces and `,./-_*^`, and a value of the alternatives' type may stand
for one of the described type (a variable). Java's and JavaScript's arguments come as source text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

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
_DROPPED = str.maketrans(dict.fromkeys(" ,./-_*^") | {"'": '"'})
OPTIONAL = ""
_PLAIN = frozenset((str, int, float, bool))


def loose(value: Any) -> Any:
    """A text without case, spaces and punctuation; anything else as it is."""
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
            language: What the arguments are written in.

        Raises:
            ValueError: the expected call or the schema is malformed.
        """
        self.name: str = name
        self._alternatives = alternatives
        self._language: Language = language
        self._properties: Mapping[str, Any] | None = None if schema is None else schema.get("properties") or {}
        self._required: list[str] = [*schema.get("required", ())] if schema else []
        self._parameters: dict[str, _Parameter] = {}
        for key, accepted in alternatives.items():
            if not isinstance(accepted, list):
                raise ValueError(f"expected arguments of {name!r} are lists of alternatives")
            if OPTIONAL not in accepted:
                self._required.append(key)

    def problem(self, call: ToolCall) -> str:
        """What is wrong with a call; "" where it is the expected one."""
        name, given = self.name, call.arguments
        if call.name != name and (call.written or call.name != name.replace(".", "_")):
            return f"calls {call.name[:80]!r}, not {name!r}"
        if call.problem:
            return call.problem
        for key in self._required:
            if key not in given:
                return f"{name}: no argument {key!r}"
        for key, value in given.items():
            if key not in self._alternatives or (self._properties is not None and key not in self._properties):
                return f"{name}: an argument {str(key)[:80]!r} that is not expected"
            if not self._accepts(key, value):
                return f"{name}: {key} is {shown(value)}, which is not expected"
        return ""

    def _accepts(self, key: str, value: Any) -> bool:
        accepted = self._alternatives[key]
        described = None if self._properties is None else self._properties[key]
        if type(described) is dict and self._language == "python":
            stated = described.get("type")
            plain = type(value) in _PLAIN and type(stated) is str and TYPES.get(stated) is type(value)
            if plain and value in accepted:  # as most right values are
                return True
        parameter = self._parameters.get(key)
        if parameter is None:
            parameter = self._parameters[key] = _Parameter(accepted, described, self._language)
        return parameter.accepts(value)


class _Parameter:
    """What is accepted of one parameter."""

    __slots__ = ("_accepted", "_convert", "_inner", "_type", "_variable", "accepts")

    def __init__(self, accepted: list[Any], described: Any, language: Language) -> None:
        stated = described.get("type") if isinstance(described, Mapping) else None
        types: Mapping[str, type] = {"java": JAVA_TYPES, "javascript": JAVASCRIPT_TYPES}.get(language, TYPES)
        nested = _nested(stated, described) if isinstance(described, Mapping) else None
        self._accepted = accepted
        self._variable = next((type(value) for value in accepted if value != OPTIONAL), None)
        self._type: type | None = types.get(stated) if isinstance(stated, str) else None
        self._inner = types.get(nested) if nested is not None else None
        if nested == "any" and language != "python":
            self._inner = None  # any item is right
        self._convert = _converter(language, stated, nested, None in accepted)
        self.accepts: Callable[[Any], bool]
        if described is None or self._type is None:
            self._type = self._variable or str
        plain_text = self._type is str and self._variable in (None, str) and language == "python"
        self.accepts = self._text if plain_text else self._typed

    def _text(self, value: Any) -> bool:
        return type(value) is str and (value in self._accepted or loose(value) in map(loose, self._accepted))

    def _typed(self, value: Any) -> bool:
        if self._convert is not None:
            if type(value) is not str:
                return False
            value = self._convert(value)
        wanted = self._type
        if type(value) is tuple and wanted is list and self._convert is None:
            value = list(value)
        elif type(value) is int and wanted is float and self._convert is None:
            try:
                value = float(value)
            except OverflowError:
                return False
        variable = self._variable is not None and self._variable is not wanted
        if type(value) is wanted:
            nested = value if isinstance(value, list) and self._inner is not None else None
            if nested is not None and not any(self._nested_fits(nested, option) for option in self._accepted):
                return False
        elif self._variable is not None and type(value) is self._variable:
            variable = True
        else:
            return False
        if variable or type(value) not in (str, list, dict):
            return value in self._accepted
        if type(value) is str:
            return loose(value) in map(loose, self._accepted)
        if type(value) is dict:
            return any(_same_dict(value, option) for option in self._accepted if option != OPTIONAL)
        items = cast("list[Any]", value)
        if self._inner is dict:
            return any(_same_dicts(items, option) for option in self._accepted)
        wanted_lists = [[*map(loose, option)] for option in self._accepted if isinstance(option, (list, str))]
        return [*map(loose, items)] in wanted_lists

    def _nested_fits(self, value: Sequence[Any], accepted: Any) -> bool:
        """Whether the items are of the described inner type, or of the type of the accepted items."""
        if not isinstance(accepted, list):
            return True
        other = next((type(item) for item in accepted if item != OPTIONAL), None)
        return all(type(item) in (self._inner, other) for item in value)


def _nested(stated: Any, described: Mapping[str, Any]) -> str | None:
    items = described.get("items")
    has_items = stated in ("array", "tuple", "Array", "ArrayList") and isinstance(items, Mapping)
    found = items.get("type") if has_items and isinstance(items, Mapping) else None
    return found if isinstance(found, str) else None


def _converter(language: Language, stated: Any, nested: str | None, null: bool) -> Callable[[str], Any] | None:
    """Reads source as the described type; `null` is None if that is accepted, otherwise text as any other word."""
    if language == "python" or not isinstance(stated, str):
        return None
    convert = java_value if language == "java" else javascript_value
    return lambda text: None if null and text == "null" else convert(text, stated, nested)


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
