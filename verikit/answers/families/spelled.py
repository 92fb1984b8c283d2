"""Numbers in words: English, German, French, Spanish, Italian, Portuguese and Chinese.

A number is a chain of entries in the tables and scales of `languages`, so reading one takes a few look-ups.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from verikit.answers.families.languages import NumberWords, english, languages, ordinals, squeezed

MAX_CHARS = 120


_MINUS = ("minus", "negative", "moins", "menos", "meno")
_COLLISIONS = frozenset(
    ("once", "cent", "sept", "mil", "due", "dos", "sei", "un", "une", "a", "an", "ein", "um", "uma")
)
"""Number words that usually mean something else on their own."""


@lru_cache(maxsize=1)
def _edges() -> tuple[frozenset[str], frozenset[str]]:
    """The three letters at the start and the two at the end of number words. Most prose has others."""
    words = [word for language in languages() for words in language[0::3] for word in words if len(word) > 2]
    words += [scale for language in languages() for scale, _ in language.scales]
    words += [word for language in languages() for word in language.percent]
    words += [*_HALVES, *_MINUS]
    singles = ("a" + word for word in words)
    return frozenset(word[:3] for word in (*words, *singles)), frozenset(word[-2:] for word in words)


@lru_cache(maxsize=1)
def _english_ordinals() -> dict[str, int]:
    return {word: value for word, value in ordinals(english().table).items() if value}


def may_begin(text: str) -> bool:
    """Whether a text may begin with a number in words."""
    head = squeezed(text[:12].partition(" ")[0])
    return head in ("a", "an") or head[:3] in _edges()[0] or "\u4e00" <= text[:1] <= "\u9fff"


def ordinal_in_words(text: str) -> int | None:
    """The value of an English ordinal: eleventh, twenty-first, the hundredth."""
    if not 5 <= len(text) <= 60:
        return None
    return _english_ordinals().get(squeezed(text.lower().removeprefix("the ")))


def in_words(text: str) -> tuple[Fraction, bool] | None:
    """The number that a text spells in words, and whether it is a percentage. None for any other text."""
    if not 1 <= len(text) <= MAX_CHARS:
        return None
    if "\u4e00" <= text[-1] <= "\u9fff" or text[0] == "〇":
        return _chinese(text.replace(" ", ""))
    word = squeezed(text)
    starts, ends = _edges()
    if word[:3] not in starts or word[-2:] not in ends or word in _COLLISIONS or not word.isalpha():
        return None
    sign = -1 if text[0] == "-" and text[1:2].isalpha() else 1
    for minus in _MINUS:
        if word.startswith(minus):
            sign, word = -sign, word[len(minus) :]
    found = _unsigned(word)
    return found and (sign * found[0], found[1])


def _unsigned(word: str) -> tuple[Fraction, bool] | None:
    """The number that squeezed words spell in the first language that reads them, and whether it is a percentage."""
    for language in languages():
        percent = next((p for p in language.percent if word.endswith(p)), "")
        value = _number(word.removesuffix(percent), language)
        if value is not None:
            return value, bool(percent)
    return None


def _number(word: str, language: NumberWords) -> Fraction | None:
    """An integer, a decimal ("one point two five"), a fraction or a mixed number."""
    whole = _whole(word, language)
    if whole is not None:
        return Fraction(whole)
    if "point" in word:
        head, _, tail = word.partition("point")
        for name, scale in (*language.scales, ("", 1)):
            if name and not tail.endswith(name):
                continue
            digits, before = _digits(tail.removesuffix(name)), _whole(head, language) if head else 0
            if digits is None or before is None:
                return None
            return (before + Fraction(int(digits), 10 ** len(digits))) * scale
    return _fraction(word, language)


def _digits(word: str) -> str | None:
    """The digits spelled one by one."""
    found = ""
    names = {name: value for name, value in english().table.items() if value < 10}
    while word and len(found) < 20:
        name = next((n for n in names if word.startswith(n)), None)
        if name is None:
            return None
        found, word = found + str(names[name]), word[len(name) :]
    return found or None


def _whole(word: str, language: NumberWords) -> int | None:
    total, seen = 0, False
    for name, scale in language.scales:
        head, found, rest = word.partition(name)
        if not found:
            continue
        if seen:
            head = head.removeprefix(language.joiner)
        count = language.table.get(head)
        if count is None and head in ("", "a", "un", "ein", "eine", "um"):
            count = 1
        if not count:
            return None
        total, seen, word = total + count * scale, True, rest
    if not word:
        return total if seen else None
    small = language.table.get(word)
    if small is None and seen:
        small = language.table.get(word.removeprefix(language.joiner))
    return None if small is None or (seen and not small) else total + small


_HALVES = {"half": Fraction(1, 2), "ahalf": Fraction(1, 2), "einhalb": Fraction(1, 2), "halfdozen": Fraction(6),
           "halfadozen": Fraction(6), "dozen": Fraction(12), "adozen": Fraction(12), "lamoitie": Fraction(1, 2),
           "lamitad": Fraction(1, 2), "diehalfte": Fraction(1, 2), "aquarter": Fraction(1, 4)}  # fmt: skip


def _fraction(word: str, language: NumberWords) -> Fraction | None:
    if word in _HALVES:
        return _HALVES[word]
    if word.endswith("dozen") and (count := _whole(word[:-5], language)) is not None:
        return Fraction(12 * count)
    for cut in range(len(word) - 2, 0, -1):
        bottom = language.denominators.get(word[cut:])
        if bottom is None:
            continue
        top = _top(word[:cut], language)
        if top is not None:
            return Fraction(top, bottom) if top > 0 else None
        mixed = _mixed(word[:cut], bottom, language)
        if mixed is not None:
            return mixed
    return None


def _mixed(word: str, bottom: int, language: NumberWords) -> Fraction | None:
    """A whole number and the top of a fraction, joined: "threeandtwo" for 3 2/3."""
    joiner = language.joiner
    at = word.find(joiner, 1)
    while at > 0:
        whole, top = _whole(word[:at], language), _top(word[at + len(joiner) :], language)
        if whole is not None and top is not None and 0 < top < bottom:
            return whole + Fraction(top, bottom)
        at = word.find(joiner, at + 1)
    return None


def _top(word: str, language: NumberWords) -> int | None:
    return 1 if word in ("a", "an", "ein", "eine", "un", "une", "um") else _whole(word, language)


_HAN_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000}
_HAN_LARGE = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_HAN_WHOLE = frozenset((*_HAN_DIGITS, *_HAN_SCALES, *_HAN_LARGE))
_HAN = re.compile(r"[零一二三四五六七八九〇两兩十百千万萬亿億点點分之半负負]+")


def _chinese(text: str) -> tuple[Fraction, bool] | None:
    if not _HAN.fullmatch(text):
        return None
    sign = -1 if text[0] in "负負" else 1
    text = text.lstrip("负負")
    if text.startswith("百分之"):
        value = _han_decimal(text[3:])
        return None if value is None else (Fraction(sign * value), True)
    if "分之" in text:
        bottom, _, top = text.partition("分之")
        whole, parts = _han_whole(top), _han_whole(bottom)
        return None if whole is None or not parts else (sign * Fraction(whole, parts), False)
    if text in ("半", "一半"):
        return Fraction(sign, 2), False
    value = _han_decimal(text)
    return None if value is None else (Fraction(sign * value), False)


def _han_decimal(text: str) -> Fraction | None:
    head, _, tail = text.replace("點", "点").partition("点")
    whole = _han_whole(head)
    if whole is None or any(c not in _HAN_DIGITS for c in tail) or ("点" in text and not tail):
        return None
    digits = "".join(str(_HAN_DIGITS[c]) for c in tail)
    return Fraction(whole) + (Fraction(int(digits), 10 ** len(digits)) if digits else 0)


def _han_whole(text: str) -> int | None:
    """Digits and scales from the largest down. 二〇二一 is read digit by digit."""
    if not text or not _HAN_WHOLE.issuperset(text):
        return None
    if set(text) <= _HAN_DIGITS.keys():
        return int("".join(str(_HAN_DIGITS[c]) for c in text))
    for large in ("亿億", "万萬"):
        at = next((i for i, c in enumerate(text) if c in large), -1)
        if at >= 0:
            return _han_split(text[:at], text[at + 1 :].lstrip("零〇"), _HAN_LARGE[large[0]])
    return _han_below_ten_thousand(text)


def _han_split(head: str, tail: str, scale: int) -> int | None:
    """A multiple of a large scale, plus the number below it."""
    times, rest = _han_whole(head), _han_whole(tail) if tail else 0
    return None if not times or rest is None or rest >= scale else times * scale + rest


def _han_below_ten_thousand(text: str) -> int | None:
    total, digit, scale = 0, None, 10_000
    for char in text:
        if char in _HAN_DIGITS:
            if digit:
                return None
            digit = _HAN_DIGITS[char]
        elif _HAN_SCALES[char] >= scale or digit == 0:
            return None
        else:
            scale = _HAN_SCALES[char]
            total, digit = total + (1 if digit is None else digit) * scale, None
    return total + (digit or 0)
