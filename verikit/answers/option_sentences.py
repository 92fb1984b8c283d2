"""One sentence about options: which letters it asserts to be the answer, and which it denies.

The sentence is read as a row of roles (answer, is, right, not, but, …), the same in every language; a letter is
asserted where the sentence calls it the answer, right or chosen, outside of a negation, a condition and a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from verikit.answers.denials import unasserted
from verikit.answers.option_words import ROLES, UNSPACED

NONE = frozenset[str]()
MAX_SENTENCE = 600
"""Characters of a sentence, from its end, that are read."""
_LETTER = (
    r"(?<![A-Za-zÀ-ɏ0-9_+\-*/=^])[(\[]\s?(?P<wrapped>[A-Za-z])\s?[)\]](?![A-Za-z0-9_^]|\s?[+*/=^])"
    r"|(?<![A-Za-zÀ-ɏ0-9_'+*/=^\\-])(?P<bare>[A-Z])(?![A-Za-zÀ-ɏ0-9_'^!(]|-\w|\)?\s?[-+*/=<>^]\s?[\w(\\])"
    r"|(?<![A-Za-zÀ-ɏ0-9_'+*/=^\\-])(?P<small>[a-z](?=\)|[\s.,:;]{0,3}$)"
    r"|(?<=[Oo]ption )[a-z](?![\w'])|(?<=[Cc]hoice )[a-z](?![\w']))"
)
_WORD = r"n't\b|'s\b|[A-Za-z]+?(?=n't\b)|[^\W\d_]+|[&/:=、—–∴]"
_UNSPACED_WORD = _WORD.replace(r"[^\W\d_]+", "[^\\W\\d_\u2e80-\uffff]+|[\u2e80-\uffff]")
_REST = r"|(?P<comma>,)|(?P<other>\d+|\\\w*|[^\s\w])"
_ASCII_TOKEN = re.compile(f"{_LETTER}|(?P<word>{_WORD}){_REST}")
_TOKEN = re.compile(
    f"{_LETTER}|(?P<word>{'|'.join(map(re.escape, UNSPACED))}|[\u0900-\u097f]+|{_UNSPACED_WORD}){_REST}"
)
_MAY_HOLD_LETTER = re.compile(
    r"(?<![A-Za-z])(?:[A-Z](?![A-Za-z])|[a-z](?=\s?[)\]]|[\s.,:;]{0,3}$)|(?<=[nc]e )[a-z]\b|(?<=on )[a-z]\b)"
)
_BEFORE = frozenset(
    ("answer", "option", "is", "choose", "not", "except", "but", "filler", "comma", "and", "or", "if", "so", "maybe")
)
_AFTER = frozenset(("is", "not", "but", "and", "or", "right", "wrong", "comma", "other", "because", "if", "letter", ""))
_LOOSE_AFTER = _AFTER | {"option", "after", "filler", "so"}
_WORD_LETTERS = frozenset("AEIOUY")
"""Letters that are words in some language: nothing but what only an option is followed by may follow them."""
_ALL = frozenset(("all", "everything", "anything", "any", "each", "every"))
_SKIPPED = frozenset(("filler", "option", "so", "it"))
_CUES = frozenset(("answer", "right", "choose"))


class Said(NamedTuple):
    """The letters a sentence asserts and denies, and whether it offers those it asserts as alternatives."""

    asserted: frozenset[str] = NONE
    denied: frozenset[str] = NONE
    alternatives: bool = False


class _Token(NamedTuple):
    role: str
    text: str
    start: int
    sure: bool = False
    """Whether a letter stands in brackets, so that it can't be a word."""


def read_sentence(sentence: str, closing: bool = False) -> Said:
    """What a sentence asserts and denies; a `closing` one may choose by "it is B" alone."""
    sentence = sentence[-MAX_SENTENCE:]
    if not _MAY_HOLD_LETTER.search(sentence) or sentence.rstrip().endswith(("?", "？")):
        return Said()
    tokens = _roles(list(_tokens(sentence)))
    if not any(token.role == "letter" for token in tokens):
        return Said()
    return _read(sentence, tokens, closing)


def _tokens(sentence: str) -> Iterator[_Token]:
    for match in (_ASCII_TOKEN if sentence.isascii() else _TOKEN).finditer(sentence):
        kind, text = match.lastgroup or "", match[0].lower()
        if kind == "word":
            spoken = text == "no" and sentence[match.end() : match.end() + 1] == ","
            yield _Token("filler" if spoken else ROLES.get(text, "word"), text, match.start())
        elif text == "'" or (text in ("(", "[") and not sentence[: match.start()][-1:].strip()):
            continue
        elif kind in ("comma", "other"):
            yield _Token(kind, text, match.start())
        else:
            yield _Token("letter", match[kind].upper(), match.start(), kind == "wrapped")


def _roles(tokens: list[_Token]) -> list[_Token]:
    """Tokens with the roles that depend on their neighbours: "all but", "rather than", letters that are words."""
    found: list[_Token] = []
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else _Token("comma", "", 0)
        after = tokens[at + 1].role if at + 1 < len(tokens) else ""
        role = token.role
        if (role == "but" and before.text in _ALL) or (token.text, before.text) in _EXCEPT:
            role = "except"
        elif role == "letter" and not token.sure:
            allowed = _AFTER if token.text in _WORD_LETTERS else _LOOSE_AFTER
            pronoun = token.text == "I" and after == "not" and _next_role(tokens, at + 2) != "letter"
            if pronoun or not (before.role in _BEFORE or (at > 1 and before.role == "letter")) or after not in allowed:
                role = "word"
        elif token.text == "go" and at + 1 < len(tokens) and tokens[at + 1].text not in ("with", "for"):
            role = "word"
        found.append(token if role == token.role else token._replace(role=role))
    return found


_EXCEPT = frozenset((("than", "rather"), ("than", "other"), ("of", "instead")))


def _read(sentence: str, tokens: list[_Token], closing: bool) -> Said:
    asserted, denied, clause = set[str](), set[str](), set[str]()
    scope, cue, alternatives = "", "", False
    at = 0
    while at < len(tokens):
        role = tokens[at].role
        if role == "letter":
            end, group, joined_by_or = _group(tokens, at)
            if scope == "not":
                denied |= group
            elif scope == "if":
                return Said()
            elif not scope and _chosen(sentence, tokens, at, end, cue, closing):
                asserted |= group
                alternatives = alternatives or joined_by_or
            clause |= group
            at = end
            continue
        if role == "or" and asserted:
            alternatives = alternatives or (at + 1 < len(tokens) and _next_role(tokens, at + 1) == "letter")
        if role in _CUES and scope != "if":
            cue = cue or role
        elif role == "it" and not cue:
            cue = "it"
        if role in ("comma", "but", "so", "because"):
            cue = "but" if role == "but" and denied else cue
            scope, clause = "", set()
        elif role == "except":
            scope = "not"
        elif role in ("not", "wrong"):
            if clause and (role == "wrong" or _next_role(tokens, at + 1) != "letter"):
                denied |= clause
                clause = set()
            else:
                scope = "not"
        elif role in ("if", "maybe") and not clause:
            scope = "if"
        at += 1
    return Said(frozenset(asserted - denied), frozenset(denied), alternatives)


def _group(tokens: list[_Token], at: int) -> tuple[int, set[str], bool]:
    """Letters joined by commas, "and" or "or": where they end, which they are, and whether "or" joins them."""
    letters, either = {tokens[at].text}, False
    end = at + 1
    while True:
        ahead = end
        while (ahead < len(tokens) and tokens[ahead].role in ("comma", "and", "or")) or (
            ahead < len(tokens) and ahead > end and tokens[ahead].role == "option"
        ):
            ahead += 1
        if ahead < len(tokens) and tokens[ahead].role == "letter" and ahead > end:
            either = either or any(token.role == "or" for token in tokens[end:ahead])
            letters.add(tokens[ahead].text)
            end = ahead + 1
        else:
            return end, letters, either


def _next_role(tokens: list[_Token], at: int) -> str:
    while at < len(tokens) and tokens[at].role in _SKIPPED:
        at += 1
    return tokens[at].role if at < len(tokens) else ""


def _chosen(sentence: str, tokens: list[_Token], at: int, end: int, cue: str, closing: bool) -> bool:
    """Whether the sentence calls the letters of tokens `at` to `end` the answer, right or chosen."""
    back = at - 1
    while back >= 0 and tokens[back].role in _SKIPPED | {"but", "comma"}:
        back -= 1
    introduced = tokens[back].role if back >= 0 else ""
    last = end >= len(tokens) or tokens[end].role in ("other", "comma")
    if unasserted(sentence[: tokens[at].start]):
        return False
    if introduced == "choose" or (cue == "but" and at and tokens[at - 1].role in ("but", "option", "filler")):
        return True
    if introduced == "is":
        labelled = back > 0 and tokens[back - 1].role == "option"
        if cue in _CUES or labelled or (cue == "it" and closing):
            return True
    if closing and tokens[0].role == "so" and tokens[0].text != "then" and introduced == "" and last:
        return True
    if introduced in ("answer", "right") and (last or not tokens[end].text.isascii()):
        return True
    if tokens[at].sure and cue == "answer" and sum(token.role == "letter" for token in tokens) == 1:
        return any(token.role == "is" for token in tokens[:at])
    return _called_right(tokens, end, introduced == "is")


def _called_right(tokens: list[_Token], end: int, stated: bool) -> bool:
    """Whether "is correct", "is the right answer" or the like follows."""
    for token in tokens[end : end + 6]:
        if token.role == "is":
            stated = True
        elif token.role in ("right", "answer"):
            return stated or not token.text.isascii()
        elif token.role not in ("filler", "option"):
            return False
    return False
