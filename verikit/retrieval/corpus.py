"""A corpus as passages: rows of files in any supported format, or plain text cut into pieces of a given word count.

A row has its text under `text` or `contents`, and may have `title` and `id`. In `contents` a first line in double
quotes is the title, as in the corpora of FlashRAG and Search-R1. A text file is one document, titled by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from verikit.errors import SchemaError
from verikit.readers.files import placed
from verikit.readers.parse import JsonRow, kind, parse
from verikit.readers.source import cut, opened
from verikit.readers.texts import corpus_files, holds_rows, plain_name, read_text
from verikit.retrieval.types import Passage

WORDS = 100
"""Words of a passage (Karpukhin et al. 2020, section 4.1; R1-Searcher's KILT corpus)."""
Made = TypeVar("Made")
_WORD = re.compile(r"\S+")


def split(text: str, words: int = WORDS) -> list[str]:
    """Cut a text before every `words`-th word. The concatenated pieces equal the text, including whitespace."""
    if words < 1:
        raise ValueError(f"a passage of {words} words")
    starts = [match.start() for number, match in enumerate(_WORD.finditer(text)) if number and number % words == 0]
    bounds = [0, *starts, len(text)]
    return [text[start:end] for start, end in pairwise(bounds) if end > start]


def read_corpus(path: str | Path, words: int | None = None) -> Iterator[Passage]:
    """Read passages from a file, or from all files of a pattern or folder.

    Args:
        path: JSON lines, one array, CSV, TSV, parquet, Arrow, or plain text. Files may be compressed.
        words: Cut texts into passages of this many words. By default text files are cut into 100 and rows are not cut.

    Raises:
        UsageError: The file can't be read.
        SchemaError: A row is invalid. The error names the file, line and field.
    """
    for name in corpus_files(path):
        yield from _cut(name, words)


def _cut(name: str, words: int | None) -> Iterator[Passage]:
    rows = holds_rows(name)
    words = words if words is not None or rows else WORDS
    for passage in read_rows(name, _passage) if rows else (_document(name),):
        pieces = split(passage.text, words) if words else [passage.text]
        if len(pieces) < 2:
            yield passage
        else:
            yield from (Passage(passage.title, piece, f"{passage.id}#{n}") for n, piece in enumerate(pieces))


def read_rows(name: str, make: Callable[[JsonRow, int], Made]) -> Iterator[Made]:
    """Call `make` with each row and its line number. Errors name the file and line.

    Raises:
        UsageError: The file can't be read.
        SchemaError: A row can't be read, or `make` rejects it.
    """
    with opened(name) as stream:
        for line, data in cut(stream, name):
            try:
                if isinstance(data, SchemaError):
                    raise data
                yield make(parse(data) if isinstance(data, bytes) else data, line)
            except SchemaError as error:
                raise placed(error, name, line) from None


def _passage(row: JsonRow, line: int) -> Passage:
    id = str(row.get("id", row.get("_id", line)))
    if "text" not in row and "contents" in row:
        first, _, rest = _text(row, "contents").partition("\n")
        if rest and len(first) > 1 and first[0] == first[-1] == '"':
            return _filled(Passage(first[1:-1], rest, id), "contents")
        return _filled(Passage("", _text(row, "contents"), id), "contents")
    title = _text(row, "title") if row.get("title") is not None else ""
    return _filled(Passage(title, _text(row, "text"), id), "text")


def _text(row: JsonRow, field: str) -> str:
    if field not in row:
        raise SchemaError(
            "is missing", field=field, hint=f"a passage is {{title, text}}. Keys of this row: {', '.join(row)}"
        )
    if not isinstance(row[field], str):
        raise SchemaError(f"must be a string, got {kind(row[field])}", field=field)
    return str(row[field])


def _filled(passage: Passage, field: str) -> Passage:
    if not passage.content.strip():
        raise SchemaError("is empty", field=field, hint="delete the row: nothing can find it")
    return passage


def _document(name: str) -> Passage:
    stem = Path(plain_name(name)).stem
    return Passage(stem, read_text(name), stem)


def check_corpus(path: str | Path, words: int | None = None) -> list[str]:
    """Return the files of a corpus after reading the first passage of each.

    Raises:
        UsageError: A file can't be read. The error names it.
        SchemaError: A file's first row is invalid.
    """
    files = corpus_files(path)
    for name in files:
        if next(_cut(name, words), None) is None:
            raise SchemaError("the file has no rows", file=name)
    return files
