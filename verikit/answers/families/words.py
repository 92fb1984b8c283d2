"""Mathematical answers in words: true, no solution, does not exist, diverges, even, increasing.

A text is read as a phrase of a closed vocabulary, with or without a subject: "The series diverges.", "an even
function", "Yes, it is.". A text that denies or limits the phrase, or continues with something else, is not read.
"""

from __future__ import annotations

import re

from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.claims.sentences import doubts
from verikit.answers.families.base import Context, Family
from verikit.answers.families.text import is_signed, words
from verikit.answers.parser.operations import WORDS

MAX_CHARS = 300
MAX_SUBJECT = 10
"""Words before the phrase."""

_VERBS = {
    "does not exist": "dne;does not exist;do not exist;doesnt exist;dont exist;nonexistent;non existent",
    "exists": "exists;exist",
    "undefined": "undefined;not defined;is not defined;isnt defined",
    "diverges": "diverges;diverge;divergent;does not converge;doesnt converge;not convergent;is not convergent",
    "converges": "converges;converge;convergent;does not diverge;doesnt diverge;not divergent",
    "no solution": "no solution;no solutions;no real solution;no real solutions;no real roots;solution set is empty;"
    "emptyset;varnothing;empty set;empty;none;no such solution;null set",
    "infinitely many": "infinitely many;infinitely many solutions;infinite solutions;infinite number of solutions;"
    "infinitely many solution;infinite many solutions;infinite number",
}
"""The meaning of each phrase that is a whole predicate."""
_ADJECTIVES = {
    "true": "true;correct", "false": "false;incorrect;not true;not correct", "even": "even", "odd": "odd",
    "neither": "neither;neither even nor odd;neither odd nor even", "increasing": "increasing",
    "decreasing": "decreasing", "constant": "constant", "positive": "positive", "negative": "negative",
    "rational": "rational", "irrational": "irrational", "concave up": "concave up;concave upward;concave upwards",
    "concave down": "concave down;concave downward;concave downwards", "prime": "prime", "composite": "composite",
    "linearly independent": "linearly independent", "linearly dependent": "linearly dependent;not linearly independent",
    "consistent": "consistent", "inconsistent": "inconsistent", "dependent": "dependent", "independent": "independent",
    "continuous": "continuous", "discontinuous": "discontinuous;not continuous", "acute": "acute", "obtuse": "obtuse",
    "isosceles": "isosceles", "equilateral": "equilateral", "scalene": "scalene", "parallel": "parallel",
    "perpendicular": "perpendicular;orthogonal", "skew": "skew", "convex": "convex", "concave": "concave",
    "injective": "injective;one to one", "surjective": "surjective;onto", "bijective": "bijective",
}  # fmt: skip
"""The meaning of each phrase that follows is or are."""
_SAID = {
    tuple(phrase.split()): (says, adjective)
    for table, adjective in ((_VERBS, False), (_ADJECTIVES, True))
    for says, phrases in table.items()
    for phrase in phrases.split(";")
}
_LONGEST = max(map(len, _SAID))
_COPULAS = frozenset(("is", "are", "was", "be"))
_NOUNS = frozenset(
    "function functions number numbers series sequence integral limit set triangle angle system lines line vectors "
    "statement claim answer expression".split()
)
_ADVERBS = frozenset("therefore thus hence indeed clearly always strictly monotonically so actually".split())
_DENIALS = frozenset(
    "not no never neither nor none cannot isnt arent doesnt dont wasnt cant or but if unless when except maybe perhaps "
    "might may could possibly unlikely hardly almost nearly then while some sometimes doubt suppose assume wrong "
    "mistaken rather instead than different unlike opposite only every once whether yes".split()
) | {word for phrase in _SAID for word in phrase if word not in _COPULAS | _NOUNS and word not in ("of", "to", "one")}
_PREFIXES = frozenset("anti ex mid non post pre pseudo quasi semi under".split())
"""Prefixes right before a phrase that make it another one."""
_AFTER = frozenset(("to", "for", "in", "exists", "exist"))
_LIKELY = re.compile(
    r"true|false|correct|\byes\b|\bno\b|none|exist|defined|diverg|converg|infinite|empty|varnothing|∅|dne|even\b|\bodd\b"
    r"|neither|creasing|constant|itive|ative|rational|concave|convex|prime|composite|depend|consistent|continuous|acute"
    r"|obtuse|isosceles|equilateral|scalene|parallel|perpendicular|orthogonal|skew|jective|one-to-one|onto|\\\{\s*\\\}",
    re.IGNORECASE,
)
_BRACES = re.compile(r"\\\{\s*\\\}")
_YES_NO = re.compile(
    r"[\s$]*(?:\\text(?:bf)?\s*\{)?\s*(yes|no|true|false)\b\s*\}?(?:\s*(?!-(?:\d|ish\b|like\b|free\b))[,.;:!—-]|\s+because\b)"
)
_ECHO = re.compile(
    r"\W*(?:it|they|this|that|there|he|she|we|you|one)\s+(?:is|are|does|do|can|will|was|has|have)(?:\s*not|n['’]t)?\W*"
)
_REASON = re.compile(
    r"(?:\s{1,3}(?:because|since|by the|due to)\b.{0,200}"
    r"|(?<=verges)\s{1,3}(?:absolutely|conditionally|uniformly))\.?\}?$",
    re.DOTALL,
)
_TRUTH = {"yes": "true", "no": "false", "true": "true", "false": "false"}


def _phrase(parts: tuple[str, ...]) -> str:
    """The meaning of a subject and a phrase of the vocabulary. Empty for anything else."""
    if len(parts) == 1 and parts[0] in _TRUTH:
        return _TRUTH[parts[0]]
    end = len(parts)
    while end > 1 and parts[end - 1] in _NOUNS and parts[end - 2 : end] not in _SAID:
        end -= 1
    for stop in _ends(parts, end):
        for start in range(max(0, stop - _LONGEST), stop):
            says, adjective = _SAID.get(parts[start:stop], ("", False))
            if says and _subject(parts[:start], adjective):
                return says
    return ""


def _ends(parts: tuple[str, ...], end: int) -> list[int]:
    """Possible ends of the phrase: the text's end, or before "to the equation", "in the reals"."""
    after = [i for i in range(max(1, end - 5), end) if parts[i] in _AFTER]
    plain = after and all(p.isalpha() and p not in _DENIALS for p in parts[after[0] + 1 : end])
    return [end, after[0]] if plain else [end]


def _subject(parts: tuple[str, ...], adjective: bool) -> bool:
    """Whether words are only the subject of a phrase."""
    if len(parts) > MAX_SUBJECT or _DENIALS & set(parts):
        return False
    while parts and parts[-1] in _ADVERBS:
        parts = parts[:-1]
    if not parts:
        return True
    last = parts[-1]
    if last == "of" or last in WORDS or last in _PREFIXES or not last.isalnum():
        return False
    return not adjective or last in _COPULAS


def meaning(text: str) -> str:
    """The meaning of a gold answer. Empty if it is not a text of this kind."""
    if len(text) > MAX_CHARS or not _LIKELY.search(text) or is_signed(text):
        return ""
    lead = _YES_NO.match(text.lower())
    if lead and _ECHO.fullmatch(text.lower(), lead.end()):
        denied = re.search(r"not|n['’]t", text[lead.end() :]) is not None
        return _TRUTH[lead[1]] if denied == (_TRUTH[lead[1]] == "false") else ""
    return _phrase(words(_BRACES.sub("emptyset", text.replace("∅", "emptyset").replace("-", " "))))


def _answer(text: str) -> str:
    """The meaning of an answer, which is like a gold answer or has reasons after it."""
    if says := meaning(text) or meaning(_REASON.sub("", text)):
        return says
    lead = _YES_NO.match(text.lower()) if len(text) <= MAX_CHARS else None
    if (
        lead is None
        or doubts(text[lead.end() :])
        or {"true", "false", "yes", "correct", "incorrect"} & set(words(text[lead.end() :]))
    ):
        return ""
    return _TRUTH[lead[1]]


def _match(gold: str, text: str, context: Context) -> EqualityResult | None:
    says = _answer(text)
    if not says:
        return None
    return equal(f"both say {gold}") if says == gold else different(f"says {says}, not {gold}")


FAMILY = Family("words", lambda text: meaning(text) or None, _match)
