"""The parser: an answer's text to a tree, in time linear in its tokens; no evaluation, no regular expressions.

Grammar, loosest first: a list of elements (comma, semicolon, and, or); an element is a labelled relation with a unit
after it; a relation chains set expressions; then union and difference, sums, products (juxtaposition too), signs,
powers and postfixes, atoms. What is not understood raises `NotMath` with the token it stands at, never drops text.

`grammar.Parser` has a method a level, down to the atom. What an atom may be is read by functions that take the parser:
`leaves` (numbers, symbols), `brackets`, `commands` (LaTeX), `binders` (sums, integrals, limits); `labels` reads what
stands around a value. `cursor` is where the parser stands in the tokens.

Before it, `clean` gives a text one spelling, `lexer` makes tokens of it and `letters` splits its runs of letters.
`tree` has the nodes, `units` the units.
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
        NotMath: it is not mathematics this parser understands; says where.
        TooBig: it is over a cap.
    """
    if match := _PLAIN.fullmatch(text):
        sign, whole, places = match.groups()
        value = num(Fraction(f"{whole}.{places}"), len(places)) if places else num(int(whole))
        return Node("neg", (value,)) if sign else value
    if len(text) > MAX_CHARS:
        raise TooBig("the answer is too long")
    return parse_tokens(split_letters(lex(clean(text))))


def parse_tokens(tokens: list[Token]) -> Node:
    """The tree of a list of tokens; see `parse`."""
    while tokens and tokens[-1].text in (".", "\\\\", "\\") and tokens[-1].kind in ("op", "cmd"):
        tokens.pop()
    short = [t for t in tokens if t.kind == "word" and len(t.text) <= 3]
    if len(short) > 1 and all(t.kind in ("word", "sym", "num", "sep") for t in tokens):
        raise NotMath("words, not symbols")
    try:
        return Parser(tokens).answer()
    except RecursionError:
        raise TooBig("the answer nests too deep") from None
