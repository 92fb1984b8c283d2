r"""Check whether an answer is a mathematical expression: `x^2+1`, `\frac{a}{b}`, `2πr`, `y = 2x`, `velocity/time`.

`a cat` and `the red house` are not expressions. Words are not products of letters: `red house` could be read as r·e·d
with a unit, but is prose. `answer` compares the answers, so it must be able to read an expression. No reply could match
a gold answer that it can't read. It compares formulas of words by their words and operators.
"""

from __future__ import annotations

import re
from itertools import pairwise

from verikit.answers.gold import read_gold
from verikit.answers.parser.lexer import FUNCTIONS, GREEK
from verikit.answers.parser.units import is_unit

_COMMAND = re.compile(r"\\[A-Za-z]+|_\{[^{}]{0,100}\}|_[A-Za-z0-9]")
_TOKEN = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")
_FORMULA_OF_WORDS = re.compile(r"[^\W\d_]{3,}(?: ?[*×·/+=^] ?[^\W\d_]{3,}){1,8}")
_NAMED = FUNCTIONS | GREEK | {"infinity", "inf", "and", "mod", "lim", "choose"}


def is_expression(text: str) -> bool:
    """Whether a string is mathematics that answers can be compared with."""
    gold = read_gold(text)
    readable = gold.tree is not None or is_formula_of_words(text)
    return readable and not gold.problem and not _is_prose(text)


def is_formula_of_words(text: str) -> bool:
    """Whether a string is words joined by operators, such as `distance / time`."""
    return _FORMULA_OF_WORDS.fullmatch(text.strip("$ ")) is not None


def _is_prose(text: str) -> bool:
    """Whether a word is next to another word or a letter, or is the whole string."""
    plain = _COMMAND.sub(" ", text).strip("${} \t\n")
    tokens = list(_TOKEN.finditer(plain))
    if len(tokens) == 1 and tokens[0][0] == plain and _is_word(plain):
        return len(plain) > 3 or "\\text" in text or "\\mathrm" in text
    neighbours = [
        (first[0], second[0]) for first, second in pairwise(tokens) if plain[first.end() : second.start()].isspace()
    ]
    return any(
        any(map(_is_word, pair)) and all(_is_word(token) or _is_letter(token) for token in pair) for pair in neighbours
    )


def _is_word(token: str) -> bool:
    """Whether it is a word of prose. Units, Greek letters and names of functions are not."""
    return len(token) > 2 and token.isalpha() and token not in _NAMED and not is_unit(token)


def _is_letter(token: str) -> bool:
    return len(token) == 1 and token.isalpha()
