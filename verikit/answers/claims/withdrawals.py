"""Answers that a reply takes back: "Rome. Wait, it is Paris.", "Scratch that.", and ~~struck-through text~~."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verikit.answers.claims.tokens import ClaimToken, tokens
from verikit.answers.claims.words import GETS

_TAKEN_BACK = re.compile(
    r"(?:^|[.!?\n…。！？]\s{0,3}|--\s?|—\s?)(?:(?:oh|hmm|no|ah|but|nein|non)\b[\s,.]{0,3})?(?:wait|oops"
    r"|make that|hold on|correction|scratch that"
    r"|on second thoughts?|sorry, (?!for\b)|i meant|let me correct"
    r"|actually,? (?:it is|it['’]s|it was|that['’]s|the answer|(?=\$?\d)))(?:\b|(?<=\s)|(?=\d))",
    re.IGNORECASE,
)
_HINTS = (
    "wait", "hold on", "correction", "scratch that", "on second thought", "sorry", "i meant", "let me correct",
    "actually", "oops", "make that", "no, ",
)  # fmt: skip
"""Every phrase that takes an answer back contains one of these."""
_NO = re.compile(r"[.!\n]\s{1,3}No, |(?:--|—)\s?no, ")
"""Words that take back an answer before them, and otherwise answer a question."""
_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,300}~~")


def without_struck(text: str) -> str:
    """Remove struck-through text."""
    return _STRUCK.sub("", text) if "~" in text and "~~" in text else text


def after_withdrawal(text: str, start: int = 0) -> str | None:
    """The text after the last place that takes an answer back, which may be empty. None if nothing is taken back.

    Text that only checks an answer ("Wait, let me verify: yes, that is right.") takes nothing back.
    """
    if not _may_withdraw(text, start):
        return None
    ends = [match.end() for match in _TAKEN_BACK.finditer(text, start)]
    if start and (no := list(_NO.finditer(text, start + 1))) and _replaces(text[no[-1].end() :]):
        ends.append(no[-1].end())
    if not ends:
        return None
    rest = text[max(ends) :].lstrip(" ,:—-.…")
    return None if _only_confirms(rest) else rest


def _only_confirms(rest: str) -> bool:
    """Whether a text without numbers and formulas calls an answer right."""
    roles = {token.role for token in tokens(rest[:400])}
    if "number" in roles or "\\" in rest or "$" in rest:
        return False
    return "not" not in roles and not roles.isdisjoint(("right", "case"))


def is_taken_back(following: Sequence[ClaimToken]) -> bool:
    """Whether a sentence after an answer only says that it is wrong: "That is wrong;", "This isn't right."."""
    if not following or following[0].role not in ("that", "it"):
        return False
    said = [token for token in following[1:7] if token.role not in ("is", "sure", "does")]
    if not said:
        return False
    ends = 2 if said[0].role == "not" and [token.role for token in said[1:2]] == ["right"] else 1
    if ends == 1 and said[0].role != "wrong":
        return False
    return len(said) == ends or said[ends].role in ("comma", "so", "but", "it", "answer") or said[ends].text == ";"


def another_answer(following: Sequence[ClaimToken]) -> ClaimToken | None:
    """The first word of the answer at the start of a text: "It is …", "I get …", "The right one is …"."""
    for at, token in enumerate(following[:12]):
        after = following[at + 1 : at + 3]
        if any(other.role in ("not", "wrong", "if", "might") for other in after):
            continue
        is_own = token.text in ("i", "we") and any(other.text in GETS for other in after[:1])
        if is_own or (token.role in ("it", "answer", "right") and any(other.role == "is" for other in after)):
            rest = following[at + 2 :]
            return next((other for other in rest if other.role not in ("is", "filler", "sure")), None)
    return None


def _replaces(rest: str) -> bool:
    """Whether another answer follows "No, ": a bare one, or one with "it is"."""
    said = tokens(rest[:200])
    if any(token.role in ("not", "because") for token in said):
        return False
    return 0 < len(said) <= 4 or said[0].role in ("it", "answer") or rest.startswith(("the answer", "make that"))


def _may_withdraw(text: str, start: int) -> bool:
    """Whether a text contains any withdrawal word. Any non-ASCII text may fold to such a word."""
    if not text.isascii():
        return True
    folded = text[start:].lower()
    for hint in _HINTS:  # noqa: SIM110 - a loop takes half the time of `any`
        if hint in folded:
            return True
    return False
