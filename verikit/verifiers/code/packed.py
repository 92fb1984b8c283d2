"""LiveCodeBench's packed tests: base64 of zlib of a pickled text, read without any unpickling.

A pickle is a program. Only the instructions that write a single string are supported here.
"""

from __future__ import annotations

import base64
import binascii
import json
import pickletools
import re
import zlib
from itertools import islice
from json.decoder import scanstring  # type: ignore[attr-defined]

MAX_BYTES = 512 * 2**20
"""Of unpacked tests."""
_TEXTS = frozenset({"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"})
_OTHERS = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})
"""Instructions that do not change the result."""
_INSTRUCTIONS = 16
"""More instructions than a string needs; the rest is not read."""
_SPACE = re.compile(r"[ \t\n\r]*")


def pairs(text: str) -> list[tuple[str, str]]:
    """The inputs and outputs of tests: a JSON list of objects that contain only strings.

    Anything else is rejected during reading, so the result takes little more memory than its text.

    Raises:
        ValueError: It is not such a list.
    """
    found: list[tuple[str, str]] = []
    at = _after(text, 0, "[")
    if text.startswith("]", at):
        at = _after(text, at, "]")
    else:
        while True:
            test, at = _texts(text, at)
            if "input" not in test or "output" not in test:
                raise ValueError(f"a test must have `input` and `output`, got {sorted(test)[:5]}")
            found.append((test["input"], test["output"]))
            if not text.startswith(",", at):
                at = _after(text, at, "]")
                break
            at = _after(text, at, ",")
    if at != len(text):
        raise ValueError("text behind the tests")
    return found


def _texts(text: str, at: int) -> tuple[dict[str, str], int]:
    """An object whose values are strings, and the position after it."""
    found: dict[str, str] = {}
    at = _after(text, at, "{")
    while True:
        name, at = _text(text, at)
        found[name], at = _text(text, _after(text, at, ":"))
        if not text.startswith(",", at):
            return found, _after(text, at, "}")
        at = _after(text, at, ",")


def _text(text: str, at: int) -> tuple[str, int]:
    if not text.startswith('"', at):
        raise ValueError(f"expected a string at character {at}: tests are strings")
    try:
        found, end = scanstring(text, at + 1, True)
    except json.JSONDecodeError as error:
        raise ValueError(str(error)) from None
    return found, _space(text, end)


def _after(text: str, at: int, mark: str) -> int:
    """The position after a mark."""
    at = _space(text, at)
    if not text.startswith(mark, at):
        raise ValueError(f"{mark!r} is expected at character {at}: tests are a list of objects with input and output")
    return _space(text, at + 1)


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def unpacked(text: str) -> str:
    """The text that was packed.

    Raises:
        ValueError: It is not packed this way, contains anything but one string, or is longer than `MAX_BYTES`.
    """
    try:
        stream = zlib.decompressobj()
        data = stream.decompress(base64.b64decode(text, validate=True), MAX_BYTES)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise ValueError(f"packed tests can't be read: {error}") from None
    if stream.unconsumed_tail:
        raise ValueError(f"packed tests of more than {MAX_BYTES:,} bytes")
    if not stream.eof:
        raise ValueError("packed tests that break off")
    return _only_text(data)


def _only_text(pickled: bytes) -> str:
    texts: list[str] = []
    try:
        for opcode, argument, _ in islice(pickletools.genops(pickled), _INSTRUCTIONS):
            if opcode.name in _TEXTS:
                texts.append(str(argument))
            elif opcode.name not in _OTHERS:
                raise ValueError(f"packed tests contain the pickle instruction {opcode.name}, which strings don't use")
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"packed string can't be read: {error}") from None
    if len(texts) != 1:
        raise ValueError(f"packed tests must contain one string, got {len(texts)}")
    return texts[0]
