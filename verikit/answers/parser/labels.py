"""The text around a value: labels and quantifiers before it, a unit, a scale or a counted noun after it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from verikit.answers.parser.operations import AFTER, NO_CLAIM
from verikit.answers.parser.tree import Node, NotMath, num
from verikit.answers.parser.units import COUNT, parse_unit

if TYPE_CHECKING:
    from verikit.answers.parser.grammar import Parser
    from verikit.answers.parser.lexer import Token

MAX_LABEL = 6
"""Maximum number of words of a noun after a number, or of a label before one."""
_PERCENT = frozenset(("percent", "pct", "percentage", "percents"))
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12,
           "lakh": 10**5, "lakhs": 10**5, "crore": 10**7, "crores": 10**7}  # fmt: skip
_ARTICLES = (Node("sym", ("a",)), Node("sym", ("A",)), Node("sym", ("I",)))
_PROSE = frozenset(
    "is are was were be not no nor but if when where for because so since then that which this than with without the "
    "wrong incorrect false untrue maybe perhaps either neither except of it he she they we you".split()
)
NO_NOUN = (
    _PROSE
    | AFTER
    | NO_CLAIM
    | frozenset(
        "negative below hundred thousand million billion trillion dozen "
        "january february march april may june july august september october november december jan feb mar apr jun "
        "ish er jul aug sep sept oct nov dec bc ad bce ce am pm st nd rd th".split()
    )
)
"""Words after a number that are not a counted noun. They change the value, or form a date or a sentence."""

_NO_LABEL = (_PROSE - {"the"}) | frozenset("least most different twice thrice half double".split())
_FACTORS = frozenset("einxyz")


def skip_label(parser: Parser) -> None:
    """Skip words before ``=`` or ``:``, and a quantifier."""
    if parser.accept("forall", "therefore", "exists", "approx", "sim"):
        return
    if parser.token.kind != "word":
        return
    words = _words_ahead(parser)
    index = parser.index + len(words)
    if len(words) == 1 and len(words[0].text) <= 3 and not words[0].text.istitle():
        return  # A product of symbols, AB = 5.
    if len(words) <= MAX_LABEL and parser.tokens[index].text in ("=", ":"):
        if any(word.text.lower() in _NO_LABEL for word in words):
            raise NotMath("prose before the value")
        parser.seek(index + 1)


def _words_ahead(parser: Parser) -> list[Token]:
    return list(takewhile(lambda token: token.kind == "word", parser.tokens[parser.index :]))


def _label(parser: Parser) -> list[str]:
    """Take the words, letters and signs that may be a unit or a noun, up to a bracket that closes another."""
    parts: list[str] = []
    while parser.token.kind in ("word", "unit", "sym", "num") or parser.at(
        "/", "^", "{", "}", "cdot", "*", "-", "(", ")"
    ):
        if parser.at("}", ")") and parts.count(parser.token.text) >= parts.count("{" if parser.at("}") else "("):
            break
        parts.extend(parser.take().text.replace("^", " ^ ").replace("/", " / ").split())
    return parts


def _is_noun(parts: list[str]) -> bool:
    """Whether a label that is not a unit may be a counted noun."""
    words = [part for part in parts if part.isalpha()]
    if _changes(parts, words):
        return False
    return len(parts) - 2 <= len(words) <= MAX_LABEL


def _changes(parts: list[str], words: list[str]) -> bool:
    """Whether a label has numbers or words that change the value before it. "5 times" counts, "5 times two" is 10."""
    has_number = any(part[:1].isdigit() for part in parts)
    is_alike = any(sign == "-" and word in ("ish", "like", "free") for sign, word in pairwise(parts))
    has_operation = any(word.lower() in NO_NOUN for word in words) or not _FACTORS.isdisjoint(words[-1:])
    return has_number or is_alike or has_operation or "times" in words[:-1]


def with_unit(parser: Parser, node: Node) -> Node:
    """Attach the unit or noun that follows a value."""
    start = parser.index
    parts = _label(parser)
    if "".join(parts).lower() in _PERCENT:
        return _on_last(node, lambda value: Node("pct", (value,)))
    if parts and (scale := _SCALES.get(parts[0].lower())):
        node, parts = _on_last(node, lambda value: Node("mul", (value, num(scale)))), parts[1:]
        if not parts:
            return node
    unit = parse_unit([p for p in parts if p not in "()"])
    if unit is None:
        if not _is_noun(parts):
            raise NotMath(f"not understood: {' '.join(t.text for t in parser.tokens[start : start + 8])[:60]!r}")
        if node in _ARTICLES:
            raise NotMath("words, not symbols")
        unit = COUNT
    if unit.dimension == (("d", 1),):
        return _on_last(node, lambda value: Node("deg", (value,)))
    return _on_last(node, lambda value: Node("qty", (value, unit)))


def _on_last(node: Node, wrap: Callable[[Node], Node]) -> Node:
    """Apply the unit to the last value of a relation, or to the node itself."""
    if node.op == "rel":
        return Node("rel", (*node.args[:-1], wrap(node.args[-1])))
    return wrap(node)
