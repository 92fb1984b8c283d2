"""Colours of a deck: themes, tints and shades, fills, and whether a colour is visible on its background."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from verikit.artifacts.readers.slides.package import A, Element, fraction, whole

CONTRAST = 40
"""Minimum difference from the background, of 255, for something to be visible."""
COVERS = 0.85
"""The opacity at which text under a colour becomes unreadable."""
_MOST_INKS = 64
_BETWEEN = 8
"""Colours that are sampled between two stops of a gradient."""
_PRESETS = {
    "black": "000000", "white": "FFFFFF", "red": "FF0000", "green": "008000", "blue": "0000FF", "yellow": "FFFF00",
    "cyan": "00FFFF", "magenta": "FF00FF", "gray": "808080", "grey": "808080", "orange": "FFA500",
    "darkBlue": "00008B", "dkBlue": "00008B", "navy": "000080", "purple": "800080", "silver": "C0C0C0",
    "lightGray": "D3D3D3", "ltGray": "D3D3D3", "darkGray": "A9A9A9", "dkGray": "A9A9A9", "whiteSmoke": "F5F5F5",
    "snow": "FFFAFA", "ivory": "FFFFF0", "darkRed": "8B0000", "darkGreen": "006400", "maroon": "800000",
}  # fmt: skip
_SYSTEM = {"window": "FFFFFF", "windowText": "000000"}
"""Colours of the system that programs do not take from the file."""
_USUAL_MAP = {"bg1": "lt1", "tx1": "dk1", "bg2": "lt2", "tx2": "dk2"}


class Ink(NamedTuple):
    """A colour, with parts from 0 to 1, and its opacity."""

    red: float
    green: float
    blue: float
    alpha: float = 1.0


@dataclass(frozen=True)
class Paint:
    """The possible colours of a place. An empty set: nothing is painted there."""

    inks: frozenset[Ink] = frozenset()
    known: bool = True
    """Whether all its colours are known. A picture's are not."""

    def covers(self) -> bool | None:
        """Whether it is opaque. None: unknown."""
        if not self.known:
            return None
        if not self.inks or min(ink.alpha for ink in self.inks) < 0.5:
            return False
        return True if min(ink.alpha for ink in self.inks) >= COVERS else None

    def over(self, ground: Paint) -> Paint:
        """The visible paint when this is on top of a background."""
        if self.known and not self.inks:
            return ground
        solid = [ink for ink in self.inks if ink.alpha >= 0.99]
        if not self.known or (len(solid) < len(self.inks) and not ground.known):
            return UNKNOWN
        thin = [ink for ink in self.inks if ink.alpha < 0.99]
        return _of({*solid, *(_blend(ink, under) for ink in thin for under in ground.inks)})

    def beside(self, other: Paint) -> Paint:
        """The possible paints of a place in which either may be visible."""
        return _of({*self.inks, *other.inks}) if self.known and other.known else UNKNOWN


UNKNOWN = Paint(known=False)
NOTHING = Paint()


def plain(ink: Ink | None) -> Paint:
    """A single colour. None: an unknown one."""
    return UNKNOWN if ink is None else Paint(frozenset((ink,)))


def _of(inks: set[Ink]) -> Paint:
    return Paint(frozenset(inks)) if len(inks) <= _MOST_INKS else UNKNOWN


def _blend(ink: Ink, ground: Ink) -> Ink:
    share = ink.alpha
    parts = (round(share * one + (1 - share) * other, 4) for one, other in zip(ink[:3], ground[:3], strict=True))
    return Ink(*parts)


def legible(inks: Paint, ground: Paint) -> bool | None:
    """Whether ink is visible on its background. None: unknown."""
    if inks.known and inks.inks and max(ink.alpha for ink in inks.inks) < 0.02:
        return False
    if not (inks.known and ground.known and inks.inks and ground.inks):
        return None
    far = {_is_far(_blend(ink, under), under) for ink in inks.inks for under in ground.inks}
    return far.pop() if len(far) == 1 else None


def _is_far(ink: Ink, ground: Ink) -> bool:
    return max(abs(one - other) for one, other in zip(ink[:3], ground[:3], strict=True)) * 255 >= CONTRAST


class Palette:
    """The colours of a slide: its theme's colours, under the names that its master assigns."""

    def __init__(self, theme: Element | None, mapping: Mapping[str, str]) -> None:
        self._mapping = {**_USUAL_MAP, **mapping}
        self._scheme: dict[str, Ink | None] = {"dk1": Ink(0.0, 0.0, 0.0), "lt1": Ink(1.0, 1.0, 1.0)}
        self._styles: dict[str, list[Element]] = {}
        self.fonts: dict[str, str] = {}
        if theme is None:
            return
        for one in theme.iterfind(f"{A}themeElements/{A}clrScheme/*"):
            self._scheme[one.tag.removeprefix(A)] = self.colour(one)
        styles = f"{A}themeElements/{A}fmtScheme/{A}"
        self._styles = {kind: theme.findall(f"{styles}{kind}/*") for kind in ("fillStyleLst", "bgFillStyleLst")}
        for kind, short in (("majorFont", "+mj"), ("minorFont", "+mn")):
            latin = theme.find(f"{A}themeElements/{A}fontScheme/{A}{kind}/{A}latin")
            self.fonts[f"{short}-lt"] = latin.get("typeface", "") if latin is not None else ""

    def named(self, name: str) -> Ink | None:
        """A colour of the theme. None: unknown."""
        return self._scheme.get(self._mapping.get(name, name))

    def tinted(self, ink: Ink | None, share: float) -> Ink | None:
        """A colour mixed with white; `share` is the fraction of the colour."""
        return None if ink is None else _lightened(ink, share, 1.0)

    def colour(self, parent: Element | None, place: Ink | None = None) -> Ink | None:
        """The colour below an element. `place` replaces `phClr`. None: there is no known colour."""
        for one in parent if parent is not None else ():
            kind = one.tag.removeprefix(A)
            if kind in ("srgbClr", "sysClr"):
                ink = _hexadecimal(_SYSTEM.get(one.get("val", ""), one.get("lastClr", one.get("val", ""))))
            elif kind == "schemeClr":
                ink = place if one.get("val") == "phClr" else self.named(one.get("val", ""))
            elif kind == "scrgbClr":
                ink = Ink(*(_encoded(fraction(one, part, 0)) for part in "rgb"))
            elif kind == "hslClr":
                turned = whole(one, "hue") / 21_600_000
                ink = Ink(*colorsys.hls_to_rgb(turned, fraction(one, "lum", 0), fraction(one, "sat", 0)))
            elif kind == "prstClr":
                ink = _hexadecimal(_PRESETS.get(one.get("val", ""), ""))
            else:
                continue
            return _changed(ink, one)
        return None

    def fill(self, properties: Element | None, group: Paint = NOTHING, place: Ink | None = None) -> Paint | None:
        """The fill that an element sets. None: it doesn't set one."""
        for one in properties if properties is not None else ():
            found = self._filled(one, group, place)
            if found is not None:
                return found
        return None

    def _filled(self, one: Element, group: Paint, place: Ink | None) -> Paint | None:
        kind = one.tag.rpartition("}")[2]
        if kind == "solidFill":
            return plain(self.colour(one, place))
        if kind == "gradFill":
            return self._gradient(one, place)
        if kind == "pattFill":
            inks = [self.colour(one.find(f"{A}{part}"), place) for part in ("fgClr", "bgClr")]
            return plain(inks[0]).beside(plain(inks[1]))
        return {"noFill": NOTHING, "blipFill": UNKNOWN, "grpFill": group}.get(kind)

    def _gradient(self, gradient: Element, place: Ink | None) -> Paint:
        stops = sorted(gradient.iterfind(f"{A}gsLst/{A}gs"), key=lambda stop: whole(stop, "pos"))
        inks = [self.colour(stop, place) for stop in stops]
        known = [ink for ink in inks if ink is not None][:_MOST_INKS]
        if not known or len(known) < len(inks):
            return UNKNOWN
        found = set(known)
        for one, other in pairwise(known):
            for step in range(1, _BETWEEN):
                share = step / _BETWEEN
                found.add(Ink(*(round(a + share * (b - a), 4) for a, b in zip(one, other, strict=True))))
        return _of(found)

    def styled(self, reference: Element | None) -> Paint | None:
        """The fill that a shape or a background refers to in the theme; None: it refers to none."""
        if reference is None:
            return None
        index = whole(reference, "idx")
        styles = self._styles.get("bgFillStyleLst" if index > 1000 else "fillStyleLst", [])
        position = index - 1001 if index > 1000 else index - 1
        if index in (0, 1000):
            return NOTHING
        if not 0 <= position < len(styles):
            return UNKNOWN
        return self._filled(styles[position], NOTHING, self.colour(reference)) or UNKNOWN


def _hexadecimal(text: str) -> Ink | None:
    if len(text) != 6 or not set(text.upper()) <= set("0123456789ABCDEF"):
        return None
    return Ink(*(int(text[start : start + 2], 16) / 255 for start in (0, 2, 4)))


def _changed(ink: Ink | None, element: Element) -> Ink | None:
    """A colour after the changes below its element; None if one of them is unknown."""
    for change in list(element)[:20]:
        kind = change.tag.removeprefix(A)
        if ink is None:
            return None
        share = fraction(change, "val", 1.0)
        if kind == "alpha":
            ink = ink._replace(alpha=min(max(share, 0.0), 1.0))
        elif kind in ("alphaMod", "alphaOff"):
            ink = ink._replace(alpha=min(max(ink.alpha * share if kind == "alphaMod" else ink.alpha + share, 0.0), 1.0))
        elif kind in ("tint", "shade"):
            ink = _lightened(ink, min(max(share, 0.0), 1.0), 1.0 if kind == "tint" else 0.0)
        else:
            ink = _in_lightness(ink, kind, share)
    return ink


def _lightened(ink: Ink, share: float, towards: float) -> Ink:
    red, green, blue = (_encoded(_linear(part) * share + towards * (1 - share)) for part in ink[:3])
    return Ink(red, green, blue, ink.alpha)


def _in_lightness(ink: Ink, kind: str, share: float) -> Ink | None:
    hue, lightness, saturation = colorsys.rgb_to_hls(*ink[:3])
    if kind == "lumMod":
        lightness *= share
    elif kind == "lumOff":
        lightness += share
    elif kind == "lum":
        lightness = share
    elif kind == "satMod":
        saturation *= share
    elif kind == "satOff":
        saturation += share
    else:
        return None
    kept = (min(max(part, 0.0), 1.0) for part in (lightness, saturation))
    return Ink(*colorsys.hls_to_rgb(hue, *kept), ink.alpha)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _encoded(part: float) -> float:
    part = min(max(part, 0.0), 1.0)
    return part * 12.92 if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055
