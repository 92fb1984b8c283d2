"""Reads gold answers and answers: the kind and tree of a gold answer, and the problem with it, if any."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from verikit.answers import choices
from verikit.answers.algebra.evaluate import ExactField, OpaqueTerm, Undefined
from verikit.answers.algebra.normal import normal
from verikit.answers.claims import extract
from verikit.answers.claims.json_answers import gold_json
from verikit.answers.claims.statements import FoundAnswer
from verikit.answers.families import meanings, number_meanings
from verikit.answers.families.base import Family
from verikit.answers.parser import parse
from verikit.answers.parser.clean import trimmed
from verikit.answers.parser.tree import MAX_CHARS, SCALARS, Node, NotMath, TooBig, symbols
from verikit.answers.spellings import respelled
from verikit.replies.unseen import without_unseen

MAX_CACHED = 300
"""Maximum number of characters of a text whose tree is cached. 8,192 such trees take a few tens of megabytes."""
MAX_WORDS = 60
"""Maximum number of words of a gold answer in prose. A longer one is a solution, which no short answer can equal."""
_NO_GOLD = frozenset(("nan", "n/a", "#n/a", "<na>", "null", "[null]", "[none]", "[invalid]", "[deleted]"))
"""Values in tables that mean that there is no gold answer."""
NUMERAL = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?")
"""A number in digits, which has only one reading."""


_LETTER_WITH_WORDS = re.compile(
    r"(?:[A-Za-z]|\([A-Z]\))(?: [^\W\d_]{2,}){1,8}|[A-Z]{2,6}(?: [^\W\d_]+){0,7} [A-Z][a-z]+(?: [^\W\d_]+){0,7}"
)
"""A name that begins with a letter or an abbreviation ("C sharp minor", "HB Pencil"), not a symbol with a noun."""


class ReadGold(NamedTuple):
    """A parsed gold answer: its kind (letter, math, text), its tree, and the problem with it, if any."""

    text: str
    kind: str
    tree: Node | None = None
    letters: frozenset[str] = frozenset()
    """The option letters it names. More than one if several must be chosen."""
    problem: str = ""
    numeral: bool = False
    """Whether it is a number in digits, which has only one reading."""
    meanings: tuple[tuple[Family, Any], ...] = ()
    """The families it belongs to, each with its meaning there."""


class ReadText(NamedTuple):
    """A text read as mathematics: its tree, or the reason why it has none."""

    tree: Node | None
    problem: str = ""
    too_big: bool = False


def read(text: str) -> ReadText:
    """The tree of a text, cached if the text is short. Never raises."""
    return _read_short(text) if len(text) <= MAX_CACHED else _read(text)


def _read(text: str) -> ReadText:
    try:
        return ReadText(normal(parse(text)))
    except NotMath as error:
        others = (_read_spelling(other) for other in respelled(text))
        return next((ReadText(tree) for tree in others if tree is not None), ReadText(None, str(error)))
    except TooBig as error:
        return ReadText(None, str(error), True)


def _read_spelling(text: str) -> Node | None:
    try:
        return normal(parse(text))
    except (NotMath, TooBig):
        return None


_read_short = lru_cache(maxsize=4096)(_read)


def read_gold(gold: str) -> ReadGold:
    """A gold answer with its kind, cached if it is short. Has a problem if it can't be compared with anything."""
    return _gold_short(gold) if len(gold) <= MAX_CACHED else _gold(gold)


def _gold(gold: str) -> ReadGold:
    text = without_unseen(gold).strip()
    if not text:
        return ReadGold(gold, "text", problem="the gold is empty")
    if NUMERAL.fullmatch(text):
        return ReadGold(text, "math", read(text).tree, numeral=True, meanings=number_meanings(text))
    if len(text) > MAX_CHARS:
        return ReadGold(gold, "text", problem=f"the gold is longer than {MAX_CHARS} characters")
    found = _marked(text)
    if found is not None and found.form == "open box":
        return ReadGold(gold, "text", problem="the gold's box is not closed")
    text = found.text.strip() if found else text
    text = trimmed(text).rstrip("^_ ") or text
    if text.casefold() in _NO_GOLD or not text.strip("?"):
        return ReadGold(text, "text", problem="the gold states that there is no answer")
    return _read_marked(text)


def _marked(text: str) -> FoundAnswer | None:
    """The box of a gold answer, or the marked answer in a text that is no mathematics."""
    if "boxed" in text and (found := extract.boxes(text)):
        return found[-1]
    marked = extract.marked(text) if read(text).tree is None else []
    return marked[-1] if marked else None


def _read_marked(text: str) -> ReadGold:
    letter, _ = choices.gold_letter(text)
    reading = read(text)
    if _LETTER_WITH_WORDS.fullmatch(text) and reading.tree is not None and reading.tree.op == "qty":
        reading = ReadText(None)
    if letter:
        return ReadGold(text, "letter", reading.tree, frozenset(letter))
    families, several = meanings(text), choices.several_letters(text)
    if reading.tree is None:
        essay = "the gold is a long text, not a short answer" if len(text.split()) > MAX_WORDS else ""
        problem = reading.problem if reading.too_big else essay or _unreadable(text)
        return ReadGold(text, "text", None, several, problem, meanings=families)
    return ReadGold(text, "math", reading.tree, several, _undefined(reading.tree), meanings=families)


_gold_short = lru_cache(maxsize=4096)(_gold)


_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_CUT = re.compile(r"\\(?:[dtc]?frac|sqrt)\s*$")


def _unreadable(text: str) -> str:
    """Why a truncated formula can't be a gold answer."""
    if "\\" not in text:
        return ""
    depth = 0
    for match in _BRACE.finditer(text):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth < 0:
            break
    if depth:
        return "the gold is unreadable: its braces don't match"
    return "the gold is unreadable: it ends inside of a formula" if _CUT.search(text) else ""


def _undefined(tree: Node) -> str:
    if tree.op not in SCALARS or symbols(tree):
        return ""
    try:
        ExactField().value(tree)
    except Undefined as error:
        return f"the gold has no value: {error}"
    except (OpaqueTerm, TooBig):
        return ""
    return ""


def check_gold(gold: str | Sequence[str] | None) -> str | None:
    """The problem with a gold answer, or None. `verikit doctor --data` checks every row."""
    golds = [gold] if isinstance(gold, str) else list(gold or [])
    if not golds:
        return "no gold answer"
    problems = ["" if gold_json(str(g)) else read_gold(str(g)).problem for g in golds]
    return problems[0] if all(problems) else None
