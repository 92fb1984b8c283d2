"""Genotypes, in which the case of letters matters, and fractions of a whole by label: 1 AA : 2 Aa : 1 aa."""

from __future__ import annotations

import re
from fractions import Fraction

from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.families.base import Context, Family
from verikit.answers.families.numerals import number
from verikit.answers.families.plain import flat, plain, stated
from verikit.answers.families.ratios import proportional, read_ratio

Genotype = tuple[str, ...]

_PAIRS = re.compile(r"(?:([a-zA-Z])\s?(?i:\1)\s?){1,8}")
_ALLELE = re.compile(r"([XI])\^(?:\(([A-Za-z]{1,3})\)|([A-Za-z]))\s?|([XYi])\s?")
_ALLELES = re.compile(rf"(?:{_ALLELE.pattern}){{2}}")
_SCRIPT = re.compile(r"\^\{\s*([A-Za-z]{1,3})\s*\}")
_MAY_BE = re.compile(r"^\W*(?:\\(?:text|mathrm|mathit)\{)?([a-zA-Z])\s?(?i:\1)|[XIi]\s?\^")


def read_genotype(text: str) -> Genotype | None:
    """The pairs of alleles in a plain text, in any order: TtGg, Gg Tt, X^H X^h, I^A i."""
    text = text.removeprefix("genotype ").strip()
    if not 2 <= len(text) <= 40:
        return None
    if _PAIRS.fullmatch(text):
        letters = text.replace(" ", "")
        return tuple(sorted("".join(sorted(letters[i : i + 2])) for i in range(0, len(letters), 2)))
    if "^" in text and _ALLELES.fullmatch(text):
        return tuple(sorted("".join(part or "" for part in match.groups()) for match in _ALLELE.finditer(text)))
    return None


def _shown(text: str) -> str:
    return flat(_SCRIPT.sub(r"^(\1)", plain(text)))


def _gold(text: str) -> Genotype | None:
    return read_genotype(_shown(text)) if len(text) <= 80 and _MAY_BE.search(text) else None


def _match(gold: Genotype, text: str, context: Context) -> EqualityResult | None:
    for part in stated(_shown(text), context.equality.assignment):
        answer = read_genotype(part)
        if answer is not None:
            return equal("same genotype") if answer == gold else different("another genotype")
    return None


GENOTYPE = Family("genotype", _gold, _match)

Shares = dict[str | Genotype, Fraction]

_ITEM = re.compile(r"(\d[\d./]{0,12})\s?(%)?\s?(?:of |are |is )?\s?([^\W\d_][^\d:,;=%]{0,40})")
_LABELLED = re.compile(r"([^\W\d_][^\d:,;=%]{0,40}?)\s?[:=(-]?\s?(\d[\d./]{0,12})\s?(%)?\)?")
_LIST = re.compile(r"\s?[,;]\s?(?:and\s)?|\sand\s")
_COLONS = re.compile(r"\s?:\s?|\sto\s")
_WORDS = frozenset(("the", "of", "are", "is", "plants", "offspring", "genotype", "phenotype"))
_MAY_SHARE = re.compile(r"\d.{0,80}(?:[:,;]| and | to ).{0,80}[^\W\d_]|[^\W\d_]\s?:.{1,80}=", re.DOTALL)


def _ratio_of(names: str, ratio: str) -> Shares | None:
    """The shares of labels that a ratio gives: "A:B = 3:1"."""
    labels, terms = [_label(name) for name in _COLONS.split(names)], read_ratio(ratio)
    if terms is None or len(terms) != len(labels):
        return None
    return _whole(list(zip(labels, terms, strict=True)))


def read_shares(text: str) -> Shares | None:
    """The fraction of the whole for each label. Percentages and fractions must total the whole."""
    if len(text) > 200:
        return None
    names, sign, ratio = text.partition("=")
    if sign:
        return _ratio_of(names.strip(), ratio.strip())
    if (items := _items(_LIST.split(text))) is not None:
        total = sum(value for _, value in items)
        return _whole(items) if total == 1 else None
    items = _items(_COLONS.split(text))
    return None if items is None or "%" in text else _whole(items)


def _items(parts: list[str]) -> list[tuple[str | Genotype, Fraction]] | None:
    if not 2 <= len(parts) <= 12:
        return None
    found = []
    for part in parts:
        if match := _ITEM.fullmatch(part.strip()):
            amount, percent, label = match.groups()
        elif match := _LABELLED.fullmatch(part.strip()):
            label, amount, percent = match.groups()
        else:
            return None
        value = number(amount)
        if value is None:
            return None
        found.append((_label(label), Fraction(value.args[0]) / (100 if percent else 1)))
    return found


def _label(text: str) -> str | Genotype:
    """A genotype, or words without articles, case and the plural."""
    text = text.strip(" ()")
    return read_genotype(text) or " ".join(w for w in text.casefold().split() if w not in _WORDS).removesuffix("s")


def _whole(items: list[tuple[str | Genotype, Fraction]]) -> Shares | None:
    found = dict(items)
    return found if len(found) == len(items) and all(found) and sum(found.values()) > 0 else None


def _gold_shares(text: str) -> Shares | None:
    return read_shares(_shown(text)) if len(text) <= 200 and _MAY_SHARE.search(text) else None


def _match_shares(gold: Shares, text: str, context: Context) -> EqualityResult | None:
    shown = _shown(text)
    answer = read_shares(shown)
    if answer is not None:
        if set(answer) != set(gold):
            return different("shares of other things")
        same = proportional(list(gold.values()), [answer[label] for label in gold])
        return equal("same shares") if same else different("other shares")
    if _items(_LIST.split(shown)) or _items(_COLONS.split(shown)):
        return different("shares that are no whole")
    for part in stated(shown, context.equality.assignment):
        terms = read_ratio(part)
        if terms is not None:
            same = proportional(list(gold.values()), terms)
            return equal("same ratio, in the gold's order") if same else different("another ratio")
    return None


SHARES = Family("shares", _gold_shares, _match_shares)
FAMILIES = (GENOTYPE, SHARES)
