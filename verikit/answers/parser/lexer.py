"""Splits an answer into tokens in one linear pass, after checking the limits.

A token is ``(kind, text, spaced)``. The kinds are:

- ``num``: a number
- ``sym``: a letter
- ``cmd``: a LaTeX command or a known function's name
- ``run``: several letters, which `verikit.answers.parser.letters` splits or makes a word
- ``word``: letters in a text command
- ``unit``: a unit in a text command
- ``sep``: comma, semicolon, and, or
- ``op``: any other character

Spacing and size commands and dollar signs are dropped here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from verikit.answers.parser.tree import MAX_CHARS, MAX_DIGITS, MAX_TOKENS, NotMath, TooBig
from verikit.answers.parser.units import parse_unit


class Token(NamedTuple):
    """One token. `spaced` tells whether whitespace precedes it."""

    kind: str
    text: str
    spaced: bool = False


END = Token("end", "")

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<num>\d+(?:\.\d*)?(?:[eE][+-]?\d+(?![.\d]))?|\.\d+)"
    r"|(?P<word>[A-Za-z]+)"
    r"|(?P<cmd>\\(?:(?:operatorname|hspace|vspace|cupdot)\*|[A-Za-z]+|.))"
    r"|(?P<op>\*\*|<=|>=|=>|!=|==|=<|.)",
    re.DOTALL,
)
_THOUSANDS = re.compile(r"(?:[1-9]\d{0,2}|0(?=,\d{3}(?![\d,])))(?:,\d{3})+(?![\d,])(?!\.\d*,)")
_PREFIXED = re.compile(
    r"0(?:([xX][0-9a-fA-F]{1,200}|[bB][01]{1,600}|[oO][0-7]{1,300})(?![0-9a-zA-Z.])|[xX][0-9a-fA-F]|[bBoO][0-9]"
    r"|(?<=^0)[xX][-+](?=[\d\\]))"
)
"""A number with a base prefix, as in programs, well-formed or not. It is never read as a product of 0 and x.

A malformed one has digits outside its base, or a sign after the prefix ("0x-7").
"""
_REPEAT = re.compile(r"(\d*\.\d*)\s*\\(?:overline|dot|bar)\s*\{?(\d+)\}?")

FUNCTIONS = frozenset(
    "sin cos tan cot sec csc sinh cosh tanh coth sech csch arcsin arccos arctan arccot arcsec arccsc arcsinh arccosh "
    "arctanh arsinh arcosh artanh asin acos atan acot asinh acosh atanh log ln lg exp sqrt cbrt gcd lcm max min mod "
    "floor ceil abs binom factorial sgn sign".split()
)
_ALIASES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "acot": "arccot", "arsinh": "arcsinh", "asinh": "arcsinh",
    "arcosh": "arccosh", "acosh": "arccosh", "artanh": "arctanh", "atanh": "arctanh", "sign": "sgn", "dfrac": "frac",
    "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom", "leq": "le", "leqslant": "le", "leqq": "le",
    "geq": "ge", "geqslant": "ge", "geqq": "ge", "neq": "ne", "ne": "ne", "lt": "<", "gt": ">", "infin": "infty",
    "inf": "infty", "infinity": "infty", "oo": "infty", "cupdot": "cup", "cupdot*": "cup", "bigcup": "cup",
    "bigcap": "cap", "backslash": "setminus", "smallsetminus": "setminus", "lbrack": "[", "rbrack": "]",
    "lbrace": "\\{", "rbrace": "\\}", "vert": "|", "lvert": "|", "rvert": "|", "mid": "|", "Vert": "|", "lVert": "|",
    "rVert": "|", "|": "|", "varphi": "phi", "varepsilon": "epsilon", "vartheta": "theta", "ast": "*", "star": "*",
    "%": "%", "&": "&", "colon": ":", "rightarrow": "to", "longrightarrow": "to", "degree": "deg_mark",
    "degrees": "deg_mark", "textdegree": "deg_mark", "exponentialE": "e_const", "imaginaryI": "i_const",
    "prime": "'", "ldots": "dots", "cdots": "dots", "dotsc": "dots", "dotsb": "dots", "land": "and", "lor": "or",
    "wedge": "and", "vee": "or", "percent": "%", "emptyset": "empty", "varnothing": "empty", "lang": "langle",
    "rang": "rangle", "cdotp": "cdot", "bullet": "cdot", "iff": "sep", "colonequals": "=", "implies": "=>",
    "Rightarrow": "=>", "factorial": "factorial", "textcirc": "circ", "equiv": "=",
}  # fmt: skip
SKIPPED = frozenset(
    "left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle displaystyle textstyle "
    "scriptstyle angle triangle measuredangle limits nolimits quad qquad enspace thinspace hspace vspace hfill , ; "
    "! : > space noindent boldsymbol bm pmb mathit mathcal mathscr mathfrak ensuremath rm bf it sf "
    "phantom hphantom vphantom strut mathstrut negthinspace medspace thickspace negmedspace negthickspace".split()
) | {" ", "\n", "(", ")", "[", "]"}
TEXT = frozenset(
    "text textbf textit textrm textsf texttt textnormal textup mbox hbox mathrm mathbf mathsf mathtt operatorname "
    "operatorname* emph underline boxed fbox variable mathop".split()
)
GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega "
    "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar aleph mho partial nabla".split()
)
_NAMED = FUNCTIONS | GREEK | {"pi", "infty", "inf", "infinity", "oo", "frac"}
_UNIT_PART = re.compile(r"[A-Za-z]+|\d+|[/*]|\^|-")
_CLOSERS = frozenset((")", "}", "/", "^", "circ", "pi", "cdot", "times"))
_MARKUP = frozenset("hspace vspace phantom hphantom vphantom".split())


def lex(text: str, depth: int = 0) -> list[Token]:
    """Tokens of a cleaned answer.

    Raises:
        TooBig: Longer than the caps allow.
        NotMath: Braces of a text command don't close.
    """
    if len(text) > MAX_CHARS or depth > 12:
        raise TooBig("the answer is too long" if depth <= 12 else "text commands nest too deep")
    tokens: list[Token] = []
    position, spaced, parens, size = 0, False, 0, len(text)
    while position < size:
        match = _TOKEN.match(text, position)
        assert match is not None  # the last alternative takes any character
        kind, start, position = match.lastgroup, position, match.end()
        if kind == "space":
            spaced = True
            continue
        piece = match[0]
        if kind == "num":
            piece, position = _number(text, start, position, parens)
            tokens.append(Token("num", piece, spaced))
        elif kind == "word":
            opens = position < size and text[position] in "(_^"
            tokens.append(_word(piece, spaced, opens, "word" if depth else "run"))
        elif kind == "cmd":
            parens += (piece == "\\{") - (piece == "\\}")
            position = _command(piece[1:], text, position, spaced, tokens, depth)
        elif piece in ",;":
            tokens.append(Token("sep", piece, spaced))
        elif piece not in "$~":
            parens += (piece in "([{") - (piece in ")]}")
            tokens.append(Token("op", piece, spaced))
        spaced = False
        if len(tokens) > MAX_TOKENS:
            raise TooBig("the answer has too many parts")
    return tokens


def _number(text: str, start: int, end: int, parens: int) -> tuple[str, int]:
    """A literal from `start`. Repeating decimals, and thousands groups outside brackets, are read as one number."""
    if text[start:end] == "0" and (based := _PREFIXED.match(text, start)):
        if not based[1]:
            raise NotMath("digits outside of their base")
        return str(int(based[0], 0)), based.end()
    if end - start <= 3 and not parens and text.startswith(",", end) and (match := _THOUSANDS.match(text, start)):
        tail = _TOKEN.match(text, match.end())
        if tail is not None and tail.lastgroup == "num" and tail[0][0] == ".":
            return match[0].replace(",", "") + tail[0], tail.end()
        return match[0].replace(",", "." if match[0][0] == "0" else ""), match.end()
    if text.startswith("\\", end) and (match := _REPEAT.match(text, start)):
        return f"{match[1]}({match[2]})", match.end()
    if end - start > MAX_DIGITS:
        raise TooBig("a number has too many digits")
    piece = text[start:end]
    if piece[-1] == "." and end < len(text) and text[end] not in " /*+-^)\\,":
        return piece[:-1], end - 1
    return piece, end


def _word(piece: str, spaced: bool, opens: bool, kind: str) -> Token:
    if len(piece) == 1:
        return Token("sym", piece, spaced)
    if piece in _NAMED or (piece.lower() in ("infinity", "pi") and piece not in GREEK):
        name = piece if piece in _NAMED else piece.lower()
        return Token("cmd", _ALIASES.get(name, name), spaced)
    if piece.lower() in ("and", "or"):
        return Token("sep", piece.lower(), spaced)
    if piece == "cis" or (opens and piece in ("union", "log10", "log2")):
        return Token("cmd", piece, spaced)
    if piece.lower() == "union":
        return Token("cmd", "cup", spaced)
    return Token(kind, piece, spaced)


def _command(name: str, text: str, position: int, spaced: bool, tokens: list[Token], depth: int) -> int:
    """Append the tokens of a LaTeX command and return the position after it."""
    if name in SKIPPED:
        if name in ("left", "right", "middle") and text.startswith(".", position):
            position += 1
        elif name in ("left", "right") and text.startswith(("{", "}"), position):
            # A missing backslash: \left{ means \left\{.
            tokens.append(Token("op", "\\" + text[position], spaced))
            position += 1
        elif name in _MARKUP and text.startswith("{", position):
            position = _closing(text, position) + 1
        return position
    if name in TEXT:
        while position < len(text) and text[position] in " ~":
            position += 1
        if not text.startswith("{", position):
            return position
        end = _closing(text, position)
        tokens.extend(_inner(text[position + 1 : end], name, spaced, tokens, depth))
        return end + 1
    if name in ("\\", "cr", "newline"):
        tokens.append(Token("op", "\\\\", spaced))
        return position
    if name.startswith(("quad", "qquad")):
        return position - len(name) + name.index("d") + 1  # \\quadx: the space was omitted.
    alias = _ALIASES.get(name, name)
    if alias in ("and", "or", "sep"):
        tokens.append(Token("sep", alias, spaced))
    elif alias in ("%", "$", "#", "_", "{", "}", "\\{", "\\}", "&", "|", "[", "]", "<", ">", ":", "'", "*", "=", "=>"):
        symbol = "\\" + alias if alias in "{}" else alias
        if symbol != "$":
            tokens.append(Token("op", symbol, spaced))
        else:
            tokens.append(Token("op", "money", spaced))
    else:
        tokens.append(Token("cmd", alias, spaced))
    return position


def _inner(content: str, command: str, spaced: bool, before: list[Token], depth: int) -> list[Token]:
    """Tokens of a text command's content. A unit after a number is one token, and prose becomes words."""
    content = content.replace("~", " ").strip()
    if not content:
        return []
    follows = bool(before) and (before[-1].kind in ("num", "unit") or before[-1].text in _CLOSERS)
    if (
        follows
        and not _UNIT_PART.sub("", content).strip(" .^{}")
        and parse_unit(_UNIT_PART.findall(content)) is not None
    ):
        return [Token("unit", content, spaced)]
    inner = lex(content, depth + 1)
    if inner:
        inner[0] = inner[0]._replace(spaced=True if command.startswith("text") else spaced)
    return inner


def _closing(text: str, position: int) -> int:
    """Index of the brace that closes the one at `position`."""
    depth = 0
    for index in range(position, len(text)):
        char = text[index]
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if not depth:
                return index
    raise NotMath("a brace does not close")
