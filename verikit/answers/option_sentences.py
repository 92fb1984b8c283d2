"""Reads one sentence about options: the letters it asserts to be the answer, and those it denies.

The sentence is read as a sequence of roles (answer, is, right, not, but, …), the same in every language. A letter is
asserted if the sentence calls it the answer, right or chosen, outside of negations, conditions and doubts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from verikit.answers.claims.roles import role_among
from verikit.answers.claims.tokens import UNSPACED_WORDS, WORDS, ClaimToken, holds_no, role_of_word
from verikit.answers.claims.words import ROLES, SAYING

NONE = frozenset[str]()
MAX_SENTENCE = 600
"""Number of characters read at the end of a sentence."""
_LETTER = (
    r"(?<![A-Za-zÀ-ɏ0-9_+\-*/=^])[(\[]\s?(?P<wrapped>[A-Za-z])\s?[)\]](?![A-Za-z0-9_^]|\s?[+*/=^])"
    r"|(?<![A-Za-zÀ-ɏ0-9_'+*/=^\\-])(?P<bare>[A-Z])(?![A-Za-zÀ-ɏ0-9_'^!(]|-\w|\)?\s?[-+*/=<>^]\s?[\w(\\])"
    r"|(?<![A-Za-zÀ-ɏ0-9_'+*/=^\\-])(?P<small>[a-z](?=\)|[\s.,:;]{0,3}$)"
    r"|(?<=[Oo]ption )[a-z](?![\w'])|(?<=[Cc]hoice )[a-z](?![\w']))"
)
_ASCII_TOKEN = re.compile(f"{_LETTER}|{WORDS}")
_TOKEN = re.compile(f"{_LETTER}|{UNSPACED_WORDS}")
_MAY_HOLD_LETTER = re.compile(
    r"(?<![A-Za-z])(?:[A-Z](?![A-Za-z])|[a-z](?=\s?[)\]]|[\s.,:;]{0,3}$)|(?<=[nc]e )[a-z]\b|(?<=on )[a-z]\b)"
)
_BEFORE = frozenset(
    ("answer", "option", "is", "choose", "not", "except", "but", "filler", "comma", "and", "or", "if", "so", "maybe",
     "all", "that", "sure", "think", "say", "refuse")
)  # fmt: skip
_AFTER = frozenset(
    ("is", "not", "but", "and", "or", "right", "wrong", "comma", "mark", "number", "because", "if", "letter", "would",
     "might", "remains", "does", "")
)  # fmt: skip
_LOOSE_AFTER = _AFTER | {"option", "after", "filler", "so", "that", "sure", "think"}
_WORD_LETTERS = frozenset("AEIOUY")
"""Letters that are words in some language. They count as options only if the next word can only follow an option."""
_SKIPPED = frozenset(("filler", "option", "so", "it", "all", "that", "sure", "think", "might", "would"))
_CUES = frozenset(("answer", "right", "choose"))
_TELLING = SAYING | {word for word, role in ROLES.items() if role in (*_CUES, "option", "remains")}
"""Words without which a sentence other than the last one neither chooses nor excludes a letter."""


class Said(NamedTuple):
    """The letters of a sentence by their role."""

    asserted: frozenset[str] = NONE
    """The letters called the answer, right or chosen."""
    denied: frozenset[str] = NONE
    alternatives: bool = False
    """Whether the asserted letters are offered as alternatives."""
    unsettled: frozenset[str] = NONE
    """The letters supposed, quoted, or offered together with others."""


def read_sentence(sentence: str, closing: bool = False) -> Said:
    """The letters that a sentence asserts and denies. With `closing`, "it is B" is enough to choose."""
    sentence = sentence[-MAX_SENTENCE:]
    if not _MAY_HOLD_LETTER.search(sentence) or sentence.rstrip().endswith(("?", "？")):
        return Said()
    if not closing and holds_no(_TELLING, sentence):
        return Said()
    return _read(_roles(list(_tokens(sentence))), closing)


def _tokens(sentence: str) -> Iterator[ClaimToken]:
    for match in (_ASCII_TOKEN if sentence.isascii() else _TOKEN).finditer(sentence):
        kind, text = match.lastgroup or "", match[0].lower()
        if text == "/" and not sentence[: match.start()][-1:].isspace():
            yield ClaimToken("mark", text, match.start())
        elif kind == "word":
            yield ClaimToken(role_of_word(text, sentence, match.end()), text, match.start())
        elif text == "'" or (text in ("(", "[") and not sentence[: match.start()][-1:].strip()):
            continue
        elif kind in ("comma", "number", "mark"):
            yield ClaimToken(kind, text, match.start())
        else:
            yield ClaimToken("letter", match[kind].upper(), match.start(), kind == "wrapped")


def _roles(tokens: list[ClaimToken]) -> list[ClaimToken]:
    """Tokens with the roles that depend on their neighbours: letters that are words, "go" without "with"."""
    found: list[ClaimToken] = []
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else ClaimToken("comma", "", 0)
        after = tokens[at + 1].role if at + 1 < len(tokens) else ""
        role = token.role
        if role == "letter" and not token.sure:
            allowed = _AFTER if token.text in _WORD_LETTERS else _LOOSE_AFTER
            pronoun = (
                token.text == "I"
                and after in ("not", "does", "wrong")
                and _next_role(tokens, at + 2) not in ("letter", "")
            )
            if pronoun or not (before.role in _BEFORE or (at > 1 and before.role == "letter")) or after not in allowed:
                role = "word"
        elif token.text == "go" and at + 1 < len(tokens) and tokens[at + 1].text not in ("with", "for"):
            role = "word"
        found.append(token if role == token.role else token._replace(role=role))
    return found


def _read(tokens: list[ClaimToken], closing: bool) -> Said:
    asserted, denied, unsettled = set[str](), set[str](), set[str]()
    alternatives = False
    asserts_all = SAYING.isdisjoint([token.text for token in tokens])
    at = 0
    while at < len(tokens):
        if tokens[at].role != "letter":
            at += 1
            continue
        end, group, either = _group(tokens, at)
        said = "asserted" if asserts_all else role_among(_plain(tokens[:at]), _plain(tokens[end:]))
        if said == "denied":
            denied |= group
        elif _is_choice_of_others(tokens[:at]):
            unsettled |= group
        elif said in ("asserted", "alternative") and _chosen(tokens, at, end, bool(denied), closing):
            asserted |= group
            alternatives = alternatives or either or said == "alternative"
        elif said != "asserted":
            unsettled |= group
        at = end
    return Said(frozenset(asserted - denied), frozenset(denied), alternatives, frozenset(unsettled))


def _is_choice_of_others(before: list[ClaimToken]) -> bool:
    """Whether a letter is chosen by other people: "Some people choose B"."""
    return len(before) > 1 and before[-1].role == "choose" and before[-2].role == "they"


def _plain(tokens: list[ClaimToken]) -> list[ClaimToken]:
    return [token for token in tokens if token.role != "mark" or token.text in (";", "?", "？")]


def _group(tokens: list[ClaimToken], at: int) -> tuple[int, set[str], bool]:
    """Letters joined by commas, "and" or "or": the end position, the letters, and whether "or" joins them."""
    letters, either = {tokens[at].text}, False
    end = at + 1
    while True:
        ahead = _after_joiners(tokens, end)
        if ahead == end or ahead == len(tokens) or tokens[ahead].role != "letter":
            return end, letters, either
        either = either or any(token.role == "or" for token in tokens[end:ahead])
        letters.add(tokens[ahead].text)
        end = ahead + 1


def _after_joiners(tokens: list[ClaimToken], start: int) -> int:
    """The position after commas, "and" and "or", with an "option" among them."""
    at = start
    while at < len(tokens):
        role = tokens[at].role
        if role not in ("comma", "and", "or") and (role != "option" or at == start):
            break
        at += 1
    return at


def _next_role(tokens: list[ClaimToken], at: int) -> str:
    while at < len(tokens) and tokens[at].role in _SKIPPED:
        at += 1
    return tokens[at].role if at < len(tokens) else ""


def _chosen(tokens: list[ClaimToken], at: int, end: int, after_denial: bool, closing: bool) -> bool:
    """Whether the sentence calls the letters of tokens `at` to `end` the answer, right or chosen."""
    back = at - 1
    while back >= 0 and tokens[back].role in _SKIPPED | {"but", "comma"}:
        back -= 1
    introduced = tokens[back].role if back >= 0 else ""
    last = end >= len(tokens) or tokens[end].role in ("mark", "comma", "number")
    if introduced == "choose" or (after_denial and _is_contrasted(tokens, at)):
        return True
    if introduced == "is" and _is_about_the_answer(tokens, at, back, closing):
        return True
    if closing and _is_concluded(tokens, at, back, last):
        return True
    if introduced in ("answer", "right") and (last or not tokens[end].text.isascii()):
        return True
    return _called_right(tokens, end, introduced == "is")


def _is_concluded(tokens: list[ClaimToken], at: int, back: int, last: bool) -> bool:
    """Whether a closing sentence ends in letters: "I'd say B", "So B"."""
    if back > 0 and tokens[back].role == "say" and tokens[back - 1].text == "i":
        return True
    opening = tokens[at - 1] if at and back >= 0 and tokens[back].role else tokens[0]
    return last and opening.role == "so" and opening.text != "then"


def _is_contrasted(tokens: list[ClaimToken], at: int) -> bool:
    """Whether letters follow a "but", as in "not A but option B"."""
    previous = tokens[at - 1] if at else tokens[0]
    return previous.role in ("but", "option", "filler") and any(token.role == "but" for token in tokens[:at])


def _is_about_the_answer(tokens: list[ClaimToken], at: int, verb: int, closing: bool) -> bool:
    """Whether the subject of "is" before a letter is the answer, an option, or in a `closing` sentence "it"."""
    roles = {token.role for token in tokens[:at]}
    labelled = verb > 0 and tokens[verb - 1].role == "option"
    return labelled or not _CUES.isdisjoint(roles) or (closing and "it" in roles)


def _called_right(tokens: list[ClaimToken], end: int, stated: bool) -> bool:
    """Whether "is correct", "is the right answer" or similar follows."""
    for token in tokens[end : end + 6]:
        if token.role == "is":
            stated = True
        elif token.role in ("right", "answer"):
            return stated or not token.text.isascii()
        elif token.role == "remains":
            return True
        elif token.role not in ("filler", "option", "sure", "all"):
            return False
    return False
