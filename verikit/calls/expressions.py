"""Expressions of Java and JavaScript: where they end, and whether they can be one. Nothing is parsed into a tree.

Brackets, strings, comments, regular expressions and types with parameters are told apart by one pattern; each function
is one pass over the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

_BLOCK = r'"""(?:[^"\\]|\\.|"(?!""))*"""' + r"|'''(?:[^'\\]|\\.|'(?!''))*'''"
_STRING = r'"(?:[^"\\\n]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)*'" + r"|`(?:[^`\\]|\\.)*`"
_PATTERN = (
    r"(?:^|(?<=[=(,:\[!&|?{};]))\s{0,20}/(?![/*])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,200}\]){1,200}/[dgimsuvy]{0,8}"
)
GENERIC = r"<[^<>()]{0,200}(?:<[^<>()]{0,200}>[^<>()]{0,200}){0,9}>"
_TYPE = rf"\bnew\s{{1,20}}[\w.$]{{1,200}}\s{{0,20}}{GENERIC}"
_TOKEN = re.compile(
    rf"(?P<text>{_BLOCK}|{_STRING})|(?P<comment>/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)|(?P<skipped>{_PATTERN}|{_TYPE})"
    r"|(?P<open>[\"'`]|/\*)|(?P<mark>[()\[\]{},])",
    re.DOTALL,
)
"""A string, a comment, a regular expression or a type, an end that is missing, or a bracket or comma."""
_LITERAL = re.compile(rf"(?:{_BLOCK}|{_STRING})\Z", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_HEX = "[0-9a-fA-F]"
_ESCAPE = re.compile(rf"\\(?:u\{{({_HEX}{{1,6}})\}}|x({_HEX}{{2}})|u({_HEX}{{4}})|U({_HEX}{{8}})|(.))", re.DOTALL)
_ESCAPED = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "a": "\a",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "/": "/", "$": "$", "\n": "",
}  # fmt: skip
_PART = re.compile(
    rf"(?P<a>{_BLOCK}|{_STRING}|{_PATTERN}|{_TYPE}|0[xX][0-9a-fA-F_]+[lL]?|0[bBoO][0-7_]+"
    r"|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[lLfFdDn]?(?![\w$]))"
    r"|(?P<word>[^\W\d][\w$]*|[$][\w$]*)|(?P<close>[)\]}])|(?P<R>\()|(?P<S>\[)|(?P<C>\{)"
    r"|(?P<k>\+\+|--)|(?P<p>!(?!=)|~|\.\.\.)|(?P<s>[+-](?![=>]))"
    r"|(?P<b>=>|->|\?\.|\?\?|::|\*\*|>>>|<<|>>|[=!]==?|[<>]=|&&|\|\||[-+*/%]=|[*/%<>&|^.=?])"
    r"|(?P<colon>:)|(?P<x>\S)",
    re.DOTALL,
)
"""A part of an expression: an operand, a word, a bracket, a sign or prefix, an operator between operands, the rest."""
_WORDS = frozenset(
    "new function async await typeof void delete class instanceof in of extends implements yield final".split()
)
"""Words that stand between or before operands."""
_NEXT = {
    "^": "akpsRSC", "b": "akpsRSC", "p": "akpsRSC", "s": "akpsRSC", "k": "akpsbRSC$",
    "a": "ksbRS$", "R": "akpsbRSC$", "S": "ksbRSC$", "C": "ksbRSC$", "x": "",
}  # fmt: skip
"""Which kinds of parts may follow each kind.

`a` is an operand, `b` an operator, `p` a prefix, `s` a sign, `k` one of the words, `R`, `S` and `C` are brackets.
"""


class NotSource(Exception):
    """Text whose brackets, strings or comments do not close."""


def breaks(text: str, position: int) -> Iterator[tuple[str, int]]:
    """Commas outside brackets and strings, up to the end of the text or a bracket that was opened before.

    Raises:
        NotSource: a bracket, a string or a comment does not end.
    """
    closing: list[str] = []
    for token in _TOKEN.finditer(text, position):
        if token.lastgroup == "open":
            raise NotSource("a string or a comment that does not end")
        if token.lastgroup != "mark":
            continue
        char = token[0]
        if char in _CLOSING:
            closing.append(_CLOSING[char])
        elif not closing:
            yield char, token.start()
            if char != ",":
                return
        elif char != "," and closing.pop() != char:
            raise NotSource("brackets that do not match")
    if closing:
        raise NotSource("a bracket that does not end")


def pieces(text: str) -> list[str] | None:
    """The expressions of a list with commas; None if brackets or strings do not close. A comma may follow the last."""
    bounds = [-1]
    try:
        for char, start in breaks(text, 0):
            if char != ",":
                return None
            bounds.append(start)
    except NotSource:
        return None
    bounds.append(len(text))
    found = [text[start + 1 : end].strip() for start, end in pairwise(bounds)]
    if not found[-1]:
        found.pop()
    return found if all(found) else None


def uncommented(text: str) -> str:
    """A text with a space in place of each comment."""
    if "/*" not in text and "//" not in text:
        return text
    return _TOKEN.sub(lambda token: " " if token.lastgroup == "comment" else token[0], text)


def literal_text(expression: str) -> str | None:
    """The text that a lone string literal writes; None for anything else, templates with `${` among it."""
    if expression[:1] not in ("'", '"', "`") or not _LITERAL.match(expression):
        return None
    if expression[0] == "`" and "${" in expression:
        return None
    width = 3 if expression[:3] in ('"""', "'''") and len(expression) > 5 else 1
    inner = expression[width:-width]
    return _ESCAPE.sub(_unescaped, inner) if "\\" in inner else inner


def _unescaped(found: re.Match[str]) -> str:
    digits = found[1] or found[2] or found[3] or found[4]
    if digits:
        code = int(digits, 16)
        return chr(code) if code < 0x110000 else found[0]
    return _ESCAPED.get(found[5], found[0])


def well_formed(expression: str) -> bool:
    """Whether parts outside brackets can follow each other: those of `a.b(c) + 1` can, those of `John Smith` can't.

    Brackets must be balanced.
    """
    shape, depth = "^", 0
    for part in _PART.finditer(expression):
        kind = str(part.lastgroup)
        if kind == "close":
            depth -= 1
            continue
        if not depth:
            shape += _kind(kind, part[0], shape)
        if kind in "RSC":
            depth += 1
    return all(following in _NEXT[kind] for kind, following in pairwise(f"{shape}$"))


def _kind(kind: str, part: str, before: str) -> str:
    if kind == "word":
        return "k" if part in _WORDS else "a"
    if kind == "colon":
        return "b" if "b" in before else "x"  # as in `a ? b : c`
    return "S" if kind == "C" and before[-1] == "a" and "k" in before else kind  # as in `class A {}`
