"""Words that change the value next to them: half of 8, the square root of 9, 5 doubled, at least 3.

All readers of values in prose use these tables, so that all families reject the same values.
"""

from __future__ import annotations

import re

_BARE = (
    "half|third|quarter|fourth|fifth|tenth|twice|thrice|double|triple|square|cube|root|opposite|negation|negative|minus"
    "|reciprocal|inverse|multiples?"
)
"""Words before a value, with or without "of"."""
_OF = (
    "complement|conjugate|divisors?|logarithm|sine|cosine|tangent|derivative|antiderivative|integral|factorial|power"
    "|absolute value|percent|per cent"
)
"""Words before a value that require "of": "the derivative 2x" is 2x."""
_FACTOR = r"(?<!by\s)(?<!with\s)(?<!in\s)a\s+factor"
"""A growth by a factor of 5 has the value 5, a factor of 5 does not."""
_RESULTS = "sum|difference|product|quotient|remainder|digits?"
"""A difference of 5 is 5, the difference of 5 and 3 is not."""
_FUNCTIONS = "sqrt|log|ln|sin|cos|tan|exp|cdot|times|int|partial|lnot|neg|nabla|mod|modulo"
_BOUNDS = (
    r"at\s+(?:least|most)|(?:more|less|fewer|greater|smaller|larger|other|rather)\s+than(?:\s+or\s+equal\s+to)?"
    r"|(?<!add\s)(?<!adds\s)(?<!adding\s)(?<!sum\s)(?<!sums\s)up\s+to|over|under|above|below|between|except|excluding"
    r"|different\s+from|anti|(?:number|one)\s+after|before"
)
AFTER = frozenset(
    "minus plus mod modulo squared cubed factorial negated doubled tripled quadrupled halved inverted inverse "
    "reversed".split()
)
"""Words right after a value that change it."""
NO_CLAIM = frozenset("etc least most too does do did doesn don fail fails failed hold holds".split())
"""Words right after a number that limit or deny it, and so are not a counted noun."""
WORDS = AFTER | NO_CLAIM | frozenset(
    f"{_BARE}|{_OF}|{_RESULTS}|{_FUNCTIONS}|multiples|divisors|digits|dozen|hundred"
    "|thousand|million|up|no|before|after|denied|rejected|impossible|ruled|cannot".replace("s?", "")
    .replace(" ", "|").split("|")
)  # fmt: skip
"""Words next to a date or time of day that make it uncertain."""

_BEFORE = re.compile(
    rf"(?:\b(?:(?:{_BARE})\s+(?:of\s+)?|(?:{_OF}|{_FACTOR}|\d+\s?%)\s+of\s+|the\s+(?:\w{{1,9}}\s+)?(?:{_RESULTS})\s+of\s+)(?:the\s+)?"
    rf"|(?:\b|\\)(?:{_FUNCTIONS})\s*)\(?(?:(?:\\?\$|[€£¥])\s?)?$",
    re.IGNORECASE,
)
_LIMIT = re.compile(rf"\b(?:{_BOUNDS})\s+(?:of\s+)?(?:(?:\\?\$|[€£¥])\s?)?$", re.IGNORECASE)
_BEHIND = re.compile(
    rf"\s+(?:[^\W\d_][^\s,;:.!?]{{0,19}}\s+)?(?:\(?\s?(?:{'|'.join(sorted(AFTER))})\b|below\s+zero"
    r"|times\s+(?:\d|two|three|four|five|ten)\b|to\s+the\s+power|at\s+(?:least|most)\b|too\s+\w|(?:except|excluding)\b|etc\b|and\s+(?:others?|so\s+on)\b)|\s*(?:\\?(?:pi|sqrt)\b|\\[bp]mod\b|[π√])",
    re.IGNORECASE,
)
_PREFIX = re.compile(
    r"\b(?:(?:anti|ex|mid|non|post|pre|pseudo|quasi|semi|un)-|(?:anti|under|over|above|below)\s|between\s)\(?$",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"\s?(?:-(?:ish|like|free)\b|(?:ish|pi|π|e|x)\W{0,3}$)", re.IGNORECASE)
MAX_BEFORE = 30
"""Number of characters checked before a value."""
MAX_BEHIND = 40


_OPENING = " \t\n\\$€£¥("
"""Text that may separate such a word from the value after it."""


def is_operand(before: str) -> bool:
    """Whether the words at the end of a text change the value that follows."""
    return _ends_in_a_word(before) and _BEFORE.search(before[-MAX_BEFORE:]) is not None


def is_limit(before: str) -> bool:
    """Whether the words at the end of a text make the value that follows a limit: "at least", "up to"."""
    return _ends_in_a_word(before) and _LIMIT.search(before[-MAX_BEFORE:]) is not None


def is_operated(after: str) -> bool:
    """Whether the words at the start of a text change the value before it."""
    first = after.lstrip()[:1]
    return (first.isalpha() or first in ("(", "\\", "√")) and _BEHIND.match(after[:MAX_BEHIND]) is not None


def is_affixed(before: str, after: str) -> bool:
    """Whether a prefix or a suffix right beside a date or a time makes it another one: ex-, post-, -ish."""
    return _PREFIX.search(before[-MAX_BEFORE:]) is not None or _SUFFIX.match(after[:MAX_BEHIND]) is not None


def _ends_in_a_word(before: str) -> bool:
    """A cheap test that most values fail, because a sign or a bracket precedes them."""
    return before.rstrip(_OPENING)[-1:].isalpha()
