"""The checks that OSWorld's comparers are translated to: a function for each kind, with the row's values as options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from verikit.artifacts.box import observe
from verikit.artifacts.readers.stored import MOST_CELLS
from verikit.errors import AgentFault, WorkspaceError
from verikit.types import Sample, Score
from verikit.verifiers.docx import verifier as document
from verikit.verifiers.image.verifier import Image
from verikit.verifiers.osworld import rules, visible
from verikit.verifiers.pdf.verifier import Pdf
from verikit.verifiers.xlsx import Xlsx
from verikit.verifiers.xlsx.stored import stored_sheet, typed_sheet
from verikit.workspaces import Workspace

Cells = Mapping[str, Any]


def lines(
    workspace: Workspace, _: Sample, *,
    file: str, source: str, rule: str, expected: Sequence[str], ignore_case: bool = False,
) -> Score:  # fmt: skip
    """Whether a file shows the expected lines."""
    part = visible.RULES[rule]

    def seen(found: Sequence[str]) -> object:
        return part([line.casefold() for line in found] if ignore_case else list(found))

    wanted = seen(expected)
    same = {seen(found) == wanted for found in visible.SOURCES[source](workspace.one(file).data())}
    if len(same) > 1:
        return Score.error("only a rendered page shows whether a part of the text is visible")
    return Score(1.0, reason="the expected text") if True in same else Score(0.0, reason="shows another text")


def contains(workspace: Workspace, _: Sample, *, file: str, expected: Sequence[str]) -> Score:
    """Whether a text file contains all strings."""
    held = visible.decoded(workspace.one(file).data())
    missing = next((text for text in expected if text not in held), None)
    if missing is not None:
        return Score(0.0, reason=f"{missing!r:.80} is not in the file")
    return Score(1.0, reason="all strings are there")


def sheet(
    workspace: Workspace, sample: Sample, *, file: str, sheet: int | str, values: Cells, decimals: int | None = None
) -> Score:
    """Whether a sheet has exactly these values, recalculated."""
    title, typed, formulas = _sheet(workspace, file, sheet)
    book = partial(_book, workspace, sample, file, title, decimals)
    return _exactly(title, typed, formulas, values, None, lambda asked: book(values=asked))


def cells(workspace: Workspace, sample: Sample, *, file: str, sheet: int | str, values: Cells) -> Score:
    """Whether some cells of a sheet have these values, recalculated."""
    return _book(workspace, sample, file, _sheet(workspace, file, sheet)[0], None, values=values)


def printed(workspace: Workspace, sample: Sample, *, file: str, sheet: int | str, shows: Mapping[str, str]) -> Score:
    """Whether a sheet displays exactly these strings."""
    title, typed, formulas = _sheet(workspace, file, sheet)
    book = partial(_book, workspace, sample, file, title, None)
    return _exactly(title, typed, formulas, shows, "", lambda asked: book(shows=asked))


def titles(workspace: Workspace, _: Sample, *, file: str, expected: Sequence[str]) -> Score:
    """Whether a workbook has these sheets, in this order."""
    found = list(stored_sheet(workspace.one(file).data(), None)[0])
    return Score(float(found == list(expected)), reason=f"the sheets {found!r:.200}")


def _exactly(
    title: str, typed: Cells, formulas: Sequence[str], wanted: Cells, empty: str | None, check: Callable[[Cells], Score]
) -> Score:
    """Whether a sheet has the wanted cells and nothing else. Formulas in other cells must have the value `empty`."""
    if more := next((cell for cell in typed if cell not in wanted), None):
        return Score(0.0, reason=f"{title}!{more} is not empty")
    others = [cell for cell in formulas if cell not in wanted]
    if len(others) > MOST_CELLS:
        return Score(0.0, reason=f"{title} has over {MOST_CELLS:,} formulas in other cells")
    score = check(wanted)
    if score.value == 0.0 or not others:
        return score
    rest = check(dict.fromkeys(others, empty))
    return score if rest.value == 1.0 else rest


def _sheet(workspace: Workspace, file: str, which: int | str) -> tuple[str, Cells, Sequence[str]]:
    """A sheet's title, its typed cells and its cells with formulas, by its title or position."""
    named, typed, formulas = typed_sheet(workspace.one(file).data(), which)
    if isinstance(which, int) and -len(named) <= which < len(named):
        which = named[which]
    if which not in named:
        raise AgentFault(f"the workbook has no sheet {which!r:.80}")
    return str(which), typed, formulas


def _book(
    workspace: Workspace, sample: Sample, file: str, title: str, decimals: int | None, **checks: Mapping[str, Any]
) -> Score:
    quoted = title.replace("'", "''")
    asked: dict[str, Any] = {
        name: {f"'{quoted}'!{cell}": value for cell, value in of.items()} for name, of in checks.items()
    }
    if not any(asked.values()):
        return Score(1.0, reason="an empty sheet")
    return Xlsx(file, decimals=decimals, macros=True, **asked).checked(workspace, sample)


def spacing(workspace: Workspace, _: Sample, *, file: str, expected: Sequence[Sequence[str]]) -> Score:
    """Whether the paragraphs of a document have these strings and this line spacing, by effective style."""
    found = spacings(workspace.one(file).data())
    if [text for text, _ in found] != [text for text, _ in expected]:
        return Score(0.0, reason="shows another text")
    wrong = next((one for one, wanted in zip(found, expected, strict=True) if one[1] != wanted[1]), None)
    if wrong is not None:
        return Score(0.0, reason=f"{wrong[0]!r:.60} has the line spacing {wrong[1]}")
    return Score(1.0, reason="the expected line spacing")


def spacings(data: bytes) -> list[list[str]]:
    """The text and the line spacing of each paragraph with text."""
    blocks = observe(document.READER, [data], {})["blocks"]
    told = [[document.shown(block), block["spacing"]] for block in blocks if block["table"] == -1]
    return [one for one in told if one[0]]


def font(workspace: Workspace, _: Sample, *, file: str, expected: str) -> Score:
    """Whether all visible text of a document has a font, by effective style."""
    blocks = observe(document.READER, [workspace.one(file).data()], {})["blocks"]
    runs = [run for block in blocks for run in block["runs"] if not run["hidden"] and run["text"].strip()]
    if not runs:
        return Score(0.0, reason="the document has no visible text")
    wrong = next((run for run in runs if run["font"] != expected), None)
    if wrong is not None:
        return Score(0.0, reason=f"{wrong['text']!r:.60} has the font {wrong['font']!r}")
    return Score(1.0, reason=f"all text has the font {expected!r:.60}")


def picture(workspace: Workspace, _: Sample, *, file: str, like: str = "", size: Sequence[int] = ()) -> Score:
    """Whether a picture is like another one, or has a size."""
    if like and not like.startswith("data:"):
        raise WorkspaceError("a row's expected picture is not embedded")
    return Image(file, like=like, size=size).checked(workspace)


def pages(workspace: Workspace, sample: Sample, *, file: str, pages: int | Sequence[int]) -> Score:
    """Whether a PDF has this number of pages."""
    return Pdf(file, pages=pages, script=True).checked(workspace, sample)


def json_values(
    workspace: Workspace, _: Sample, *,
    file: str, expect: Sequence[rules.Rule] = (), unexpect: Sequence[rules.Rule] = (),
) -> Score:  # fmt: skip
    """Whether values of a JSON file are as expected."""
    return rules.json_faults(workspace.one(file).data(), expect, unexpect)


def records(
    workspace: Workspace, _: Sample, *,
    file: str, expect: Sequence[Mapping[str, str]] = (), unexpect: Sequence[Mapping[str, str]] = (),
) -> Score:  # fmt: skip
    """Whether a CSV has rows."""
    return rules.record_faults(workspace.one(file).data(), expect, unexpect)


def unscored(workspace: Workspace, _: Sample, *, because: str) -> Score:
    """A comparer that can't be translated."""
    return Score.error(because)


CHECKS: Mapping[str, Callable[..., Score]] = {
    function.__name__: function
    for function in (lines, contains, sheet, cells, printed, titles, spacing, font, picture, pages, json_values,
                     records, unscored)
}  # fmt: skip
"""The kinds of checks and their names."""
