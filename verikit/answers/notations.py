"""Converts matrices in code, maps, outward brackets and the real numbers in words to the parser's notation."""

from __future__ import annotations

import re

from verikit.answers.families.pieces import bare, pieces

MAX_CHARS = 2_000
_CALL = re.compile(
    r"(?:(?:np|numpy|sp|sympy|jnp|torch)\.)?(?:Matrix|ImmutableMatrix|array|matrix|tensor)\((.*)\)", re.DOTALL
)
_ROWS = re.compile(r"\[([^\[\]]{1,1000})\]")
_CHOOSE = re.compile(r"\{([^{}\\]{1,40})\\choose(?![a-zA-Z])([^{}\\]{1,40})\}")
_MAPS = re.compile(
    r"(?:[a-zA-Z]\s{0,3}[:：]\s{0,3})?([a-zA-Z]|\\[a-z]{2,8})\s{0,3}(?:\\mapsto|↦|\|->)(?![a-zA-Z])(.{1,1000})"
)
_OPEN_END = re.compile(r"([\[(\]])([^\[\](),;]{1,60})[,;]([^\[\](),;]{1,60})([\])\[])")
_REALS = re.compile(
    r"(?:(?:x|y)\s+(?:is|can be)\s+)?(?:the set of\s+)?(?:all|any|every|each)\s+(?:the\s+)?"
    r"(?:real\s+(?:numbers?|values?|x)|reals?)(?:\s+(?:numbers?|x|of x))?",
    re.IGNORECASE,
)
_REALS_BUT = re.compile(
    r"(?:(?:all|any|every)\s+(?:real numbers?|reals|real values?|real x)(?:\s+(?:x|of x))?|\\mathbb\{R\}|R)"
    r",?\s+(?:except|excluding|other than|but|not equal to|without)(?:\s+for)?(?:\s+x\s*=)?\s+(.{1,80})",
    re.IGNORECASE,
)
_NO_VALUE = re.compile(r"[<>=]|(?<![\\a-z])[a-z]{2}")


def _matrix(rows: list[list[str]]) -> str | None:
    if not rows or len({len(row) for row in rows}) != 1 or not all(all(row) for row in rows):
        return None
    return r"\begin{pmatrix} " + r" \\ ".join(" & ".join(row) for row in rows) + r" \end{pmatrix}"


def _entries(text: str) -> list[str] | None:
    """The entries of a bracketed list, or None if the text is not one."""
    text = text.strip()
    return [part.text for part in pieces(text[1:-1], ",")] if text[:1] == "[" and text[-1:] == "]" else None


def code_matrix(text: str) -> str | None:
    """``Matrix([[1, 2], [3, 4]])``, ``np.array([1, 2])``: a matrix, or a column."""
    call = _CALL.fullmatch(text.strip()) if "(" in text and len(text) <= MAX_CHARS else None
    outer = _entries(call[1]) if call else None
    if outer is None:
        return None
    rows = list(map(_entries, outer))
    if all(row is None for row in rows):
        return _matrix([[entry] for entry in outer])
    return _matrix([row or [] for row in rows])


def row_matrix(text: str) -> str | None:
    """``[1 2; 3 4]``: rows separated by semicolons, entries by commas or spaces."""
    match = _ROWS.fullmatch(bare(text).strip()) if ";" in text and len(text) <= MAX_CHARS else None
    if match is None:
        return None
    split = "," if "," in match[1] else None
    return _matrix([[entry.strip() for entry in row.split(split)] for row in match[1].split(";")])


def choose(text: str) -> str | None:
    r"""``{n \choose k}`` as a binomial coefficient."""
    return _CHOOSE.sub(r"\\binom{\1}{\2}", text) if "\\choose" in text and len(text) <= MAX_CHARS else None


def maps_to(text: str) -> str | None:
    r"""``x \mapsto x^2`` as the function's equation."""
    match = _MAPS.fullmatch(text.strip()) if len(text) <= MAX_CHARS else None
    return f"f({match[1]})={match[2]}" if match else None


def outward_bracket(text: str) -> str | None:
    """``[2,5[`` as a half-open interval, also in a union."""
    if "[" not in text or len(text) > MAX_CHARS:
        return None
    closing = {"[": ")", "]": "]", ")": ")"}
    return _OPEN_END.sub(lambda m: ("(" if m[1] == "]" else m[1]) + f"{m[2]},{m[3]}" + closing[m[4]], bare(text))


def reals(text: str) -> str | None:
    """All real numbers in words, with or without exceptions."""
    if len(text) > MAX_CHARS or ("eal" not in text and "R" not in text):
        return None
    text = bare(text).strip().rstrip(".")
    if _REALS.fullmatch(text):
        return r"\mathbb{R}"
    but = _REALS_BUT.fullmatch(text)
    values = [part.text for part in pieces(but[1], ",")] if but else []
    if not values or any(_NO_VALUE.search(value) for value in values):
        return None
    return rf"\mathbb{{R}} \setminus \{{{', '.join(values)}\}}"
