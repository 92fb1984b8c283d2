"""The text of a frame: paragraphs and runs with the size, colour and bullet that they inherit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from verikit.artifacts.readers.slides.colours import NOTHING, Paint, Palette, plain
from verikit.artifacts.readers.slides.frames import Body, Measures
from verikit.artifacts.readers.slides.package import A, Element, fraction, whole

_USUAL_SIZE = 18.0
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_SYMBOLS = ("wingdings", "webdings", "symbol", "marlett", "zapf dingbats", "zapfdingbats", "bookshelf symbol")
"""Fonts that show no letters."""
_BODY = ("lIns", "tIns", "rIns", "bIns", "anchor", "wrap", "vert", "rot", "numCol", "vertOverflow")
_BULLETS = {f"{A}buNone", f"{A}buChar", f"{A}buAutoNum", f"{A}buBlip"}


class SlideRun(NamedTuple):
    """Characters of one look."""

    text: str
    inks: Paint
    outline: Paint
    highlight: Paint
    size: float = _USUAL_SIZE
    """Points."""
    why: str = ""
    """Why it can't be seen, regardless of its position."""
    doubt: str = ""


@dataclass(frozen=True)
class Paragraph:
    """Runs, and how much room they need."""

    runs: Sequence[SlideRun]
    measures: Measures
    level: int = 0
    item: bool = False
    """Whether a bullet or a number precedes it."""


@dataclass(frozen=True)
class Chain:
    """Whence the text of a frame inherits, the nearest first."""

    palette: Palette
    own: Sequence[Element] = ()
    """Styles of lists of its shape and of the placeholders behind it."""
    font: Element | None = None
    """The shape's reference to a font of the theme, which sets a colour."""
    usual: Sequence[Element] = ()
    """Styles of lists of its master and its deck."""
    bodies: Sequence[Element] = ()
    """Properties of its frame and of the frames of the placeholders behind it."""
    inks: Paint | None = None
    """The colour of text that doesn't set one."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Strings that fields show."""
    embedded: frozenset[str] = frozenset()
    """Fonts that the file brings along."""


def body_of(chain: Chain) -> Body:
    """How a frame lays out its text."""
    told: dict[str, str] = {}
    for properties in chain.bodies:
        for name in _BODY:
            if name in properties.attrib:
                told.setdefault(name, properties.attrib[name])
    flat = made(told)
    shrunk = next((one for body in chain.bodies if (one := _fit(body)) is not None), None)
    free = told.get("vert", "horz") != "horz" or whole(flat, "rot") != 0 or whole(flat, "numCol", 1) > 1
    return Body(
        whole(flat, "lIns", 91_440), whole(flat, "tIns", 45_720), whole(flat, "rIns", 91_440),
        whole(flat, "bIns", 45_720), told.get("anchor", "t"), told.get("wrap") != "none",
        fraction(shrunk, "fontScale", 1.0), free, told.get("vertOverflow", "overflow") != "overflow",
    )  # fmt: skip


def made(attributes: Mapping[str, str]) -> Element:
    """An element with these attributes."""
    return Element("told", dict(attributes))


def _fit(properties: Element) -> Element | None:
    for one in properties:
        if one.tag in (f"{A}normAutofit", f"{A}noAutofit", f"{A}spAutoFit"):
            return one
    return None


def paragraphs(text: Element | None, chain: Chain, shrunk: float = 1.0) -> list[Paragraph]:
    """The paragraphs of a frame's text."""
    return [_paragraph(one, chain, shrunk) for one in (text.iterfind(f"{A}p") if text is not None else ())]


def _paragraph(paragraph: Element, chain: Chain, shrunk: float) -> Paragraph:
    properties = paragraph.find(f"{A}pPr")
    level = min(max(whole(properties, "lvl"), 0), 8)
    tag = f"{A}lvl{level + 1}pPr"
    own = list(_found(chain.own, tag))
    usual = list(_found(chain.usual, tag))
    sources = [*([properties] if properties is not None else []), *own, *usual]
    look = _Look(chain, [*_found(own, f"{A}defRPr")], [*_found(usual, f"{A}defRPr")], shrunk)
    runs = [run for element in paragraph for run in look.runs(element)]
    size = max(look.sizes, default=look.size(paragraph.find(f"{A}endParaRPr")))
    height, exact = _spacing(sources, "lnSpc")
    measures = Measures(
        "".join(run.text for run in runs), size, look.spacing, height or 1.0, exact,
        sum(_room(sources, "spcBef", size)), sum(_room(sources, "spcAft", size)),
        _indent(sources), _with(sources, "algn").get("algn", "l"),
    )  # fmt: skip
    return Paragraph(runs, measures, level, _is_item(sources) and any(run.text.strip() for run in runs))


def _indent(sources: Sequence[Element]) -> int:
    """How far the first line begins from the left, in EMU."""
    return max(sum(whole(_with(sources, name), name) for name in ("marL", "indent")), 0)


def _found(parents: Iterable[Element], path: str) -> Iterator[Element]:
    for parent in parents:
        one = parent.find(path)
        if one is not None:
            yield one


def _with(sources: Sequence[Element], attribute: str) -> Element:
    """The nearest element that has an attribute, or an empty element."""
    return next((one for one in sources if attribute in one.attrib), made({}))


def _is_item(sources: Sequence[Element]) -> bool:
    for source in sources:
        for one in source:
            if one.tag in _BULLETS:
                return one.tag != f"{A}buNone" and one.get("char", "•").strip() != ""
    return False


def _spacing(sources: Sequence[Element], name: str) -> tuple[float, float]:
    """A distance as a fraction of lines and in points. One of the two is 0."""
    one = next(_found(sources, f"{A}{name}"), None)
    if one is None:
        return 0.0, 0.0
    return fraction(one.find(f"{A}spcPct"), "val", 0.0), whole(one.find(f"{A}spcPts"), "val") / 100


def _room(sources: Sequence[Element], name: str, size: float) -> tuple[float, float]:
    share, points = _spacing(sources, name)
    return share * size, points


class _Look:
    """The effective formatting of the runs of a paragraph."""

    def __init__(self, chain: Chain, own: Sequence[Element], usual: Sequence[Element], shrunk: float) -> None:
        self._chain, self._own, self._usual, self._shrunk = chain, own, usual, shrunk
        self.sizes: list[float] = []
        self.spacing = 0.0
        """The widest between letters, in points."""

    def runs(self, element: Element) -> Iterator[SlideRun]:
        """The run of an element of a paragraph."""
        kind = element.tag.removeprefix(A)
        if kind == "br":
            yield SlideRun("\n", NOTHING, NOTHING, NOTHING)
        elif kind in ("r", "fld"):
            text, doubt = self._field(element) if kind == "fld" else (_text(element), "")
            if text:
                yield self._run(text, element.find(f"{A}rPr"), doubt)
        elif kind not in ("pPr", "endParaRPr"):
            text = "".join(one.text or "" for one in element.iter() if one.tag in (_MATH, f"{A}t"))
            if text:
                yield self._run(text, None, "only newer programs draw it")

    def _field(self, element: Element) -> tuple[str, str]:
        """The text that a field shows. Its stored text is outdated or arbitrary."""
        kind = element.get("type", "")
        if kind.startswith("datetime"):
            return _text(element), "a field of today's date"
        return self._chain.facts.get(kind, _text(element)), ""

    def size(self, own: Element | None) -> float:
        """The size of characters in points."""
        sources = [*([own] if own is not None else []), *self._own, *self._usual]
        told = whole(_with(sources, "sz"), "sz") / 100
        return (told if told > 0 else _USUAL_SIZE) * self._shrunk

    def _run(self, text: str, own: Element | None, doubt: str) -> SlideRun:
        sources = [*([own] if own is not None else []), *self._own, *self._usual]
        size = self.size(own)
        self.sizes.append(size)
        self.spacing = max(self.spacing, whole(_with(sources, "spc"), "spc") / 100, key=abs)
        palette = self._chain.palette
        inks = self._inks(own)
        if own is not None and own.find(f"{A}hlinkClick") is not None:
            inks = inks.beside(plain(palette.named("hlink")))
        outline = next((palette.fill(line) for line in _found(sources, f"{A}ln")), None) or NOTHING
        highlight = own.find(f"{A}highlight") if own is not None else None
        why = ""
        typeface = self._typeface(sources)
        if typeface.startswith(_SYMBOLS):
            why = "a font of symbols"
        elif typeface in self._chain.embedded:
            doubt = doubt or "a font that the file brings along"
        if abs(fraction(_with(sources, "baseline"), "baseline", 0.0)) > 1:
            doubt = doubt or "raised or lowered by more than a line"
        ground = NOTHING if highlight is None else plain(palette.colour(highlight))
        return SlideRun(text, inks, outline, ground, size, why, doubt)

    def _inks(self, own: Element | None) -> Paint:
        chain = self._chain
        for source in ([own] if own is not None else []) + list(self._own):
            if (told := chain.palette.fill(source)) is not None:
                return told
        if chain.font is not None and len(chain.font):
            return plain(chain.palette.colour(chain.font))
        if chain.inks is not None:
            return chain.inks
        for source in self._usual:
            if (told := chain.palette.fill(source)) is not None:
                return told
        return plain(chain.palette.named("tx1"))

    def _typeface(self, sources: Sequence[Element]) -> str:
        latin = next(_found(sources, f"{A}latin"), None)
        told = latin.get("typeface", "") if latin is not None else ""
        return self._chain.palette.fonts.get(told, told).strip().lower()


def _text(element: Element) -> str:
    return "".join(one.text or "" for one in element.iterfind(f"{A}t"))
