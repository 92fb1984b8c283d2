"""The answer that a reply states, as text, and whether the reply asserts it."""

from __future__ import annotations

import re
from typing import NamedTuple

from verikit.answers.choices import unwrap
from verikit.answers.claims.extract import final_part, marked
from verikit.answers.claims.roles import is_alternative, role_among
from verikit.answers.claims.tokens import after, before
from verikit.answers.claims.withdrawals import after_withdrawal
from verikit.replies.text import squad

_BOLD = re.compile(r"(?<![*\w])\*\*(?=\S)([^*\n]{1,200})(?<=\S)\*\*(?![*\w])")
_HEADING = re.compile(
    r"[^\n]{0,200}[:：]|(?:note|step|final answer|answer|explanation|solution)\b[^\n]{0,40}", re.IGNORECASE
)
_ITEMS = re.compile(r"[ \t]*(?:,?[ \t]+(?:and|or|und|oder|et|ou|y)[ \t]+|[,;、，]|[ \t]/[ \t]|\n)[ \t]*", re.IGNORECASE)
_BULLET = re.compile(r"(?:[-*•–]|\(?\w[.)]|\d{1,2}[.)])\s+")
_WORDS_OF_AN_ITEM = 6


class Stated(NamedTuple):
    """The stated answer of a reply."""

    text: str | None
    """The answer; None if the reply denies it."""
    form: str
    """The form it was found in: box, statement, bold, …; "whole" if the answer is not marked."""


def stated(reply: str) -> Stated:
    """The answer that a reply marks (a tag, a box, "the answer is …", ####, its only bold words), or the whole reply.

    If a reply retracts an answer ("Rome. Wait, Paris."), the text after the retraction counts.
    """
    part = final_part(reply)
    if found := marked(part):
        last = found[-1]
        if last.negated:
            return Stated(None, f"a denied {last.form}")
        return Stated(unwrap(last.text.strip()).strip(" \t*_`\"'“”").rstrip("."), last.form)
    part = after_withdrawal(part) or part
    return _bold(part) or Stated(part.strip(), "whole")


def _bold(part: str) -> Stated | None:
    """The only bold words, ignoring headings; None if there aren't any, or more than one run."""
    bold = [match for match in _BOLD.finditer(part) if not _HEADING.fullmatch(match[1])] if "**" in part else []
    if len({match[1].casefold() for match in bold}) != 1:
        return None
    if any(stands(part, match.start(), match.end()) for match in bold):
        return Stated(bold[-1][1].strip().rstrip("."), "bold")
    return Stated(None, "denied bold words")


def stands(text: str, start: int, end: int) -> bool:
    """Whether text asserts the span from `start` to `end`: no denial, question, condition or alternative."""
    left = before(text, start)
    return role_among(left, after(text, end)) == "asserted" and not is_alternative(left)


def offers_others(answer: str, gold: str) -> bool:
    """Whether an answer with the gold answer also offers others, or denies the gold answer: a guess, not an answer."""
    wanted = gold.strip().casefold()
    if not wanted or len(answer.casefold()) != len(answer):
        return False
    return _denies(answer, wanted) or _lists_others(answer, gold)


def _denies(answer: str, wanted: str) -> bool:
    places = [m.start() for m in re.finditer(rf"(?<!\w){re.escape(wanted)}(?!\w)", answer.casefold())]
    return bool(places) and not any(stands(answer, at, at + len(wanted)) for at in places[-64:])


def _lists_others(answer: str, gold: str) -> bool:
    items = [_BULLET.sub("", item, count=1) for item in _ITEMS.split(answer.strip()[:2_000]) if item.strip()]
    if len(items) < 2 or any(len(item.split()) > _WORDS_OF_AN_ITEM for item in items):
        return False
    plain = {squad(item) for item in items}
    hierarchy = len(items) == 2 and re.search(r"\n|/|;|\b(?:and|or|und|oder|et|ou|y)\b", answer, re.IGNORECASE) is None
    return not hierarchy and squad(gold) in plain and len(plain) > 1
