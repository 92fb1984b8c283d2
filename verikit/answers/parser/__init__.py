"""The parser: converts an answer's text to a tree, in time linear in its tokens, without evaluation.

Grammar, loosest first: a list of elements (comma, semicolon, and, or). An element is a labelled relation with an
optional unit. A relation chains set expressions. Below that are union and difference, sums, products (including
juxtaposition), signs, powers and postfixes, atoms. Text that is not understood raises `NotMath` with its token, and is
never dropped. The parser uses no regular expressions.

`grammar.Parser` has a method per level, down to the atom. Atoms are read by functions that take the parser: `leaves`
(numbers, symbols), `brackets`, `commands` (LaTeX), `binders` (sums, integrals, limits). `labels` reads the text around
a value. `cursor` is the parser's position in the tokens.

Before parsing, `clean` normalises the spelling of a text, `lexer` splits it into tokens and `letters` splits its runs
of letters. `tree` has the nodes, `units` the units.
"""

from __future__ import annotations

import re
from fractions import Fraction

from verikit.answers.parser.clean import clean
from verikit.answers.parser.grammar import Parser
from verikit.answers.parser.letters import split_letters
from verikit.answers.parser.lexer import Token, lex
from verikit.answers.parser.tree import MAX_CHARS, Node, NotMath, TooBig, num

__all__ = ["parse", "parse_tokens"]

_PLAIN = re.compile(r"(-?)(\d{1,18})(?:\.(\d{1,18}))?")


def parse(text: str) -> Node:
    """The tree of an answer's text.

    Raises:
        NotMath: The text is not mathematics that this parser understands. The message gives the position.
        TooBig: The text is over a limit.
    """
    if match := _PLAIN.fullmatch(text):
        sign, whole, places = match.groups()
        value = num(Fraction(f"{whole}.{places}"), len(places)) if places else num(int(whole))
        return Node("neg", (value,)) if sign else value
    if len(text) > MAX_CHARS:
        raise TooBig("the answer is too long")
    return parse_tokens(split_letters(lex(clean(text))))


def parse_tokens(tokens: list[Token]) -> Node:
    """The tree of a list of tokens. See `parse`."""
    while tokens and tokens[-1].text in (".", "\\\\", "\\") and tokens[-1].kind in ("op", "cmd"):
        tokens.pop()
    short = [t for t in tokens if t.kind == "word" and len(t.text) <= 3]
    if len(short) > 1 and all(t.kind in ("word", "sym", "num", "sep") for t in tokens):
        raise NotMath("words, not symbols")
    try:
        return Parser(tokens).answer()
    except RecursionError:
        raise TooBig("the answer nests too deep") from None
