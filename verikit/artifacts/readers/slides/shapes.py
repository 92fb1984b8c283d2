"""The shapes of a slide in painting order: frames, fills, text, tables, charts, pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from verikit.artifacts.readers import container
from verikit.artifacts.readers.slides.colours import NOTHING, UNKNOWN, Ink, Paint, plain
from verikit.artifacts.readers.slides.frames import Body, Box, Frame, Grid, Spot, frame_of, grid_of, spots
from verikit.artifacts.readers.slides.package import DGM, MC, A, C, Element, P, Package, R, fraction, truth, whole
from verikit.artifacts.readers.slides.sheets import TITLES, Design, Sheet, placeholder
from verikit.artifacts.readers.slides.tables import cells
from verikit.artifacts.readers.slides.text import Chain, Paragraph, body_of, made, paragraphs

MOST_SHAPES = 1000
"""Of a slide."""
_DEEPEST = 40
"""Groups in groups."""
_CHART = "a chart draws it"
_MOST_NAMES = 1000
"""Of a series or of categories."""


@dataclass(frozen=True)
class Words:
    """Paragraphs that belong together, and the fill behind them."""

    paragraphs: Sequence[Paragraph]
    spots: Sequence[Spot]
    fill: Paint = NOTHING
    """Of the frame around them."""
    within: Frame | None = None
    """That frame; None: of the whole shape."""
    row: int = -1
    column: int = -1
    why: str = ""
    doubt: str = ""
    presumed: bool = False
    """Whether it is legible if its colours are unknown."""
    window: Box | None = None
    """Beyond it text is cut off."""


@dataclass(frozen=True)
class Shape:
    """Something on a slide."""

    kind: str
    """`title`, `body`, `text`, `table`, `chart`, `diagram`, `picture` or `group`."""
    frame: Frame
    fill: Paint = NOTHING
    geometry: str = "rect"
    why: str = ""
    """Why it can't be seen."""
    doubt: str = ""
    words: Sequence[Words] = ()
    picture: bool = False
    """Whether it shows a picture of the file."""
    children: Sequence[Shape] = field(default=())

    def painted(self) -> Iterator[Shape]:
        """The shape itself, or the shapes of a group, in painting order."""
        if self.kind != "group":
            yield self
        for child in self.children:
            yield from child.painted()


@dataclass(frozen=True)
class _Place:
    """The position of a shape: its group, and how the group transforms it."""

    grid: tuple[Grid, ...] = ()
    fill: Paint = NOTHING
    why: str = ""
    doubt: str = ""
    depth: int = 0

    def placed(self, frame: Frame) -> Frame:
        for grid in reversed(self.grid):
            frame = grid.placed(frame)
        return frame


@dataclass(frozen=True)
class SlideContext:
    """The data of a deck that the shapes of a slide need."""

    package: Package
    design: Design
    deck_styles: Sequence[Element]
    table_styles: Element | None
    embedded: frozenset[str]
    number: int
    moving: frozenset[str]
    """Ids of shapes that an animation takes away or moves."""


def shapes_of(sheet: Sheet, context: SlideContext) -> list[Shape]:
    """The shapes of a slide, or of a layout or master that the slide shows.

    Raises:
        BadContainer: There are more shapes than any real slide has.
    """
    context.package.spend(sheet.root)
    tree = sheet.tree
    return list(_Painter(sheet, context).shapes(list(tree) if tree is not None else [], _Place()))


class _Painter:
    def __init__(self, sheet: Sheet, context: SlideContext) -> None:
        self._sheet, self._context, self._design = sheet, context, context.design
        self._palette = context.design.palette
        self._count = 0
        self._own = sheet is context.design.slide

    def shapes(self, parent: Sequence[Element], place: _Place) -> Iterator[Shape]:
        """The shapes below an element."""
        place = replace(place, depth=place.depth + 1)
        if place.depth > _DEEPEST:
            raise container.BadContainer(f"a slide has more than {_DEEPEST} groups in groups")
        for element in parent:
            kind = element.tag.removeprefix(P)
            if kind in ("sp", "pic", "graphicFrame", "grpSp", "cxnSp"):
                self._count += 1
                if self._count > MOST_SHAPES:
                    raise container.BadContainer(f"a slide has more than {MOST_SHAPES} shapes")
                yield from self._shape(kind, element, place)
            elif element.tag == f"{MC}AlternateContent":
                yield from self.shapes(_choice(element), replace(place, doubt=_doubt(element, place)))

    def _shape(self, kind: str, element: Element, place: _Place) -> Iterator[Shape]:
        details = next((one for one in element.iterfind("*/" + f"{P}cNvPr")), None)
        if truth(details, "hidden"):
            place = replace(place, why=place.why or "a hidden shape")
        if self._own and details is not None and details.get("id", "") in self._context.moving:
            place = replace(place, doubt=place.doubt or "an animation takes it away")
        if kind == "grpSp":
            yield self._group(element, place)
        elif kind == "graphicFrame":
            yield from self._graphic(element, place)
        elif self._own or placeholder(element) is None:
            yield self._plain(kind, element, place)

    def _group(self, element: Element, place: _Place) -> Shape:
        properties = element.find(f"{P}grpSpPr")
        transform = properties.find(f"{A}xfrm") if properties is not None else None
        fill = self._palette.fill(properties, place.fill)
        inner = replace(place, grid=(*place.grid, grid_of(transform)), fill=place.fill if fill is None else fill)
        if _is_turned(properties):
            inner = replace(inner, doubt=inner.doubt or "turned in space")
        frame = place.placed(frame_of(transform) or Frame(0, 0, 0, 0))
        return Shape("group", frame, children=list(self.shapes(list(element), inner)))

    def _plain(self, kind: str, element: Element, place: _Place) -> Shape:
        properties = element.find(f"{P}spPr")
        told = placeholder(element)
        behind = self._design.behind(told) if told is not None else []
        frame = self._design.frame(properties, behind)
        doubt = (
            place.doubt or ("" if frame else "it has no place") or ("turned in space" if _is_turned(properties) else "")
        )
        frame = place.placed(frame or Frame(0, 0, 0, 0))
        fill = self._fill(element, properties, behind, place)
        picture = self._is_picture(element, properties)
        shape = Shape("text", frame, fill, _geometry(properties), place.why, doubt, picture=picture)
        if kind == "pic":
            return self._picture(element, shape)
        words = self._words(element, told, behind, frame, fill)
        if told is not None and not any(run.text.strip() for one in words.paragraphs for run in one.runs):
            return replace(shape, fill=NOTHING if fill == NOTHING else UNKNOWN)
        return replace(shape, kind=_kind(told), words=[words])

    def _fill(self, element: Element, properties: Element | None, behind: Sequence[Element], place: _Place) -> Paint:
        if element.tag == f"{P}cxnSp":
            return NOTHING
        told = self._palette.fill(properties, place.fill)
        for other in behind if told is None else ():
            told = self._palette.fill(other.find(f"{P}spPr"), place.fill) if told is None else told
        if told is None:
            told = self._palette.styled(element.find(f"{P}style/{A}fillRef"))
        return NOTHING if told is None else told

    def _is_picture(self, element: Element, properties: Element | None) -> bool:
        blips = [element.find(f"{P}blipFill/{A}blip")]
        blips += [properties.find(f"{A}blipFill/{A}blip")] if properties is not None else []
        return any(self._file(blip) is not None for blip in blips)

    def _file(self, blip: Element | None) -> object:
        identity = blip.get(f"{R}embed", "") if blip is not None else ""
        relation = self._context.package.relations(self._sheet.name).get(identity)
        return self._context.package.picture(relation.target) if relation and relation.kind == "image" else None

    def _picture(self, element: Element, shape: Shape) -> Shape:
        blip = element.find(f"{P}blipFill/{A}blip")
        found = self._file(blip)
        alpha = blip.find(f"{A}alphaModFix") if blip is not None else None
        faint = fraction(alpha, "amt", 1.0) if alpha is not None else 1.0
        sure = getattr(found, "opaque", False) and faint >= 1 and (blip is None or len(blip) == 0)
        why = shape.why or ("a transparent picture" if faint < 0.05 else "")
        if sure:
            fill = _SOLID
        else:
            fill = UNKNOWN if found is not None or shape.fill != NOTHING else NOTHING
        return replace(shape, kind="picture", fill=fill, why=why)

    def _chain(self, kind: str, behind: Sequence[Element], element: Element | None, text: Element | None) -> Chain:
        own = [text, *(shape.find(f"{P}txBody") for shape in behind)]
        lists = [one.find(f"{A}lstStyle") for one in own if one is not None]
        bodies = [one.find(f"{A}bodyPr") for one in own if one is not None]
        usual = self._design.text_styles(kind) if kind else []
        return Chain(
            self._palette, [one for one in lists if one is not None],
            element.find(f"{P}style/{A}fontRef") if element is not None else None,
            [*usual, *self._context.deck_styles], [one for one in bodies if one is not None],
            facts={"slidenum": str(self._context.number)}, embedded=self._context.embedded,
        )  # fmt: skip

    def _words(
        self, element: Element, told: Element | None, behind: Sequence[Element], frame: Frame, fill: Paint
    ) -> Words:
        text = element.find(f"{P}txBody")
        chain = self._chain(_kind_of_place(told, behind), behind, element, text)
        body = body_of(chain)
        found = paragraphs(text, chain, body.shrunk)
        doubt = next(filter(None, map(_bent, chain.bodies)), "")
        return Words(
            found, spots(frame, body, [one.measures for one in found]), fill,
            doubt=doubt, window=frame.box() if body.clips else None,
        )  # fmt: skip

    def _graphic(self, element: Element, place: _Place) -> Iterator[Shape]:
        told = placeholder(element)
        if told is not None and not self._own:
            return
        behind = self._design.behind(told) if told is not None else []
        frame = frame_of(element.find(f"{P}xfrm")) or self._design.frame(None, behind)
        shape = Shape("table", place.placed(frame or Frame(0, 0, 0, 0)), UNKNOWN, "", place.why, place.doubt)
        data = element.find(f"{A}graphic/{A}graphicData")
        for one in data if data is not None else ():
            if one.tag == f"{A}tbl":
                yield replace(shape, words=self._table(one, shape.frame))
            elif one.tag == f"{C}chart":
                yield replace(shape, kind="chart", words=self._chart(one.get(f"{R}id", ""), shape.frame))
            elif one.tag == f"{DGM}relIds":
                yield replace(shape, kind="diagram", words=self._diagram(one.get(f"{R}dm", ""), shape.frame))
            else:
                yield replace(shape, kind="other")

    def _table(self, table: Element, frame: Frame) -> list[Words]:
        self._context.package.spend(self._context.table_styles)
        found = []
        for cell in cells(table, frame, self._palette, self._context.table_styles):
            body = made({"anchor": cell.properties.get("anchor", "t")})
            chain = replace(self._chain("", (), None, cell.text), bodies=[body], inks=cell.inks)
            lines = paragraphs(cell.text, chain)
            box = cell.frame.box()
            placed = [Spot(one.likely if box.holds(one.likely) else box, box)
                      for one in spots(cell.frame, Body(), [one.measures for one in lines])]  # fmt: skip
            usual = all(run.inks == cell.inks for one in lines for run in one.runs if run.text.strip())
            found.append(Words(lines, placed, cell.fill, cell.frame, cell.row, cell.column, cell.why,
                               presumed=cell.presumed and usual))  # fmt: skip
        return found

    def _related(self, identity: str) -> Element | None:
        package = self._context.package
        relation = package.relations(self._sheet.name).get(identity)
        root = package.tree(relation.target) if relation and relation.target else None
        package.spend(root)
        return root

    def _chart(self, identity: str, frame: Frame) -> list[Words]:
        """The title of a chart, and the names of its series and categories, whose positions are unknown."""
        root = self._related(identity)
        if root is None:
            return []
        title = root.find(f"{C}chart/{C}title/{C}tx/{C}rich")
        fill = self._palette.fill(root.find(f"{C}spPr")) or NOTHING
        chain = replace(self._chain("", (), None, title), own=[])
        spot = Spot(frame.box(), frame.box())
        found = paragraphs(title, chain)
        words = [Words(found, [spot] * len(found), fill)]
        for kind in ("tx", "cat"):
            for cache in root.iterfind(f"{C}chart/{C}plotArea/*/{C}ser/{C}{kind}//{C}strCache"):
                names = [(point.findtext(f"{C}v") or "") for point in cache.iterfind(f"{C}pt")][:_MOST_NAMES]
                lines = [_line(name, chain) for name in names]
                words.append(Words(lines, [spot] * len(lines), fill, doubt=_CHART))
        return words

    def _diagram(self, identity: str, frame: Frame) -> list[Words]:
        root = self._related(identity)
        spot = Spot(frame.box(), frame.box())
        found = []
        for text in root.iterfind(f".//{DGM}pt/{DGM}t") if root is not None else ():
            lines = paragraphs(text, self._chain("", (), None, text))
            found.append(Words(lines, [spot] * len(lines), doubt="a diagram draws it"))
        return found


def _choice(alternatives: Element) -> Sequence[Element]:
    """The alternative that a current program draws."""
    chosen = alternatives.find(f"{MC}Choice")
    return list(chosen if chosen is not None else alternatives.find(f"{MC}Fallback") or ())


def _doubt(alternatives: Element, place: _Place) -> str:
    """Programs choose among alternatives. If the alternatives differ in their text, the visible text is unknown."""
    texts = {"".join(text.text or "" for text in one.iter(f"{A}t")) for one in alternatives}
    return place.doubt or ("programs draw different things" if len(texts) > 1 else "")


def _bent(body: Element) -> str:
    """Why the position and size of a frame's text are unknown."""
    warp = body.find(f"{A}prstTxWarp")
    if warp is not None and warp.get("prst", "") not in ("", "textNoShape"):
        return "bent by its shape"
    return "turned in space" if _is_turned(body) else ""


def _geometry(properties: Element | None) -> str:
    """The name of a shape's outline, or `custom` for a custom outline."""
    if properties is None:
        return "rect"
    if properties.find(f"{A}custGeom") is not None:
        return "custom"
    preset = properties.find(f"{A}prstGeom")
    return "rect" if preset is None else preset.get("prst", "")


def _is_turned(properties: Element | None) -> bool:
    """Whether a shape is rotated in 3D, which makes the position of its text unknown."""
    turns = properties.iterfind(f"{A}scene3d/{A}camera/{A}rot") if properties is not None else ()
    return any(whole(one, "lat") or whole(one, "lon") for one in turns)


def _kind(place: Element | None) -> str:
    if place is None:
        return "text"
    kind = place.get("type", "")
    return "title" if kind in TITLES else "body"


def _kind_of_place(place: Element | None, behind: Sequence[Element]) -> str:
    """The kind of a placeholder, which may be set only by the placeholder behind it. Empty: it is not a placeholder."""
    if place is None:
        return ""
    places = (placeholder(shape) for shape in behind)
    told = [place.get("type", ""), *(one.get("type", "") for one in places if one is not None)]
    return next(filter(None, told), "body")


def _line(text: str, chain: Chain) -> Paragraph:
    """A paragraph for a string without any formatting."""
    frame, paragraph = Element("frame"), Element(f"{A}p")
    run, letters = Element(f"{A}r"), Element(f"{A}t")
    letters.text = text
    run.append(letters)
    paragraph.append(run)
    frame.append(paragraph)
    return paragraphs(frame, chain)[0]


_SOLID = plain(Ink(0.5, 0.5, 0.5))
"""A picture that hides everything under it, regardless of colour."""
