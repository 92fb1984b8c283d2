"""The JSON document in a reply: the whole of it, its last JSON fence, or the last document among prose."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from verikit.platform.numbers import distinct, refuse_constant
from verikit.verifiers.reading.fences import fenced

_LABELS = ("json", "jsonc", "json5", "jsonl")
_START = re.compile(r'\{\s{0,9999}["}]|\[\s{0,9999}(?:["{\[\]\d-]|true\b|false\b|null\b)')
"""The start of a document among prose; `{x}` and `[see below]` are prose."""
_BETWEEN = re.compile(r"(?:\s|,|;|\bor\b|\band\b){0,99}")
_SEVERAL = "not JSON: several documents, one after the other"
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)


class Document(NamedTuple):
    """A document as text, with its value or its problem."""

    text: str
    value: Any = None
    problem: str = ""


def document(reply: str, *, bare: bool = False, array: bool = False) -> Document:
    """Find the document; a broken document is returned as broken, so none of its parts is used instead.

    Args:
        reply: The reply to read.
        bare: Only a fence may surround the document.
        array: Among prose use the last array. Otherwise use the last object, and arrays only if there isn't an object.
    """
    return documents(reply, bare=bare, array=array)[-1]


def documents(reply: str, *, bare: bool = False, array: bool = False) -> list[Document]:
    """The documents of the most trusted kind, in order: the whole reply, JSON fences, or those among prose.

    There is always one: a reply without any is itself one that is not JSON. `document` explains the arguments.
    """
    body = reply.strip()
    whole = parsed(body)
    if not whole.problem:
        return [whole]
    blocks = [(label, content.strip()) for label, content in fenced(body)]
    if bare:
        return [parsed(blocks[0][1]) if _is_one_fence(body, blocks) else whole]
    return list(map(parsed, _json_blocks(blocks))) or _preferred(_among_prose(body), "[{" if array else "{[") or [whole]


def _json_blocks(blocks: Sequence[tuple[str, str]]) -> list[str]:
    """The blocks labelled as JSON, or otherwise those without a label that begin like JSON."""
    labelled = [content for label, content in blocks if label in _LABELS]
    return labelled or [content for label, content in blocks if not label and _START.match(content)]


def _preferred(documents: Sequence[Document], openings: str) -> list[Document]:
    for opening in openings:
        kind = [document for document in documents if document.text[0] == opening]
        if kind:
            return kind
    return []


def _is_one_fence(body: str, blocks: Sequence[tuple[str, str]]) -> bool:
    """Whether a reply is one fence of JSON and nothing else."""
    if len(blocks) != 1 or blocks[0][0] not in ("", *_LABELS):
        return False
    return body[:3] in ("```", "~~~") and body[-3:] == body[:3]


def parsed(text: str) -> Document:
    """The whole text as a document, with its value or its problem."""
    try:
        return Document(text, json.loads(text, parse_constant=refuse_constant, object_pairs_hook=distinct))
    except (ValueError, RecursionError) as error:
        return Document(text, problem=_problem(text, error))


def _problem(text: str, error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        before, after = text[max(0, error.pos - 200) : error.pos + 1].rstrip(), text[error.pos : error.pos + 200]
        if re.search(r",\s*[}\]]?\Z", before) and re.match(r",?\s*[}\]]", after):
            return f"not JSON: a trailing comma at line {error.lineno}, column {error.colno}"
    return f"not JSON: {str(error)[:80]}"


def _among_prose(text: str) -> list[Document]:
    """The outermost documents of the text, including broken ones; adjacent ones are one broken document."""
    decoder = json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=distinct)
    found: list[Document] = []
    position = 0
    while match := _START.search(text, position):
        start = match.start()
        several = bool(found) and _BETWEEN.fullmatch(text, position, start) is not None
        try:
            value, position = decoder.raw_decode(text, start)
            found.append(Document(text[start:position], value, _SEVERAL if several else ""))
        except (ValueError, RecursionError) as error:
            position = _end(text, start)
            found.append(Document(text[start:position], problem=_problem(text, error)))
    return found


def _end(text: str, start: int) -> int:
    """The position of the bracket that closes the one at `start`; the end of the text if it is not closed."""
    depth = 0
    for piece in _PIECE.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(piece[0], 0)
        if not depth:
            return piece.end()
    return len(text)
