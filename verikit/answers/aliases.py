"""Other names of the same thing: WWI and World War I, USA and United States, Fe and iron, m/s and metres per second.

Rules can't tell that two names mean one thing, so they are listed in tables. `countries.json` contains the countries in
17 languages, from the Unicode CLDR 48 (`LICENSE.unicode`). `short_names.json` contains months, days, common
abbreviations and well-known compounds. Like the table of elements, it was written for verikit. Units have their own
parser.

A name of at most three characters is case-sensitive: "us" is not the country, "he" not the element. Other names are
rejected if the question asks for a format (a symbol, an abbreviation, the meaning of letters) or already contains the
answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from verikit.answers.families.plain import has_digit, plain
from verikit.answers.families.text import words
from verikit.answers.parser.units import COUNT, Unit, parse_unit, single
from verikit.errors import UsageError

MAX_CHARS = 120
"""Maximum number of characters of a name."""
MAX_FILE = 20_000_000
"""Maximum size of a user's file in bytes."""
_SHORT = 3
"""Maximum number of characters of a name that is case-sensitive."""
_FORM = re.compile(
    r"\b(?:symbols?|symbole|símbolo|simbolo|abbrev\w*|abkürzung\w*|abréviation\w*|abrevia\w*|acronyms?|initialism|sigla"
    r"|stands? for|short for|short form|long form|spell\w*|letters?|formulas?|formulae|full names?|official names?"
    r"|former(?:ly)?|old names?|original names?|names? of|called in|known as|translat\w*|language|code|endonym|exonym"
    r"|english for|native name|what does \S+ mean)\b",
    re.IGNORECASE,
)
"""Parts of a question that show that it asks for one name instead of the thing."""
_CHEMICAL = re.compile(r"\b(?:element|atom|atomic|chemical|metal|gas|isotope|ion|compound|periodic)s?\b", re.IGNORECASE)
_UNIT = re.compile(r"\bunits?\b", re.IGNORECASE)
_UNIT_PARTS = re.compile(r"[^\W\d_]+|\^|-?\d+|[/*]")
_EXPONENTS = str.maketrans({"²": "^2", "³": "^3", "·": "*", "⋅": "*"})
_WORDLIKE = frozenset("Al Am As At Ba Be Co Es Ga He Ho In La Li Lu Mo Ne No Os Pa Pm Ra Re Se Te Ti".split())
"""Symbols that are also words, names or abbreviations in English or a related language."""


class Aliases:
    """Groups of names that mean the same.

    Args:
        groups: The names of each thing. A name shared by several things counts only if the gold answer has another
            name.
    """

    def __init__(self, groups: Iterable[Iterable[str]]) -> None:
        self._things: dict[tuple[str, ...] | str, set[int]] = {}
        for thing, names in enumerate(groups):
            for name in names:
                self._things.setdefault(_key(name), set()).add(thing)

    def same(self, gold: str, answer: str) -> bool:
        """Whether the gold answer names one thing, and the answer names the same one."""
        things = self._things.get(_key(gold), set())
        return len(things) == 1 and things <= self._things.get(_key(answer), set())

    @classmethod
    def read(cls, path: str) -> Aliases:
        """Read a user's file, a JSON object: `{"World War I": ["WWI", "First World War"]}`.

        Raises:
            UsageError: The file can't be read, or is not an object that maps names to lists of names.
        """
        hint = '{"World War I": ["WWI", "First World War"], …}'
        try:
            with open(path, "rb") as file:
                data = file.read(MAX_FILE + 1)
            groups = json.loads(data) if len(data) <= MAX_FILE else None
        except OSError as error:
            raise UsageError(f"aliases: {path} can't be read: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise UsageError(f"aliases: {path} must be JSON: {error}", hint=hint) from None
        if not isinstance(groups, dict):
            raise UsageError(f"aliases: {path} must be an object of names, of at most {MAX_FILE:,} bytes", hint=hint)
        for name, others in groups.items():
            if not isinstance(others, list) or not all(isinstance(other, str) for other in others):
                raise UsageError(f"aliases: {path}: {name!r} needs a list of names", hint=hint)
        return cls(_groups(groups))


def _groups(named: Mapping[str, list[str]]) -> list[list[str]]:
    return [[name, *others] for name, others in named.items()]


@lru_cache(maxsize=1024)
def _key(name: str) -> tuple[str, ...] | str:
    """The key shared by two spellings of a name: its words, or a short name as written, without full stops."""
    if len(name) > MAX_CHARS:
        return ""
    bare = re.sub(r"[.\s]|^[Tt]he\s", "", plain(name))
    if len(bare) <= _SHORT:
        return bare
    if " " not in name.strip() and has_digit(bare):
        return re.sub(r"[_{}]", "", bare)  # a formula, in which the case of letters matters
    return words(name)


@cache
def _shipped() -> Aliases:
    groups: list[list[str]] = []
    for file in ("countries.json", "short_names.json"):
        groups += _groups(json.loads((Path(__file__).parent / file).read_text("utf-8")))
    return Aliases(groups)


@cache
def _elements() -> Aliases:
    from verikit.answers.extra.elements import BY_NAME, NAMES, SYMBOLS

    spellings = [[symbol, name] for symbol, name in zip(SYMBOLS, NAMES, strict=True)]
    return Aliases([*pair, *(name for name, symbol in BY_NAME.items() if symbol == pair[0])] for pair in spellings)


@lru_cache(maxsize=8)
def from_file(path: str) -> Aliases:
    """The aliases of a user's file, read once."""
    return Aliases.read(path)


def same_thing(gold: str, answer: str, question: str, more: Aliases | None = None) -> str | None:
    """The rule by which the answer is another name of the gold answer, or None if there is no such rule.

    Args:
        gold: The gold answer's text.
        answer: The answer's text.
        question: The question, which decides whether a name or a thing is requested.
        more: A user's own aliases.
    """
    if len(gold) > MAX_CHARS or len(answer) > MAX_CHARS or words(gold) == words(answer):
        return None
    rule = _rule(gold, answer, question, more)
    return None if rule is None or _FORM.search(question) or _holds(question, answer) else rule


def _rule(gold: str, answer: str, question: str, more: Aliases | None) -> str | None:
    if (more is not None and more.same(gold, answer)) or _shipped().same(gold, answer):
        return "another name of the same"
    if _elements().same(gold, answer) and _may_be_element(gold, answer, question):
        return "the same element"
    return "the same unit" if _same_unit(gold, answer, question) else None


def _holds(question: str, answer: str) -> bool:
    """Whether the answer's words appear in the question consecutively."""
    said, asked = words(answer), words(question)
    return any(asked[start : start + len(said)] == said for start in range(len(asked) - len(said) + 1))


def _may_be_element(gold: str, answer: str, question: str) -> bool:
    """Whether an element is meant. A single letter, or a gold answer that is also a word, needs a chemical question."""
    keys = _key(gold), _key(answer)
    doubtful = keys[0] in _WORDLIKE or any(isinstance(key, str) and len(key) == 1 for key in keys)
    return not doubtful or _CHEMICAL.search(question) is not None


def _same_unit(gold: str, answer: str, question: str) -> bool:
    """Whether two texts are the same unit in words and symbols, factor by factor: a newton metre is not a joule."""
    left, right = _unit(gold), _unit(answer)
    if left is None or left != right:
        return False
    shortest = min(len(text.strip(" $.")) for text in (gold, answer))
    return shortest > 1 or _UNIT.search(question) is not None


@lru_cache(maxsize=256)
def _unit(text: str) -> tuple[Unit, int] | None:
    """The unit that a text spells, and its number of factors."""
    bare = plain(text.strip(" $.")).translate(_EXPONENTS)
    if any(character.isdigit() for character in re.sub(r"\^\s?[{(]?-?\d", "", bare)):
        return None
    if _UNIT_PARTS.sub("", bare).strip(" (){}*"):
        return None  # a sign or a mark that is not part of a unit
    parts = _UNIT_PARTS.findall(bare)
    unit = parse_unit(parts) if parts else None
    return None if unit is None or unit.dimension == COUNT.dimension else (unit, sum(map(_is_factor, parts)))


def _is_factor(part: str) -> bool:
    return single(part) is not None
