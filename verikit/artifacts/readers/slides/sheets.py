"""Slides, layouts and masters: which placeholders, colours and styles of text a slide has from those behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verikit.artifacts.readers import container
from verikit.artifacts.readers.slides.colours import UNKNOWN, Paint, Palette, plain
from verikit.artifacts.readers.slides.frames import Frame, frame_of
from verikit.artifacts.readers.slides.package import A, Element, P, Package, whole

TITLES = ("title", "ctrTitle")
_BEHIND = {"ctrTitle": "title", "subTitle": "body", "obj": "body", "": "body", "chart": "body", "tbl": "body",
           "clipArt": "body", "dgm": "body", "media": "body", "pic": "body"}  # fmt: skip
"""Maps the kind of a layout's placeholder to the master's."""
_NAMES = ("bg1", "tx1", "bg2", "tx2", "hlink", "folHlink", *(f"accent{number}" for number in range(1, 7)))
"""Names of the colours that a master renames."""
_DETAILS = ("sldNum", "dt", "ftr", "hdr")


@dataclass(frozen=True)
class Sheet:
    """A part with shapes: a slide, a layout or a master."""

    name: str
    root: Element

    @property
    def tree(self) -> Element | None:
        """The shapes."""
        return self.root.find(f"{P}cSld/{P}spTree")

    def placeholders(self) -> Iterator[tuple[Element, Element]]:
        """Each shape that is a placeholder, and which one."""
        for shape in self.tree if self.tree is not None else ():
            place = placeholder(shape)
            if place is not None:
                yield place, shape


def placeholder(shape: Element) -> Element | None:
    """A shape's placeholder, or None."""
    return next((one for details in list(shape)[:1] for one in details.iterfind(f"{P}nvPr/{P}ph")), None)


class Design:
    """The properties of a slide that come from its layout and its master."""

    def __init__(self, package: Package, slide: Sheet) -> None:
        self.slide = slide
        self.layout = _sheet(package, package.related(slide.name, "slideLayout"))
        self.master = _sheet(package, package.related(self.layout.name, "slideMaster") if self.layout else "")
        theme = package.tree(package.related(self.master.name, "theme")) if self.master else None
        self.palette = Palette(theme, self._mapping())
        self._places = {sheet.name: list(sheet.placeholders()) for sheet in (self.layout, self.master) if sheet}
        self._behind: dict[tuple[str, str], list[Element]] = {}

    def _mapping(self) -> dict[str, str]:
        found: dict[str, str] = {}
        told = [self.master.root.find(f"{P}clrMap") if self.master else None]
        told.append(self.slide.root.find(f"{P}clrMapOvr/{A}overrideClrMapping"))
        for mapping in told:
            found |= {name: mapping.attrib[name] for name in _NAMES if mapping is not None and name in mapping.attrib}
        return found

    def background(self) -> Paint:
        """The background of the slide: its own, its layout's or its master's."""
        for sheet in (self.slide, self.layout, self.master):
            ground = sheet.root.find(f"{P}cSld/{P}bg") if sheet else None
            if ground is not None:
                told = self.palette.fill(ground.find(f"{P}bgPr"))
                told = self.palette.styled(ground.find(f"{P}bgRef")) if told is None else told
                return told.over(plain(self.palette.named("bg1"))) if told is not None else UNKNOWN
        return plain(self.palette.named("bg1"))

    def behind(self, place: Element) -> list[Element]:
        """The shapes of the layout and the master that a placeholder inherits from, the nearest first."""
        key = place.get("type", ""), place.get("idx", "")
        if key not in self._behind:
            self._behind[key] = list(self._shapes_behind(place))
        return self._behind[key]

    def _shapes_behind(self, place: Element) -> Iterator[Element]:
        kind = place.get("type", "")
        if self.layout:
            offered = self._places[self.layout.name]
            match = next((one for one in offered if _matches(one[0], place)), None)
            match = match or next((one for one in offered if one[0].get("type", "") == kind and kind), None)
            if match:
                yield match[1]
                kind = match[0].get("type", "")
        kind = _BEHIND.get(kind, kind)
        for other, shape in self._places[self.master.name] if self.master else ():
            if other.get("type", "") == kind:
                yield shape
                return

    def frame(self, properties: Element | None, behind: Sequence[Element]) -> Frame | None:
        """The frame of a shape or of the placeholders behind it; None if there isn't one."""
        own = frame_of(properties.find(f"{A}xfrm") if properties is not None else None)
        found = (frame_of(shape.find(f"{P}spPr/{A}xfrm")) for shape in behind)
        return own or next((frame for frame in found if frame is not None), None)

    def text_styles(self, kind: str) -> list[Element]:
        """The master's styles of text for a kind of placeholder."""
        name = "titleStyle" if kind in TITLES else "bodyStyle"
        name = "otherStyle" if kind in _DETAILS else name
        style = self.master.root.find(f"{P}txStyles/{P}{name}") if self.master else None
        return [style] if style is not None else []


def _matches(one: Element, other: Element) -> bool:
    """Whether two placeholders have the same number. Titles match without a number."""
    titles = one.get("type") in TITLES, other.get("type") in TITLES
    return titles == (True, True) or (titles == (False, False) and whole(one, "idx") == whole(other, "idx"))


def _sheet(package: Package, name: str) -> Sheet | None:
    root = package.tree(name) if name else None
    return Sheet(name, root) if root is not None else None


def slides(package: Package, main: str) -> Iterator[Sheet]:
    """The slides of a deck in their order.

    Raises:
        BadContainer: One is missing, or is outside the file.
    """
    root = package.tree(main)
    if root is None or root.tag != f"{P}presentation":
        raise container.BadContainer("the file has no presentation")
    relations = package.relations(main)
    seen = set[str]()
    for number, one in enumerate(root.iterfind(f"{P}sldIdLst/{P}sldId"), 1):
        identity = next((value for name, value in one.attrib.items() if name.endswith("}id")), "")
        target = relations[identity].target if identity in relations else ""
        sheet = _sheet(package, target)
        if sheet is None or sheet.root.tag != f"{P}sld" or target in seen:
            raise container.BadContainer(f"slide {number} has no separate part in the file")
        seen.add(target)
        yield sheet
