"""A sentence as a sequence of tokens with their roles, for numbers, names and option letters alike."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from verikit.answers.claims.words import CHOOSES, REACHING, ROLES, SAYING, UNSPACED

MAX_SIDE = 200
"""Number of characters of a sentence read on each side of a value."""
_WORD = r"n't\b|'s\b|[A-Za-z]+?(?=n't\b)|[^\W\d_]+(?:-[^\W\d_]+)*|[&/:=、—–∴]"
_CJK = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u9fff\ua960-\ud7ff\uf900-\ufaff\uff66-\uffdc"
"""The letters of East Asian scripts, without their punctuation."""
_UNSPACED_WORD = _WORD.replace(r"[^\W\d_]+(?", f"[^\\W\\d_{_CJK}]+(?").replace(r"|[&", f"|[{_CJK}]|[&")
_REST = r"|(?P<comma>[,，])|(?P<number>\d[\d.,/]*(?<![.,]))|(?P<mark>\\\w*|[^\s\w])"
WORDS = f"(?P<word>{_WORD}){_REST}"
UNSPACED_WORDS = f"(?P<word>{'|'.join(map(re.escape, UNSPACED))}|[\u0900-\u097f]+|{_UNSPACED_WORD}){_REST}"
"""Also splits scripts without spaces between words."""
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
    """The role (`words.ROLES`), or the type of the token: word, number, comma, mark, letter."""
    text: str
    start: int
    sure: bool = False
    """Whether an option letter is in brackets, so that it can't be a word."""


def role_of_word(word: str, text: str, end: int) -> str:
    """The role of a word that ends at `end`. The "No" before a comma is an answer, not a denial. Ne4 is not a word."""
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


_CERTAIN = frozenset(("doubt", "question", "only", "hesitate"))


def _without_certainty(found: list[ClaimToken]) -> tuple[ClaimToken, ...]:
    """Tokens in which "no doubt", "without a question", "not only" and "not hesitate" are not denials."""
    for at, token in enumerate(found):
        if token.role == "not" or token.text in ("without", "beyond"):
            nouns = found[at + 1 : at + 3]
            end = next((at + 1 + i for i, noun in enumerate(nouns) if noun.text in _CERTAIN), 0)
            if (
                end
                and found[end].text == "hesitate"
                and CHOOSES.isdisjoint(noun.text for noun in found[end + 1 : end + 3])
            ):
                continue  # "I would not hesitate to call it wrong"
            if end and (end == at + 1 or found[at + 1].text in ("a", "any")):
                found[at : end + 1] = [each._replace(role="sure") for each in found[at : end + 1]]
    return tuple(found)


def before(text: str, position: int) -> tuple[ClaimToken, ...]:
    """The tokens before a position in its sentence."""
    return tokens(sentence_before(text, position))


def after(text: str, position: int) -> tuple[ClaimToken, ...]:
    """The tokens after a position in its sentence, including the final question mark."""
    return tokens(sentence_after(text, position))


def sentence_before(text: str, position: int) -> str:
    """The text before a position in its sentence."""
    window = text[max(0, position - MAX_SIDE) : position]
    said = len(window.rstrip(" *$(\"'“`_"))
    ended = _LAST_BREAK.match(window, 0, said)
    return window[ended.end() :] if ended else window


def sentence_after(text: str, position: int) -> str:
    """The text after a position in its sentence, including the final question mark and an "or" after the end."""
    limit = position + MAX_SIDE
    stop = _BREAK.search(text, position, limit)
    if stop is not None and (offered := another_offer(text, stop.end())):
        return text[position:offered]
    if stop is None:
        return text[position:limit]
    return text[position : stop.end() if stop[0] in "?？" else stop.start()]


def sentence_end(text: str, position: int) -> int:
    """The end of the sentence at a position."""
    stop = _BREAK.search(text, position)
    return stop.end() if stop else len(text)


def another_offer(text: str, end: int) -> int:
    """The end of a short sentence at `end` that offers something else ("Or is it 5?"), or 0."""
    offer = _OFFER.match(text, end)
    return offer.end() if offer else 0


_BLANKS = str.maketrans({code: " " for code in range(128) if not chr(code).isalpha()})


def holds_no(words: frozenset[str], text: str) -> bool:
    """A cheap test whether a text certainly contains none of some words. Only ASCII texts can be decided."""
    return text.isascii() and words.isdisjoint(text.lower().translate(_BLANKS).split())


def asserts_all(text: str) -> bool:
    """A cheap test whether a text certainly denies, doubts, supposes, limits and quotes nothing."""
    return "?" not in text and holds_no(SAYING, text)


def reaches_nothing(text: str) -> bool:
    """A cheap test whether certainly no word of a text denies, doubts, limits or quotes what follows the text."""
    return holds_no(REACHING, text)
