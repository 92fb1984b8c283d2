"""Python-style calls whose arguments are plain literals, read in one pass: most are, and a syntax tree costs more.

What is not surely such a call (escapes, prefixes, arithmetic, names, anything that Python would refuse) is left to the
parser: `read` gives what `verikit.calls` would, or None.
"""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import Any

MAX_NESTING = 8
"""Deeper lists and mappings are left to the parser."""
Named = tuple[str, dict[str, Any]]
_HEAD = re.compile(r" *([A-Za-z_][A-Za-z0-9_]{0,99}(?:\.[A-Za-z_][A-Za-z0-9_]{0,99}){0,9})\( *")
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,99}) *= *")
_TEXT = r"""'([^'\\\x00-\x1f\x7f\ud800-\udfff]*)'|"([^"\\\x00-\x1f\x7f\ud800-\udfff]*)\""""
_PLAIN = rf"(?:{_TEXT}|(-?(?:0|[1-9][0-9]{{0,14}}))|(-?[0-9]{{1,15}}\.[0-9]{{1,15}})|(True|False|None)) *([,)\]}}]) *"
_VALUE = re.compile(_PLAIN)
_ARGUMENT = re.compile(_KEY.pattern + _PLAIN)
_NAME = re.compile(rf"(?:{_TEXT}) *: *")
_OPENED = re.compile(r"[\[{] *")
_CLOSED = re.compile(r" *([,)\]}]) *")
_WORDS = {"True": True, "False": False, "None": None}


class _Other(Exception):
    """Something that is no plain literal."""


def read(text: str) -> list[Named] | None:
    """The calls of `[f(a=1), g.h(b="x")]`, names with arguments; None where the parser has to look."""
    found: list[Named] = []
    if not text.startswith("["):
        return None
    position, mark = 1, ","
    try:
        while mark == ",":
            head = _HEAD.match(text, position)
            if head is None:
                return None
            name = head[1]
            if any(map(iskeyword, name.split("."))) if "." in name else iskeyword(name):
                return None
            arguments, position = _arguments(text, head.end())
            found.append((name, arguments))
            mark, position = _mark(text, position)
    except _Other:
        return None
    return found if mark == "]" and position == len(text) else None


def _arguments(text: str, position: int) -> tuple[dict[str, Any], int]:
    """The arguments up to the closing bracket, and where what follows it begins."""
    found: dict[str, Any] = {}
    if text.startswith(")", position):
        return found, position + 1
    mark = ","
    while mark == ",":
        if plain := _ARGUMENT.match(text, position):
            name, *parts, mark = plain.groups()
            value, position = _literal(*parts), plain.end()
        elif key := _KEY.match(text, position):
            name = key[1]
            value, mark, position = _nested(text, key.end(), MAX_NESTING)
        else:
            raise _Other
        if name in found or iskeyword(name):
            raise _Other
        found[name] = value
    if mark != ")":
        raise _Other
    return found, position


def _value(text: str, position: int, left: int) -> tuple[Any, str, int]:
    """A value, the mark that follows it, and where what follows that begins."""
    match = _VALUE.match(text, position)
    if match is None:
        return _nested(text, position, left)
    *parts, mark = match.groups()
    return _literal(*parts), mark, match.end()


def _literal(single: str | None, double: str | None, whole: str | None, decimal: str | None, word: str) -> Any:
    """The value of the one part that there is."""
    if single is not None:
        return single
    if double is not None:
        return double
    if whole is not None:
        return int(whole)
    return _WORDS[word] if decimal is None else float(decimal)


def _nested(text: str, position: int, left: int) -> tuple[Any, str, int]:
    opened = _OPENED.match(text, position)
    if opened is None or not left:
        raise _Other
    position, mapping = opened.end(), text[position] == "{"
    found: Any = {} if mapping else []
    closing = "}" if mapping else "]"
    mark = ","
    if text.startswith(closing, position):
        mark, position = closing, position + 1
    while mark == ",":
        if mapping:
            name = _NAME.match(text, position)
            if name is None:
                raise _Other
            key = name[1] if name[1] is not None else name[2]
            if key in found:
                raise _Other
            found[key], mark, position = _value(text, name.end(), left - 1)
        else:
            item, mark, position = _value(text, position, left - 1)
            found.append(item)
    if mark != closing:
        raise _Other
    mark, position = _mark(text, position)
    return found, mark, position


def _mark(text: str, position: int) -> tuple[str, int]:
    match = _CLOSED.match(text, position)
    if match is None:
        raise _Other
    return match[1], match.end()
