"""Words as the official scorers split them: NLTK's `word_tokenize`, runs of word characters, and counts of them."""

from __future__ import annotations

import re
import string

import regex

from verikit.verifiers.instructions import sentences

PUNCTUATION = string.punctuation
_NO_PUNCTUATION = str.maketrans("", "", PUNCTUATION)
_SPACES = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000"
)
_RUN = regex.compile(r"\w+")

# NLTK's word tokenizer for English, which follows the Penn Treebank's sed script: replacements in order.
_BEFORE: tuple[tuple[regex.Pattern[str], str], ...] = tuple(
    (regex.compile(pattern), to)
    for pattern, to in (
        (r"([«“‘„]|`+)", r" \1 "),
        (r'^"', "``"),
        (r"(``)", r" \1 "),
        (r"([ (\[{<])(\"|'{2})", r"\1 `` "),
        (r"(?i)(?<!\w)(')(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", r"\1 "),
    )
)
_MIDDLE: tuple[tuple[regex.Pattern[str], str], ...] = tuple(
    (regex.compile(pattern), to)
    for pattern, to in (
        (r"([:,])([^\d])", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"\.{2,}", r" \g<0> "),
        (r"[;@#$%&]", r" \g<0> "),
        (r"[\u2012-\u2015]", r" \g<0> "),
    )
)
_LATER: tuple[tuple[regex.Pattern[str], str], ...] = tuple(
    (regex.compile(pattern), to)
    for pattern, to in (
        (r"[?!]", r" \g<0> "),
        (r"([^'])' ", r"\1 ' "),
        (r"[*]", r" \g<0> "),
        (r"[\]\[(){}<>]", r" \g<0> "),
        (r"--", r" -- "),
    )
)
_AFTER: tuple[tuple[regex.Pattern[str], str], ...] = tuple(
    (regex.compile(pattern), to)
    for pattern, to in (
        (r"([»”’])", r" \1 "),
        (r"''", " '' "),
        (r'"', " '' "),
        (r"\s+", " "),
        (r"([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
    )
)
# NLTK compiles only these with `re`, where a combining mark ends a word.
_CONTRACTIONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"(?i)\b(can)(not)\b", r" \1 \2 "),
        (r"(?i)\b(d)('ye)\b", r" \1 \2 "),
        (r"(?i)\b(gim)(me)\b", r" \1 \2 "),
        (r"(?i)\b(gon)(na)\b", r" \1 \2 "),
        (r"(?i)\b(got)(ta)\b", r" \1 \2 "),
        (r"(?i)\b(lem)(me)\b", r" \1 \2 "),
        (r"(?i)\b(more)('n)\b", r" \1 \2 "),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is)\b", r" \1 \2 "),
        (r"(?i) ('t)(was)\b", r" \1 \2 "),
    )
)


def tokenize(text: str) -> list[str]:
    """Split into words and punctuation as NLTK's `word_tokenize` does, sentence by sentence."""
    return [word for sentence in sentences.split(text) for word in _treebank(sentence)]


def _treebank(text: str) -> list[str]:
    if len(text) == 1 and text != '"':
        return [text]
    for pattern, to in _BEFORE:
        text = pattern.sub(to, text)
    text = _last_stop(text, "])}>\"' »”’", " ")
    for pattern, to in _MIDDLE:
        text = pattern.sub(to, text)
    text = _last_stop(text, "])}>\"'", "")
    for pattern, to in _LATER:
        text = pattern.sub(to, text)
    text = f" {text} "
    for pattern, to in _AFTER:
        text = pattern.sub(to, text)
    for contraction, to in _CONTRACTIONS:
        text = contraction.sub(to, text)
    return text.split()


def _last_stop(text: str, closers: str, gap: str) -> str:
    """Separate a final full stop and the closers after it. The scan starts at the end; a pattern is quadratic."""
    end = len(text.rstrip(_SPACES))
    start = end
    while start and text[start - 1] in closers:
        start -= 1
    if start < 2 or text[start - 1] != "." or text[start - 2] == ".":
        return text
    return f"{text[: start - 1]} .{gap}{text[start:end]} "


def runs(text: str) -> list[str]:
    r"""Runs of word characters, `\w+` with combining marks: the words of IFEval and IFBench."""
    found: list[str] = _RUN.findall(text)
    return found


def unpunctuated(text: str) -> str:
    """The text without ASCII punctuation."""
    return text.translate(_NO_PUNCTUATION)


def stripped(word: str) -> str:
    """The text without ASCII punctuation and spaces at its ends."""
    return word.strip(PUNCTUATION + " ")
