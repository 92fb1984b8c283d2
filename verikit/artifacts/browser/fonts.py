"""Checks the fonts that a page brings: a font can draw any shape for any letter.

The page's texts are drawn again in the same fonts, with wide gaps. A child of the sandbox compares each letter's shape
with standard fonts, and letters that these lack with the installed fonts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence

from verikit.artifacts import shape
from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.browser.sight import MOST_LETTERS, Letters
from verikit.artifacts.readers.glyphs import SCALE
from verikit.artifacts.readers.letters import LIGATURES
from verikit.artifacts.shape import Shape, each, record
from verikit.errors import WorkspaceError

GLYPHS = BoxReader(
    "verikit.artifacts.readers.glyphs", dict.fromkeys(("numpy", "pypdfium2", "PIL"), "seeing fonts of pages"), "web",
    record({"verdicts": each(shape.text, 6 * MOST_LETTERS)}), warm=True,
)  # fmt: skip
_PLACES: Shape = each(each(shape.number, 6 * (MOST_LETTERS + 8)), 60_000)
_HEIGHT, _MOST_SHEETS = 1500, 10
"""Of a sheet of texts, in pixels of the page; and the number of sheets. Letters beyond are undecided."""
_MOST_LINES = _HEIGHT // 8
"""Of a sheet: the script gives each text 8 pixels of padding."""
_MOST_SHOWN, _MOST_UNCLEAR = 10, 40
_INSTALLED = tuple(f";font-family:{family}" for family in ("sans-serif", "serif", "monospace"))
_THIN = frozenset("ijlfrtIJ!|()[]{}")
"""Characters that honest fonts draw too differently to tell them apart."""
_ORNATE = frozenset("&@")
"""Characters that honest fonts draw in too many shapes. In italics, `&` is often an `E` with a `t`."""
FontSample = tuple[str, str]
"""A font and a text."""
Draw = Callable[[Sequence[FontSample], int], object]
"""Draws texts over the page. Returns the places of their letters, for the texts that fit into a height."""
Shoot = Callable[[dict[str, float]], bytes]
"""Takes a screenshot of a part of the page."""


def examine(runs: Sequence[Letters], fonts: Sequence[str], draw: Draw, shoot: Shoot) -> list[str]:
    """Mark letters that have the shape of another letter as out of sight, and unclear ones as doubtful.

    Returns:
        The letters found with another shape, described for reasons.

    Raises:
        WorkspaceError: The page's answers have a wrong shape.
    """
    try:
        told = _verdicts(list(dict.fromkeys(_samples(runs, fonts))), draw, shoot)
    except (ValueError, IndexError) as problem:
        raise WorkspaceError(f"the page's fonts can't be read: {problem}") from None
    found: dict[str, None] = {}
    for run in runs:
        for font in run.fonts if any(run.seen) and run.text.strip() else ():
            verdicts = told.get((fonts[font], run.text)) or ["?"] * len(run.text)
            for at, (letter, verdict) in enumerate(zip(run.text, verdicts, strict=False)):
                if not verdict or letter.isspace() or _is_allowed(run.text, at, verdict):
                    continue
                if verdict in "?+":
                    run.doubts.add(at)
                elif run.seen[at]:
                    found[f"a font of the page draws {letter!r} as {verdict!r}"] = None
                    run.seen[at] = False
    return list(found)[:_MOST_SHOWN]


def _samples(runs: Sequence[Letters], fonts: Sequence[str]) -> Iterator[FontSample]:
    yield from ((fonts[font], run.text) for run in runs if any(run.seen) and run.text.strip() for font in run.fonts)


def _verdicts(samples: list[FontSample], draw: Draw, shoot: Shoot) -> dict[FontSample, list[str]]:
    told: dict[FontSample, list[str]] = {}
    for _ in range(_MOST_SHEETS):
        rest = samples[len(told) : len(told) + _MOST_LINES]
        found = _sheet(rest, (), draw, shoot) if rest else {}
        if not found:
            break
        told |= found
    unclear = {
        (font, letter)
        for (font, text), verdicts in told.items()
        for letter, verdict in zip(text, verdicts, strict=True)
        if verdict == "?" and not letter.isascii()
    }
    clear = _as_installed(sorted(unclear), draw, shoot) if unclear else set()
    for (font, text), verdicts in told.items():
        verdicts[:] = [
            "" if (font, letter) in clear else verdict for letter, verdict in zip(text, verdicts, strict=True)
        ]
    return told


def _as_installed(unclear: Sequence[FontSample], draw: Draw, shoot: Shoot) -> set[FontSample]:
    """The unclear letters that have the shape of an installed font: the page's own may lack them."""
    samples = [(font + family, letter) for font, letter in unclear[:_MOST_UNCLEAR] for family in ("", *_INSTALLED)]
    step = 1 + len(_INSTALLED)
    pairs = [[at, at + other] for at in range(0, len(samples), step) for other in range(1, step)]
    found = _sheet(samples, pairs, draw, shoot)
    return {sample for sample in unclear if found.get(sample) == [""]}


def _sheet(
    samples: Sequence[FontSample], pairs: Sequence[Sequence[int]], draw: Draw, shoot: Shoot
) -> dict[FontSample, list[str]]:
    """The verdicts of the texts that fit on a sheet."""
    drawn = list(zip(samples, _PLACES(draw(samples, _HEIGHT)), strict=False))
    height = min(max((max(places[3::6], default=0.0) for _, places in drawn), default=0.0) + 8, _HEIGHT)
    picture = shoot({"x": 0, "y": 0, "width": 1280, "height": max(round(height), 8), "scale": SCALE})
    letters = [[letter, *places[6 * at : 6 * at + 6]] for (_, text), places in drawn
               for at, letter in enumerate(text[: len(places) // 6])]  # fmt: skip
    known = [pair for pair in pairs if max(pair) < len(letters)]
    verdicts = iter(observe(GLYPHS, [picture], {"letters": letters, "pairs": known})["verdicts"])
    return {sample: [next(verdicts, "?") for _ in sample[1]] for sample, _ in drawn}


def _is_allowed(text: str, at: int, verdict: str) -> bool:
    """Whether an unusual shape of a letter is usual in honest fonts, or the letter is an icon's, for private use."""
    if verdict == "+":
        return _of_ligature(text, at)
    letter = text[at]
    if unicodedata.category(letter) == "Co" or (letter in _ORNATE and not verdict.isdecimal()):
        return True
    return _is_form(letter, verdict) or (letter in _THIN and (verdict == "?" or verdict in _THIN))


def _is_form(letter: str, verdict: str) -> bool:
    """Whether a verdict is the letter in small capitals, or the digit of a fraction."""
    return unicodedata.normalize("NFKC", verdict).casefold() == letter.casefold()


def _of_ligature(text: str, at: int) -> bool:
    """Whether a letter is part of a usual ligature, whose letters have one shape."""
    return any(
        text[start : start + len(joined)] == joined
        for joined in LIGATURES
        for start in range(max(at - len(joined) + 1, 0), at + 1)
    )
