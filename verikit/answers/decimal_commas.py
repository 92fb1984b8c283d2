"""Whether commas in an answer's numbers are decimal, decided by the question's numbers and language."""

from __future__ import annotations

import re
from functools import lru_cache

_DECIMAL = re.compile(r"-?(?:0,\d+|\d+,(?!\d{3}$)\d*[1-9]\d*)")
"""A comma may be decimal, except before only zeros (35,000 and -3,0) or between groups of digits (1,234)."""
_SHOWN = re.compile(
    r"(?<![\d.,(\[{])\d{1,9},(?:\d{1,2}|\d{4,9})(?=\s?[%€$]|\s(?!(?:and|or|und|et|y|e|o|ou|oder)\b)[^\W\d_])"
)
"""A number with a decimal comma in a question: 3,5 kg."""
_NO_PROSE = re.compile(r"\\[a-zA-Z]+|\$[^$]*\$|[^\W\d_]*\d\w*")
"""TeX, formulas and words with digits in a question."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_LETTERS = re.compile(r"[a-z\u00df-\u024f\u0370-\u03ff\u0400-\u04ff]+")
"""Lower-case Latin, Greek and Cyrillic letters. Other scripts usually have decimal points."""
_ENGLISH = frozenset(
    "the what which how and find compute calculate evaluate solve determine simplify many much of when where if with "
    "are let value that by from each does has have this there their number sum write express round your answer".split()
)
_LEAST_WORDS = 3
"""Words that identify the language of a question."""


def may_be_decimal(text: str) -> bool:
    """Whether a text is a number whose comma may be decimal, such as 0,5 and -12,75."""
    return _DECIMAL.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def are_decimal_in(question: str) -> bool:
    """Whether a question contains decimal commas, or is in a European-alphabet language other than English."""
    if _SHOWN.search(question):
        return True
    words = _WORD.findall(_NO_PROSE.sub(" ", question.casefold()))
    return len(words) >= _LEAST_WORDS and all(map(_LETTERS.fullmatch, words)) and _ENGLISH.isdisjoint(words)
