"""A sentence as a row of tokens, each with the part that it plays, for numbers, names and option letters alike."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from verikit.answers.claims.words import REACHING, ROLES, SAYING, UNSPACED

MAX_SIDE = 200
"""Characters of a sentence that are read on each side of a value."""
_WORD = r"n't\b|'s\b|[A-Za-z]+?(?=n't\b)|[^\W\d_]+(?:-[^\W\d_]+)*|[&/:=、—–∴]"
_CJK = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u9fff\ua960-\ud7ff\uf900-\ufaff\uff66-\uffdc"
"""The letters of East Asia, without their punctuation."""
_UNSPACED_WORD = _WORD.replace(r"[^\W\d_]+(?", f"[^\\W\\d_{_CJK}]+(?").replace(r"|[&", f"|[{_CJK}]|[&")
_REST = r"|(?P<comma>[,，])|(?P<number>\d[\d.,/]*(?<![.,]))|(?P<mark>\\\w*|[^\s\w])"
WORDS = f"(?P<word>{_WORD}){_REST}"
UNSPACED_WORDS = f"(?P<word>{'|'.join(map(re.escape, UNSPACED))}|[\u0900-\u097f]+|{_UNSPACED_WORD}){_REST}"
"""What reads scripts without spaces between words, too."""
_ASCII, _ANY = re.compile(WORDS), re.compile(UNSPACED_WORDS)
_OFFER = re.compile(
    r"[ \t]*(?:(?:or|oder|ou|или|o|u)\b|或者?|または|또는)(?!,?\s*(?:you|we|by|use|just|simply|in|equivalently)\b)"
    r"[^\n.!?。？！]{1,60}(?:[.!?。？！]|$)",
    re.IGNORECASE,
)
_STOP = r"[.!?;。！？；।\n](?!\d)"
_BREAK = re.compile(_STOP)
_LAST_BREAK = re.compile(f".*{_STOP}(?=.)", re.DOTALL)


class ClaimToken(NamedTuple):
    """A word, a number or a mark of a sentence."""

    role: str
    """The part it plays (`words.ROLES`), else what it is: word, number, comma, mark, letter."""
    text: str
    start: int
    sure: bool = False
    """Whether an option letter stands in brackets, so that it can't be a word."""


def role_of_word(word: str, text: str, end: int) -> str:
    """The part a word that ends at `end` plays; the "No" before a comma answers, and denies nothing; Ne4 is no word."""
    role = ROLES.get(word, "word")
    if role == "word":
        return role
    after = text[end : end + 1]
    if (after.isdigit() or after == "_" or after == "^") and word.isascii():
        return "word"
    return "sure" if word == "no" and after in (",", "，") else role


@lru_cache(maxsize=256)
def tokens(text: str) -> tuple[ClaimToken, ...]:
    """The tokens of a text without its brackets, quotes and emphasis."""
    text = text.replace("’", "'")
    found = []
    for match in (_ASCII if text.isascii() else _ANY).finditer(text):
        kind, word = match.lastgroup or "", match[0].lower()
        if word == "/" and not text[: match.start()][-1:].isspace():
            continue  # one name: Titan/Centaur
        if kind == "word":
            found.append(ClaimToken(role_of_word(word, text, match.end()), word, match.start()))
        elif kind != "mark" or word in (";", "?", "？"):
            found.append(ClaimToken(kind, word, match.start()))
    return _without_certainty(found)


_CERTAIN = frozenset(("doubt", "question", "only"))


def _without_certainty(found: list[ClaimToken]) -> tuple[ClaimToken, ...]:
    """Tokens where "no doubt", "without a question" and "not only" deny nothing."""
    for at, token in enumerate(found):
        if token.role == "not" or token.text in ("without", "beyond"):
            nouns = found[at + 1 : at + 3]
            end = next((at + 1 + i for i, noun in enumerate(nouns) if noun.text in _CERTAIN), 0)
            if end and (end == at + 1 or found[at + 1].text in ("a", "any")):
                found[at : end + 1] = [each._replace(role="sure") for each in found[at : end + 1]]
    return tuple(found)


def before(text: str, position: int) -> tuple[ClaimToken, ...]:
    """The tokens of a position's sentence that stand before it."""
    return tokens(sentence_before(text, position))


def after(text: str, position: int) -> tuple[ClaimToken, ...]:
    """The tokens of a position's sentence that follow, with the question mark that ends it."""
    return tokens(sentence_after(text, position))


def sentence_before(text: str, position: int) -> str:
    """What of a position's sentence stands before it."""
    window = text[max(0, position - MAX_SIDE) : position]
    said = len(window.rstrip(" *$(\"'“`_"))
    ended = _LAST_BREAK.match(window, 0, said)
    return window[ended.end() :] if ended else window


def sentence_after(text: str, position: int) -> str:
    """What of a position's sentence follows, with the question mark that ends it, and with an "or" after its end."""
    limit = position + MAX_SIDE
    stop = _BREAK.search(text, position, limit)
    if stop is not None and (offered := another_offer(text, stop.end())):
        return text[position:offered]
    if stop is None:
        return text[position:limit]
    return text[position : stop.end() if stop[0] in "?？" else stop.start()]


def sentence_end(text: str, position: int) -> int:
    """Where the sentence of a position ends."""
    stop = _BREAK.search(text, position)
    return stop.end() if stop else len(text)


def another_offer(text: str, end: int) -> int:
    """Where a short sentence that starts at `end` and offers something else ends ("Or is it 5?"), else 0."""
    offer = _OFFER.match(text, end)
    return offer.end() if offer else 0


_BLANKS = str.maketrans({code: " " for code in range(128) if not chr(code).isalpha()})


def holds_no(words: frozenset[str], text: str) -> bool:
    """A cheap look: whether a text surely holds none of some words; only of ASCII it can be told."""
    return text.isascii() and words.isdisjoint(text.lower().translate(_BLANKS).split())


def asserts_all(text: str) -> bool:
    """A cheap look: whether a text surely denies, doubts, supposes, limits and quotes nothing."""
    return "?" not in text and holds_no(SAYING, text)


def reaches_nothing(text: str) -> bool:
    """A cheap look: whether no word of a text surely denies, doubts, limits or quotes what follows the text."""
    return holds_no(REACHING, text)
