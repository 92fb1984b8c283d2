"""Does the page work as it should? Chromium opens it and takes steps. Only text that a person can see counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verikit.artifacts.browser.box import BrowserBox
from verikit.artifacts.browser.pipe import BrowserPipe
from verikit.artifacts.browser.session import INK, Hope, Page, Visit, Visitor, version
from verikit.artifacts.browser.sight import lines, without_doubts
from verikit.artifacts.browser.site import Site
from verikit.artifacts.browser.steps import read_steps
from verikit.artifacts.options import of_row
from verikit.base import Verifier
from verikit.errors import UsageError, WorkspaceError
from verikit.names.spec import load
from verikit.types import Sample, Score
from verikit.verifiers.html import checks as seen
from verikit.verifiers.html.checks import Wanted
from verikit.verifiers.html.shots import ExpectedShot
from verikit.verifiers.html.visits import CALM, are_alike, page_files
from verikit.verifiers.image.verifier import check_embedded
from verikit.workspaces import Workspace
from verikit.workspaces.grading import WorkspaceVerifier, all_hold

_VISITORS: Sequence[Visitor] = ("person", "driver")
_PAGES, _INDEX = "*.html", "index.html"
_LONG_CALM = 30
"""As `CALM`, if a string that must not be visible is still on the page: only its pixels show whether it is covered."""


@dataclass(frozen=True, eq=False)
class Html(WorkspaceVerifier):
    """1.0 if a page that an agent left passes every requested check.

    Chromium opens the page twice, as a person's browser and as one that a program drives, and both must pass. There is
    no network: the page gets files of the workspace only. Only text with visible pixels counts. Checks are repeated
    for five seconds. A row's own options are under its key `html`.
    """

    file: str = _PAGES
    """Path or pattern of the page, which must name one file. The default opens `index.html` if it is one of several."""
    steps: Sequence[Mapping[str, Any]] = ()
    """Steps to take first: `{"click": "#go"}`, `{"type": "4", "into": "#n"}`, `{"press": "Enter"}`, `{"scroll": 400}`,
    `{"wait": "Ready"}`, `{"dialog": true}`. Elements are a CSS selector, `{"text": …}` or `{"role": …, "name": …}`."""
    visible: Sequence[str] = ()
    """Strings that must be visible."""
    absent: Sequence[str] = ()
    """Strings that must not be visible."""
    dom: Mapping[str, Wanted] = field(default_factory=dict)
    """CSS selectors, each with its expectation: the number of elements, or whether there is one. Or the visible text
    or attributes of the only element, or the strings of all elements."""
    console: str | Sequence[str] = ()
    """`clean`: the console has no errors. Or strings that the page must print there."""
    requests: bool | Sequence[str] = True
    """Whether the page may request addresses outside the workspace, or their allowed prefixes. None is reached."""
    a11y: Sequence[Mapping[str, str]] = ()
    """Elements that the accessibility tree must have: `{"role": "button", "name": "Save"}`, or only a role."""
    shot: str = ""
    """The expected screenshot: a path, or `data:image/png;base64,…`. A row can only use the latter."""
    least_alike: float = 0.6
    """Minimum similarity of the worst block of the screenshot, 0 to 1."""
    text: str | Verifier = ""
    """The verifier (or its spec) that scores all visible text."""
    undecided: float | None = None
    """The value if a check depends on letters of the page's fonts whose shape cannot be identified. None: unscored."""
    name = "html"
    local_files = ("shot",)

    def __post_init__(self) -> None:
        if isinstance(self.text, str) and self.text:
            object.__setattr__(self, "text", load(self.text))
        if self.text and not isinstance(self.text, Verifier):
            raise UsageError("text must be a verifier or its spec", hint='strings in sight: visible=["…"]')
        for option in ("visible", "absent"):
            if isinstance(getattr(self, option), str):
                raise UsageError(f"{option} must be a list, got a string")
        if isinstance(self.requests, str):
            raise UsageError("requests is true, false, or a list")
        if isinstance(self.console, str) and self.console not in ("", "clean"):
            raise UsageError('console must be "clean" or a list of strings')
        if not isinstance(self.dom, Mapping) or len(self.dom) > 100:
            raise UsageError("dom has CSS selectors as keys, at most 100")
        read_steps(self.steps)
        seen.check_roles(self.a11y)

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Open the page in the browser's box and check its content."""
        check_embedded(sample, "html", "shot")
        return of_row(self, sample, "html").checked(workspace, sample)

    def checked(self, workspace: Workspace, sample: Sample) -> Score:
        """Check one page by these options."""
        if not self._asked():
            raise WorkspaceError("the html verifier has nothing to check", hint='visible=["…"]')
        index = workspace.after.manifest.get(_INDEX) if self.file == _PAGES else None
        by_default = index is not None and index.kind == "file"
        path = workspace.one(_INDEX if by_default else self.file).path
        INK.check_packages()
        shot = ExpectedShot(self.shot, self.least_alike) if self.shot else None
        box = BrowserBox()
        try:
            pipe = BrowserPipe(box)
            engine = f"Chromium {version(pipe)}"
            score, graded = Score(1.0), dict[str, Score]()

            def visited(visitor: Visitor, hope: Hope) -> Score:
                visit = Visit(pipe, box, Site(page_files(workspace)), visitor, list(self.dom), roles=bool(self.a11y))
                return self._visited(visit, visitor, path, sample, shot, graded, hope)

            for visitor in _VISITORS:
                hope = _Met(self._hope(visitor, shot))
                score = visited(visitor, hope)
                if hope.met and _unseen(score):  # what covers the text may go away later
                    score = visited(visitor, _never)
                if not score.scored or score.filled(0.0) < 1.0:
                    break
            opened = f"{path}: " if by_default else ""
            return replace(score, reason=f"{opened}{score.reason}", text="\n".join(filter(None, (engine, score.text))))
        finally:
            box.close()

    def _asked(self) -> list[str]:
        asked = [
            name for name in ("visible", "absent", "dom", "a11y", "console", "shot", "text") if getattr(self, name)
        ]
        return asked if self.requests is True else [*asked, "requests"]

    def _visited(
        self, visit: Visit, visitor: Visitor, path: str, sample: Sample, shot: ExpectedShot | None,
        graded: dict[str, Score], hope: Hope,
    ) -> Score:  # fmt: skip
        try:
            page = visit.see(path, read_steps(self.steps), hope, None if shot is None else shot.screen)
        finally:
            visit.close()
        score = self._judged(page, visitor, sample, shot, graded)
        if any(run.doubts for run in page.runs):
            sure = replace(page, runs=list(map(without_doubts, page.runs)))
            if self._judged(sure, visitor, sample, shot, graded).value != score.value:
                reason = "the page's fonts draw letters whose shape can't be identified"
                return Score.error(reason) if self.undecided is None else Score(self.undecided, reason=reason)
        return score

    def _judged(
        self, page: Page, visitor: Visitor, sample: Sample, shot: ExpectedShot | None, graded: dict[str, Score]
    ) -> Score:
        """The score of a visit. `graded` has the scores of texts: a judge is paid once for each."""
        parts = {name: _of(faults) for name, faults in self._faults(page, visitor)}
        if isinstance(self.text, Verifier):
            told = "\n".join(lines(page.runs))
            if told not in graded:
                graded[told] = self.text.score([replace(sample, completion=told, thoughts="", messages=())])[0]
            parts["text"] = graded[told]
        if shot is not None:
            parts["shot"] = shot.compared(page)
        if not parts:
            return Score(1.0)
        score = all_hold(parts)
        differs = [name for name, one in parts.items() if name != "console" and one.scored and one.filled(0.0) < 1.0]
        if visitor == "driver" and score.scored and differs:
            return replace(score, reason=f"by a driver, unlike by a person: {score.reason}"[:400])
        return score

    def _faults(self, page: Page, visitor: Visitor) -> Iterator[tuple[str, Iterator[str]]]:
        asked = self._asked()
        if "visible" in asked:
            yield "visible", seen.texts(page, self.visible)
        if "absent" in asked:
            yield "absent", seen.absent(page, self.absent)
        if "dom" in asked:
            yield "dom", seen.elements(page, self.dom)
        if "a11y" in asked:
            yield "a11y", seen.roles(page, self.a11y)
        if "requests" in asked:
            yield "requests", seen.requests(page, self.requests)
        if "console" in asked and visitor == "driver":
            yield "console", seen.console(page, self.console)

    def _hope(self, visitor: Visitor, shot: ExpectedShot | None) -> Hope:
        """Whether a reading of the page passes, and no further change seems likely to alter that."""
        calm = CALM if {"absent", "console", "requests", "text"} & set(self._asked()) else 1
        before: list[object] = []

        def hope(page: Page) -> bool:
            before.append((lines(page.runs), len(page.printed), len(page.outside)))
            faults = {name for name, faults in self._faults(page, visitor) if next(faults, "")}
            passes = not faults or (faults == {"absent"} and are_alike(before, _LONG_CALM))
            if not passes or not are_alike(before, calm):
                return False
            return shot is None or shot.compared(page).value == 1.0

        return hope


class _Met:
    """A hope, and whether its last reading fulfilled it."""

    def __init__(self, hope: Hope) -> None:
        self._hope = hope
        self.met = False

    def __call__(self, page: Page) -> bool:
        """As the hope."""
        self.met = self._hope(page)
        return self.met


def _never(page: Page) -> bool:
    """Reads a page when all time is up."""
    return False


def _unseen(score: Score) -> bool:
    """Whether expected text has no pixels in sight, after a reading had found it."""
    return any(name in score.parts and score.parts[name].value == 0.0 for name in ("visible", "dom"))


def _of(faults: Iterator[str]) -> Score:
    fault = next(faults, "")
    return Score(0.0, reason=fault[:300]) if fault else Score(1.0)


__all__ = ["Html"]
