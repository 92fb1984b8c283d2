"""Reads a docx document in the sandbox: paragraphs, the effective style of each run, why it is out of sight."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from verikit.artifacts.readers import container

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_V = "{urn:schemas-microsoft-com:vml}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_OFF = ("0", "false", "off")
_TOGGLES = {
    "vanish": "vanish",
    "webHidden": "vanish",
    "b": "bold",
    "i": "italic",
    "strike": "strike",
    "dstrike": "strike",
}
_SKIPPED = {"del", "moveFrom", "instrText", "delText", "delInstrText", "commentReference", "rPr", "pPr", "sectPr"}
_AROUND_RUNS = {"ins", "moveTo", "hyperlink", "sdt", "sdtContent", "smartTag", "fldSimple", "customXml", "dir", "bdo"}
_OUTSIDE = 20_000_000
"""EMU from the page's corner (55 cm). A box this far away is off the page."""
_FURTHEST_BEFORE, _FURTHEST_AFTER = -394.0, 4000.0
"""Points from the page's corner. A drawn box beyond is off the page, even if the page is of the format A0."""
_LONG_STYLE = 2000
_UNITS = {"pt": 1.0, "in": 72.0, "cm": 28.35, "mm": 2.835, "px": 0.75, "pc": 12.0}
_THIN = 3.0
"""Points. Characters or fixed lines below this are not visible."""
MOST_BLOCKS = 100_000
_UNKNOWN = "unknown"
"""The ground of cells that a table's style paints."""

Run = dict[str, Any]


@dataclass
class _Style:
    name: str = ""
    based_on: str = ""
    run: dict[str, Any] = field(default_factory=dict)
    paragraph: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Place:
    """The position of a run."""

    table: int = -1
    row: int = -1
    column: int = -1
    ground: str = ""
    hidden: str = ""


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """The observation of one document."""
    try:
        parts = container.parts(blobs[0], "docx")
        trees = {name: _tree(parts[name]) for name in ("word/document.xml", "word/styles.xml") if name in parts}
    except container.BadContainer as problem:
        return {"refused": str(problem)}
    document = _Document(trees.get("word/styles.xml"))
    body = trees["word/document.xml"].find(f"{_W}body")
    if body is None:
        return {"refused": "the document has no body"}
    document.page = _page(trees["word/document.xml"])
    document.take(body, _Place())
    tags = [element.tag for element in body.iter()]
    links = [part for name, part in parts.items() if name.endswith(".rels") and b'TargetMode="External"' in part]
    return {
        "blocks": document.blocks, "images": tags.count(f"{_A}blip"), "links": len(links),
        "inserted": tags.count(f"{_W}ins"), "deleted": tags.count(f"{_W}del"),
    }  # fmt: skip


def _tree(content: bytes) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(content.replace(_STRICT[1:-1].encode(), _W[1:-1].encode()))
    except (ElementTree.ParseError, LookupError, ValueError) as problem:
        raise container.BadContainer(f"a part of the file is not XML: {problem}") from None


def _page(root: ElementTree.Element) -> str:
    ground = root.find(f"{_W}background")
    return _colour(ground.get(f"{_W}color")) if ground is not None else ""


def _value(element: ElementTree.Element | None, default: str = "") -> str:
    return default if element is None else element.get(f"{_W}val", default)


def _colour(text: str | None) -> str:
    """Six hexadecimal digits; empty for `auto` and none."""
    digits = (text or "").upper()
    return digits if len(digits) == 6 and set(digits) <= set("0123456789ABCDEF") else ""


_HIGHLIGHTS = {"black": "000000", "white": "FFFFFF", "darkBlue": "000080", "blue": "0000FF", "red": "FF0000",
               "yellow": "FFFF00", "green": "00FF00", "cyan": "00FFFF", "magenta": "FF00FF", "darkRed": "800000",
               "darkGray": "808080", "lightGray": "C0C0C0", "darkGreen": "008000", "darkCyan": "008080",
               "darkMagenta": "800080", "darkYellow": "808000"}  # fmt: skip


def _run_properties(properties: ElementTree.Element | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for element in properties if properties is not None else ():
        name = element.tag.removeprefix(_W)
        if name in _TOGGLES:
            found[_TOGGLES[name]] = _value(element, "1").lower() not in _OFF
        elif name == "u":
            found["underline"] = _value(element, "single") != "none"
        elif name == "sz" and _value(element).isdecimal():
            found["size"] = min(int(_value(element)[:6]), 10_000) / 2
        elif name == "color":
            found["colour"] = _colour(_value(element))
        elif name == "rFonts" and any(element.get(f"{_W}{script}") for script in ("ascii", "hAnsi", "asciiTheme")):
            named = element.get(f"{_W}ascii", element.get(f"{_W}hAnsi", ""))
            found["font"] = "" if element.get(f"{_W}asciiTheme") else named[:100]  # a theme's font replaces a named one
        elif name == "shd":
            found["ground"] = _colour(element.get(f"{_W}fill"))
        elif name == "highlight":
            found["ground"] = _HIGHLIGHTS.get(_value(element), "")
        elif name == "rStyle":
            found["style"] = _value(element)
    return found


def _paragraph_properties(properties: ElementTree.Element | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for element in properties if properties is not None else ():
        name = element.tag.removeprefix(_W)
        if name == "outlineLvl" and _value(element).isdecimal():
            found["level"] = min(int(_value(element)[:2]), 9) + 1
        elif name == "numPr":
            found["list"] = _value(element.find(f"{_W}numId"), "1") != "0"
        elif name == "jc":
            found["align"] = {"start": "left", "end": "right"}.get(_value(element), _value(element))[:20]
        elif name == "spacing":
            found |= _spacing(element)
        elif name == "shd":
            found["ground"] = _colour(element.get(f"{_W}fill"))
    return found


def _spacing(element: ElementTree.Element) -> dict[str, Any]:
    """The distance of lines and its rule. Each is inherited without the other."""
    line, rule = element.get(f"{_W}line", ""), element.get(f"{_W}lineRule", "")
    found: dict[str, Any] = {"rule": rule} if rule else {}
    if line.removeprefix("-").isdecimal() and len(line) <= 6:
        found["line"] = int(line)
    return found


def _distance(own: dict[str, Any]) -> str:
    """The distance of a paragraph's lines: a multiple of a line, or points. A rule alone changes nothing."""
    line, rule = own.get("line", 240), own.get("rule", "auto") if "line" in own else "auto"
    return f"{line / 240:.4g}" if rule == "auto" else f"{line / 20:g} pt, {rule}"[:40]


class _Document:
    def __init__(self, styles: ElementTree.Element | None) -> None:
        self.blocks: list[dict[str, Any]] = []
        self.page = ""
        self._styles: dict[str, _Style] = {}
        self._defaults: dict[str, Any] = {}
        self._paragraph_defaults: dict[str, Any] = {}
        self._standard = ""
        self._tables = 0
        self._painting: set[str] = set()
        """Styles with a dark background in any part."""
        if styles is not None:
            self._read_styles(styles)

    def _read_styles(self, styles: ElementTree.Element) -> None:
        self._defaults = _run_properties(styles.find(f"{_W}docDefaults/{_W}rPrDefault/{_W}rPr"))
        usual = styles.find(f"{_W}docDefaults/{_W}pPrDefault/{_W}pPr")
        self._paragraph_defaults = _paragraph_properties(usual)
        for style in styles.findall(f"{_W}style"):
            name = style.get(f"{_W}styleId", "")
            if any(_is_dark(_colour(shade.get(f"{_W}fill"))) for shade in style.iter(f"{_W}shd")):
                self._painting.add(name)
            self._styles[name] = _Style(
                _value(style.find(f"{_W}name"))[:200], _value(style.find(f"{_W}basedOn")),
                _run_properties(style.find(f"{_W}rPr")), _paragraph_properties(style.find(f"{_W}pPr")),
            )  # fmt: skip
            if style.get(f"{_W}type") == "paragraph" and style.get(f"{_W}default") in ("1", "true"):
                self._standard = name

    def _paints(self, style: str) -> bool:
        """Whether a table's style may give its cells a dark background."""
        for _ in range(50):
            if style in self._painting:
                return True
            style = self._styles[style].based_on if style in self._styles else ""
        return False

    def _inherited(self, name: str, kind: str) -> dict[str, Any]:
        """The properties of a style and of its base styles."""
        chain: list[_Style] = []
        seen = set[str]()
        while name in self._styles and name not in seen and len(seen) < 50:
            seen.add(name)
            chain.append(self._styles[name])
            name = chain[-1].based_on
        found: dict[str, Any] = {}
        for style in reversed(chain):
            found |= getattr(style, kind)
        return found

    def take(self, parent: ElementTree.Element, place: _Place) -> None:
        """The paragraphs and tables below an element, in order."""
        for element in parent:
            if len(self.blocks) > MOST_BLOCKS:
                return
            name = element.tag.removeprefix(_W)
            if name == "p":
                self._paragraph(element, place)
            elif name == "tbl":
                self._table(element, place)
            elif name in ("sdt", "sdtContent", "ins", "moveTo", "smartTag", "customXml"):
                self.take(element, place)

    def _table(self, table: ElementTree.Element, place: _Place) -> None:
        number = self._tables
        self._tables += 1
        style = _value(table.find(f"{_W}tblPr/{_W}tblStyle"))
        usual = _UNKNOWN if self._paints(style) else place.ground
        for row, cells in enumerate(table.findall(f"{_W}tr")):
            for column, cell in enumerate(cells.findall(f"{_W}tc")):
                shade = cell.find(f"{_W}tcPr/{_W}shd")
                ground = _colour(shade.get(f"{_W}fill")) if shade is not None else ""
                hidden = "hidden row" if cells.find(f"{_W}trPr/{_W}hidden") is not None else place.hidden
                self.take(cell, _Place(number, row, column, ground or usual, hidden))

    def _paragraph(self, paragraph: ElementTree.Element, place: _Place) -> None:
        properties = paragraph.find(f"{_W}pPr")
        style = _value(properties.find(f"{_W}pStyle") if properties is not None else None, self._standard)
        own = self._paragraph_defaults | self._inherited(style, "paragraph") | _paragraph_properties(properties)
        name = self._styles[style].name if style in self._styles else style
        words = name.lower().split()
        if words[:1] == ["heading"] and len(words) == 2 and words[1].isdecimal():
            own.setdefault("level", min(int(words[1][:2]), 10))
        ground = own.get("ground") or place.ground or self.page
        base = {"ground": ground, "colour": "", "size": 10.0} | self._defaults | self._inherited(style, "run")
        runs: list[Run] = []
        boxes: list[tuple[ElementTree.Element, str]] = []
        self._runs(paragraph, base, place.hidden or _squeezed(own), runs, boxes)
        self.blocks.append({
            "style": name, "level": own.get("level", 0) % 10, "list": bool(own.get("list")),
            "align": own.get("align", ""), "spacing": _distance(own),
            "table": place.table, "row": place.row, "column": place.column, "runs": runs,
        })  # fmt: skip
        for box, hidden in boxes:
            self.take(box, _Place(hidden=hidden))

    def _runs(
        self, parent: ElementTree.Element, base: dict[str, Any], hidden: str, runs: list[Run],
        boxes: list[tuple[ElementTree.Element, str]],
    ) -> None:  # fmt: skip
        for element in parent:
            name = element.tag.removeprefix(_W)
            if name in _SKIPPED:
                continue
            if name == "r":
                direct = _run_properties(element.find(f"{_W}rPr"))
                whole = base | self._inherited(direct.get("style", ""), "run") | direct
                if text := _text_of(element):
                    runs.append(_described(text, whole, hidden))
                _boxes(element, boxes)
            elif name in _AROUND_RUNS:
                self._runs(element, base, hidden, runs, boxes)


def _squeezed(own: dict[str, Any]) -> str:
    """Why a low line height hides a paragraph; empty if it doesn't. A height of 0 has no effect."""
    line, rule = own.get("line", 240), own.get("rule", "auto")
    low = {"exact": _THIN * 20, "auto": 60}.get(rule)
    return f"lines of {_distance(own)}" if low is not None and line and line < low else ""


def _text_of(run: ElementTree.Element) -> str:
    marks = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
    found = []
    for element in run:
        name = element.tag.removeprefix(_W)
        found.append((element.text or "") if name == "t" else marks.get(name, ""))
    return "".join(found)


def _boxes(run: ElementTree.Element, boxes: list[tuple[ElementTree.Element, str]]) -> None:
    """The text boxes of a run, each once. The fallbacks for old programs are skipped."""
    pending = deque((child, "", False) for child in run)
    while pending:
        element, hidden, grouped = pending.popleft()
        if element.tag == f"{_MC}Fallback":
            continue
        if element.tag == f"{_W}txbxContent":
            boxes.append((element, hidden))
            continue
        if element.tag == f"{_WP}anchor":
            hidden = hidden or _away(element)
        elif element.tag.startswith(_V):
            hidden = hidden or _drawn_away(element.get("style", ""), grouped=grouped)
        inside = grouped | (element.tag == f"{_V}group")
        pending.extend((child, hidden, inside) for child in element)


def _away(anchor: ElementTree.Element) -> str:
    told = anchor.find(f"{_WP}docPr")
    if told is not None and told.get("hidden", "0").lower() not in _OFF:
        return "a hidden box"
    for offset in anchor.iter(f"{_WP}posOffset"):
        text = (offset.text or "0").strip()
        if text.lstrip("-").isdecimal() and len(text) < 15 and not -5_000_000 < int(text) < _OUTSIDE:
            return "a box off the page"
    return ""


def _drawn_away(style: str, *, grouped: bool) -> str:
    """Why a shape of older programs can't be seen, by its place in a list of CSS declarations.

    In a group, lengths have the group's own unit, and are not read.
    """
    if len(style) > _LONG_STYLE:
        return "a box whose style is too long"
    parts = (part.lower().partition(":") for part in style.split(";"))
    told = {name.strip(): "".join(value.split()).removesuffix("!important") for name, _, value in parts}
    if told.get("visibility") == "hidden" or told.get("display") == "none":
        return "a hidden box"
    if grouped:
        return ""
    width, height = _points(told.get("width", "")), _points(told.get("height", ""))
    if width == 0 or height == 0:
        return "a box without a size"
    if told.get("position") not in ("absolute", "relative"):
        return ""
    return "a box off the page" if _beyond(told, "left", width) or _beyond(told, "top", height) else ""


def _beyond(told: dict[str, str], side: str, size: float | None) -> bool:
    lengths = (_points(told.get(name, "")) for name in (side, f"margin-{side}"))
    first = _FURTHEST_BEFORE - (size or 0)
    return any(points is not None and not first < points < _FURTHEST_AFTER for points in lengths)


def _points(length: str) -> float | None:
    """A length of CSS in points. Without a unit it is in pixels."""
    unit = next((unit for unit in _UNITS if length.endswith(unit)), "")
    number = length.removesuffix(unit).removeprefix("+")
    if not number.removeprefix("-").replace(".", "", 1).isdecimal() or len(number) >= 15:
        return None
    return float(number) * _UNITS.get(unit, _UNITS["px"])


def _described(text: str, properties: dict[str, Any], hidden: str) -> Run:
    return {
        "text": text, "hidden": hidden or _unseen(properties), "bold": bool(properties.get("bold")),
        "italic": bool(properties.get("italic")), "underline": bool(properties.get("underline")),
        "strike": bool(properties.get("strike")), "size": float(properties.get("size") or 10.0),
        "font": properties.get("font", ""), "colour": properties.get("colour", ""),
    }  # fmt: skip


def _unseen(properties: dict[str, Any]) -> str:
    """Why a run can't be seen; empty if it can be."""
    if properties.get("vanish"):
        return "hidden text"
    if properties.get("size", 10.0) < _THIN:
        return f"{properties['size']:g} points"
    ground = properties.get("ground") or "FFFFFF"
    if ground == _UNKNOWN:
        return ""
    ink = properties.get("colour") or ("FFFFFF" if _is_dark(ground) else "000000")
    far = max(abs(one - other) for one, other in zip(_rgb(ink), _rgb(ground), strict=True))
    return "the colour of its ground" if far < 40 else ""


def _is_dark(digits: str) -> bool:
    return bool(digits) and sum(_rgb(digits)) < 500


def _rgb(digits: str) -> tuple[int, int, int]:
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
