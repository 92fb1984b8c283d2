r"""Is an answer a mathematical expression? `x^2+1`, `\frac{a}{b}`, `2πr` and `y = 2x` are; `the red house` is none.

`math`, by which answers are compared, has to be able to read it: a gold that it can't read is never answered.
Words are no products of letters: `red house` is read as r·e·d with a unit, and is prose.
"""

from __future__ import annotations

import re
from itertools import pairwise

from verikit.answers.gold import read_gold
from verikit.answers.parser.lexer import FUNCTIONS, GREEK
from verikit.answers.parser.units import is_unit

_COMMAND = re.compile(r"\\[A-Za-z]+|_\{[^{}]{0,100}\}|_[A-Za-z0-9]")
_WORD = re.compile(r"[^\W\d_]{3,}")
_NAMED = FUNCTIONS | GREEK | {"infinity", "inf", "and", "mod"}


def is_expression(text: str) -> bool:
    """Whether a text is mathematics that answers can be compared with."""
    gold = read_gold(text)
    return gold.tree is not None and not gold.problem and not _is_prose(text)


def _is_prose(text: str) -> bool:
    """Whether words stand side by side, or a word stands alone; units and names of functions are none."""
    plain = _COMMAND.sub(" ", text).strip("${} \t\n")
    words = [word for word in _WORD.finditer(plain) if word[0] not in _NAMED and not is_unit(word[0])]
    if len(words) == 1 and words[0][0] == plain:
        return len(plain) > 3 or "\\text" in text or "\\mathrm" in text
    return any(plain[first.end() : second.start()].isspace() for first, second in pairwise(words))
