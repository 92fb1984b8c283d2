"""The parts of a deck or workbook, the links between them, and the formats of its pictures.

External links are not followed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

from verikit.artifacts.readers import container

Element = ElementTree.Element
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_RELATIONSHIPS = "{http://schemas.openxmlformats.org/package/2006/relationships}"
_STRICT = {
    b"http://purl.oclc.org/ooxml/drawingml/": b"http://schemas.openxmlformats.org/drawingml/2006/",
    b"http://purl.oclc.org/ooxml/presentationml/": b"http://schemas.openxmlformats.org/presentationml/2006/",
    b"http://purl.oclc.org/ooxml/spreadsheetml/": b"http://schemas.openxmlformats.org/spreadsheetml/2006/",
    b"http://purl.oclc.org/ooxml/officeDocument/": b"http://schemas.openxmlformats.org/officeDocument/2006/",
}
_ON = ("1", "true", "on")
_MOST_XML = 32 << 20
"""Bytes of all parts that are read."""
_MOST_ELEMENTS = 300_000
"""Maximum elements in the parts of all slides. A layout is counted for each slide that uses it."""
_MOST_RELATIONS = 10_000
_MOST_DETAILS = 100
"""Maximum children of an element that is not a list."""
_DETAILS = ("Pr", "Style", "Ref", "Fill", "Map", "Scheme", "Clr", "StyleLst", "gsLst")
"""Suffixes of the names of such elements, which are read again and again."""


class Relation(NamedTuple):
    """The target of a part's relationship."""

    kind: str
    """Its type without the namespace of Office, such as `slide` or `image`. Types of other namespaces are whole."""
    target: str
    """The name of a part in lower case; empty: it is outside the file."""


@dataclass(frozen=True)
class Picture:
    """A picture of the file, by its first bytes."""

    opaque: bool
    """Whether it surely hides everything under it."""


class Package:
    """The parts of an office file by their case-insensitive names.

    Args:
        parts: Its XML parts by name.
        media: The first bytes of its other parts.
        parse: Makes a tree of a part.
    """

    def __init__(
        self,
        parts: Mapping[str, bytes],
        media: Mapping[str, bytes],
        parse: Callable[[bytes], Element] = ElementTree.fromstring,
    ) -> None:
        self._parse = parse
        self._parts = {name.lower(): content for name, content in parts.items()}
        self._media = {name.lower(): content for name, content in media.items()}
        self._trees: dict[str, Element] = {}
        self._relations: dict[str, dict[str, Relation]] = {}
        self._weights: dict[int, int] = {}
        self._read = self._spent = 0

    def tree(self, name: str) -> Element | None:
        """A part's XML; None if the part doesn't exist.

        Raises:
            BadContainer: It is not XML.
        """
        if name not in self._parts:
            return None
        if name not in self._trees:
            content = self._parts[name]
            self._read += len(content)
            if self._read > _MOST_XML:
                raise container.BadContainer(f"more than {_MOST_XML >> 20} MiB of XML are not read")
            for strict, usual in _STRICT.items():
                content = content.replace(strict, usual)
            try:
                self._trees[name] = self._parse(content)
            except (ElementTree.ParseError, LookupError, ValueError) as problem:
                raise container.BadContainer(f"a part of the file is not XML: {problem}") from None
            self._check(self._trees[name])
        return self._trees[name]

    def content(self, name: str) -> bytes:
        """A part's bytes; empty if the part doesn't exist."""
        return self._parts.get(name, b"")

    def _check(self, tree: Element) -> None:
        """Look for elements that would be work each time they are inherited, and count all of them."""
        count = 0
        for one in tree.iter():
            count += 1
            if len(one) > _MOST_DETAILS and one.tag.endswith(_DETAILS):
                raise container.BadContainer("an element of the file has more details than any program writes")
        self._weights[id(tree)] = count

    def spend(self, tree: Element | None) -> None:
        """Count the elements of a tree that is about to be read for a slide.

        Raises:
            BadContainer: All slides together have more elements than any real deck.
        """
        self._spent += self._weights.get(id(tree), 0)
        if self._spent > _MOST_ELEMENTS:
            raise container.BadContainer(f"the slides have more than {_MOST_ELEMENTS} elements")

    def relations(self, name: str) -> dict[str, Relation]:
        """The parts that a part refers to, by the ids of its relationships."""
        if name not in self._relations:
            folder, _, file = name.rpartition("/")
            tree = self.tree(f"{folder}/_rels/{file}.rels" if folder else f"_rels/{file}.rels")
            found: dict[str, Relation] = {}
            if tree is not None and len(tree) > _MOST_RELATIONS:
                raise container.BadContainer(f"a part of the file has more than {_MOST_RELATIONS} relationships")
            for one in tree if tree is not None else ():
                if one.tag == f"{_RELATIONSHIPS}Relationship":
                    kind = one.get("Type", "").removeprefix(R[1:-1] + "/")
                    if one.get("Id", "") in found:
                        raise container.BadContainer("two relationships of a part have one id")
                    found[one.get("Id", "")] = Relation(kind, _target(one, folder))
            self._relations[name] = found
        return self._relations[name]

    def related(self, name: str, kind: str) -> str:
        """The part of a kind that a part refers to; empty: none."""
        return next((one.target for one in self.relations(name).values() if one.kind == kind), "")

    def picture(self, name: str) -> Picture | None:
        """A picture; None if the part doesn't exist or doesn't start like a picture."""
        start = self._media.get(name, b"")
        if start.startswith(b"\xd7\xcd\xc6\x9a") or (start[:4] == b"\1\0\0\0" and start[40:44] == b" EMF"):
            return Picture(False)
        try:
            kind = container.signed(start, "picture")
        except container.BadContainer:
            return None
        return Picture(kind in ("jpeg", "bmp") or (kind == "png" and _is_opaque(start)))

    def external(self) -> int:
        """How many relationships point outside the file."""
        return sum(content.count(b'TargetMode="External"') for name, content in self._parts.items() if ".rels" in name)


def _target(relationship: Element, folder: str) -> str:
    target = unquote(relationship.get("Target", "")).lower()
    if relationship.get("TargetMode", "Internal").lower() == "external":
        return ""
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def _is_opaque(start: bytes) -> bool:
    """Whether a PNG has no transparent pixel: no alpha channel, and no table of alphas before its pixels."""
    before, _, _ = start.partition(b"IDAT")
    return len(start) > 25 and start[25] in (0, 2, 3) and b"tRNS" not in before and len(before) < len(start)


def whole(element: Element | None, name: str, default: int = 0) -> int:
    """An attribute as an integer of at most twelve digits."""
    text = element.get(name, "") if element is not None else ""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= 12 else default


def truth(element: Element | None, name: str, *, default: bool = False) -> bool:
    """A truth value of an attribute."""
    text = element.get(name) if element is not None else None
    return default if text is None else text.strip().lower() in _ON


def fraction(element: Element | None, name: str, default: float) -> float:
    """An attribute as a fraction, given in thousandths of a percent or with a percent sign."""
    text = element.get(name, "") if element is not None else ""
    share, percent, _ = text.partition("%")
    if percent and share.replace(".", "", 1).isdecimal() and share.isascii() and len(share) < 12:
        return float(share) / 100
    return whole(element, name, round(default * 100_000)) / 100_000
