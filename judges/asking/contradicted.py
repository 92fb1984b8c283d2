"""Verdicts whose reasons contradict them, such as "Answer B is better. [[A]]". They are counted, and stay verdicts.

Only clear cases count: English sentences that state the opposite verdict in words, as the judge's conclusion. So the
count is a lower bound. Conditions ("if it is met"), other people's claims, and parts of a comparison ("A is better at
style") are skipped. Windows are short and patterns do not backtrack, so reading is linear.
"""

from __future__ import annotations

import re
from dataclasses import replace

from verikit.judges.asking.reply import JudgeVerdict
from verikit.replies.split import split

CONTRADICTED = "contradicted"
"""Usage key that counts them."""
_TIE = 0.5
_REASONS = 8000
"""Characters of a reply that are read, from its end."""
_SENTENCE = re.compile(r"[.!?\n]+(?:\s|$)")
_OPEN = re.compile(
    r"\b(?:if|whether|unless|would|could|might|claims?|says|asks|wants|although|though|while|but)\b|[\"“?]", re.I
)
"""Words of sentences that do not state the judge's own conclusion, or state two things."""
_BETTER = re.compile(
    r"\b(?:assistant|answer|response) ([AB12])(?:'s (?:answer|response))? is (?:the )?"
    r"(?:(?!not |never |hardly |no )\w{2,12} )?(better|worse)(?: one| answer| response)?"
    r"(?: than (?:assistant |answer |response )?[AB12])?[\s.!*]*$",
    re.I,
)
_NUMBERED = re.compile(r"^\W{0,5}(?:criterion )?(\d{1,4})\W", re.I)
_NOT_MET = re.compile(
    r"\b(?:(?:is|are|was) (?:clearly |therefore )?not met|is unmet|(?:does not|doesn['’]t|fails to) meet)\b", re.I
)
_MET = re.compile(r"\b(?:is|are|was) (?:clearly |fully |therefore )?met\b", re.I)
_OF_CRITERION = re.compile(
    r"\b(?:criterion|criteria|rubric item) (?:is|are|was) (?:clearly |fully |therefore )?(?:not )?met\b"
    r"|\b(?:does not|doesn['’]t|fails to) meet (?:the|this) (?:criterion|criteria|rubric item)\b",
    re.I,
)


def counted_if_contradicted(verdict: JudgeVerdict) -> JudgeVerdict:
    """The verdict of a comparison. Its usage counts a contradiction."""
    if verdict.value is None or not prefers_other(split(verdict.reply).reply, verdict.value):
        return verdict
    return replace(verdict, usage={**verdict.usage, CONTRADICTED: 1.0})


def prefers_other(reply: str, preference: float) -> bool:
    """Whether the conclusion of a comparison names the other answer than its verdict, as better.

    Args:
        reply: The judge's text, with the verdict.
        preference: The verdict's value for the answer shown first.
    """
    if preference == _TIE:
        return False
    said = _SENTENCE.split(reply[-_REASONS:])
    stated = [_side(sentence) for sentence in said if _BETTER.search(sentence) and not _OPEN.search(sentence)]
    return len(set(stated)) == 1 and stated[0] != (preference > _TIE)


def _side(sentence: str) -> bool:
    """Whether a sentence states that the first answer is the better one."""
    found = _BETTER.search(sentence)
    assert found is not None  # its caller looked
    return (found[1] in "Aa1") == (found[2].lower() == "better")


def opposite_criteria(reply: str, verdicts: list[JudgeVerdict]) -> int:
    """How many criteria of a rubric are met in the words of a line and not in its verdict, or the other way round.

    A line is about the criterion whose number it starts with. Sentences about a request's only criterion may name it
    instead ("the criterion is not met").

    Args:
        reply: The judge's text. Of a JSON reply the strings.
        verdicts: The verdict on each criterion, in the order of their numbers in the request.
    """
    stated: dict[int, set[bool]] = {}
    for line in reply[-_REASONS:].splitlines():
        if (number := _NUMBERED.match(line)) and not _OPEN.search(line):
            stated.setdefault(int(number[1]), set()).update(_stated(line))
    if len(verdicts) == 1:
        stated.setdefault(1, set()).update(_of_only(reply[-_REASONS:]))
    known = [(stated.get(number), verdict.value) for number, verdict in enumerate(verdicts, 1)]
    return sum(value in (0.0, 1.0) and said == {not value} for said, value in known)


def _of_only(reply: str) -> set[bool]:
    """What sentences state about a request's only criterion. Empty if none of them is clear."""
    found = [(sentence, said[0]) for sentence in _SENTENCE.split(reply) if (said := _OF_CRITERION.search(sentence))]
    if all(_OPEN.search(sentence) for sentence, _ in found):
        return set()
    return {value for _, said in found for value in _stated(said)}


def _stated(line: str) -> list[bool]:
    return [False] * bool(_NOT_MET.search(line)) + [True] * bool(_MET.search(line))
