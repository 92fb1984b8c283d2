"""Texts generated from a gold answer: the formats in which an answer is given, other spellings of it, and near misses.

By construction, a spelling means the same as the gold answer and a near miss does not. Both depend on exact arithmetic
and the text's format, not on the verifier that is tried with them.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from fractions import Fraction

from verikit.answers.gold import NUMERAL, ReadGold
from verikit.answers.parser.tree import SCALARS, Node, children
from verikit.audit.rows import AuditRow

FORMS: Mapping[str, str] = {
    "boxed": r"The answer is $\boxed{{{}}}$.",
    "marked": "The answer is {}.",
    "tagged": "<think>\nI work it out.\n</think>\n<answer>{}</answer>",
    "boxed_tagged": "<think>\nI work it out.\n</think>\n<answer>\n\\boxed{{{}}}\n</answer>",
    "hashed": "I work it out.\n#### {}",
    "minerva": "Final Answer: The final answer is ${}$. I hope it is correct.",
    "answer_line": "I work it out.\nAnswer: {}",
    "bare": "{}",
    "dollars": "${}$",
    "fenced": "```python\n{}\n```",
}
"""Formats in which an honest completion states its answer, by name."""
_INTEGER = re.compile(r"-?\d{1,30}")
_FRACTION = re.compile(r"(-?)\\[dt]?frac\{(\d{1,15})\}\{(\d{1,15})\}")
_PAIR = re.compile(r"\((-?\d{1,15}(?:,\s*-?\d{1,15}){1,5})\)")
_YEAR = re.compile(r"\d{1,4}")
_UNSAFE = frozenset(("inf", "undefined"))
_OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
MAX_CHARS = 300
"""Maximum characters of a gold answer from which texts are generated."""


def spellings(row: AuditRow, gold: ReadGold) -> Iterator[tuple[str, str]]:
    """Yield other spellings of a gold answer, each with the name of its transform."""
    text = gold.text
    if len(text) > MAX_CHARS:
        return
    if gold.kind == "letter":
        yield from _letter_spellings(row, min(gold.letters))
    elif NUMERAL.fullmatch(text):
        yield from _numeral_spellings(text)
    elif gold.kind == "math":
        yield from _formula_spellings(text)
    elif text[:1].isalnum() and "\\" not in text:
        yield "lower case", text.lower()
        yield "full stop", text.rstrip(".") + "."
        yield "quotes", f'"{text}"'


def near_misses(row: AuditRow, gold: ReadGold) -> Iterator[tuple[str, str]]:
    """Yield answers that are close to a gold answer but differ in meaning, each with the name of its transform."""
    text = gold.text
    if len(text) > MAX_CHARS:
        return
    if gold.kind == "letter":
        yield from _letter_misses(row, min(gold.letters))
    elif NUMERAL.fullmatch(text):
        yield from _numeral_misses(text)
    elif gold.kind == "math":
        yield from _formula_misses(text, gold.tree)
    else:
        yield from _text_misses(text)


def _letter_spellings(row: AuditRow, letter: str) -> Iterator[tuple[str, str]]:
    index = string.ascii_uppercase.find(letter)
    yield "brackets", f"({letter})"
    if 0 <= index < len(row.options):
        yield "with its text", f"{letter}. {row.options[index]}"


def _letter_misses(row: AuditRow, gold: str) -> Iterator[tuple[str, str]]:
    letters = string.ascii_uppercase[: len(row.options) or 4]
    index = letters.find(gold)
    others = {name for other in row.golds[1:] for name in other.strip("().$ ")[:1]}
    wrong = [letter for i, letter in enumerate(letters) if i != index and letter not in others]
    if index >= 0 and wrong:
        yield "next letter", wrong[index % len(wrong)]


def _numeral_spellings(text: str) -> Iterator[tuple[str, str]]:
    if _INTEGER.fullmatch(text):
        number = int(text)
        yield "decimal zero", f"{number}.0"
        yield "fraction", f"{'-' * (number < 0)}\\frac{{{2 * abs(number)}}}{{2}}"
        if abs(number) >= 1000:
            yield "thousands", f"{number:,}"
    else:
        yield "trailing zero", text + "0"
        exact = Fraction(text)
        if exact.denominator != 1:
            sign = "-" * (exact < 0)
            yield "fraction", f"{sign}\\frac{{{abs(exact.numerator)}}}{{{exact.denominator}}}"
    yield "dollars", f"${text}$"


def _numeral_misses(text: str) -> Iterator[tuple[str, str]]:
    number = Fraction(text)
    if number:
        yield "sign", text.removeprefix("-") if text.startswith("-") else f"-{text}"
        yield "ten times", _decimal(number * 10, text)
    if _INTEGER.fullmatch(text):
        yield "one more", str(int(text) + 1)
        yield "one less", str(int(text) - 1)
    else:
        places = len(text.partition(".")[2])
        yield "last digit", _decimal(number + Fraction(3, 10**places), text)
    yield "digit more", f"{text}7"[:40] if "." not in text else _decimal(number + 7, text)


def _decimal(number: Fraction, like: str) -> str:
    """Format the number with as many decimal places as `like` has."""
    places = len(like.partition(".")[2])
    scaled = abs(number) * 10**places
    digits = str(round(scaled)).rjust(places + 1, "0")
    sign = "-" * (number < 0)
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def _formula_spellings(text: str) -> Iterator[tuple[str, str]]:
    if match := _FRACTION.fullmatch(text):
        yield "slash", f"{match[1]}{match[2]}/{match[3]}"
        if decimal := _exact_decimal(int(match[2]), int(match[3])):
            yield "decimal", match[1] + decimal
    if r"\frac{" in text and r"\dfrac" not in text:
        yield "dfrac", text.replace(r"\frac{", r"\dfrac{")
    if "(" in text and r"\left" not in text and _has_round_pairs(text):
        yield "sized brackets", text.replace("(", r"\left(").replace(")", r"\right)")
    if "$" not in text:
        yield "dollars", f"${text}$"
        if re.search(r"\d[+]\d|[a-z][+]\d|\d,\S", text):
            yield "spaces", re.sub(r"([+,])", r"\1 ", text)


def _terminates(denominator: int) -> bool:
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    return denominator == 1


def _has_round_pairs(text: str) -> bool:
    """Whether a text has only round brackets, with as many opening as closing ones."""
    return text.count("(") == text.count(")") and not re.search(r"[\[\]]", text)


def _exact_decimal(top: int, bottom: int) -> str:
    """Return a fraction as a decimal, or "" if it has no short exact one."""
    if not bottom or not _terminates(bottom):
        return ""
    exact = Fraction(top, bottom)
    value = f"{float(exact):.12f}".rstrip("0")
    is_exact = Fraction(value + "0" if value.endswith(".") else value) == exact
    return value.rstrip(".") if is_exact else ""


def _formula_misses(text: str, tree: Node | None) -> Iterator[tuple[str, str]]:
    if match := _FRACTION.fullmatch(text):
        yield from _fraction_misses(text, match[1], int(match[2]), int(match[3]))
    elif match := _PAIR.fullmatch(text):
        parts = [part.strip() for part in match[1].split(",")]
        if int(parts[0]) != int(parts[-1]):
            swapped = [parts[-1], *parts[1:-1], parts[0]]
            yield "order", f"({','.join(swapped)})"
        yield "last entry", f"({','.join([*parts[:-1], str(int(parts[-1]) + 1)])})"
    elif tree is not None and tree.op in SCALARS and _is_plain(tree):
        yield "one more", f"{text}+1"
        yield "twice and three", f"2({text})+3"[:MAX_CHARS] if not _is_number(tree) else f"{text}+3"


def _fraction_misses(text: str, sign: str, top: int, bottom: int) -> Iterator[tuple[str, str]]:
    if top and bottom and top != bottom:
        yield "inverted", f"{sign}\\frac{{{bottom}}}{{{top}}}"
    if top:
        yield "sign", text.removeprefix("-") if sign else f"-{text}"
    yield "numerator", f"{sign}\\frac{{{top + 1}}}{{{bottom}}}"


def _is_plain(tree: Node) -> bool:
    """Whether adding one changes a formula's meaning: it has no infinity, ±, trailing percent or unit."""
    stack = [tree]
    while stack:
        top = stack.pop()
        if top.op in ("pm", "pct", "deg", "qty", "based", "rel", "prime") or _UNSAFE & set(map(str, top.args[:1])):
            return False
        stack.extend(children(top))
    return True


def _is_number(tree: Node) -> bool:
    return tree.op in ("num", "neg", "div", "mul", "add", "pow", "fact")


def _text_misses(text: str) -> Iterator[tuple[str, str]]:
    plain = text.strip().rstrip(".")
    if opposite := _OPPOSITES.get(plain.lower()):
        yield "opposite", opposite
        return
    if "\\" in plain or not plain[:1].isalnum():
        return
    yield "denied", f"not {plain}"
    if match := _YEAR.search(plain):
        yield "number", f"{plain[: match.start()]}{int(match[0]) + 1}{plain[match.end() :]}"
    words = [word for word in plain.split() if len(word) > 3 and word.isalpha()]
    if words:
        yield "word", plain.replace(max(words, key=len), "Zanzibar", 1)
