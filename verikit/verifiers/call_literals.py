"""Values of Java and JavaScript source, as BFCL's simple Java and JavaScript items expect them.

A text that is no literal of the asked type stays text (a variable). Linear in the text; items of collections are cut at
commas, as BFCL does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

MAX_CHARS = 10_000
"""A longer argument stays text."""
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
_WHOLE = re.compile(r"-?[0-9]{1,4000}\Z")
_DECIMAL = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,4})?\Z")
_PLAIN_DECIMAL = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?\Z")
_NEW_ARRAY = re.compile(r"new\s{1,9}\w{1,99}\[\]\s{0,9}\{")
_NEW_LIST = re.compile(r"new\s{1,9}ArrayList<\w{0,99}>\(")
_NEW_MAP = re.compile(r"new\s{1,9}HashMap<[^(]{0,200}>\s{0,9}\(\)")
_PUT = re.compile(r'put\("([^"]*)",\s{0,9}')
_JS_ARRAY = re.compile(r"new\s{1,9}Array\(")


def java_value(text: str, kind: str, nested: str | None = None) -> Any:
    """What a Java expression is as a type of BFCL's descriptions; the text itself where it is no literal of it."""
    if len(text) > MAX_CHARS:
        return text
    if kind in ("byte", "short", "integer"):
        return int(text) if _WHOLE.match(text) else text
    if kind == "long":
        return int(text[:-1]) if text[-1:] in ("l", "L") and _WHOLE.match(text[:-1]) else text
    if kind == "float":
        return float(text[:-1]) if text[-1:] in ("f", "F") and _DECIMAL.match(text[:-1]) else text
    if kind == "double":
        return float(text) if _DECIMAL.match(text) else text
    if kind == "boolean":
        return {"true": True, "false": False}.get(text, text)
    if kind == "Array":
        return _java_array(text, nested)
    if kind == "ArrayList":
        return _java_list(text, nested)
    return _java_map(text) if kind == "HashMap" else text


def _java_array(text: str, nested: str | None) -> Any:
    if (found := _NEW_ARRAY.search(text)) and (end := text.find("}", found.end())) >= 0:
        items = [item.strip() for item in text[found.end() : end].split(",")]
        return [_java_element(item, nested) for item in items if item]
    return text


def _java_element(item: str, nested: str | None) -> Any:
    quoted = len(item) > 1 and item[0] == item[-1] and item[0] in ("'", '"')
    if quoted and nested in ("String", "char", "any"):
        return item[1:-1]
    return java_value(item, nested) if nested else _java_guess(item)


def _java_list(text: str, nested: str | None) -> Any:
    found = _NEW_LIST.search(text)
    if found is None:
        return text
    rest = text[found.end() :]
    opening = "Arrays.asList("
    if rest.startswith(opening) and (end := rest.find("))", len(opening) + 1)) >= 0:
        return [_java_item(item, nested) for item in rest[len(opening) : end].split(",")]
    if not rest.startswith(")"):
        return text
    body = rest[1:].lstrip()
    if body.startswith("{{") and (end := body.find("}}")) >= 0:
        added = [piece.partition(")")[0] for piece in body[2:end].split("add(")[1:]]
        return [_java_item(item, nested) for item in added if item]
    return []


def _java_item(item: str, nested: str | None) -> Any:
    item = item.strip()
    if nested in ("char", "String"):
        return item[1:-1]
    return java_value(item, nested) if nested else _java_guess(item)


def _java_map(text: str) -> Any:
    found = _NEW_MAP.search(text)
    if found is None:
        return text
    entries: dict[str, Any] = {}
    for put in _PUT.finditer(text, found.end()):
        end = text.find(")", put.end())
        if put[1] in entries:
            return text
        if end >= 0:
            entries[put[1]] = _java_guess(text[put.end() : end].strip())
    return entries


def _java_guess(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text[:1] == '"' and text[-1:] == '"':
        return text[1:-1]
    for kind in ("long", "float"):
        if (value := java_value(text, kind)) is not text:
            return value
    return _number(text)


def _number(text: str) -> Any:
    """A number in ASCII, else the text."""
    if not text.isascii():
        return text
    kinds: tuple[Callable[[str], Any], ...] = (int, float)
    for kind in kinds:
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def javascript_value(text: str, kind: str, nested: str | None = None) -> Any:
    """What a JavaScript expression is as a type of BFCL's descriptions; the text where it is no literal of it."""
    if len(text) > MAX_CHARS:
        return text
    if kind == "String":
        return text[1:-1] if text[:1] in ("'", '"') and text[-1:] == text[:1] else text
    if kind == "integer":
        return int(text) if _WHOLE.match(text) else text
    if kind == "float":
        return float(text) if _PLAIN_DECIMAL.match(text) else text
    if kind == "Bigint":
        return int(text[:-1]) if text[-1:] == "n" and _WHOLE.match(text[:-1]) else text
    if kind == "Boolean":
        return {"true": True, "false": False}.get(text, text)
    if kind == "array":
        return _js_array(text.strip(), nested)
    return _js_dict(text.strip()) if kind == "dict" else text


def _js_array(text: str, nested: str | None = None) -> Any:
    if text.startswith("["):
        start, closing = 1, "]"
    elif found := _JS_ARRAY.match(text):
        start, closing = found.end(), ")"
    else:
        return text
    if text[start:].lstrip().startswith("["):
        rows = [piece.partition("]")[0] for piece in text[start:].split("[")[1:]]
        return [[_js_guess(item) for item in row.split(",")] for row in rows]
    end = text.find(closing, start)
    if end < 0:
        return text
    body = text[start:end].strip()
    items = [item.strip() for item in body.split(",")] if body else []
    return [javascript_value(item, nested) if nested else _js_guess(item) for item in items]


def _js_dict(text: str) -> Any:
    if not text.startswith("{") or (end := text.find("}")) < 0:
        return text
    entries: dict[str, Any] = {}
    key, pieces = "", text[1:end].split(":")
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        value, comma, following = (piece, "", "") if last else piece.rpartition(",")
        if number and key in entries:
            return text
        if number:
            entries[key] = _js_entry((value if comma or last else piece).strip())
        key = (following if number else piece).strip().strip("'\"")
    return entries


def _js_entry(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return _js_array(text)
    if text.startswith("{") and text.endswith("}"):
        return _js_dict(text)
    return _js_guess(text.strip("'\""))


def _js_guess(text: str) -> Any:
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    if text[-1:] == "n" and _WHOLE.match(text[:-1]):
        return int(text[:-1])
    return _number(text)
