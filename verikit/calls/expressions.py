"""Expressions of Java and JavaScript: finds their ends and checks whether they are plausible, without building a tree.

One pattern distinguishes brackets, strings, comments, regular expressions and parameterised types. Each function is one
pass over the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

_BLOCK = r'"""(?:[^"\\]|\\.|"(?!""))*"""' + r"|'''(?:[^'\\]|\\.|'(?!''))*'''"
_STRING = r'"(?:[^"\\\n]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)*'" + r"|`(?:[^`\\]|\\.)*`"
_REGEX = r"/(?![/*])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,200}\]){1,200}/[dgimsuvy]{0,8}"
_OPERAND = r"[=(,:\[!&|?{};]"
"""Characters that may precede a regular expression."""
GENERIC = r"<[^<>()]{0,200}(?:<[^<>()]{0,200}>[^<>()]{0,200}){0,9}>"
_NEW = r"\bnew\s{1,20}[\w.$]{1,200}\s{0,20}"
_RUN = r"[^\"'`/()\[\]{},<]*"
_TOKEN = re.compile(
    rf"{_RUN}(?:(?:{_BLOCK}|{_STRING}){_RUN})*(?:(?P<mark>[()\[\]{{}},])|(?P<comment>/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)"
    r"|(?P<angle><)|(?P<slash>/(?!\*))|(?P<open>[\"'`/])|\Z)",
    re.DOTALL,
)
"""Text with its strings, up to a bracket, comma, comment, `<`, `/`, an unclosed string, or the end of the text."""
_BEFORE = {"angle": re.compile(rf"{_NEW}\Z"), "slash": re.compile(rf"(?:^|{_OPERAND})\s{{0,20}}\Z")}
LOOKED_BACK = 250
"""Number of characters before `<` or `/` that are checked. More than either can need."""
_SKIPPED = {"angle": re.compile(GENERIC), "slash": re.compile(_REGEX, re.DOTALL)}
"""The parameters of a type after `new`, and a regular expression. `_BEFORE` has what must precede each."""
ATOM = r"""(?:"[^"\\\n]*+"|'[^'\\\n]*+'|-?[\w.$]++)"""
"""A string without escapes, a number or a name. Use it with `re.ASCII`."""
PROPERTY = r"""("[^"\\\n]*+"|'[^'\\\n]*+'|[\w$]{1,200}+)\s*+:\s*+"""
_ATOMS = re.compile(rf"\s*+{ATOM}\s*+(?:,\s*+{ATOM}\s*+)*+", re.ASCII)
_ATOM = re.compile(ATOM, re.ASCII)
_LITERAL = re.compile(rf"(?:{_BLOCK}|{_STRING})\Z", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_HEX = "[0-9a-fA-F]"
_ESCAPE = re.compile(rf"\\(?:u\{{({_HEX}{{1,6}})\}}|x({_HEX}{{2}})|u({_HEX}{{4}})|U({_HEX}{{8}})|(.))", re.DOTALL)
_ESCAPED = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "a": "\a",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "/": "/", "$": "$", "\n": "",
}  # fmt: skip
_PART = re.compile(
    rf"(?P<a>{_BLOCK}|{_STRING}|(?:^|(?<={_OPERAND}))\s{{0,20}}{_REGEX}|{_NEW}{GENERIC}|0[xX][0-9a-fA-F_]+[lL]?|0[bBoO][0-7_]+"
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
"""Words that appear between or before operands."""
_NEXT = {
    "^": "akpsRSC", "b": "akpsRSC", "p": "akpsRSC", "s": "akpsRSC", "k": "akpsbRSC$",
    "a": "ksbRS$", "R": "akpsbRSC$", "S": "ksbRSC$", "C": "ksbRSC$", "x": "",
}  # fmt: skip
"""The kinds of parts that may follow each kind.

`a` is an operand, `b` an operator, `p` a prefix, `s` a sign, `k` one of the words, and `R`, `S` and `C` are brackets.
"""


def nested(inner: str) -> str:
    """The pattern of a literal that may be an array or an object of inner ones."""
    items = rf"{inner}\s*+(?:,\s*+{inner}\s*+)*+"
    entry = f"{PROPERTY.replace('(', '(?:', 1)}{inner}"
    return rf"(?:{ATOM}|\[\s*+(?:{items})?+\]|\{{\s*+(?:{entry}\s*+(?:,\s*+{entry}\s*+)*+)?+\}})"


class NotSource(Exception):
    """Text with unclosed brackets, strings or comments."""


def breaks(text: str, position: int) -> Iterator[tuple[str, int, int]]:
    """The commas and bracket pairs outside other brackets and strings, each with its start and end.

    A pair of brackets is `()`, `[]` or `{}`. If there is an unmatched closing bracket, it comes last.

    Raises:
        NotSource: A bracket, a string or a comment does not end.
    """
    closing: list[str] = []
    opened = 0
    while (token := _TOKEN.match(text, position)) and token.lastgroup:
        position = _behind(text, token)
        if token.lastgroup != "mark":
            continue
        char = text[position - 1]
        if char in _CLOSING:
            opened = opened if closing else position - 1
            closing.append(_CLOSING[char])
        elif not closing:
            yield char, position - 1, position
            if char != ",":
                return
        elif char != ",":
            if closing.pop() != char:
                raise NotSource("brackets that do not match")
            if not closing:
                yield text[opened] + char, opened, position
    if closing:
        raise NotSource("a bracket that does not end")


def _behind(text: str, token: re.Match[str]) -> int:
    """The start of the next token.

    Raises:
        NotSource: A string or a comment does not end.
    """
    kind, end = token.lastgroup, token.end()
    if kind == "open":
        raise NotSource("a string or a comment that does not end")
    if kind not in _SKIPPED:
        return end
    fits = _BEFORE[kind].search(text, max(0, end - LOOKED_BACK), end - 1)
    skipped = _SKIPPED[kind].match(text, end - 1) if fits else None
    return skipped.end() if skipped else end


def pieces(text: str) -> list[str] | None:
    """The expressions of a comma-separated list. None if brackets or strings do not close. It may end in a comma."""
    if _ATOMS.fullmatch(text):
        return _ATOM.findall(text)
    found: list[str] = []
    begun = 0
    try:
        for mark, start, end in breaks(text, 0):
            if mark == ",":
                found.append(text[begun:start].strip())
                begun = end
            elif len(mark) == 1:
                return None
    except NotSource:
        return None
    if last := text[begun:].strip():
        found.append(last)
    return found if all(found) else None


def uncommented(text: str) -> str:
    """Replace each comment with a space, up to a string or a comment that does not end."""
    if "/*" not in text and "//" not in text:
        return text
    parts: list[str] = []
    position = copied = 0
    while (token := _TOKEN.match(text, position)) and token.lastgroup not in (None, "open"):
        if token.lastgroup == "comment":
            parts += (text[copied : token.start("comment")], " ")
            copied = token.end()
        position = _behind(text, token)
    return "".join([*parts, text[copied:]])


def literal_text(expression: str) -> str | None:
    """The content of a lone string literal. None for anything else, including templates with `${`."""
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
    """Whether parts outside brackets can follow each other: `a.b(c) + 1` can, `John Smith` can't.

    Brackets must be balanced. Their contents may be omitted.
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
