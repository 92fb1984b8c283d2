"""Invisible characters: zero-width ones, joiners, variation selectors, fillers, controls, and empty LaTeX.

They must not affect the score. Code that counts words needs two readings: `without_unseen` removes such characters, and
`unjoined` splits the words that they join. The reading with the lower reward is used.
"""

from __future__ import annotations

import re

_ZERO_WIDTH = (
    "\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Unicode's default ignorable characters, for a character class of a regular expression."""
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Fillers: letters and signs that look like a space."""
_CONTROL = r"\x00-\x07\x0e-\x1b\x7f-\x84\x86-\x9f"
"""Control characters other than whitespace and the backspace."""
_BACKSPACE = r"\x08(?!oxed|inom|egin|eta|ig|ar|m[od])"
r"""A backspace, unless a JSON decoder produced it from the start of `\boxed` or a similar command."""
_TAGS = {name: "".join(chr(0xE0000 + ord(char)) for char in name) for name in ("gbeng", "gbsct", "gbwls")}
_FLAG = f"\U0001f3f4(?:{'|'.join(_TAGS.values())})\U000e007f"
"""The flags of England, Scotland and Wales, which differ only in their tag characters."""
_UNSEEN = re.compile(f"({_FLAG})|{_BACKSPACE}|[{_ZERO_WIDTH}{_BLANK}{_CONTROL}]")
_UNSEEN_ASCII = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]")
_FILLER = re.compile(f"[{_BLANK}]")
_JOINT = re.compile(f"(?<=[!-\u058f])(?:{_BACKSPACE}|[{_ZERO_WIDTH}{_CONTROL}])+(?=[!-\u058f])")
"""Invisible characters inside a word whose alphabet needs no joiners, unlike Persian, Indic scripts and emoji."""

_PHANTOM = re.compile(r"\\[hv]?phantom(?![A-Za-z])\s*(?:(?=\{)|\\[A-Za-z]+|[^{\\\s])|\\.|[{}]", re.DOTALL)
_LAYOUT = re.compile(
    r"\\(?:[,;:!>/ ()\[\]]|(?:q?quad|(?:neg)?(?:thin|med|thick)space|en(?:space|skip)|(?:display|text|script)style"
    r"|(?:math)?strut|null|relax|noindent|[hv]fill|left\.?|right\.?|[bB]igg?[lr]?|nobreak|allowbreak"
    r"|text(?:bf|it|rm|sf|tt|normal|up)?|math(?:rm|bf|sf|tt|it|cal|ord|op|rel|bin)|operatorname\*?|emph|mbox|hbox|smash"
    r"|boldsymbol|bm|ensuremath)(?![A-Za-z])"
    r"|[hvm]?(?:skip|kern)\s*-?[\d.]+\s*(?:pt|em|ex|mu|cm|mm|in)|(?:[hv]space\*?|color|label)\s*\{[^{}]*\})"
)
"""LaTeX commands for space, size or font, which show nothing on their own."""
_BARE = re.compile(r"[\s{}]+")


def without_unseen(text: str) -> str:
    """Remove the invisible characters from a text."""
    return _UNSEEN.sub(r"\1", text) if _holds_unseen(text) else text


def unjoined(text: str) -> str:
    """Replace each filler with a space, and separate words that invisible characters join."""
    return without_unseen(_JOINT.sub(" ", _FILLER.sub(" ", text))) if _holds_unseen(text) else text


def _holds_unseen(text: str) -> bool:
    return (_UNSEEN_ASCII if text.isascii() else _UNSEEN).search(text) is not None


def shows_nothing(text: str) -> bool:
    r"""Whether a text shows nothing, including as LaTeX: `\,`, `{}`, `\phantom{…}`, `\text{}` and similar."""
    left = without_unseen(text)
    if "\\" in left:
        left = _LAYOUT.sub("", without_phantoms(left))
    return not _BARE.sub("", left).replace("$$", "")


def without_phantoms(text: str) -> str:
    """Remove the arguments of phantoms, which take up space but show nothing."""
    kept: list[str] = []
    start, depth, hidden = 0, 0, -1
    for match in _PHANTOM.finditer(text):
        if "phantom" in match[0] and hidden < 0:
            kept.append(text[start : match.start()])
            start = match.end()
            hidden = depth if text.startswith("{", start) else -1
        elif match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if hidden >= 0 and depth <= hidden:
                start, hidden = match.end(), -1
    return "".join(kept) if hidden >= 0 else "".join((*kept, text[start:]))
