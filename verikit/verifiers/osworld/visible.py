"""The visible lines of a file, read in the same way from the expected file and from the agent's."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from itertools import dropwhile

from verikit.artifacts.box import observe
from verikit.errors import AgentFault
from verikit.verifiers.docx import verifier as document
from verikit.verifiers.pdf import pages
from verikit.verifiers.pptx import slides
from verikit.verifiers.table.readers import MAX_MB as TABLE_MB

MAX_MB = 4
"""Maximum MiB of a text file."""
NOTE = "note: "
_ENDS = re.compile(r"\r\n|[\r\n]")
Lines = list[str]


def decoded(data: bytes) -> str:
    """A file's text.

    Raises:
        AgentFault: It is not UTF-8, or too long.
    """
    if len(data) > MAX_MB << 20:
        raise AgentFault(f"the file has {len(data) >> 20} MB, the limit for text is {MAX_MB}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise AgentFault("the file is not UTF-8 text") from None


def _of_text(data: bytes) -> list[Lines]:
    """Indentation counts. Blanks at the ends of lines and empty lines at the end do not."""
    lines = [line.rstrip() for line in _ENDS.split(decoded(data))]
    return [list(dropwhile(lambda line: not line, reversed(lines)))[::-1]]


def csv_rows(data: bytes) -> list[list[str]]:
    """The rows of a CSV.

    Raises:
        AgentFault: It is not a CSV.
    """
    csv.field_size_limit(TABLE_MB << 20)  # of the process: the limit that `table` sets too
    try:
        return list(csv.reader(io.StringIO(decoded(data), newline="")))
    except csv.Error as problem:
        raise AgentFault(f"the file is not CSV: {problem}") from None


def _of_csv(data: bytes) -> list[Lines]:
    """A line for each row. Quotes, line ends and blanks around a cell make no difference."""
    return [[json.dumps([cell.strip() for cell in row], ensure_ascii=False) for row in csv_rows(data) if row]]


def _of_document(data: bytes) -> list[Lines]:
    """The paragraphs outside of tables."""
    blocks = observe(document.READER, [data], {})["blocks"]
    return [[document.shown(block) for block in blocks if block["table"] == -1]]


def _of_tables(data: bytes) -> list[Lines]:
    """A line for each row of each table, and an empty one after each table."""
    tables = document.table_cells(observe(document.READER, [data], {})["blocks"])
    return [[line for table in tables for line in [*(json.dumps(row, ensure_ascii=False) for row in table), ""]]]


def _of_deck(data: bytes) -> list[Lines]:
    """The visible paragraphs and the notes, with an empty line after each slide. Doubtful text gives two readings."""
    show = [slide for slide in observe(slides.READER, [data], {})["slides"] if slide["shown"]]
    found = []
    for doubtful in (False, True):
        lines = []
        for slide in show:
            lines += [text for block in slide["blocks"] if (text := slides.shown(block, doubtful=doubtful))]
            lines += [f"{NOTE}{text}" for note in slide["notes"] if (text := slides.plain(note))]
            lines.append("")
        found.append(lines)
    return found


def _of_pdf(data: bytes) -> list[Lines]:
    """The visible lines. Characters of unknown shape give two readings."""
    told = observe(pages.READER, [data], {"scan": False})["pages"]
    return [pages.lines(told, doubt).splitlines() for doubt in ("", "\N{REPLACEMENT CHARACTER}")]


SOURCES: Mapping[str, Callable[[bytes], list[Lines]]] = {
    "text": _of_text, "csv": _of_csv, "docx": _of_document, "docx tables": _of_tables, "pptx": _of_deck, "pdf": _of_pdf,
}  # fmt: skip
"""Readers of lines, by the kind of file. They return one reading, or two if only a renderer can decide."""

RULES: Mapping[str, Callable[[Lines], object]] = {
    "words": lambda lines: " ".join(lines).split(),
    "lines": lambda lines: lines,
    "filled": lambda lines: [line for line in lines if line.strip()],
    "bag": sorted,
    "filled bag": lambda lines: sorted(line for line in lines if line.strip()),
    "set": lambda lines: {line for line in lines if line.strip()},
}
"""The part of the lines that must be equal."""
