"""Runs of letters: products of one-letter symbols, names, or words.

In a formula `xy` is x times y. So a run of letters is split, and a power after it applies only to the last letter. The
run stays whole if the context requires it: in a text command, as the capitals of points, or as a word of prose. `AB^2`
is the square of a length. A unit or noun after a number also stays whole. Known names (`sin`, `pi`) are recognised
within a run. One pass over the tokens examines each run once, with its two neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from verikit.answers.parser.lexer import END, GREEK, Token
from verikit.answers.parser.units import is_unit

ENGLISH = frozenset(
    "a an as at be by do go he if in is it me my no of on or so to up us we am are was not yes all any odd the and for "
    "has its two one six ten per via".split()
)
"""Short words that are products only if something joins them to a formula."""
_FORMULA = frozenset(("+", "*", "**", "^", "_", "{", "}", "!", "cdot", "times", "frac", "sqrt", "div", "pm", "mp"))
"""Neighbours that do not occur in prose."""
_OPERATORS = _FORMULA | {"-", "/", "=", "(", ")", "[", "]", "|", "<", ">", "le", "ge", "ne"}
_ENDS_VALUE = frozenset((")", "]", "}", "\\}", "|", "!", "%", "'", "circ", "deg_mark", "pi", "infty")) | GREEK
_BOUNDARIES = frozenset(("=", "<", ">", "<=", ">=", "!=", "==", "le", "ge", "ne", "approx", "in", ":"))
_NEUTRAL = frozenset("unit units square cubic sq cu".split())
_NAMES = re.compile(r"arc(?:sin|cos|tan)|sinh|cosh|tanh|sqrt|sin|cos|tan|cot|sec|csc|log|ln|exp|pi|.")
_PLAIN_CALL = re.compile(r"(?:sin|cos|tan|cot|sec|csc|log|ln)x|sqrt")
_ORDINALS = frozenset(("st", "nd", "rd", "th"))
_VOWELS = frozenset("aeiouy")
_AND_OR = re.compile(r"(and|or)([A-Za-z])")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def split_letters(tokens: list[Token]) -> list[Token]:
    """The tokens with each ``run`` split into symbols, made a ``name`` of points, or left a ``word``."""
    if not any(token.kind in ("run", "word") for token in tokens):
        return tokens
    if _prose(tokens):
        return [token._replace(kind="word") if token.kind == "run" else token for token in tokens]
    under_integral, formula = _has_integral(tokens), _has_formula(tokens)
    found: list[Token] = []
    symbolic = inside_bars = False
    for index, token in enumerate(tokens):
        if token.kind in ("run", "word"):
            before = found[-1] if found else END
            if joined := _joined_letter(token, before):
                found += joined
                continue
            if under_integral and token.kind == "run" and token.text.islower():
                kind = "letters"
            else:
                kind = _kind(tokens, index, found[-2:], symbolic, inside_bars and before.text == "|", formula)
            if kind == "letters":
                found.extend(_letters(token))
                symbolic = True
            else:
                found.append(token._replace(kind=kind))
        else:
            symbolic = (symbolic or _is_symbol(token)) and not (token.kind == "sep" or token.text in _BOUNDARIES)
            inside_bars ^= token.text == "|"
            found.append(token)
    return found


def _prose(tokens: list[Token]) -> bool:
    """Whether there are only words, letters and numbers, with several short words among them."""
    if any(token.kind in ("op", "cmd", "unit") for token in tokens):
        return False
    return sum(t.kind == "run" and len(t.text) <= 3 and (t.spaced or t is tokens[0]) for t in tokens) > 1


def _has_integral(tokens: list[Token]) -> bool:
    return any(token.text in ("int", "iint", "iiint", "oint") and token.kind == "cmd" for token in tokens)


def _has_formula(tokens: list[Token]) -> bool:
    return any(token.kind in ("op", "cmd") and token.text in _FORMULA for token in tokens)


def _joined_letter(run: Token, before: Token) -> list[Token]:
    """A connective and a letter attached to the number before them, as in `2andx`. Otherwise empty."""
    glued = _AND_OR.fullmatch(run.text)
    if glued is None or before.kind != "num" or run.spaced:
        return []
    return [Token("sep", glued[1]), Token("sym", glued[2])]


def _is_symbol(token: Token) -> bool:
    return (token.kind == "sym" and token.text not in "ei") or (token.kind == "cmd" and token.text in GREEK)


def _letters(run: Token) -> Iterator[Token]:
    spaced = run.spaced
    for name in _NAMES.findall(run.text):
        yield Token("cmd" if len(name) > 1 else "sym", name, spaced)
        spaced = False


def _kind(tokens: list[Token], index: int, read: list[Token], symbolic: bool, opened: bool, formula: bool) -> str:
    """'letters', 'name' or 'word', by the run's neighbours. `read` contains the two tokens before it.

    `opened` means that a bar before it is an opening one.
    """
    run, before, after = tokens[index], read[-1] if read else END, _at(tokens, index + 1)
    text = run.text
    if _is_subscript(run, before):
        return _letters_if(run.kind == "run" and len(text) <= 3)
    joined = _is_joined(run, before, after)
    value = _ends_value(before, opened)
    if value and _is_unit_here(run, before, after, symbolic):
        return "word"
    if _divides_unit(read) and is_unit(text):
        return "word"
    if run.kind == "word":
        return _kind_of_text(run, before, after, value)
    if before.kind == "word" and run.spaced and not joined:
        return "word"
    if text.isupper() and len(text) <= 3:
        return "word" if _is_noun_in_capitals(run, before, after, value) else "name"
    joined = joined or (len(text) <= 3 and _is_operand(tokens, index))
    if value:
        plain = before.kind == "num" and read[0].text != "frac"
        return _after_value(run, before, symbolic, joined, plain)
    words = {"run", "word"} & {before.kind, after.kind}
    return _as_operand(run, before, after, joined, len(tokens) == 1, formula and not words)


def _is_subscript(run: Token, before: Token) -> bool:
    return before.text == "_" and before.kind == "op" and not run.spaced


def _is_joined(run: Token, before: Token, after: Token) -> bool:
    """Whether a formula sign precedes or follows a run."""
    return _signs(before, _FORMULA, run.spaced) or _signs(after, _FORMULA, after.spaced)


def _letters_if(are_letters: bool) -> str:
    return "letters" if are_letters else "word"


def _ends_value(token: Token, opened: bool) -> bool:
    """Whether a value ends with a token. An opening bar does not end one."""
    return token.kind in ("num", "sym", "name", "unit", "word") or (token.text in _ENDS_VALUE and not opened)


def _is_noun_in_capitals(run: Token, before: Token, after: Token, value: bool) -> bool:
    """Whether up to three capitals are the counted noun of the number before them, as in `5 USD`."""
    return value and run.spaced and before.kind == "num" and not _signs(after, _OPERATORS)


def _divides_unit(read: list[Token]) -> bool:
    return len(read) == 2 and read[1].text == "/" and read[0].kind in ("word", "unit")


def _at(tokens: list[Token], index: int) -> Token:
    return tokens[index] if index < len(tokens) else END


def _signs(neighbour: Token, signs: frozenset[str], spaced: bool = True) -> bool:
    """Whether a neighbour is one of these signs, or an adjacent number or command."""
    if neighbour.kind == "num" or (neighbour.kind == "cmd" and not spaced):
        return not spaced
    return neighbour.kind in ("op", "cmd") and neighbour.text in signs


def _is_operand(tokens: list[Token], index: int) -> bool:
    """Whether a binary sign follows, with a space on both sides or on neither: `at - x` but not `is -3`."""
    sign, right = _at(tokens, index + 1), _at(tokens, index + 2)
    return sign.kind == "op" and sign.text in ("-", "/", "=") and right is not END and sign.spaced == right.spaced


def _is_unit_here(run: Token, before: Token, after: Token, symbolic: bool) -> bool:
    """Whether a run after a value is a known unit, followed only by units."""
    if not (is_unit(run.text) or run.text in _NEUTRAL) or (symbolic and (not run.spaced or before.kind == "cmd")):
        return False
    factor = after.kind in ("num", "sym", "cmd") or (after.text in ("(", "{", "_", "'", "!") and after.kind == "op")
    return not factor or after.text in ("cdot", "times") or (after.spaced and after.kind in ("sym", "num"))


def _kind_of_text(word: Token, before: Token, after: Token, value: bool) -> str:
    """The kind of a word in a text command. Up to three letters may be a product, as `AB` in upright type."""
    text = word.text
    if len(text) > 3 or text.istitle() or (value and (word.spaced or not text.islower())):
        return "word"
    if text.lower() in ENGLISH:
        glued = before is not END and before.kind not in ("word", "name") and not word.spaced and after.kind != "word"
        return "name" if glued else "word"
    return "word" if is_unit(text) else "name"


def _after_value(run: Token, before: Token, symbolic: bool, joined: bool, plain: bool) -> str:
    """The kind of a run right after a value: a factor, or the counted noun of a `plain` number."""
    text = run.text
    if text in _ORDINALS and before.kind == "num":
        return "word"
    if not run.spaced or before.kind == "cmd":  # The space after a command only ends its name.
        return "letters" if text[0].islower() or len(text) <= 3 else "word"
    if text in _ALPHABET or (joined and len(text) <= 3):
        return "letters"
    if text in ENGLISH or not text[0].islower():
        return "word"
    short = len(text) == 2 or (len(text) == 3 and (symbolic or not (plain or _VOWELS.intersection(text))))
    return "letters" if short else "word"


def _as_operand(run: Token, before: Token, after: Token, joined: bool, alone: bool, formula: bool) -> str:
    """The kind of a run at the position of an operand, `alone` or in what is certainly a `formula`."""
    text = run.text
    touches = joined or _signs(before, _OPERATORS) or _signs(after, _OPERATORS)
    if _is_call_or_series(text, touches or alone):
        return _letters_if(text not in ENGLISH or touches)
    inside = _is_between_operators(run, before, after)
    if len(text) > 3:
        return _letters_if((joined or inside or (formula and touches)) and text[0].islower())
    if text.istitle():
        return _letters_if(joined or (inside and len(text) == 2 and text.lower() not in ENGLISH))
    if alone and len(text) == 3:
        return _letters_if(not _VOWELS.intersection(text.lower()))
    if text in ENGLISH:
        return _letters_if(joined or _is_glued(run, before, after))
    return "letters"


def _is_glued(run: Token, before: Token, after: Token) -> bool:
    """Whether a run is attached to the token before it and not followed by a word."""
    return before is not END and not run.spaced and after.kind not in ("run", "word")


def _is_call_or_series(text: str, clear: bool) -> bool:
    """Whether a run is a function of x, or letters in alphabetical order. Four of those only if it is clear."""
    return bool(_PLAIN_CALL.search(text)) or (text in _ALPHABET and (len(text) < 4 or clear))


def _is_between_operators(run: Token, before: Token, after: Token) -> bool:
    return before.text in _OPERATORS and after.text in _OPERATORS and not run.spaced and not after.spaced
