"""The slides of a deck as its reader reported them, checked; text, lists and tables in them.

Text is found, not found, or doubtful. It is doubtful if only a renderer can decide whether its characters show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal

from verikit.artifacts import shape
from verikit.artifacts.box import BoxReader
from verikit.artifacts.shape import Shape, each, record
from verikit.sandbox import RunLimits

_RUN: Shape = record(dict.fromkeys(("text", "hidden", "doubt"), shape.text))
_WHOLES: dict[str, Shape] = dict.fromkeys(("level", "table", "row", "column"), shape.whole)
_BLOCK: Shape = record({"kind": shape.text, "item": shape.truth, "runs": each(_RUN, 400_000)} | _WHOLES)
_SLIDE: Shape = record(
    {"shown": shape.truth, "blocks": each(_BLOCK, 20_000), "notes": each(shape.text, 20_000)}
    | dict.fromkeys(("images", "unclear"), shape.whole)
)
READER = BoxReader(
    "verikit.artifacts.readers.slides", {}, "office",
    record({"slides": each(_SLIDE, 1000), "links": shape.whole}), kind="pptx",
    limits=RunLimits(wall_s=240.0, cpu_s=60.0, memory_mb=1536, output_kb=64, value_kb=24 << 10, disk_mb=8),
)  # fmt: skip

Block = Mapping[str, Any]
Slide = Mapping[str, Any]
Found = Literal["yes", "no", "doubtful"]


def plain(text: str) -> str:
    """The text with single blanks, and without blanks at its ends."""
    return " ".join(text.split())


def shown(block: Block, *, doubtful: bool) -> str:
    """The visible text of a paragraph, with or without its doubtful parts."""
    return plain("".join(run["text"] for run in block["runs"] if not run["hidden"] and (doubtful or not run["doubt"])))


def is_doubtful(block: Block) -> bool:
    """Whether it is unknown if some part of a paragraph shows."""
    return any(run["doubt"] and not run["hidden"] for run in block["runs"])


def best(results: Iterable[Found]) -> Found:
    """Found if any is; otherwise doubtful if any is."""
    seen = set(results)
    if "yes" in seen:
        return "yes"
    return "doubtful" if "doubtful" in seen else "no"


def both(*results: Found) -> Found:
    """Found if all are; not found if one is not."""
    if "no" in results:
        return "no"
    return "doubtful" if "doubtful" in results else "yes"


def holds(block: Block, text: str) -> Found:
    """Whether a paragraph shows the text."""
    wanted = plain(text)
    if not is_doubtful(block):
        return "yes" if wanted in shown(block, doubtful=False) else "no"
    # Text on both sides of doubtful runs is not one text: they may show something in between.
    for doubtful, runs in groupby(block["runs"], key=lambda run: bool(run["doubt"]) and not run["hidden"]):
        if not doubtful and wanted in shown({"runs": list(runs)}, doubtful=False):
            return "yes"
    return "doubtful" if any(wanted in shown(block, doubtful=each_way) for each_way in (True, False)) else "no"


def equals(block: Block, text: str) -> Found:
    """Whether a paragraph shows the text and nothing else."""
    wanted = plain(text)
    with_all, without = shown(block, doubtful=True), shown(block, doubtful=False)
    if with_all == without:
        return "yes" if wanted == without else "no"
    return "doubtful" if wanted in (with_all, without) else "no"


def joined(blocks: Sequence[Block]) -> Block:
    """Paragraphs that are read as one, such as the lines of a title."""
    blank = {"text": " ", "hidden": "", "doubt": ""}
    runs = [run for block in blocks for run in (*block["runs"], blank)]
    return {"runs": runs}


def found(slides: Sequence[Slide], text: str) -> Found:
    """Whether a slide shows the text in one paragraph."""
    return best(holds(block, text) for slide in slides for block in slide["blocks"])


def titled(slide: Slide, title: str) -> Found:
    """Whether a slide has a title."""
    return equals(joined([block for block in slide["blocks"] if block["kind"] == "title"]), title)


def items_in_order(slide: Slide, texts: Sequence[str]) -> Found:
    """Whether a slide has these items of a list, in this order; others may come between them."""
    blocks = iter([block for block in slide["blocks"] if block["item"]])
    doubtful = False
    for text in texts:
        result = next((result for block in blocks if (result := equals(block, text)) != "no"), "no")
        if result == "no":
            return "no"
        doubtful = doubtful or result == "doubtful"
    return "doubtful" if doubtful else "yes"


def is_item(slides: Sequence[Slide], text: str) -> Found:
    """Whether the text is an item of a list on a slide."""
    return best(equals(block, text) for slide in slides for block in slide["blocks"] if block["item"])


def has_table(slides: Sequence[Slide], wanted: Sequence[Sequence[str]]) -> Found:
    """Whether a slide has a table with these rows and no others."""
    rows = [[plain(str(cell)) for cell in row] for row in wanted]
    return best(_same(cells, rows) for slide in slides for cells in _tables(slide))


def _tables(slide: Slide) -> list[list[list[Block]]]:
    """The cells of a slide's tables, by rows."""
    tables: dict[int, dict[int, dict[int, list[Block]]]] = {}
    for block in slide["blocks"]:
        if block["table"]:
            rows = tables.setdefault(block["table"], {})
            rows.setdefault(block["row"], {}).setdefault(block["column"], []).append(block)
    return [[[joined(cell) for cell in row.values()] for row in rows.values()] for rows in tables.values()]


def _same(cells: Sequence[Sequence[Block]], rows: Sequence[Sequence[str]]) -> Found:
    if [len(row) for row in cells] != [len(row) for row in rows]:
        return "no"
    pairs = (pair for line, texts in zip(cells, rows, strict=True) for pair in zip(line, texts, strict=True))
    results: list[Found] = [equals(cell, text) for cell, text in pairs]
    return both(*results)


def lines(slides: Sequence[Slide], *, doubtful: bool) -> str:
    """All visible text in reading order: one line per paragraph, and a blank line between slides."""
    told = []
    for slide in slides:
        told += [text for block in slide["blocks"] if (text := shown(block, doubtful=doubtful))]
        told.append("")
    return "\n".join(told).strip()


def unseen(slides: Sequence[Slide]) -> list[tuple[str, str]]:
    """Each hidden text on slides, with the reason; the text of cells that others cover is empty."""
    return [
        (run["text"], run["hidden"])
        for slide in slides for block in slide["blocks"] for run in block["runs"]
        if run["hidden"] and run["text"].strip()
    ]  # fmt: skip


def elsewhere(slides: Sequence[Slide], text: str) -> str:
    """Why text that is not visible is hidden, if the deck contains it."""
    wanted = plain(text)
    for slide in slides:
        for block in slide["blocks"]:
            if wanted in plain("".join(run["text"] for run in block["runs"])):
                whole = "" if slide["shown"] else "a hidden slide"
                return whole or next((run["hidden"] for run in block["runs"] if run["hidden"]), "")
    return ""
