"""Parts of a workbook that programs read differently: alternatives for other programs, and repeated elements.

One program takes the first of two elements, another the last. What is said twice is therefore not read at all.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Collection
from itertools import chain
from xml.etree import ElementTree

from verikit.artifacts.readers import container
from verikit.artifacts.readers.slides.package import MC, A, C, Element, R

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_ALTERNATIVES, _CHOICE, _FALLBACK = (f"{MC}{name}" for name in ("AlternateContent", "Choice", "Fallback"))
_MOST_DEEP = 10
"""Alternatives in alternatives."""
_DRAWING_2010 = "http://schemas.microsoft.com/office/drawing/2010/main"
"""An extension that Excel has read since charts look as they do today."""
_READ = (A, C, S, XDR)
_UNREAD = {f"{C}style", *(f"{XDR}{name}" for name in ("sp", "pic", "cxnSp"))}
"""Elements of these namespaces that say nothing about charts or pivot tables."""
_STRICT = "{http://purl.oclc.org/"


class Ambiguous(Exception):
    """Programs read an element differently."""


def only(element: Element | None, *path: str | Collection[str]) -> Element | None:
    """The element at a path of tags. A step of several tags is any of them.

    Raises:
        Ambiguous: An element on the path is repeated.
    """
    for step in path:
        if element is None:
            return None
        tags = (step,) if isinstance(step, str) else step
        found = [*chain.from_iterable(map(element.findall, tags))]
        if len(found) > 1:
            raise Ambiguous("it repeats an element")
        element = found[0] if found else None
    return element


def check_alike(element: Element) -> None:
    """Look for alternatives that differ.

    Raises:
        Ambiguous: There are some.
    """
    if next(element.iter(_ALTERNATIVES), None) is not None:
        raise Ambiguous("it differs between programs")


def tree_of(content: bytes) -> Element:
    """The XML of a part. Alternatives for other programs become what all show, and remain if they differ.

    Raises:
        ParseError: It is not XML.
        BadContainer: It has alternatives in alternatives without end, or elements that only some programs know.
    """
    tree = ElementTree.fromstring(content)
    if any(one.tag.startswith(_STRICT) or f"{MC}ProcessContent" in one.attrib for one in tree.iter()):
        raise container.BadContainer("a part of the file has elements that programs read differently")
    return tree if next(tree.iter(_ALTERNATIVES), None) is None else _Resolver(content).tree()


class _Resolver:
    """Resolves the alternatives of a part while it is parsed, since only the parser knows the namespaces of prefixes.

    Args:
        content: The part.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._declared: list[str] = []
        self._bound: dict[str, list[str]] = defaultdict(list)
        self._everywhere: set[Element] = set()
        self._deep = 0

    def tree(self) -> Element:
        events = ElementTree.iterparse(io.BytesIO(self._content), ("start-ns", "end-ns", "start", "end"))
        for event, one in events:
            if event == "start-ns":
                self._declare(*one)
            elif event == "end-ns":
                self._bound[self._declared.pop()].pop()
            elif event == "start":
                self._start(one)
            else:
                self._end(one)
        root: Element = events.root  # type: ignore[attr-defined]
        return root

    def _declare(self, prefix: str, namespace: str) -> None:
        self._declared.append(prefix)
        self._bound[prefix].append(namespace)

    def _start(self, one: Element) -> None:
        if one.tag == _ALTERNATIVES:
            self._deep += 1
            if self._deep > _MOST_DEEP:
                raise container.BadContainer("the file has alternatives in alternatives without end")
        elif one.tag == _CHOICE and self._bound[one.get("Requires") or " "][-1:] == [_DRAWING_2010]:
            self._everywhere.add(one)

    def _end(self, one: Element) -> None:
        self._deep -= one.tag == _ALTERNATIVES
        if one.find(_ALTERNATIVES) is not None:
            one[:] = [*chain.from_iterable(map(self._shown, one))]

    def _shown(self, child: Element) -> list[Element]:
        """What all programs show of a child: itself, or what its alternatives have in common."""
        if child.tag != _ALTERNATIVES:
            return [child]
        branches = child.findall(_CHOICE) + (child.findall(_FALLBACK) or [Element(_FALLBACK)])
        looks = [*map(_look, branches)]
        alike = looks.count(looks[0]) == len(looks) or (branches[0] in self._everywhere and not any(looks[1:]))
        return [*branches[0]] if alike else [child]


def _look(branch: Element) -> list[object]:
    """All that is read of an alternative."""
    found: list[object] = []
    pending: list[Element | None] = [*reversed(branch)]
    while pending:
        one = pending.pop()
        if one is None:
            found.append("end")
        elif _is_read(one):
            own = {name: value for name, value in one.attrib.items() if not name.startswith("{") or name.startswith(R)}
            found.append((one.tag, own, (one.text or "").strip()))
            pending += [None, *list(one)[::-1]]
    return found


def _is_read(element: Element) -> bool:
    """Whether an element can say something about charts or pivot tables. Other things have frames, too."""
    if element.tag == f"{XDR}graphicFrame":
        return next(element.iter(f"{C}chart"), None) is not None
    return (element.tag.startswith(_READ) and element.tag not in _UNREAD) or element.tag == _ALTERNATIVES
