"""Everyday answers as plain text: LaTeX markup removed, and sentences reduced to their statement.

Every reader of a family works on `plain` text. `stated` yields the parts of a sentence that may be its answer. Both are
linear in the text and reject texts longer than `MAX_CHARS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from verikit.answers.parser.clean import to_ascii
from verikit.answers.parser.lexer import FUNCTIONS, TEXT
from verikit.answers.parser.operations import AFTER, NO_CLAIM, WORDS, is_limit, is_operand

MAX_CHARS = 300
MAX_TAIL = 6
"""Maximum number of words after the last digit of a sentence that may belong to its quantity."""

_WRAPPED = re.compile(r"\\([a-zA-Z]+\*?)\s*\{((?:[^{}]|(?<=[\^_])\{[^{}]{0,40}\}){0,200})\}")
_WRAPPERS = TEXT | {"ce", "mathit", "bm", "boldsymbol", "displaystyle"}
_FRACTION = re.compile(r"\\[dtc]?frac\s*(?:\{\s*([^{}]{1,60}?)\s*\}|(\w))\s*(?:\{\s*([^{}]{1,60}?)\s*\}|(\w))")
_DEGREE = re.compile(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ(?![a-zA-Z]))|\\(?:degrees?|textdegree)(?![a-zA-Z])|\{\}°")
_COMMAND = re.compile(r"\\(?:([a-zA-Z]+|[^a-zA-Z%])\s?|(%))")
_MEANING = {
    "times": "*",
    "cdot": "*",
    "ast": "*",
    "bullet": "*",
    "%": "%",
    "$": "\\$",
    "pi": " pi ",
    "mu": "μ",
    "Omega": "Ω",
    "to": "->",
    "rightarrow": "->",
    "longrightarrow": "->",
    "Rightarrow": "->",
    "rightleftharpoons": "<=>",
    "leftrightarrow": "<=>",
    "left": "",
    "right": "",
    "!": "",
    "&": "&",
    "_": "_",
    "#": "#",
    "{": "{",
    "}": "}",
    "approx": "≈",
    "sim": "≈",
    "ldots": "...",
    "colon": ":",
    "uparrow": "↑",
    "downarrow": "↓",
    "prime": "'",
    "AA": "Å",
    "-": "",
    "ne": "≠",
} | dict.fromkeys((",", ";", ":", " ", "quad", "qquad", "enspace", "thinspace", "hspace", "(", ")", "[", "]"), " ")
_UNKNOWN = "\0"
_POWER = re.compile(r"(?<=\d)\*\*(?=[-+({]?\d)")
_SCRIPT = re.compile(r"([\^_])\s*\{\s*([^{}]{0,60}?)\s*\}")
_SPACES = re.compile(r"\s+")


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    r"""A text without LaTeX, with one space between words and scripts in braces. Empty if a part is not understood.

    ``\frac{a}{b}`` becomes ``a/b``, a degree sign ``°``, a product sign ``*``, a currency's dollar ``$``. Dollar signs
    around formulas and markdown's asterisks are removed.
    """
    if len(text) > MAX_CHARS:
        return ""
    if not text.isascii():
        text = to_ascii(text.replace("→", "->").replace("⇌", "<=>"))
    if "\\" in text or "{" in text:
        text = _without_latex(text)
    text = _POWER.sub("^", text).replace("**", "").replace("~", " ").replace("{,}", ",")
    text = _without_dollars(text)
    return _SPACES.sub(" ", text).strip(" \n").removesuffix(".").rstrip()


def _without_latex(text: str) -> str:
    text = _DEGREE.sub("°", text)
    for _ in range(4):
        unwrapped = _FRACTION.sub(_quotient, _WRAPPED.sub(_unwrap, text))
        if unwrapped == text:
            break
        text = unwrapped
    text = _COMMAND.sub(lambda m: _MEANING.get(m[1] or m[2], _UNKNOWN), text)
    if _UNKNOWN in text or "\\" in text.replace("\\$", ""):
        return ""
    return text.replace("{}", "")


def _unwrap(match: re.Match[str]) -> str:
    return match[2] if match[1] in _WRAPPERS else match[0]


def _quotient(match: re.Match[str]) -> str:
    top, bottom = match[1] or match[2], match[3] or match[4]
    before = match.string[: match.start()][-1:]
    top, bottom = (part if part.isalnum() else f"({part})" for part in (top, bottom))
    after = match.string[match.end() :][:1]
    return (" " if before.isdigit() else "") + f"{top}/{bottom}" + (" " if after.isdigit() else "")


_ALL_MONEY = re.compile(r"[^$]*(?:\$\s?\d[^$]*)+")


def _without_dollars(text: str) -> str:
    r"""Remove dollar signs, except those for money: written ``\$``, or always before digits."""
    if "$" not in text:
        return text
    bare = text.replace("\\$", "")
    if bare.count("$") % 2 == 0 and not _ALL_MONEY.fullmatch(bare):
        text = re.sub(r"(?<!\\)\$", "", text)
    return text.replace("\\$", "$")


def flat(text: str) -> str:
    """Plain text with scripts out of their braces: ``m^{-1}`` is ``m^-1``."""
    return _SCRIPT.sub(r"\1\2", text) if "{" in text else text


_ABOUT = re.compile(
    r"^(?:(?:about|approximately|approx\.?|roughly|around|nearly|almost|exactly|precisely|circa|ca\.|only|just|"
    r"equal to|a total of|etwa|ungefähr|environ|unos|unas|cerca de|约|大约)\s*|[≈=]\s*)+",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:not|is out(?=\W*$)|(?<!which )is too(?= \w)|no(?=\s?[-$]?\d|\slonger\b)|never|neither|nor|none|or|maybe|"
    r"perhaps|possibly|either|except|but|unless|instead|rather|wrong|"
    r"incorrect|false|cannot|excluded|rejected|impossible|different from|unlike|when|where|while|"
    r"least|most|more|less|fewer|greater|over|under|above|below|than|if|without|kein|keine|nicht|"
    r"pas|ne|oder|ou|o|nunca)\b|n't\b|≠|不|非|没",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:at (?:least|most)|(?:more|less|other) than|not|never|except|wrong|incorrect|false|untrue|cannot)\b|n't\b",
    re.IGNORECASE,
)
"""Parts of a label that show that it does not label the answer: "other than x = 4"."""
_COPULA = re.compile(r"\s(?:is|are|was|were|equals|est|sont|ist|sind|beträgt|es|son|è|é|costs?|weighs?)\s|\s?[是为]\s?")
_LABEL = re.compile(r"(?!(?:pi|π)\s?[=≈])[^\W\d][^\W\d_' ]{0,30}(?: [^\W\d][^\W\d_']{0,30}){0,8}\s?[:=≈]\s?")
_LEAD = re.compile(r"(?:[^\W\d][^\W\d_'’-]{0,30}[ ,]{1,2}){1,30}")
_SIGN = re.compile(
    r"(?:(?:US|CA|AU|HK|NZ|[AC])?[$€£¥₹]|Rs\.?|USD|EUR|GBP|JPY|CNY|INR|CHF)?\s?[-+]?(?:[$€£¥₹]\s?)?\.?(?=\d)"
)
_NOT_LEADS = FUNCTIONS | frozenset(
    "january february march april may june july august september october november december jan feb mar apr jun jul "
    "aug sep sept oct nov dec minus negative version chapter page room figure twice thrice double triple half quarter "
    "third square cube root squared plus times anti opposite negation reciprocal inverse multiple multiples "
    "between".split()
)
_ASIDE = re.compile(r"(\()?[^\W\d_]+(?:['’-][^\W\d_]+)*(?(1)\)|)[,;:.!]?")
"""A word that may follow a quantity without being part of it."""
_PART_OF_VALUE = (
    AFTER
    | NO_CLAIM
    | frozenset(
        "and half halves quarter quarters third thirds fourth fourths fifth fifths tenth tenths point plus minus times "
        "over squared cubed factorial choose mod modulo percent hundred thousand million billion trillion dozen st nd "
        "rd th negated below pi π bc bce ish er".split()
    )
)
_FACTORS = frozenset("einxz")
"""Letters that are factors at the end of a text: "5 km x", unlike "5 km e basta"."""
MAX_LED = 200


def has_digit(text: str) -> bool:
    """Whether a text contains a digit of any script."""
    return any(char.isdigit() for char in text)


def denies(text: str) -> bool:
    """Whether a plain text denies or limits something."""
    return _DENIES.search(text) is not None


def hedged(text: str) -> bool:
    """Whether a plain text denies, hedges or compares."""
    return _HEDGE.search(text) is not None


_WORDS = re.compile(r"[^\W\d_][\w'’,;: -]{0,200}")


def states_plainly(rest: str) -> bool:
    """Whether only words surround an answer, and none of them denies, hedges or compares."""
    rest = rest.strip(" ,.;:()")
    if not rest:
        return True
    is_plain = _WORDS.fullmatch(rest) is not None and not _HEDGE.search(rest)
    return is_plain and WORDS.isdisjoint(rest.lower().replace(",", " ").replace("-", " ").split())


def stated(text: str, assigned: bool = True) -> Iterator[str]:
    """The parts of a plain text that may be its answer: the whole, then the text after a label or its only copula.

    `assigned` sets whether the text before an equals sign is a label. For a sentence that denies, hedges or compares,
    only the whole is yielded.
    """
    text = _ABOUT.sub("", text)
    yield text
    if label := _LABEL.match(text):
        rest = text[label.end() :]
        if "=" not in rest and (assigned or ":" in label[0]) and not _DENIES.search(label[0]):
            yield _ABOUT.sub("", rest)
    elif (" " in text or "是" in text or "为" in text) and not _HEDGE.search(text):
        copulas = list(_COPULA.finditer(text))
        if len(copulas) == 1 and copulas[0].start():
            yield _ABOUT.sub("", text[copulas[0].end() :])


def _goes_on(words: list[str]) -> bool:
    """Whether one of some words changes the value of the number before it."""
    return any(word.strip("(),;:.!").lower() in _PART_OF_VALUE for word in words)


def _without_closing_marks(text: str) -> str:
    """Remove the final punctuation of a text. A `!` after a number is the factorial and stays."""
    kept = text.rstrip(",;:.!")
    is_factorial = text[len(kept) :].startswith("!") and kept[-1:].isdigit()
    return text.rstrip(",;:.") if is_factorial else kept


def _start_of_value(sentence: str) -> int | None:
    """The start of the number in a sentence after words that only introduce it, or None if it begins otherwise."""
    lead = _LEAD.match(sentence)
    start = lead.end() if lead else 0
    if lead and _NOT_LEADS.intersection(lead[0].lower().replace(",", " ").split()):
        return None
    if is_operand(sentence[:start]) or is_limit(sentence[:start]):
        return None
    begins = _SIGN.match(sentence, start) or sentence[start : start + 1].isdigit()
    return start if begins else None


def led(text: str, assigned: bool = True) -> Iterator[str]:
    """`stated`, then the text from the first number of a sentence on, shortened step by step at its end."""
    last = text
    for last in stated(text, assigned):
        yield last
    if len(last) > MAX_LED or _HEDGE.search(last):
        return
    start = _start_of_value(last)
    if start is None:
        return
    end = max(i for i, char in enumerate(last) if char.isdigit()) + 1
    tail = last[end:].split(" ")
    if len(tail) <= 30:
        for kept in _beginnings(tail):
            yield _without_closing_marks(last[start:end] + " ".join(kept))


def _beginnings(tail: list[str]) -> Iterator[list[str]]:
    """The beginnings of the words after a number that may be its unit, the longest first."""
    for size in range(min(len(tail), MAX_TAIL + 1), 0, -1):
        rest = tail[size:]
        if not all(not word or _ASIDE.fullmatch(word) for word in rest):
            return  # the omitted words would be part of the value
        is_cut = bool(rest) and tail[size - 1] in ("and", "times")
        ends_in_factor = rest[-1:] != [] and rest[-1] in _FACTORS and len(rest) < (2 if size > 1 else 3)
        if not is_cut and not ends_in_factor and not _goes_on(rest[:1] if size > 1 else rest):
            yield tail[:size]
