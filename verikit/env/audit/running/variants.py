"""Other contents of an output: wrong ones by small changes, and right ones in another form."""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

MAX_TEXT = 1 << 20
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,12})?(?![\w.]*\w)")
_TRUTHS = frozenset("yes y true t 1 on ok pass passed".split())
"""Words for a right answer that a grader may accept as one."""
_FORMULA = re.compile(rb"(<f(?:\s[^>]{0,200})?>)[^<]{1,8192}(</f>)")
MAX_BOOK, MAX_PARTS = 32 << 20, 1000
"""Bytes and parts of a workbook."""
PLACES = 4
"""Numbers and lines of an output that are changed, one at a time."""


def as_text(content: bytes) -> str | None:
    """The text of a file; None if it is not one."""
    if len(content) > MAX_TEXT or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def spread(count: int) -> list[int]:
    """Up to `PLACES` indices from the first to the last."""
    return sorted({round(one * (count - 1) / max(1, PLACES - 1)) for one in range(PLACES)}) if count else []


def wrong_forms(content: bytes) -> Iterator[tuple[str, str, bytes]]:
    """Wrong contents: the kind of change, the change in words, and the content."""
    if content:
        yield "empty", "emptied", b""
    text = as_text(content)
    if text is None:
        return
    numbers = list(_NUMBER.finditer(text))
    for at in spread(len(numbers)):
        match = numbers[at]
        for change in (1, -1):
            other = _shifted(match[0], change)
            yield (
                "number",
                f"{match[0]} becomes {other}",
                f"{text[: match.start()]}{other}{text[match.end() :]}".encode(),
            )
    lines = text.splitlines(keepends=True)
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if len(filled) > 1:
        for at in spread(len(filled)):
            gone = filled[at]
            yield "line", f"line {gone + 1} is dropped", "".join(lines[:gone] + lines[gone + 1 :]).encode()


def _shifted(number: str, change: int) -> str:
    whole, point, rest = number.partition(".")
    return f"{int(whole) + change}{point}{rest}"


def harmless_forms(path: str, content: bytes) -> Iterator[tuple[str, str, bytes]]:
    """The same content in other forms: the kind of change, the change in words, and the content."""
    text = as_text(content)
    if not text or not text.strip():
        return
    if path.endswith((".txt", ".csv", ".json", ".md", ".tsv")) and "\n" in text.strip() and "\r" not in text:
        yield "crlf", "with CRLF", text.replace("\n", "\r\n").encode()
    if path.endswith((".txt", ".csv", ".json", ".md", ".tsv")):
        other = text[:-1] if text.endswith("\n") else f"{text}\n"
        yield (
            "newline",
            "without its last line break" if text.endswith("\n") else "with a last line break",
            other.encode(),
        )
    if path.endswith(".json"):
        yield from _resaved(text)


def _resaved(text: str) -> Iterator[tuple[str, str, bytes]]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(told, dict | list):
        return
    for words, found in (
        ("with an indent", json.dumps(told, indent=4, ensure_ascii=False)),
        ("without spaces", json.dumps(told, separators=(",", ":"), ensure_ascii=True)),
        ("with its keys in reverse", json.dumps(_reversed(told), ensure_ascii=False)),
    ):
        if found.strip() != text.strip():
            yield "json", words, found.encode("utf-8", "surrogatepass")


def _reversed(told: Any) -> Any:
    if isinstance(told, dict):
        return {key: _reversed(value) for key, value in reversed(told.items())}
    return [_reversed(one) for one in told] if isinstance(told, list) else told


def other_formulas(book: bytes) -> bytes:
    """A workbook with `1+0` for each formula and the same cached values; empty if there is none or it can't be read."""
    made = io.BytesIO()
    changed = 0
    try:
        with zipfile.ZipFile(io.BytesIO(book)) as source, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
            if sum(one.file_size for one in source.infolist()) > MAX_BOOK or len(source.infolist()) > MAX_PARTS:
                return b""
            for one in source.infolist():
                content, count = _FORMULA.subn(rb"\g<1>1+0\g<2>", source.read(one))
                target.writestr(one.filename, content)
                changed += count
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError, RuntimeError, zlib.error):
        return b""
    return made.getvalue() if changed else b""


def keyed_forms(content: bytes, literal: str) -> Iterator[bytes]:
    """Contents with a literal of the grader's instead of the output, or as a key or a value of a JSON object."""
    text = as_text(content)
    if text is None or _agree(text, literal):
        return
    yield f"{literal}\n".encode()
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(told, dict):
        yield json.dumps({literal: True}).encode()
        yield json.dumps({**{key: _nothing(value) for key, value in told.items()}, literal: True}).encode()
        for key, value in list(told.items())[:8]:
            if not isinstance(value, dict | list) and not _agree(json.dumps(value), literal):
                yield json.dumps({**told, key: _like(value, literal)}).encode()


def _nothing(value: Any) -> Any:
    """An empty value of the same type."""
    return type(value)() if value is not None else None


def _like(value: Any, literal: str) -> Any:
    """A literal as a number if it represents one."""
    if isinstance(value, str):
        return literal
    try:
        return json.loads(literal)
    except (ValueError, RecursionError):
        return literal


def _agree(text: str, literal: str) -> bool:
    """Whether a literal is a form of the right output, or a part of it."""
    one, other = _plain(text), _plain(literal)
    if one in _TRUTHS and other in _TRUTHS:
        return True
    return not other or other in one or one in other


def _plain(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())
