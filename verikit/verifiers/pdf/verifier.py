"""Does the PDF show the expected content? Only text on the rendered page counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verikit.artifacts.box import observe
from verikit.artifacts.options import of_row
from verikit.base import Verifier
from verikit.errors import UsageError, WorkspaceError
from verikit.names.spec import load
from verikit.types import Sample, Score
from verikit.verifiers.pdf import pages as seen
from verikit.verifiers.pdf.pages import READER, Found, Page, plain
from verikit.workspaces import Workspace
from verikit.workspaces.grading import WorkspaceVerifier, all_hold

_SIZES = {"A3": (841.9, 1190.6), "A4": (595.3, 841.9), "A5": (419.5, 595.3), "letter": (612.0, 792.0),
          "legal": (612.0, 1008.0)}  # fmt: skip
_TOLERANCE = 2.0
"""Points."""


@dataclass(frozen=True, eq=False)
class Pdf(WorkspaceVerifier):
    """1.0 if a PDF that an agent left passes every requested check.

    Only visible text is used: the rendered page must change at a character's place when the text is removed, and the
    character must have its own shape. A row's own options are under its key `pdf`.
    """

    file: str = "*.pdf"
    """Path or pattern of the PDF. It must match one file."""
    text: Sequence[str] | str | Verifier = ()
    """Strings that a page must show, or the verifier (or its spec) that receives all visible text."""
    absent: Sequence[str] = ()
    """Strings that no page may show."""
    table: Sequence[Sequence[Sequence[str]]] = ()
    """Tables, each as rows of strings: consecutive lines, with a wide gap between cells."""
    pages: int | Sequence[int] = 0
    """The required number of pages, or the minimum and the maximum."""
    size: str | Sequence[float] = ""
    """The size of every page: A3, A4, A5, letter, legal (with ` landscape`), or width and height in points."""
    form: Mapping[str, str | bool] = field(default_factory=dict)
    """Fields and their values. The page must show the value in the field's place. true is a ticked box."""
    script: bool = False
    """Whether JavaScript, launch actions and encrypted objects are allowed. They never run."""
    scan: bool = False
    """Whether invisible text over a picture is used, as scanners write it."""
    undecided: float | None = None
    """The value if a string depends on characters whose shape cannot be identified. None: unscored."""
    name = "pdf"

    def __post_init__(self) -> None:
        if isinstance(self.text, str) and self.text:
            object.__setattr__(self, "text", load(self.text))
        for option in ("absent", "table"):
            if isinstance(getattr(self, option), str):
                raise UsageError(f"{option} must be a list, got a string")
        size = self.size.removesuffix(" landscape") if isinstance(self.size, str) else self.size
        if (isinstance(size, str) and size and size not in _SIZES) or (not isinstance(size, str) and len(size) != 2):
            raise UsageError(f"size {self.size!r} is unknown", hint=", ".join(_SIZES))
        if not isinstance(self.pages, int) and len(self.pages) != 2:
            raise UsageError("pages is a number, or the least and the most")

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Read the PDF in the sandbox and run the checks."""
        return of_row(self, sample, "pdf").checked(workspace, sample)

    def checked(self, workspace: Workspace, sample: Sample) -> Score:
        """Check one PDF by these options."""
        told = observe(READER, [workspace.one(self.file).data()], {"scan": self.scan})
        pages: Sequence[Page] = told["pages"]
        offered: dict[str, tuple[object, Callable[[], Score]]] = {
            "script": (told["scripts"] and not self.script,
                       lambda: Score(0.0, reason=f"the file has {', '.join(told['scripts'])[:200]}")),
            "pages": (self.pages, lambda: _of(self._count(len(pages)))),
            "size": (self.size, lambda: _of(self._sizes(pages))),
            "text": (self.text, lambda: self._text(pages, sample)),
            "absent": (self.absent, lambda: _of(self._absent(pages))),
            "table": (self.table, lambda: self._decided(
                (f"no table starts with {[str(cell) for cell in table[0]]}", seen.has_table(pages, table))
                for table in self.table)),
            "form": (self.form, lambda: self._decided(self._fields(told["fields"]))),
        }  # fmt: skip
        parts = {name: check() for name, (asked, check) in offered.items() if asked}
        if not parts:
            raise WorkspaceError("the pdf verifier has nothing to check", hint='text=["…"]')
        return all_hold(parts)

    def _count(self, count: int) -> Iterator[str]:
        least, most = (self.pages, self.pages) if isinstance(self.pages, int) else self.pages
        if not least <= count <= most:
            yield f"{count} pages, {least if least == most else f'{least} to {most}'} are asked for"

    def _sizes(self, pages: Sequence[Page]) -> Iterator[str]:
        if isinstance(self.size, str):
            wide, high = _SIZES[self.size.removesuffix(" landscape")]
            wide, high = (high, wide) if self.size.endswith(" landscape") else (wide, high)
        else:
            wide, high = self.size
        for number, page in enumerate(pages, 1):
            if abs(page["width"] - wide) > _TOLERANCE or abs(page["height"] - high) > _TOLERANCE:
                yield f"page {number} is {page['width']:.0f} by {page['height']:.0f} points"

    def _text(self, pages: Sequence[Page], sample: Sample) -> Score:
        if isinstance(self.text, Verifier):
            return self._graded(self.text, pages, sample)
        return self._decided(
            (f"{text!r} is not in sight{_elsewhere(pages, text)}", seen.found(pages, text)) for text in self.text
        )

    def _graded(self, verifier: Verifier, pages: Sequence[Page], sample: Sample) -> Score:
        """The verifier's score of the visible text, if characters of unknown shape make no difference."""
        texts = list(dict.fromkeys((seen.lines(pages), seen.lines(pages, "\N{REPLACEMENT CHARACTER}"))))
        scores = verifier.score([replace(sample, completion=text, thoughts="", messages=()) for text in texts])
        if len({score.value for score in scores}) > 1:
            return self._unclear("the text has characters whose shape is unknown")
        return scores[0]

    def _decided(self, checks: Iterator[tuple[str, Found]]) -> Score:
        """0.0 from the first check that fails; unscored if one is doubtful."""
        doubtful = ""
        for fault, result in checks:
            if result == "no":
                return Score(0.0, reason=fault[:300])
            if result == "doubtful":
                doubtful = doubtful or fault
        return self._unclear(f"{doubtful[:200]}, or has characters whose shape is unknown") if doubtful else Score(1.0)

    def _unclear(self, reason: str) -> Score:
        return Score.error(reason) if self.undecided is None else Score(self.undecided, reason=reason)

    def _absent(self, pages: Sequence[Page]) -> Iterator[str]:
        yield from (f"{text!r} is in sight" for text in self.absent if seen.found(pages, text) != "no")

    def _fields(self, fields: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Found]]:
        for name, wanted in self.form.items():
            own = [one for one in fields if one["name"] == name]
            if not own:
                yield f"no field {name!r}", "no"
            elif isinstance(wanted, bool):
                yield _is_ticked(name, own) if wanted else _is_empty(name, own)
            else:
                yield from (_shows(name, wanted, one) for one in own)


def _is_ticked(name: str, boxes: Sequence[Mapping[str, Any]]) -> tuple[str, Found]:
    ticked = any(box["checked"] and box["ink"] for box in boxes)
    return f"{name!r} is not ticked", "yes" if ticked else "no"


def _is_empty(name: str, boxes: Sequence[Mapping[str, Any]]) -> tuple[str, Found]:
    marked = any(box["checked"] or box["ink"] for box in boxes)
    return f"{name!r} is not empty", "no" if marked else "yes"


def _shows(name: str, wanted: str, one: Mapping[str, Any]) -> tuple[str, Found]:
    """Whether a field has a value, and the page shows it there."""
    if plain(one["value"]) != plain(wanted):
        return f"the field {name!r} has the value {one['value'][:80]!r}", "no"
    if one["kind"] in ("checkbox", "radio"):
        return f"the field {name!r} is not ticked", "yes" if one["checked"] and one["ink"] else "no"
    if plain(one["drawn"]).replace(" ", "") != plain(wanted).replace(" ", ""):
        return f"the field {name!r} shows {one['drawn'][:80]!r}", "no"
    return f"the field {name!r} shows another value", "doubtful" if one["doubtful"] else "yes"


def _elsewhere(pages: Sequence[Page], text: str) -> str:
    """Why text that is not visible is hidden, if the PDF contains it."""
    close = "".join(text.split())
    for page in pages:
        for hidden in page["hidden"]:
            if close and close in hidden["text"]:
                return f": {hidden['why']}"
    return ""


def _of(faults: Iterator[str]) -> Score:
    fault = next(faults, "")
    return Score(0.0, reason=fault[:300]) if fault else Score(1.0)


__all__ = ["Pdf"]
