"""Splits a call written as text, `name(1, option=spec)`, into its arguments. Each argument stays unparsed text.

An argument may be anything that `verikit.names.spec` reads, including brackets, quotes and `file.py:name`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verikit.errors import SpecError, nearest, with_hint

_CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_NAMED = re.compile(r"\s*(\w+)\s*=(?!=)\s*(.*)", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A name with its arguments."""

    name: str
    plain: tuple[str, ...]
    """The positional arguments, in order."""
    named: dict[str, str]

    def bound(self, names: Sequence[str]) -> dict[str, str]:
        """All arguments by name. Positional arguments get their names from `names`, in order.

        Raises:
            ValueError: There are too many arguments, one is given twice, or one has a name that is not in `names`.
        """
        if unknown := [name for name in self.named if name not in names]:
            raise ValueError(with_hint(f"option {unknown[0]!r} not found", nearest(unknown[0], names)))
        if len(self.plain) > len(names):
            raise ValueError(f"it takes {' and '.join(names)}")
        found = dict(zip(names, self.plain, strict=False))
        if twice := [name for name in found if name in self.named]:
            raise ValueError(f"{twice[0]} is given twice")
        return {**found, **self.named}


def read_call(spec: str) -> NamedCall | None:
    """Read a call, or a name without arguments. None if the text is neither.

    Raises:
        SpecError: A bracket or quote is not closed, or an argument is empty.
    """
    match = _CALL.fullmatch(spec)
    if match is None:
        return None
    plain: list[str] = []
    named: dict[str, str] = {}
    for part in _split(match[2] or "", spec):
        if found := _NAMED.fullmatch(part):
            named[found[1]] = found[2].strip()
        else:
            plain.append(part.strip())
    return NamedCall(match[1], tuple(plain), named)


def _split(text: str, spec: str) -> Iterator[str]:
    """The parts between commas that are outside brackets and quotes."""
    waiting: list[str] = []
    quote, start, escaped = "", 0, False
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped
        elif char in "\"'":
            quote = char
        elif char in _CLOSING:
            waiting.append(_CLOSING[char])
        elif waiting and char == waiting[-1]:
            waiting.pop()
        elif char == "," and not waiting:
            yield _filled(text[start:i], spec)
            start = i + 1
    if quote or waiting:
        raise SpecError(f"{spec!r}: {quote or waiting[-1]} is missing")
    if text.strip():
        yield _filled(text[start:], spec)


def _filled(part: str, spec: str) -> str:
    if not part.strip():
        raise SpecError(f"{spec!r}: an argument is empty")
    return part
