"""Do quotations really occur in the passages given, and do numbered references resolve?

Linear in the reply and the passages, except for the search of each quotation in each passage.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Literal, NamedTuple

from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.replies.unseen import without_unseen
from verikit.types import Sample, Score
from verikit.verifiers.reading.gold import check_choice
from verikit.verifiers.reading.quoted import quoted

PASSAGE_KEYS = ("passages", "contexts", "context", "documents", "docs", "ctxs", "sources", "retrieved")
"""Keys of a row that contain the passages, in the order of their numbers."""
_TEXT_KEYS = ("text", "content", "contents", "passage", "page_content", "body", "paragraph_text", "snippet")
_NUMBERS = r"\^?[0-9]{1,4}(?:\s{0,3}[–-]\s{0,3}\^?[0-9]{1,4})?"
_REFERENCE = re.compile(
    r"[\[【]\s{0,3}(?![0-9]{4}[–-](?:0[1-9]|1[0-2])[\]】])"  # a month, as in [2024-01], is not a reference
    rf"({_NUMBERS}(?:\s{{0,3}}[,;]\s{{0,3}}{_NUMBERS}){{0,20}})\s{{0,3}}(?:†[^】\]\n]{{0,40}})?[\]】]"
)
_FENCE = re.compile(
    r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*([\w+#-]+)[^\n]*\n.*?(?:^[ \t]{0,3}\1|\Z)", re.DOTALL | re.MULTILINE
)
_PROSE_LABELS = frozenset({"text", "txt", "plaintext", "markdown", "md"})
_NAME = re.compile(r"[A-Za-z_]\w{0,60}(?=\[)")
_INLINE_CODE = re.compile(r"(?<!`)`([^`\n]{1,500})`(?!`)")
_INDEXED = re.compile(r"([A-Za-z_][\w.]{0,60})\[[^\]\n]{1,60}\]")
_GLUED = re.compile(r"(?:[^\W\d][\w.]*|[)\]])\Z")
_ON_WITH_CODE = re.compile(r"[ \t]{0,3}(?:[-+*/%]?=(?!>)|[<>]=|\+[ \t]?[\w(]|\.[a-z_]\w*(?:\(|\b[ \t]?=)|\(\)|\+\+|--)")
_VARIABLES = frozenset(
    "arr vec nums lst buf ptr dp idx mat argv args kwargs str tmp obj dict val vals elem elems".split()
)
"""Names that occur in programs and not in prose."""
_NEXT = re.compile(r"""[\s.,;:!?)"”»'’]{0,4}(?=[\[【])""")
_GAP = re.compile(r"\[?(?:\.\.\.|…)\]?")
_MOST_QUOTES = 300
_UNSPACED = "\u0e00"
"""First code point of scripts (Thai, Chinese, Japanese) that mostly do not put spaces between words."""
_SPAN = 60
"""Maximum passages in a range such as [1-60]."""


class Citation(NamedTuple):
    """A quotation or a reference of a reply, and its problem."""

    shown: str
    problem: str


@dataclass(frozen=True)
class Citations(TextVerifier):
    """1.0 if every quotation occurs in the passages, and every reference [n] is the number of one.

    Quotations are in quotation marks of any type or in quoted lines, and have at least `min_words` words. An unclosed
    one ends with its paragraph. An ellipsis may omit text between pieces of at least `min_piece` words. A quotation
    without a piece of `min_words` is checked but earns nothing. Words are whole ones. Code has no references: fences
    with a language, inline code, indices such as `arr[5]`. If a reference follows a quotation, it must occur in a
    passage that the reference names. Case, space and the style of quotes, dashes and apostrophes are ignored. The
    passages are in `meta.passages` (`contexts`, `documents`, `ctxs`, …): strings, or objects with `text` or a similar
    key. Numbers start at 1.
    """

    reward: Literal["all", "fraction"] = "all"
    """All or nothing, or the fraction of supported quotations and references."""
    min_words: int = 4
    """A shorter quotation is a term or a title, and not checked."""
    min_piece: int = 3
    """Next to an ellipsis, a piece of fewer words is rejected, because such pieces can form any statement."""
    min_references: int = 0
    """A reply with fewer references is 0.0."""
    min_quotes: int = 0
    """A reply with fewer quotations is 0.0."""
    min_citations: int = 1
    """A reply with fewer quotations and references together is 0.0."""
    max_chars: int = 50_000
    """A longer reply is 0.0 without being read."""
    name = "citations"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("reward", self.reward, ("all", "fraction"))
        if min(self.min_words, self.min_piece, self.max_chars) < 1:
            raise UsageError("citations needs min_words, min_piece and max_chars of at least 1")
        if min(self.min_references, self.min_quotes, self.min_citations) < 0:
            raise UsageError("min_references, min_quotes and min_citations must be at least 0")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        try:
            passages = [_plain(text) for text in passages_of(sample.meta)]
        except ValueError as problem:
            return Score.error(str(problem))
        reply = without_unseen(sample.completion)
        if len(reply) > self.max_chars:
            return Score(0.0, reason=f"{len(reply)} characters, over the cap of {self.max_chars}")
        prose = without_fences(reply)
        if len(list(islice(quoted(prose), _MOST_QUOTES + 1))) > _MOST_QUOTES:
            return Score(0.0, reason=f"more than {_MOST_QUOTES} quotations")
        quotes = quotations(prose, passages, self.min_words, self.min_piece)
        references = [_resolved(match, len(passages)) for match in reference_marks(reply)]
        return self._score_citations(quotes, references)

    def _score_citations(self, quotes: Sequence[Citation], references: Sequence[Citation]) -> Score:
        both = [*quotes, *references]
        for what, found, least in (
            ("quotations", quotes, self.min_quotes),
            ("references", references, self.min_references),
            ("citations", both, self.min_citations),
        ):
            if len(found) < least:
                return Score(0.0, reason=f"{len(found)} {what}, fewer than {least}")
        wrong = [citation for citation in both if citation.problem]
        told = f"{wrong[0].shown[:80]!r}: {wrong[0].problem}" if wrong else f"all {len(both)} hold"
        share = 1 - len(wrong) / len(both) if both else 1.0
        return Score(share if self.reward == "fraction" else float(not wrong), reason=told)


def passages_of(meta: Mapping[str, Any]) -> list[str]:
    """The strings of a row's passages, preceded by their titles.

    Raises:
        ValueError: The row doesn't have any.
    """
    given = next((meta[key] for key in PASSAGE_KEYS if meta.get(key)), None)
    passages = [given] if isinstance(given, str | Mapping) else given
    texts = list(map(_text, passages)) if isinstance(passages, Sequence) else []
    if not texts or None in texts:
        raise ValueError(
            f"passages not found, or one has an empty text. Put them into meta under {', '.join(PASSAGE_KEYS)}"
        )
    return [text for text in texts if text is not None]


def _text(passage: object) -> str | None:
    if isinstance(passage, Mapping):
        body = next((passage[key] for key in _TEXT_KEYS if isinstance(passage.get(key), str)), None)
        title = passage.get("title")
        return f"{title}\n{body}" if body is not None and isinstance(title, str) else body
    return passage if isinstance(passage, str) else None


def quotations(reply: str, passages: Sequence[str], min_words: int, min_piece: int) -> list[Citation]:
    """The quotations of a reply, each with its problem.

    Args:
        reply: The text that quotes.
        passages: Plain strings to quote from.
        min_words: Shorter quotations are skipped.
        min_piece: Minimum words of a piece next to an ellipsis.
    """
    found = []
    for said, end in quoted(reply):
        pieces = _pieces(_REFERENCE.sub(" ", said))
        lengths = [len(piece.split()) for piece in pieces]
        if sum(lengths) < min_words:
            continue
        if len(pieces) > 1 and min(lengths) < min_piece:
            problem = f"an ellipsis beside a piece of {min(lengths)} words, fewer than {min_piece}"
        else:
            numbers = _named(reply, end) or list(chain.from_iterable(map(_numbers, _REFERENCE.findall(said))))
            problem = _place_problem(pieces, passages, numbers)
        if problem or max(lengths) >= min_words:
            found.append(Citation(said, problem))
    return found


def _pieces(quotation: str) -> list[str]:
    """The texts between a quotation's ellipses."""
    pieces = (_plain(part).strip(' .,;:!?"') for part in _GAP.split(quotation))
    return list(filter(None, pieces))


def _place_problem(pieces: Sequence[str], passages: Sequence[str], numbers: Sequence[int]) -> str:
    """The problem with the stated place of a quotation; without numbers, any passage is accepted."""
    named = [passages[n - 1] for n in numbers if 0 < n <= len(passages)] if numbers else passages
    if any(_in_order(pieces, passage) for passage in named):
        return ""
    if any(_in_order(pieces, passage) for passage in passages):
        return "occurs in another passage than it names"
    return "occurs in no passage"


def without_fences(reply: str) -> str:
    """A reply without its fenced code; fences of prose and fences without a language stay."""
    return _FENCE.sub(lambda fence: fence[0] if fence[2].lower() in _PROSE_LABELS else "\n\n", reply)


def reference_marks(reply: str) -> list[re.Match[str]]:
    """The references of a reply; brackets that index or belong to code are not references."""
    prose = without_fences(reply)
    code = [match for match in _INLINE_CODE.finditer(prose) if _REFERENCE.sub("", match[1]).strip()]
    names = _code_names(reply, prose, code)
    spans = sorted(map(re.Match.span, code))
    starts = [start for start, _ in spans]
    found = []
    end_of_index = -1
    for match in _REFERENCE.finditer(prose):
        at = bisect_right(starts, match.start()) - 1
        if at >= 0 and match.end() <= spans[at][1]:
            continue
        if match.start() == end_of_index or _is_variable(_word_before(match), names):
            end_of_index = match.end()  # the second pair of m[2][3] indexes like the first
        elif not _indexes(match):
            found.append(match)
    return found


def _code_names(reply: str, prose: str, code: Sequence[re.Match[str]]) -> set[str]:
    """Names that may be variables: those in fences and inline code, and those that the prose indexes."""
    texts = [*(fence[0] for fence in _FENCE.finditer(reply)), *(match[1] for match in code)]
    indexed = (match for match in _INDEXED.finditer(prose) if not _REFERENCE.match(prose, match.end(1)))
    return {*_VARIABLES, *(name for text in texts for name in _NAME.findall(text)), *(match[1] for match in indexed)}


def _word_before(match: re.Match[str]) -> str:
    """The word that brackets stand directly behind; empty if there is none."""
    if match[0][0] != "[" or match.string[max(match.start() - 1, 0) : match.start()].isspace():
        return ""
    before = _GLUED.search(match.string[max(match.start() - 80, 0) : match.start()])
    return before[0] if before else ""


def _is_variable(word: str, names: Container[str]) -> bool:
    return word in names or "_" in word or (len(word) == 1 and word.islower())


def _indexes(match: re.Match[str]) -> bool:
    """Whether brackets likely index a variable, by the word before them and the operators after them."""
    word = _word_before(match)
    likely = match[0] == "[0]" or re.fullmatch(r"[a-z]+\d+", word) is not None
    return bool(word) and (likely or _ON_WITH_CODE.match(match.string, match.end()) is not None)


def _named(reply: str, end: int) -> list[int]:
    """The numbers of the references that follow a quotation."""
    gap = _NEXT.match(reply, end)
    if gap is None:
        return []
    numbers: list[int] = []
    at = gap.end()
    while reference := _REFERENCE.match(reply, at):
        numbers += _numbers(reference[1])
        at = reference.end()
    return numbers


def _in_order(pieces: Sequence[str], passage: str) -> bool:
    """Whether all pieces occur in a passage as whole words, one after the other."""
    at = 0
    for piece in pieces:
        at = passage.find(piece, at)
        while at >= 0 and _cuts(passage, at, at + len(piece)):
            at = passage.find(piece, at + 1)
        if at < 0:
            return False
        at += len(piece)
    return True


def _cuts(passage: str, start: int, end: int) -> bool:
    """Whether a span starts or ends within a word; scripts without spaces between words have no bounds."""
    edges = (passage[max(at - 1, 0) : at + 1] for at in (start, end))
    return any(len(edge) == 2 and edge[0].isalnum() and edge[1].isalnum() and max(edge) < _UNSPACED for edge in edges)


def _resolved(match: re.Match[str], passages: int) -> Citation:
    wrong = [number for number in _numbers(match[1]) if not 0 < number <= passages]
    return Citation(match[0], f"there is no passage {wrong[0]}, of {passages}" if wrong else "")


def _numbers(text: str) -> list[int]:
    """The numbers of `1`, `1, 3` and `2-4`."""
    numbers: list[int] = []
    for part in re.split(r"[,;]", text.replace("^", "")):
        low, _, high = (piece.strip() for piece in re.sub("–", "-", part).partition("-"))
        first, last = int(low), int(high or low)
        numbers += range(first, last + 1) if first <= last < first + _SPAN else [first, last]
    return numbers


def _plain(text: str) -> str:
    """The text in one case, with plain quotes and dashes and single spaces."""
    text = unicodedata.normalize("NFKC", without_unseen(text)).translate(_SAME).replace("''", '"').replace("``", '"')
    return " ".join(text.casefold().split())


_SAME = str.maketrans("’‘‚‹›❛❜“”„‟«»〝〞〟❝❞–—", "'" * 7 + '"' * 11 + "--")
"""Quotes and dashes as their plain forms."""
