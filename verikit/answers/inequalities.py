"""Converts inequalities in words to mathematics: "y is at most 9", "greater than 3 but less than 7"."""

from __future__ import annotations

import re

from verikit.answers.families.pieces import bare

MAX_CHARS = 200
_SUBJECT = re.compile(
    r"(?:(?:so|thus|hence|therefore),?\s+)?"
    r"(?:(?P<name>\\?[a-zA-Z]{1,8}|\\[a-z]{2,8})\s+(?:is|must be|can be|has to be|should be)\s+"
    r"|(?:the set of\s+)?(?:all|any|every|each)?\s*"
    r"(?P<kind>(?:real\s+)?(?:numbers?|values?)|reals?|integers?|whole numbers?)"
    r"(?:\s+(?P<named>[a-zA-Z])\b)?\s*(?:(?:that|which)\s+(?:is|are)\s+|such that\s+[a-zA-Z]\s+is\s+)?)?",
    re.IGNORECASE,
)
_BEFORE_KIND = re.compile(
    r"(?:the set of\s+)?(?:all|any|every|each)?\s*(?P<sign>[a-z-]{7,13})\s+(?P<kind>(?:real\s+)?numbers?|reals?)",
    re.IGNORECASE,
)
_ORDER = {
    r"\le": r"at most|no more than|not more than|no greater than|not greater than|less than or equal to"
    r"|smaller than or equal to|no larger than",
    r"\ge": r"at least|no less than|not less than|no fewer than|greater than or equal to|more than or equal to"
    r"|larger than or equal to|no smaller than",
    "<": r"(?:strictly )?(?:less|smaller|lower|fewer) than|below",
    ">": r"(?:strictly )?(?:greater|larger|more|bigger|higher) than|above",
    r"\ne": r"not equal to|different from|except(?: for)?|other than|excluding",
}  # fmt: skip
_SIGNS = {
    "positive": ">", "negative": "<", "non-negative": r"\ge", "nonnegative": r"\ge", "non-positive": r"\le",
    "nonpositive": r"\le", "nonzero": r"\ne", "non-zero": r"\ne",
}  # fmt: skip
_VALUE = (
    r"(-?(?:\d+(?:\.\d+)?(?:/\d+)?|\\[dt]?frac\s?\{[^{}]{1,12}\}\{[^{}]{1,12}\}|\d*\\sqrt\s?\{[^{}]{1,12}\}|\d*\\pi))"
    r"(?![\w.^*/+(-]*\w)"
)
_COMPARED = [(re.compile(rf"(?:{words})\s+{_VALUE}", re.IGNORECASE), sign) for sign, words in _ORDER.items()]
_OR_MORE = re.compile(
    rf"{_VALUE}\s+or\s+(?:(?P<more>more|greater|higher|larger|above)|less|fewer|lower|smaller|below)\b", re.IGNORECASE
)
_BETWEEN = re.compile(
    rf"(?P<strictly>strictly\s+)?between\s+{_VALUE}\s+and\s+{_VALUE}(?:,?\s*\(?(?P<ends>inclusive|exclusive)\)?)?",
    re.IGNORECASE,
)
_SIGNED = re.compile(r"(?:non-?)?(?:positive|negative|zero)\b", re.IGNORECASE)
_LINK = re.compile(r"\s?,?\s*\b(?P<word>but|and|or)\b\s*(?:is\s+)?", re.IGNORECASE)
_MORE = re.compile(rf"(?:,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+){_VALUE}")
_LIKELY = re.compile(r"\bor\b|most|least|than|between|itive|ative|zero|equal|except|below|above|differ|excluding")
_RAYS = {
    r"\le": r"(-\infty,{}]", r"\ge": r"[{},\infty)", "<": r"(-\infty,{})", ">": r"({},\infty)",
    r"\ne": r"((-\infty,{0})\cup({0},\infty))",
}  # fmt: skip


def respelled(text: str) -> str | None:
    """The set that comparison words describe, as an inequality if they name a variable. None for other texts."""
    if len(text) > MAX_CHARS or not _LIKELY.search(text):
        return None
    text = " ".join(bare(text).strip().rstrip(".").split())
    if (signed := _BEFORE_KIND.fullmatch(text)) is not None and signed["sign"].lower() in _SIGNS:
        return _written([("", _SIGNS[signed["sign"].lower()], "0")], "")
    subject = _SUBJECT.match(text)
    assert subject is not None  # every part is optional
    found = _conditions(text, subject.end())
    if found is None:
        return None
    kind = (subject["kind"] or "").lower()
    if kind.startswith("whole"):
        return None  # from 0 on to some, of both signs to others
    if kind.startswith("integer"):
        return rf"\{{x \in \mathbb{{Z}} \mid {_written(found, 'x')}\}}"
    return _written(found, subject["name"] or "")


def _conditions(text: str, position: int) -> list[tuple[str, str, str]] | None:
    """(word before, sign, value) of each condition from `position` to the text's end."""
    found: list[tuple[str, str, str]] = []
    word = ""
    while True:
        more, position = _condition(text, position)
        if not more:
            return None
        found += [(word if index == 0 else "and", *condition) for index, condition in enumerate(more)]
        if position == len(text):
            return found
        link = _LINK.match(text, position)
        if link is None:
            return None
        word = "or" if link["word"].lower() == "or" else "and"
        position = link.end()


def _bounds(between: re.Match[str]) -> list[tuple[str, str]]:
    """Both conditions of "between". Empty if it is not stated whether the endpoints are included."""
    ends = (between["ends"] or "").lower()
    closed, opened = ends == "inclusive", ends == "exclusive" or between["strictly"] is not None
    if closed == opened:
        return []
    low, high = (r"\ge", r"\le") if closed else (">", "<")
    return [(low, between[2]), (high, between[3])]


def _condition(text: str, position: int) -> tuple[list[tuple[str, str]], int]:
    for pattern, sign in _COMPARED:
        if match := pattern.match(text, position):
            values, end = [match[1]], match.end()
            while sign == r"\ne" and (more := _MORE.match(text, end)):
                values.append(more[1])
                end = more.end()
            return [(sign, value) for value in values], end
    if match := _OR_MORE.match(text, position):
        return [(r"\ge" if match["more"] else r"\le", match[1])], match.end()
    if match := _BETWEEN.match(text, position):
        bounds = _bounds(match)
        return bounds, match.end() if bounds else position
    if (match := _SIGNED.match(text, position)) and match[0].lower() in _SIGNS:
        return [(_SIGNS[match[0].lower()], "0")], match.end()
    return [], position


def _written(conditions: list[tuple[str, str, str]], name: str) -> str:
    """Conditions as inequalities of a named variable, or as the set they describe on the number line."""
    if name:
        return "".join((rf" \text{{ {word} }} " if word else "") + f"{name} {sign} {v}" for word, sign, v in conditions)
    operators = {"": "", "and": r" \cap ", "or": r" \cup "}
    return "".join(operators[word] + _RAYS[sign].format(value) for word, sign, value in conditions)
