"""Does the deck show the expected content? Only text that a person sees in the show counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from verikit.artifacts.box import observe
from verikit.artifacts.office.convert import missing
from verikit.artifacts.options import of_row
from verikit.base import Verifier
from verikit.errors import UsageError, WorkspaceError
from verikit.names.spec import load
from verikit.types import Sample, Score
from verikit.verifiers.pdf.office import rendered_part
from verikit.verifiers.pptx import slides as seen
from verikit.verifiers.pptx.slides import READER, Found, Slide
from verikit.workspaces import Workspace
from verikit.workspaces.grading import WorkspaceVerifier, all_hold

_UNCLEAR = "only a rendered slide shows it"


@dataclass(frozen=True, eq=False)
class Pptx(WorkspaceVerifier):
    """1.0 if a deck that an agent left passes every requested check.

    Only visible text is used. Hidden slides and shapes are not visible, nor is text off the slide, covered, tiny or in
    its background's colour. Blanks at both ends are ignored, and several in a row are one. A row's own options are
    under its key `pptx`.
    """

    file: str = "*.pptx"
    """Path or pattern of the deck. It must match one file."""
    text: Sequence[str] | str | Verifier = ()
    """Strings that a paragraph must show, or the verifier (or its spec) that receives all visible text, in reading
    order."""
    absent: Sequence[str] = ()
    """Strings that no paragraph may show."""
    slides: int | Sequence[int] = 0
    """The required number of slides in the show, or the minimum and the maximum."""
    title: Sequence[str] | Mapping[str, int] = ()
    """Titles of slides, or titles and the slides' places in the show, by placeholder and never by appearance."""
    bullets: Sequence[str] | Mapping[str, Sequence[str]] = ()
    """List items, or titles and the items of the list on that slide, in this order."""
    table: Sequence[Sequence[Sequence[str]]] = ()
    """Tables, each as rows of strings. Each must be one table of a slide."""
    notes: Sequence[str] | Mapping[str, Sequence[str]] = ()
    """Strings that the speaker's notes must contain, or titles and the strings in that slide's notes."""
    image: int = 0
    """Minimum number of visible pictures."""
    visible: bool = False
    """Whether everything must be visible: True rejects hidden slides and invisible text."""
    rendered: bool = False
    """Whether LibreOffice's rendered slides must also show the expected strings. They then decide undecided strings.
    Without LibreOffice, the reason has a note."""
    undecided: float | None = None
    """The value if only a renderer can decide whether a string is visible. None: unscored."""
    name = "pptx"

    def __post_init__(self) -> None:
        if isinstance(self.text, str) and self.text:
            object.__setattr__(self, "text", load(self.text))
        for option in ("absent", "title", "bullets", "table", "notes"):
            if isinstance(getattr(self, option), str):
                raise UsageError(f"{option} must be a list, got a string")
        for option in ("bullets", "notes"):
            told = getattr(self, option)
            if isinstance(told, Mapping) and any(isinstance(texts, str) for texts in told.values()):
                raise UsageError(f"{option} must map each title to a list of strings")
        if not isinstance(self.slides, int) and len(self.slides) != 2:
            raise UsageError("slides is a number, or the least and the most")

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Read the deck in the sandbox and run the checks."""
        return of_row(self, sample, "pptx").checked(workspace, sample)

    def checked(self, workspace: Workspace, sample: Sample) -> Score:
        """Check one deck by these options."""
        blob = workspace.one(self.file).data()
        every: Sequence[Slide] = observe(READER, [blob], {})["slides"]
        show = [slide for slide in every if slide["shown"]]
        offered: dict[str, tuple[object, Callable[[], Score]]] = {
            "slides": (self.slides, lambda: self._count(len(show))),
            "title": (self.title, lambda: self._decided(self._titles(show))),
            "bullets": (self.bullets, lambda: self._decided(self._bullets(show))),
            "table": (self.table, lambda: self._decided(
                (f"no table starts with {[str(cell) for cell in table[0]]}", seen.has_table(show, table))
                for table in self.table)),
            "text": (self.text, lambda: self._text(every, show, sample)),
            "absent": (self.absent, lambda: _of(
                f"{text!r} is in sight" for text in self.absent if seen.found(show, text) != "no")),
            "notes": (self.notes, lambda: self._decided(self._notes(show))),
            "image": (self.image, lambda: self._decided(self._images(show))),
            "visible": (self.visible, lambda: self._decided(_all_in_sight(every))),
        }  # fmt: skip
        parts = {name: check() for name, (asked, check) in offered.items() if asked}
        if not parts:
            raise WorkspaceError("the pptx verifier has nothing to check", hint='text=["…"]')
        if self.rendered and all(part.value for part in parts.values()):
            part = rendered_part(blob, "pptx", self._strings())
            parts["rendered"] = part if part.scored else self._unclear(part.reason)
        score = all_hold(parts)
        if "rendered" not in parts or score.value != 1.0:
            return score
        return replace(score, reason=f"{score.reason}, {parts['rendered'].reason}")

    def _strings(self) -> Iterator[str]:
        """The strings that must be visible."""
        yield from (*(() if isinstance(self.text, str | Verifier) else self.text), *self.title, *self.bullets)
        if isinstance(self.bullets, Mapping):
            yield from (text for texts in self.bullets.values() for text in texts)
        yield from (str(cell) for table in self.table for row in table for cell in row)

    def _count(self, count: int) -> Score:
        least, most = (self.slides, self.slides) if isinstance(self.slides, int) else self.slides
        if least <= count <= most:
            return Score(1.0)
        return Score(0.0, reason=f"{count} slides, {least if least == most else f'{least} to {most}'} are asked for")

    def _titles(self, show: Sequence[Slide]) -> Iterator[tuple[str, Found]]:
        places = self.title if isinstance(self.title, Mapping) else dict.fromkeys(self.title, 0)
        for title, place in places.items():
            among = show[place - 1 : place] if place > 0 else show
            where = f"slide {place} has not the title" if place else "no slide has the title"
            yield f"{where} {title!r}", seen.best(seen.titled(slide, title) for slide in among)

    def _bullets(self, show: Sequence[Slide]) -> Iterator[tuple[str, Found]]:
        if not isinstance(self.bullets, Mapping):
            for text in self.bullets:
                yield f"{text!r} is not a visible list item", seen.is_item(show, text)
            return
        for title, texts in self.bullets.items():
            yield (
                f"no slide {title!r} with the list {[str(text) for text in texts]}",
                seen.best(seen.both(seen.titled(slide, title), seen.items_in_order(slide, texts)) for slide in show),
            )

    def _notes(self, show: Sequence[Slide]) -> Iterator[tuple[str, Found]]:
        if not isinstance(self.notes, Mapping):
            held = "\n".join(seen.plain(note) for slide in show for note in slide["notes"])
            for text in self.notes:
                yield f"{text!r} is not in the notes", "yes" if seen.plain(text) in held else "no"
            return
        for title, texts in self.notes.items():
            for text in texts:
                yield (
                    f"{text!r} is not in the notes of {title!r}",
                    seen.best(seen.both(seen.titled(slide, title), _noted(slide, text)) for slide in show),
                )

    def _images(self, show: Sequence[Slide]) -> Iterator[tuple[str, Found]]:
        sure, unclear = (sum(slide[key] for slide in show) for key in ("images", "unclear"))
        fault = f"{sure} visible pictures, expected at least {self.image}"
        most: Found = "doubtful" if sure + unclear >= self.image else "no"
        yield fault, "yes" if sure >= self.image else most

    def _text(self, every: Sequence[Slide], show: Sequence[Slide], sample: Sample) -> Score:
        if isinstance(self.text, Verifier):
            return self._graded(self.text, show, sample)
        return self._decided((_missing(every, text), seen.found(show, text)) for text in self.text)

    def _graded(self, verifier: Verifier, show: Sequence[Slide], sample: Sample) -> Score:
        """The verifier's score of the visible text, if the doubtful parts make no difference."""
        texts = list(dict.fromkeys(seen.lines(show, doubtful=doubtful) for doubtful in (True, False)))
        scores = verifier.score([replace(sample, completion=text, thoughts="", messages=()) for text in texts])
        if len({score.value for score in scores}) > 1:
            return self._unclear(f"a part of the text: {_UNCLEAR}")
        return scores[0]

    def _decided(self, checks: Iterator[tuple[str, Found]]) -> Score:
        """0.0 from the first check that fails; unscored if one is doubtful."""
        doubtful, renders = "", self.rendered and not missing("pptx")
        for fault, result in checks:
            if result == "no":
                return Score(0.0, reason=fault[:300])
            if result == "doubtful" and not renders:
                doubtful = doubtful or fault
        return self._unclear(f"{doubtful[:200]}, or {_UNCLEAR}") if doubtful else Score(1.0)

    def _unclear(self, reason: str) -> Score:
        return Score.error(reason) if self.undecided is None else Score(self.undecided, reason=reason)


def _noted(slide: Slide, text: str) -> Found:
    return "yes" if any(seen.plain(text) in seen.plain(note) for note in slide["notes"]) else "no"


def _missing(every: Sequence[Slide], text: str) -> str:
    why = seen.elsewhere(every, text)
    return f"{text!r} is not in sight{why and f': {why}'}"


def _all_in_sight(every: Sequence[Slide]) -> Iterator[tuple[str, Found]]:
    for number, slide in enumerate(every, 1):
        yield f"slide {number} is hidden", "yes" if slide["shown"] else "no"
        for text, why in seen.unseen([slide]):
            yield f"{text[:80]!r} on slide {number} is not visible: {why}", "no"
        if any(seen.is_doubtful(block) for block in slide["blocks"]):
            yield f"text on slide {number} is not visible", "doubtful"


def _of(faults: Iterator[str]) -> Score:
    fault = next(faults, "")
    return Score(0.0, reason=fault[:300]) if fault else Score(1.0)


__all__ = ["Pptx"]
