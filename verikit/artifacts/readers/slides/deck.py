"""The observation of a deck: its slides, their text in reading order, notes and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from verikit.artifacts.readers import container
from verikit.artifacts.readers.slides.frames import Box, around
from verikit.artifacts.readers.slides.package import A, Element, P, Package, R, truth, whole
from verikit.artifacts.readers.slides.shapes import Shape, SlideContext, Words, shapes_of
from verikit.artifacts.readers.slides.sheets import Design, Sheet, placeholder, slides
from verikit.artifacts.readers.slides.sight import SlideView

MOST_SLIDES = 1000
MOST_SHAPES = 10_000
MOST_BLOCKS = 20_000
_MOST_LETTERS = 1_000_000
_GONE = ("exit", "path")
"""Animations that take a shape away or move it."""

Block = dict[str, Any]


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """The observation of one deck."""
    try:
        parts, media = container.parts(blobs[0], "pptx"), container.media(blobs[0])
        return _Deck(Package(parts, media)).observation()
    except container.BadContainer as problem:
        return {"refused": str(problem)}


class _Deck:
    def __init__(self, package: Package) -> None:
        self._package = package
        self._main = package.related("", "officeDocument")
        root = package.tree(self._main)
        self._root = root if root is not None else Element("none")
        size = self._root.find(f"{P}sldSz")
        self._slide = Box(0, 0, whole(size, "cx", 9_144_000), whole(size, "cy", 6_858_000))
        self._embedded = frozenset(
            font.get("typeface", "").strip().lower()
            for font in self._root.iterfind(f"{P}embeddedFontLst/{P}embeddedFont/{P}font")
        )
        style = self._root.find(f"{P}defaultTextStyle")
        self._styles = [style] if style is not None else []
        self._table_styles = package.tree(package.related(self._main, "tableStyles"))
        self._tables = self._shapes = self._blocks = self._letters = 0

    def observation(self) -> dict[str, Any]:
        """The visible content of the deck.

        Raises:
            BadContainer: It is not a deck, or is larger than any real deck.
        """
        first, chosen = whole(self._root, "firstSlideNum", 1), self._chosen()
        found = []
        for number, sheet in enumerate(slides(self._package, self._main)):
            if number >= MOST_SLIDES:
                raise container.BadContainer(f"more than {MOST_SLIDES} slides")
            told = self._observed(sheet, first + number)
            told["shown"] = told["shown"] and chosen(number + 1, sheet.name)
            found.append(told)
        return {"slides": found, "links": self._package.external()}

    def _chosen(self) -> Callable[[int, str], bool]:
        """Whether a slide with this number and name is in the show. A deck may show only some of its slides."""
        options = self._package.tree(self._package.related(self._main, "presProps"))
        show = options.find(f"{P}showPr") if options is not None else None
        between = show.find(f"{P}sldRg") if show is not None else None
        own = show.find(f"{P}custShow") if show is not None else None
        if between is not None:
            least, most = whole(between, "st", 1), whole(between, "end", 1)
            return lambda number, _: least <= number <= most
        if own is None:
            return lambda *_: True
        relations, names = self._package.relations(self._main), set()
        for one in self._root.iterfind(f"{P}custShowLst/{P}custShow"):
            if one.get("id") == own.get("id"):
                names |= {relations[entry].target for slide in one.iter(f"{P}sld")
                          if (entry := slide.get(f"{R}id", "")) in relations}  # fmt: skip
        return lambda _, name: name in names

    def _observed(self, sheet: Sheet, number: int) -> dict[str, Any]:
        design = Design(self._package, sheet)
        context = SlideContext(
            self._package, design, self._styles, self._table_styles, self._embedded, number, _moving(sheet.root),
        )  # fmt: skip
        shapes = [shape for part in _painted_parts(design) for shape in shapes_of(part, context)]
        painted = [one for shape in shapes for one in shape.painted()]
        self._shapes += len(painted)
        if self._shapes > MOST_SHAPES:
            raise container.BadContainer(f"more than {MOST_SHAPES} shapes")
        view = SlideView(painted, design.background(), self._slide)
        index = {id(shape): place for place, shape in enumerate(painted)}
        blocks = [block for shape in in_order(shapes) for block in self._told(view, index[id(shape)], shape)]
        pictures = [view.picture(place) for place, shape in enumerate(painted) if shape.picture]
        return {
            "shown": truth(sheet.root, "show", default=True), "blocks": blocks, "notes": self._notes(sheet),
            "images": pictures.count(True), "unclear": pictures.count(None),
        }  # fmt: skip

    def _told(self, view: SlideView, place: int, shape: Shape) -> Iterator[Block]:
        """The paragraphs of a shape."""
        if shape.kind == "table":
            self._tables += 1
        for words in shape.words:
            lines = list(zip(words.paragraphs, view.runs(place, words), strict=True))
            for paragraph, runs in lines:
                told = [{"text": run.text, "hidden": why, "doubt": doubt} for run, (why, doubt) in runs]
                self._count(told)
                yield self._block(shape, words, paragraph.level, paragraph.item, told)
            if not lines and words.row >= 0:
                yield self._block(shape, words, 0, False, [])

    def _block(self, shape: Shape, words: Words, level: int, item: bool, runs: list[dict[str, str]]) -> Block:
        table = self._tables if shape.kind == "table" else 0
        return {"kind": shape.kind, "level": level, "item": item, "table": table,
                "row": words.row, "column": words.column, "runs": runs}  # fmt: skip

    def _count(self, runs: Sequence[dict[str, str]]) -> None:
        self._blocks += 1
        self._letters += sum(len(run["text"]) + len(run["hidden"]) + len(run["doubt"]) for run in runs)
        if self._blocks > MOST_BLOCKS or self._letters > _MOST_LETTERS:
            raise container.BadContainer(f"more than {MOST_BLOCKS} paragraphs or {_MOST_LETTERS} characters")

    def _notes(self, sheet: Sheet) -> list[str]:
        """The paragraphs of a speaker's notes."""
        root = self._package.tree(self._package.related(sheet.name, "notesSlide"))
        found = []
        for shape in root.iterfind(f"{P}cSld/{P}spTree/{P}sp") if root is not None else ():
            place = placeholder(shape)
            hidden = truth(shape.find(f"{P}nvSpPr/{P}cNvPr"), "hidden")
            if place is not None and place.get("type") == "body" and not hidden:
                found += [_text(one) for one in shape.iterfind(f"{P}txBody/{A}p")]
        for text in found:
            self._count([{"text": text, "hidden": "", "doubt": ""}])
        return found


def _text(paragraph: Element) -> str:
    marks = {f"{A}br": "\n"}
    return "".join(one.text or "" if one.tag == f"{A}t" else marks.get(one.tag, "") for one in paragraph.iter())


def _painted_parts(design: Design) -> Iterator[Sheet]:
    """The parts whose shapes a slide shows, in painting order."""
    if design.layout is not None and truth(design.slide.root, "showMasterSp", default=True):
        if design.master is not None and truth(design.layout.root, "showMasterSp", default=True):
            yield design.master
        yield design.layout
    yield design.slide


def _moving(root: Element) -> frozenset[str]:
    """The ids of shapes that an animation removes or moves, or that appear only after a click on a shape."""
    found = set()
    timing = root.find(f"{P}timing")
    pending = [(timing, False)] if timing is not None else []
    while pending:
        element, inside = pending.pop()
        inside = inside or _takes_away(element)
        if inside and element.tag == f"{P}spTgt":
            found.add(element.get("spid", ""))
        pending += [(child, inside) for child in element]
    return frozenset(found)


def _takes_away(effect: Element) -> bool:
    if effect.tag == f"{P}cTn":
        return effect.get("presetClass") in _GONE or effect.get("nodeType") == "interactiveSeq"
    if effect.tag == f"{P}set":
        told = effect.find(f"{P}to/{P}strVal")
        return told is not None and told.get("val") == "hidden"
    return effect.tag == f"{P}animMotion"


def in_order(shapes: Sequence[Shape]) -> Iterator[Shape]:
    """Shapes with text in reading order: by rows from the top, each from the left. A group is read as a whole."""
    rows: list[tuple[Box, list[tuple[float, Shape]]]] = []
    boxes = [(box, shape) for shape in shapes if (box := _box(shape)) is not None]
    for box, shape in sorted(boxes, key=lambda pair: (pair[0].top, pair[0].left)):
        if not rows or not _is_beside(rows[-1][0], box):
            rows.append((box, []))
        rows[-1][1].append((box.left, shape))
    for _, row in rows:
        for _, shape in sorted(row, key=lambda pair: pair[0]):
            yield from in_order(shape.children) if shape.kind == "group" else (shape,)


def _box(shape: Shape) -> Box | None:
    """The likely box of the text of a shape or a group. None: it has no text."""
    boxes = [box for child in shape.children if (box := _box(child)) is not None]
    boxes += [spot.likely for words in shape.words for spot in words.spots]
    return around(boxes) if boxes else None


def _is_beside(row: Box, box: Box) -> bool:
    """Whether a box is in a row: they share more than half of the smaller height."""
    shared = min(row.bottom, box.bottom) - max(row.top, box.top)
    return shared > 0.5 * min(row.bottom - row.top, box.bottom - box.top)
