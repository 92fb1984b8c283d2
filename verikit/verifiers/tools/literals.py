"""Values of Java and JavaScript expressions, as BFCL's simple Java and JavaScript items expect them.

Numbers, truth values, strings, arrays, collections and maps are read. An expression that is not a literal of the
described type stays text (a variable, a call, a function). Within collections a name and a string are both text, as
BFCL writes both. Nesting costs one pass a level, at most `MAX_LEVELS` of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verikit.calls.expressions import ATOM, GENERIC, PROPERTY, NotSource, breaks, literal_text, pieces

MAX_CHARS = 10_000
"""A longer argument stays text."""
MAX_LEVELS = 16
"""Collections nested deeper stay text."""
JAVA_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    **dict.fromkeys(("char", "String", "any"), str),
    **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
    **dict.fromkeys(("HashMap", "Hashtable"), dict),
    "boolean": bool,
}
JAVASCRIPT_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("String", "any"), str),
    **dict.fromkeys(("integer", "Bigint"), int),
    "float": float,
    "Boolean": bool,
    "array": list,
    "dict": dict,
}
_WORDS = {"true": True, "false": False}
_TEXTS = ("String", "char", "any")
_NUMBER = re.compile(
    r"([+-]?)\s{0,9}(?:0[xX](?P<hex>[0-9a-fA-F_]{1,400})|0[bB](?P<binary>[01_]{1,400})|0[oO]?(?P<octal>[0-7_]{1,400})"
    r"|(?P<decimal>(?P<whole>[0-9][0-9_]{0,3999})?(?:\.[0-9_]{0,400})?(?:[eE][+-]?[0-9]{1,4})?))(?P<suffix>[lLfFdDn]?)\Z"
)
_DECIMAL = re.compile(r"-?[1-9][0-9]{0,14}(?:\.[0-9]{1,15})?")
_NEW_ARRAY = re.compile(r"new\s{1,9}[\w.]{1,200}(?:\s{0,9}<[\w\s,?.]{0,200}>)?\s{0,9}(?:\[\s{0,9}\]\s{0,9}){1,5}\{")
_NEW_LIST = re.compile(
    r"new\s{1,9}(?:java\.util\.)?(?:ArrayList|LinkedList|Vector|Stack|ArrayDeque|PriorityQueue|(?:Linked)?HashSet)"
    rf"\s{{0,9}}(?:{GENERIC})?\s{{0,9}}\("
)
_LIST_OF = re.compile(
    r"(?:java\.util\.)?(?:Arrays\.asList|List\.of|Set\.of|Collections\.(?:singletonList|emptyList))\("
)
_NEW_MAP = re.compile(
    r"new\s{1,9}(?:java\.util\.)?(?:(?:Linked|Concurrent)?HashMap|TreeMap|Hashtable)"
    rf"\s{{0,9}}(?:{GENERIC})?\s{{0,9}}\("
)
_MAP_OF = re.compile(r"(?:java\.util\.)?(?:Map\.of|Collections\.(?:singletonMap|emptyMap))\(")
_MAP_OF_ENTRIES = re.compile(r"(?:java\.util\.)?Map\.ofEntries\(")
_ENTRY = re.compile(r"(?:Map\.)?entry\(")
_BODY = re.compile(r"\s*\)\s*\{\s*\{")
_BODY_END = re.compile(r"\}\s*\}\Z")
_STATEMENT = re.compile(r"\s*;?\s*(?:this\.)?(add|put)\s{0,9}\(")
_JS_ARRAY = re.compile(r"\[|Array\.of\(|new\s{1,9}Array\(")
_JS_SET = re.compile(r"new\s{1,9}Set\(")
_JS_MAP = re.compile(r"new\s{1,9}Map\(")
_JAVA_COLLECTION, _JS_COLLECTION = frozenset("{njALSCM"), frozenset("[{nA")
"""The first characters of arrays, collections and maps."""
_KEY = re.compile(r"\s*([\w$]{1,200})\s*:|\s*((?:\"(?:[^\"\\]|\\.)*\")|(?:'(?:[^'\\]|\\.)*'))\s*:", re.DOTALL)
_ATOM_ENTRY = re.compile(rf"{PROPERTY}({ATOM})", re.ASCII)
_ATOM_ENTRIES = re.compile(rf"\{{\s*+{_ATOM_ENTRY.pattern}\s*+(?:,\s*+{_ATOM_ENTRY.pattern}\s*+)*+\}}", re.ASCII)
"""An object whose values are strings without escapes, numbers and names."""
_NAME = re.compile(r"[^\W\d][\w$]{0,199}\Z")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def java_value(text: str, kind: str, nested: str | None = None, level: int = 0) -> Any:
    """The value of a Java expression as a type of BFCL's descriptions; the text if it is not a literal of the type."""
    if len(text) > MAX_CHARS or level > MAX_LEVELS:
        return text
    if kind in ("byte", "short", "integer"):
        return _number(text, int, ("",))
    if kind == "long":
        return _number(text, int, ("l",))
    if kind == "float":
        return _number(text, float, ("f",))
    if kind == "double":
        return _number(text, float, ("", "d"))
    if kind == "boolean":
        return _WORDS.get(text, text)
    items = entries = None
    if kind == "Array":
        items = _within(text, _NEW_ARRAY) if level == 0 or text[:1] != "{" else _between(text, 1)
    elif kind in ("ArrayList", "Queue", "Stack"):
        items = _java_items(text)
    elif kind in ("HashMap", "Hashtable"):
        entries = _java_entries(text)
    return _collected(text, items, entries, lambda item: _java_item(item, nested, level + 1))


def _java_item(text: str, nested: str | None, level: int) -> Any:
    written = literal_text(text)
    if nested in (None, "any"):
        return _java_guess(text, level) if written is None else written
    if nested in _TEXTS:
        return text if written is None else written
    return java_value(text, nested, None, level)


def _java_guess(text: str, level: int) -> Any:
    """The value of an item without a described type."""
    if text in _WORDS:
        return _WORDS[text]
    for kind in ("Array", "ArrayList", "HashMap") if text[:1] in _JAVA_COLLECTION else ():
        if (found := java_value(text, kind, None, level)) is not text:
            return found
    whole = _number(text, int, ("", "l"))
    return _number(text, float, ("", "f", "d")) if whole is text else whole


def _java_items(text: str) -> list[str] | None:
    """The items of a list: of `List.of(…)`, or of a new one that is filled from another or by `add`."""
    if (items := _within(text, _LIST_OF)) is not None:
        return items
    head = _NEW_LIST.match(text)
    if head is None:
        return None
    if (added := _statements(text, head.end(), "add", 1)) is not None:
        return [item for (item,) in added]
    given = _between(text, head.end())
    if given is None or len(given) > 1:
        return None
    if not given or _number(given[0], int, ("",)) is not given[0]:  # nothing, or a capacity
        return []
    items = _java_items(given[0])
    return _within(given[0], _NEW_ARRAY) if items is None else items


def _java_entries(text: str) -> list[Sequence[str]] | None:
    """The entries of a map: of `Map.of(…)`, or of a new one that is filled from another or by `put`."""
    if (flat := _within(text, _MAP_OF)) is not None:
        return None if len(flat) % 2 else list(zip(flat[::2], flat[1::2], strict=True))
    if (entries := _within(text, _MAP_OF_ENTRIES)) is not None:
        return _pairs([_within(entry, _ENTRY) for entry in entries])
    head = _NEW_MAP.match(text)
    if head is None:
        return None
    if (put := _statements(text, head.end(), "put", 2)) is not None:
        return put
    given = _between(text, head.end())
    if given is None or len(given) > 1:
        return None
    if not given or _number(given[0], int, ("",)) is not given[0]:
        return []
    return _java_entries(given[0])


def _statements(text: str, position: int, method: str, count: int) -> list[Sequence[str]] | None:
    """The arguments of each statement in `){{ add(1); add(2); }}`, all of that method; None for anything else."""
    opened = _BODY.match(text, position)
    closed = _BODY_END.search(text, max(position, len(text) - 20))
    if opened is None or closed is None:
        return None
    found: list[Sequence[str]] = []
    position = opened.end()
    while statement := _STATEMENT.match(text, position, closed.start()):
        given, position = _bracketed(text, statement.end())
        if statement[1] != method or given is None or len(given) != count:
            return None
        found.append(given)
    return None if text[position : closed.start()].strip(" \t\r\n;") else found


def javascript_value(text: str, kind: str, nested: str | None = None, level: int = 0) -> Any:
    """The value of a JavaScript expression as a type of BFCL's descriptions; the text if it is not of the type."""
    if len(text) > MAX_CHARS or level > MAX_LEVELS:
        return text
    if kind == "String":
        written = literal_text(text)
        return text if written is None else written
    if kind == "integer":
        return _number(text, int, ("",))
    if kind == "float":
        return _number(text, float, ("",))
    if kind == "Bigint":
        return _number(text, int, ("n",))
    if kind == "Boolean":
        return _WORDS.get(text, text)
    items = _js_items(text) if kind == "array" else None
    entries = _js_entries(text) if kind == "dict" else None
    return _collected(text, items, entries, lambda item: _js_item(item, nested, level + 1))


def _js_item(text: str, nested: str | None, level: int) -> Any:
    written = literal_text(text)
    if written is not None:
        return written
    if nested not in (None, "any"):
        return javascript_value(text, nested, None, level)
    if text in _WORDS:
        return _WORDS[text]
    for kind in ("array", "dict") if text[:1] in _JS_COLLECTION else ():
        if (found := javascript_value(text, kind, None, level)) is not text:
            return found
    whole = _number(text, int, ("", "n"))
    return _number(text, float, ("",)) if whole is text else whole


def _js_items(text: str) -> list[str] | None:
    if (given := _within(text, _JS_SET)) is not None:
        if len(given) == 1:
            return _js_items(given[0])
        return None if given else []
    items = _within(text, _JS_ARRAY)
    if items is None or any(item.startswith("...") for item in items):
        return None
    sized = text.startswith("new") and len(items) == 1 and _number(items[0], float, ("",)) is not items[0]
    return None if sized else items


def _js_entries(text: str) -> list[Sequence[str]] | None:
    if text.startswith("{"):
        return _object_entries(text)
    given = _within(text, _JS_MAP)
    if given is None or len(given) > 1:
        return None
    entries = _js_items(given[0]) if given else []
    return None if entries is None else _pairs([_js_items(entry) for entry in entries])


def _object_entries(text: str) -> list[Sequence[str]] | None:
    if _ATOM_ENTRIES.fullmatch(text):  # the most common ones
        return [(key if key[0] in "\"'" else f'"{key}"', value) for key, value in _ATOM_ENTRY.findall(text)]
    inner = _between(text, 1)
    return None if inner is None else _pairs([_property(piece) for piece in inner])


def _property(piece: str) -> list[str] | None:
    """Key and value of `key: value`, `"key": value` or a lone `name`; None for a method, a spread or a computed key."""
    if found := _KEY.match(piece):
        return [found[2] or f'"{found[1]}"', piece[found.end() :].strip()]
    return [f'"{piece}"', piece] if _NAME.match(piece) else None


def _pairs(entries: Sequence[list[str] | None]) -> list[Sequence[str]] | None:
    found = [entry for entry in entries if entry is not None and len(entry) == 2]
    return list(found) if len(found) == len(entries) else None


def _collected(
    text: str, items: list[str] | None, entries: list[Sequence[str]] | None, value_of: Callable[[str], Any]
) -> Any:
    """The list or the mapping of the items found, by their values; the text if there aren't any, or a key repeats."""
    if items is not None:
        return [value_of(item) for item in items]
    if entries is None:
        return text
    keys = [key if (written := literal_text(key)) is None else written for key, _ in entries]
    return text if len(set(keys)) < len(keys) else dict(zip(keys, [value_of(item) for _, item in entries], strict=True))


def _within(text: str, opening: re.Pattern[str]) -> list[str] | None:
    """The expressions between an opening with its bracket and the closing bracket that ends the text."""
    found = opening.match(text)
    return None if found is None else _between(text, found.end())


def _between(text: str, position: int) -> list[str] | None:
    """The expressions from after a bracket to its closing one, which ends the text."""
    if text[-1:] != _CLOSING[text[position - 1]] or len(text) <= position:
        return None
    return pieces(text[position:-1])


def _bracketed(text: str, position: int) -> tuple[list[str] | None, int]:
    """The expressions from behind a round bracket to its closing one, and the position after it."""
    try:
        end = next((start for mark, start, _ in breaks(text, position) if mark == ")"), None)
    except NotSource:
        end = None
    return (None, position) if end is None else (pieces(text[position:end]), end + 1)


_BASES = {"hex": 16, "binary": 2, "octal": 8}


def _number(text: str, kind: type, suffixes: Sequence[str]) -> Any:
    """A number of a type with one of the suffixes; the text if it is not that."""
    if _DECIMAL.fullmatch(text) and "" in suffixes:  # the most common ones
        return text if kind is int and "." in text else kind(text)
    found = _NUMBER.match(text) if text.isascii() else None
    if found is None or found["suffix"].lower() not in suffixes:
        return text
    digits = next((found[name] for name in _BASES if found[name]), None)
    try:
        if digits is not None:
            base = next(base for name, base in _BASES.items() if found[name])
            value: Any = kind(int(digits.replace("_", ""), base))
        elif kind is int and found["decimal"] != found["whole"]:
            return text
        else:
            value = kind(found["decimal"].replace("_", ""))
    except (ValueError, OverflowError):  # no digits, or too many for a float
        return text
    return -value if found[1] == "-" else value
