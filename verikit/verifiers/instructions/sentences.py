"""Sentences, split as the official scorers split them: by their own rules, or by Punkt as NLTK 3.10 runs it.

Punkt decides at each full stop whether it ends a sentence, from lists learned without labels (T. Kiss and
J. Strunk, "Unsupervised Multilingual Sentence Boundary Detection", 2006); `data/punkt.txt` contains the English lists.
NLTK compiles its patterns with the package `regex`, which treats combining marks as parts of words, and so does this
module. Everything is linear in the text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from verikit.verifiers.instructions.data import word_lists

# Rules of google-research's `split_into_sentences`: a full stop that does not end a sentence is hidden as <prd>.
_HIDE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"(Mr|St|Mrs|Ms|Dr)[.]", r"\1<prd>"),
        (r"[.](com|net|org|io|gov|edu|me)", r"<prd>\1"),
        (r"([0-9])[.]([0-9])", r"\1<prd>\2"),
    )
)
_STARTERS = (
    r"(Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|He\s|She\s|It\s|They\s|Their\s|Our\s|We\s|But\s|However\s|That\s|This\s|Wherever)"
)
_SUFFIXES = "(Inc|Ltd|Jr|Sr|Co)"
_ABBREVIATIONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"\s([A-Za-z])[.] ", r" \1<prd> "),
        (r"([A-Z][.][A-Z][.](?:[A-Z][.])?) " + _STARTERS, r"\1<stop> \2"),
        (r"([A-Za-z])[.]([A-Za-z])[.]([A-Za-z])[.]", r"\1<prd>\2<prd>\3<prd>"),
        (r"([A-Za-z])[.]([A-Za-z])[.]", r"\1<prd>\2<prd>"),
        (f" {_SUFFIXES}[.] {_STARTERS}", r" \1<stop> \2"),
        (f" {_SUFFIXES}[.]", r" \1<prd>"),
        (r" ([A-Za-z])[.]", r" \1<prd>"),
    )
)
_DOTS = re.compile(r"\.{2,}")
_QUOTED = ((".”", "”."), ('."', '".'), ('!"', '"!'), ('?"', '"?'))
_ENDS = ((".", ".<stop>"), ("?", "?<stop>"), ("!", "!<stop>"), ("<prd>", "."))


def split_by_rules(text: str) -> list[str]:
    """Split as IFEval's and IFBench's `split_into_sentences` does; sentences inside may be empty, the last is not."""
    text = f" {text}  ".replace("\n", " ")
    for pattern, to in _HIDE:
        text = pattern.sub(to, text)
    text = _DOTS.sub(lambda dots: "<prd>" * len(dots[0]) + "<stop>", text)
    text = text.replace("Ph.D.", "Ph<prd>D<prd>")
    for pattern, to in _ABBREVIATIONS:
        text = pattern.sub(to, text)
    for before, after in (*_QUOTED, *_ENDS):
        text = text.replace(before, after)
    sentences = [sentence.strip() for sentence in text.split("<stop>")]
    return sentences if sentences[-1] else sentences[:-1]


_QUOTES = "\u2018\u2019\u201c\u201d\xab\xbb"
_NON_WORD = rf"[)\";}}\]*:@'({{\[{_QUOTES}?!]"
_CONTEXT = regex.compile(rf"[.?!](?=({_NON_WORD}|\s+(?P<next>\S+)))")
_DASHES = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
_TOKEN = regex.compile(
    rf"{_DASHES}|(?=[^(\"`{{\[:;&#*@)}}\]\-,])\S+?(?=\s|$|{_NON_WORD}|{_DASHES}|,(?=$|\s|{_NON_WORD}|{_DASHES}))|\S"
)
_CLOSING = regex.compile(rf"[\"')\]}}{_QUOTES}]+?(?:\s+|(?=--)|$)", regex.MULTILINE)
_NUMBER = regex.compile(r"^-?[.,]?\d[\d,.-]*\.?$")
_INITIAL = regex.compile(r"[^\W\d]\.$")
_ELLIPSIS = regex.compile(r"\.\.+$")
_SPACE = " \t\n\r\x0b\x0c"


def split(text: str) -> list[str]:
    """Split into sentences as NLTK's English `sent_tokenize` does."""
    return [text[start:end] for start, end in _realigned(text)]


def count(text: str) -> int:
    """The number of sentences by `split`."""
    return sum(1 for _ in _realigned(text))


def _realigned(text: str) -> Iterator[tuple[int, int]]:
    """The spans of sentences; quotes and brackets that close after a full stop go to the sentence they end."""
    shift = 0
    spans = list(_spans(text))
    for number, (start, end) in enumerate(spans):
        start += shift
        if number + 1 == len(spans):
            if start < end:
                yield start, end
            break
        after, stop = spans[number + 1]
        closing = _CLOSING.match(text[after:stop])
        shift = closing.end() if closing else 0
        if closing:
            yield start, after + len(closing[0].rstrip())
        elif start < end:
            yield start, end


def _spans(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for end, following, context in _candidates(text):
        if _breaks(context):
            yield begin, end
            begin = following
    yield begin, len(text.rstrip())


def _candidates(text: str) -> Iterator[tuple[int, int, str]]:
    """Each mark that may end a sentence: its end, the start of the next sentence, and the words around it."""
    last: regex.Match[str] | None = None
    start = stop = 0
    for mark in _CONTEXT.finditer(text):
        space = max(text.rfind(char, stop, mark.start()) for char in _SPACE) - stop
        begin = space + stop + 1 if space > 0 else start
        if last and stop <= begin:
            yield _candidate(text, last, start)
        last, start, stop = mark, begin, mark.start()
    if last:
        yield _candidate(text, last, start)


def _candidate(text: str, mark: regex.Match[str], start: int) -> tuple[int, int, str]:
    following = mark.start("next") if mark["next"] else mark.end()
    return mark.end(), following, text[start : mark.end()] + mark[1]


@dataclass(slots=True)
class _Token:
    text: str
    kind: str
    """The word in lower case; a number is ##number##."""
    breaks: bool = False
    short: bool = False
    """An abbreviation or an ellipsis."""

    @property
    def bare(self) -> str:
        return self.kind[:-1] if len(self.kind) > 1 and self.kind.endswith(".") else self.kind


def _breaks(context: str) -> bool:
    """Whether any of a few words, except the last, ends a sentence."""
    tokens = [_token(word) for line in context.split("\n") if line.strip() for word in _TOKEN.findall(line)]
    for token, following in itertools.pairwise(tokens):
        if token.text.endswith("."):
            _reconsider(token, following)
    return any(token.breaks for token in tokens[:-1])


def _token(word: str) -> _Token:
    token = _Token(word, _NUMBER.sub("##number##", word.lower()))
    if word in (".", "?", "!"):
        token.breaks = True
    elif _ELLIPSIS.match(word):
        token.short = True
    elif word.endswith(".") and not word.endswith(".."):
        known = word_lists("punkt.txt")["abbreviations"]
        stem = word[:-1].lower()
        token.short = stem in known or stem.split("-")[-1] in known
        token.breaks = not token.short
    return token


def _reconsider(token: _Token, following: _Token) -> None:
    """Check the word after a full stop: section 4 of the paper."""
    lists = word_lists("punkt.txt")
    then = following.bare if following.breaks else following.kind
    if f"{token.bare}/{then}" in lists["collocations"]:
        token.breaks = False
        return
    initial = bool(_INITIAL.match(token.text))
    starts = _starts(following, then)
    upper = following.text[0].isupper()
    if token.short and not initial and (starts or (upper and then in lists["starters"])):
        token.breaks = True
        return
    if initial or token.bare == "##number##":
        unseen = initial and upper and then not in lists["lower"] and then not in lists["mixed"]
        if starts is False or (starts is None and unseen):
            token.breaks = False


def _starts(token: _Token, kind: str) -> bool | None:
    """Whether a word looks like the first of a sentence by its spelling in the training text; None: undecided."""
    if token.text in (";", ":", ",", ".", "!", "?"):
        return False
    if token.text[0].isupper():
        return True if kind in word_lists("punkt.txt")["lower"] else None
    # Four words were in lower case only at the start of sentences, so they are no evidence.
    known = ("z-holiday", "administrators", "r-revised", "b-week")
    return False if token.text[0].islower() and kind not in known else None
