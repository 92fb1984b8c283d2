"""Words that make another value of the one beside them: half of 8, the square root of 9, 5 doubled, at least 3.

Every reader of values in prose uses these tables, so no family accepts a value that another one refuses.
"""

from __future__ import annotations

import re

_OF = (
    "half|halves|thirds?|quarters?|fourths?|fifths?|tenths?|twice|thrice|double|triple|square|cube|roots?|powers?"
    "|opposite|negation|negative|minus|reciprocal|inverse|complement|conjugate|multiples?|divisors?|logarithm|sine"
    "|cosine|tangent|derivative|antiderivative|integral|factorial|absolute\\s+value|digits?|percent|per\\s+cent|\\d\\s?%"
)
"""Words before a value, with or without "of"."""
_RESULTS = "sum|difference|product|quotient|remainder"
""""A difference of 5" is 5, "the difference of 5 and 3" is not."""
_FUNCTIONS = "sqrt|log|ln|sin|cos|tan|exp|cdot|times|int|partial|lnot|neg|nabla"
_BOUNDS = (
    "at\\s+(?:least|most)|(?:more|less|fewer|greater|smaller|larger|other|rather)\\s+than|up\\s+to|over|under|above|below"
    "|between|except|excluding|but\\s+not"
)
AFTER = frozenset(
    "minus plus mod modulo squared cubed factorial negated doubled tripled quadrupled halved inverted inverse".split()
)
"""Words right behind a value that make another one of it."""
NO_CLAIM = frozenset("least most too does do did doesn don fail fails failed hold holds".split())
"""Words right behind a number that limit it or deny it, so they name nothing that it counts."""

_BEFORE = re.compile(
    rf"(?:\b(?:{_OF})\s+(?:of\s+)?(?:the\s+)?|\bthe\s+(?:{_RESULTS})\s+of\s+(?:the\s+)?|(?:\b|\\)(?:{_FUNCTIONS})\s*)"
    r"\(?[$€£¥]?$",
    re.IGNORECASE,
)
_LIMIT = re.compile(rf"\b(?:{_BOUNDS})\s+(?:of\s+)?[$€£¥]?$", re.IGNORECASE)
_BEHIND = re.compile(
    rf"\s+(?:\(?\s?(?:{'|'.join(sorted(AFTER))})\b|times\s+(?:\d|two|three|four|five|ten)\b|below\s+zero|at\s+(?:least|most)\b"
    r"|(?:is\s+)?too\s+\w|(?:except|excluding)\b)",
    re.IGNORECASE,
)
MAX_BEFORE = 30
"""Characters before a value that are looked at."""


def is_operand(before: str) -> bool:
    """Whether the words that end a text make another value of the one that follows them."""
    return _BEFORE.search(before[-MAX_BEFORE:]) is not None


def is_limit(before: str) -> bool:
    """Whether the words that end a text make a limit of the value that follows them: "at least", "up to"."""
    return _LIMIT.search(before[-MAX_BEFORE:]) is not None


def is_operated(after: str) -> bool:
    """Whether the words that begin a text make another value of the one before them."""
    return _BEHIND.match(after) is not None
