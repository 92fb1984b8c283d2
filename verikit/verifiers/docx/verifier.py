"""Does the document visibly contain the expected content? Styles are resolved through inheritance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verikit.artifacts import shape
from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.options import of_row
from verikit.artifacts.shape import Shape, each, record
from verikit.errors import UsageError, WorkspaceError
from verikit.types import Sample, Score
from verikit.verifiers.pdf.office import rendered_part
from verikit.workspaces import Workspace
from verikit.workspaces.grading import WorkspaceVerifier, all_hold

_RUN: Shape = record(
    dict.fromkeys(("text", "hidden", "font", "colour"), shape.text)
    | dict.fromkeys(("bold", "italic", "underline", "strike"), shape.truth)
    | {"size": shape.number}
)
_BLOCK: Shape = record(
    {"list": shape.truth, "runs": each(_RUN, 100_000)}
    | dict.fromkeys(("style", "align", "spacing"), shape.text)
    | dict.fromkeys(("level", "table", "row", "column"), shape.whole)
)
_SHAPE: Shape = record(
    {
        "blocks": each(_BLOCK, 200_000),
        "images": shape.whole,
        "links": shape.whole,
        "inserted": shape.whole,
        "deleted": shape.whole,
    }
)
READER = BoxReader("verikit.artifacts.readers.document", {}, "office", _SHAPE, kind="docx")
_OF_BLOCKS = ("align", "style", "spacing")
_STYLES = ("bold", "italic", "underline", "strike", "size", "font", "colour", *_OF_BLOCKS)

Block = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Docx(WorkspaceVerifier):
    """1.0 if the text document that an agent left passes every requested check.

    Only visible text is used, including tracked insertions. Tracked deletions, hidden text and comments are not
    visible. Blanks at both ends are ignored, and several in a row are one. A row's own options are under its key
    `docx`.
    """

    file: str = "*.docx"
    """Path or pattern of the document. It must match one file."""
    text: Sequence[str] = ()
    """Strings that a paragraph must contain, across runs."""
    absent: Sequence[str] = ()
    """Strings that must not be visible in any paragraph."""
    heading: Sequence[str] | Mapping[str, int] = ()
    """Headings, or headings and their levels, by style or outline level and never by appearance."""
    under: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Headings, and strings in the section of each."""
    table: Sequence[Sequence[Sequence[str]]] = ()
    """Tables, each as rows of strings. Each must be one table of the document."""
    style: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Strings and the style of their characters: `bold`, `italic`, `underline`, `strike`, `size`, `font`, `colour` (six
    digits), `align`, `style` (the paragraph style's name), `spacing` (of lines: "1.5", or "18 pt, exact")."""
    list: Sequence[str] = ()
    """Paragraphs that must be items of a list."""
    image: int = 0
    """Minimum number of pictures in the document."""
    revision: bool = True
    """Whether tracked changes are allowed. False rejects them."""
    rendered: bool = False
    """Whether LibreOffice's rendered pages must also show the expected strings. Without it, the reason has a note."""
    name = "docx"

    def __post_init__(self) -> None:
        for option in ("text", "absent", "heading", "list", "table"):
            if isinstance(getattr(self, option), str):
                raise UsageError(f"{option} must be a list, got a string")
        for name, wanted in self.style.items():
            if unknown := next((key for key in wanted if key not in _STYLES), None):
                raise UsageError(f"style[{name!r}] has no {unknown!r}", hint=", ".join(_STYLES))

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Read the document in the sandbox and run the checks."""
        return of_row(self, sample, "docx").checked(workspace)

    def checked(self, workspace: Workspace) -> Score:
        """Check one document by these options."""
        blob = workspace.one(self.file).data()
        seen = observe(READER, [blob], {})
        blocks: Sequence[Block] = seen["blocks"]
        offered: dict[str, tuple[object, Callable[[], Iterator[str]]]] = {
            "text": (self.text, lambda: self._texts(blocks)),
            "absent": (self.absent, lambda: self._absent(blocks)),
            "heading": (self.heading, lambda: self._headings(blocks)),
            "under": (self.under, lambda: self._under(blocks)),
            "table": (self.table, lambda: self._tables(blocks)),
            "style": (self.style, lambda: self._styles(blocks)),
            "list": (self.list, lambda: self._lists(blocks)),
            "image": (self.image, lambda: self._count(seen["images"])),
            "revision": (not self.revision, lambda: self._revisions(seen["inserted"] + seen["deleted"])),
        }  # fmt: skip
        parts = {name: _scored(faults()) for name, (asked, faults) in offered.items() if asked}
        if not parts:
            raise WorkspaceError("the docx verifier has nothing to check", hint='text=["…"]')
        if self.rendered and all(part.value for part in parts.values()):
            parts["rendered"] = rendered_part(blob, "docx", self._strings())
            if not parts["rendered"].scored:
                return all_hold(parts)
        failed = next((part for part in parts.values() if part.value == 0.0), None)
        note = f": {parts['rendered'].reason}" if "rendered" in parts else ""
        return Score(0.0 if failed else 1.0, reason=failed.reason if failed else f"all checks pass{note}", parts=parts)

    def _strings(self) -> Iterator[str]:
        """The strings that must be visible."""
        yield from (*self.text, *self.heading, *self.list, *self.style)
        yield from (text for texts in self.under.values() for text in texts)
        yield from (str(cell) for table in self.table for row in table for cell in row)

    def _texts(self, blocks: Sequence[Block]) -> Iterator[str]:
        yield from (f"{text!r} is not there in sight" for text in self.text if not _held(blocks, text))

    def _absent(self, blocks: Sequence[Block]) -> Iterator[str]:
        yield from (f"{text!r} is there" for text in self.absent if _held(blocks, text))

    def _headings(self, blocks: Sequence[Block]) -> Iterator[str]:
        levels = self.heading if isinstance(self.heading, Mapping) else dict.fromkeys(self.heading, 0)
        for text, level in levels.items():
            found = [block["level"] for block in blocks if block["level"] and shown(block) == plain(text)]
            if not found:
                yield f"no heading {text!r}"
            elif level and level not in found:
                yield f"the heading {text!r} has level {found[0]}"

    def _under(self, blocks: Sequence[Block]) -> Iterator[str]:
        for heading, texts in self.under.items():
            section = _section(blocks, plain(heading))
            for text in texts:
                if not _held(section, text):
                    yield f"{text!r} is not under {heading!r}"

    def _tables(self, blocks: Sequence[Block]) -> Iterator[str]:
        tables = table_cells(blocks)
        for wanted in self.table:
            if [[plain(cell) for cell in row] for row in wanted] not in tables:
                yield f"no table starts with {[str(cell) for cell in wanted[0]]}"

    def _styles(self, blocks: Sequence[Block]) -> Iterator[str]:
        for text, wanted in self.style.items():
            holders = [block for block in blocks if plain(text) in shown(block)]
            if not holders:
                yield f"{text!r} is not there in sight"
            elif not any(_has_style(block, plain(text), wanted) for block in holders):
                yield f"{text!r} has another style than {dict(wanted)}"

    def _lists(self, blocks: Sequence[Block]) -> Iterator[str]:
        for text in self.list:
            if not any(block["list"] and shown(block) == plain(text) for block in blocks):
                yield f"{text!r} is not a list item"

    def _count(self, images: int) -> Iterator[str]:
        if images < self.image:
            yield f"{images} pictures, expected at least {self.image}"

    def _revisions(self, changes: int) -> Iterator[str]:
        if changes:
            yield f"{changes} tracked changes are left"


def plain(text: str) -> str:
    """The text with single blanks, and without blanks at its ends."""
    return " ".join(text.split())


def shown(block: Block) -> str:
    """The text of a paragraph that is in sight."""
    return plain("".join(run["text"] for run in block["runs"] if not run["hidden"]))


def _held(blocks: Sequence[Block], text: str) -> bool:
    wanted = plain(text)
    return any(wanted in shown(block) for block in blocks)


def _section(blocks: Sequence[Block], heading: str) -> list[Block]:
    """The paragraphs from a heading to the next one of its level or above."""
    section: list[Block] = []
    level = 0
    for block in blocks:
        if level and block["level"] and block["level"] <= level:
            break
        if level:
            section.append(block)
        elif block["level"] and shown(block) == heading:
            level = block["level"]
    return section


def table_cells(blocks: Sequence[Block]) -> list[list[list[str]]]:
    """The strings of all tables, by rows and columns. One pass: a document may have very many tables."""
    texts: dict[int, dict[int, dict[int, list[str]]]] = {}
    for block in blocks:
        if block["table"] != -1:
            rows = texts.setdefault(block["table"], {})
            rows.setdefault(block["row"], {}).setdefault(block["column"], []).append(shown(block))
    return [
        [[plain(" ".join(cell)) for _, cell in sorted(row.items())] for _, row in sorted(rows.items())]
        for rows in texts.values()
    ]


def _has_style(block: Block, text: str, wanted: Mapping[str, Any]) -> bool:
    """Whether each character of a string in a paragraph has a style; blanks fit any style."""
    if any(block[key] != wanted[key] for key in _OF_BLOCKS if key in wanted):
        return False
    runs = [run for run in block["runs"] if not run["hidden"]]
    characters = [(letter, run) for run in runs for letter in run["text"] if not letter.isspace()]
    joined, sought = "".join(letter for letter, _ in characters), "".join(text.split())
    own = {key: value for key, value in wanted.items() if key not in _OF_BLOCKS}
    start = joined.find(sought)
    while start >= 0:
        if all(run[key] == value for _, run in characters[start : start + len(sought)] for key, value in own.items()):
            return True
        start = joined.find(sought, start + 1)
    return False


def _scored(faults: Iterator[str]) -> Score:
    fault = next(faults, "")
    return Score(0.0, reason=fault[:300]) if fault else Score(1.0)
