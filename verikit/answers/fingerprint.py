"""A number that distinguishes plain formulas without comparing them: the image modulo a prime.

Votes over thousands of different answers can't compare all pairs. The fingerprint needs an answer with only one
reading, as a rational function with roots of small numbers. Unequal images then show that two answers differ under
every rule of `verify`. Everything else has no fingerprint, since it may equal a very different expression. That is
text, units, percent, letters, relations, sets, functions, long decimals, and members of a family.
"""

from __future__ import annotations

import re

from verikit.answers import choices
from verikit.answers.algebra.evaluate import OpaqueTerm, Undefined
from verikit.answers.algebra.modular import PRIMES, ModularField
from verikit.answers.gold import NUMERAL, read_gold
from verikit.answers.gold_readings import gold_readings
from verikit.answers.parser.tree import Node, TooBig, children

MAX_CHARS = 300
_PLAIN = re.compile(r"(?:[0-9a-zA-Z{}()+\-*/^. ]|\\(?:[dt]?frac|sqrt|cdot|times|left|right)(?![a-zA-Z]))+")
_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}")
_EXACT = frozenset(("num", "sym", "add", "mul", "div", "neg", "pow"))
_LONG = 10
"""Number of digits at which a decimal may be a rounded exact number."""


def _has_one_reading(text: str) -> bool:
    """Whether a text is a plain formula and neither an option letter nor a number with several readings."""
    if len(text) > MAX_CHARS or not _PLAIN.fullmatch(text) or _WORD.search(text):
        return False
    return not (choices.named(text) or choices.several_letters(text) or gold_readings(text))


def fingerprint(text: str) -> int | None:
    """The image of an answer's formula, or None if it can't rule out equality with others."""
    if not _has_one_reading(text):
        return None
    gold = read_gold(text)
    if gold.kind != "math" or gold.tree is None or gold.problem or not _exact(gold.tree):
        return None
    # A family compares a number in digits with words and numerals, which have no fingerprint themselves.
    if gold.meanings and not NUMERAL.fullmatch(text):
        return None
    field = ModularField(PRIMES[0])
    try:
        image = field.value(gold.tree)
    except (Undefined, OpaqueTerm, TooBig):
        return None
    return None if field.opaque_seen else image


def _exact(tree: Node) -> bool:
    """Whether a tree contains only exact operations and no long decimals."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.op not in _EXACT:
            return False
        if node.op == "num":
            value, decimals = node.args
            if decimals is not None and (decimals >= _LONG or abs(value) * 10**decimals >= 10 ** (_LONG - 1)):
                return False
        else:
            stack.extend(children(node))
    return True
