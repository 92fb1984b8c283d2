"""Reads Python-style calls with plain literal arguments in one pass, which is faster than building a syntax tree.

Most calls are of this kind. Anything else (escapes, prefixes, arithmetic, names, anything Python would reject) is left
to the parser. `read` returns the same result as `verikit.calls`, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from keyword import iskeyword
from typing import Any

MAX_NESTING = 8
"""Maximum nesting. Deeper lists and mappings are left to the parser."""
Named = tuple[str, dict[str, Any]]
_HEAD = re.compile(r" *([A-Za-z_][A-Za-z0-9_]{0,99}(?:\.[A-Za-z_][A-Za-z0-9_]{0,99}){0,9})(?=\()")
_TEXT = r"""'([^'\\\x00-\x1f\x7f\ud800-\udfff]*)'|"([^"\\\x00-\x1f\x7f\ud800-\udfff]*)\""""
_PLAIN = (
    rf"(?:(?:{_TEXT}|(-?(?:0|[1-9][0-9]{{0,14}}))|(-?[0-9]{{1,15}}\.[0-9]{{1,15}})|(True|False|None))"
    r" *(?=[,)\]}]))?"
)
"""A literal with the text that may follow it, or nothing.

The groups are a string in either quotes, an integer, another number, and a word.
"""
_ARGUMENT = re.compile(rf" *([A-Za-z_][A-Za-z0-9_]{{0,99}}) *= *{_PLAIN}")
_ITEM = re.compile(rf" *{_PLAIN}")
_ENTRY = re.compile(rf" *(?:{_TEXT}) *: *{_PLAIN}")
_EMPTY = re.compile(r"(?:\( *\)|\[ *\]|\{ *\}) *")
_MAY_END = frozenset(" )]}")
"""Characters that may follow the opening bracket of an empty pair."""
_READ: tuple[Callable[[str], Any], ...] = (
    str, str, int, float, {"True": True, "False": False, "None": None}.__getitem__,
)  # fmt: skip
"""Converters from a literal's groups to values."""


class _Other(Exception):
    """Something that is not a plain literal."""


def read(text: str) -> list[Named] | None:
    """The calls of `[f(a=1), g.h(b="x")]` as names with arguments. None if the parser must read them."""
    found: list[Named] = []
    position, mark = 0, text[:1]
    try:
        while mark == ("," if position else "["):
            head = _HEAD.match(text, position + 1)
            if head is None:
                return None
            name = head[1]
            if any(map(iskeyword, name.split("."))) if "." in name else iskeyword(name):
                return None
            arguments, position = _arguments(text, head.end())
            found.append((name, arguments))
            mark = text[position : position + 1]
    except _Other:
        return None
    return found if text[position:] == "]" else None


def _arguments(text: str, position: int) -> tuple[dict[str, Any], int]:
    """The arguments between an opening bracket and its closing one, and the position after them."""
    found: dict[str, Any] = {}
    if text[position + 1 : position + 2] in _MAY_END and (empty := _EMPTY.match(text, position)):
        return found, empty.end()
    mark = ","
    while mark == ",":
        argument = _ARGUMENT.match(text, position + 1)
        if argument is None:
            raise _Other
        name, group, position = argument[1], argument.lastindex or 1, argument.end()
        if name in found or iskeyword(name):
            raise _Other
        if group == 1:
            found[name], position = _nested(text, position, MAX_NESTING)
        else:
            found[name] = _READ[group - 2](argument[group])
        mark = text[position : position + 1]
    return found, _closed(text, position, ")")


def _nested(text: str, position: int, left: int) -> tuple[Any, int]:
    """A list or a mapping, and the position after it."""
    opening = text[position : position + 1]
    if opening not in ("[", "{") or not left:
        raise _Other
    if text[position + 1 : position + 2] in _MAY_END and (empty := _EMPTY.match(text, position)):
        return [] if opening == "[" else {}, empty.end()
    return _list(text, position, left - 1) if opening == "[" else _mapping(text, position, left - 1)


def _list(text: str, position: int, left: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    mark = ","
    while mark == ",":
        item = _ITEM.match(text, position + 1)
        if item is None:
            raise _Other
        group, position = item.lastindex or 0, item.end()
        if group:
            value = _READ[group - 1](item[group])
        else:
            value, position = _nested(text, position, left)
        found.append(value)
        mark = text[position : position + 1]
    return found, _closed(text, position, "]")


def _mapping(text: str, position: int, left: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    mark = ","
    while mark == ",":
        entry = _ENTRY.match(text, position + 1)
        if entry is None:
            raise _Other
        key, group = entry[1] if entry[2] is None else entry[2], entry.lastindex or 1
        position = entry.end()
        if key in found:
            raise _Other
        if group < 3:
            found[key], position = _nested(text, position, left)
        else:
            found[key] = _READ[group - 3](entry[group])
        mark = text[position : position + 1]
    return found, _closed(text, position, "}")


def _closed(text: str, position: int, bracket: str) -> int:
    """The position after a closing bracket and the spaces that follow it.

    Raises:
        _Other: there is another character.
    """
    if not text.startswith(bracket, position):
        raise _Other
    position += 1
    while text.startswith(" ", position):
        position += 1
    return position
