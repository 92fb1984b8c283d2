"""Corpora: passages for search, and documents as sources of questions.

Sources: facebookresearch/DPR (psgs_w100.tsv: id, text, title), facebookresearch/KILT (kilt_knowledgesource.json, one
page per line; kilt_wikipedia on Hugging Face; kilt_w100_title.tsv has DPR's format), FlashRAG (`contents`),
DCLM-baseline (`text`, `url`), Nemotron-CC (`text`, `warc_record_id`) and other documents with their text under `text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from verikit.convert.parts import MISSING, need, text
from verikit.errors import SchemaError
from verikit.readers.parse import JsonRow

_IDS = ("id", "_id", "wikipedia_id", "kilt_id", "warc_record_id", "WARC-Record-ID", "url")
_MARK = re.compile(r"^(?:Section::::|BULLET::::)[-\s]*")


def dpr(row: JsonRow) -> Iterator[JsonRow]:
    """A passage: its text under `text`, or under `contents` with the quoted title on the first line."""
    if "text" not in row and "contents" in row:
        first, _, rest = text(row, "contents").partition("\n")
        if rest.strip() and len(first) > 1 and first[0] == first[-1] == '"':
            yield {"id": _id(row), "title": first[1:-1], "text": rest}
            return
        yield {"id": _id(row), "title": "", "text": text(row, "contents")}
        return
    title = row.get("title")
    if title is not None and not isinstance(title, str):
        raise SchemaError("must be a string", field="title")
    yield {"id": _id(row), "title": title or "", "text": text(row, "text")}


def kilt(row: JsonRow) -> Iterator[JsonRow]:
    """A Wikipedia page: its paragraphs joined, without the leading title and without markers.

    `verikit index build --words 100` cuts it into passages.
    """
    title = text(row, "wikipedia_title", "title")
    lines = [_MARK.sub("", part).strip() for part in _paragraphs(row)]
    if lines[:1] == [title.strip()]:
        del lines[0]
    content = "\n".join(filter(None, lines))
    if not content:
        raise SchemaError("all paragraphs are empty except for the title", field="text")
    yield {"id": _id(row), "title": title, "text": content}


def _paragraphs(row: JsonRow) -> list[str]:
    held = need(row, "text")
    paragraphs = held.get("paragraph") if isinstance(held, dict) else held
    if not isinstance(paragraphs, list) or not all(isinstance(part, str) for part in paragraphs):
        raise SchemaError("is not a list of paragraphs", field="text")
    return paragraphs


def document(row: JsonRow) -> Iterator[JsonRow]:
    """A web document. Besides its text, only the title and the URL are kept."""
    kept = {key: row[key] for key in ("title", "url") if isinstance(row.get(key), str) and row[key]}
    yield {"id": _id(row), **kept, "text": text(row, "text")}


def _id(row: JsonRow) -> str:
    meta: Any = row.get("metadata")
    held = {**meta, **row} if isinstance(meta, dict) else row
    found = next((held[key] for key in _IDS if held.get(key) not in MISSING), "")
    return str(found) if isinstance(found, str | int) else ""
