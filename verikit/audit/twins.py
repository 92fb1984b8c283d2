"""Finds rows with the same question, within a file and between two files (training and test).

Two questions are the same if their words, numbers and signs are the same, ignoring case and punctuation. They are
nearly the same if they share most of their words, and numbers, symbols and commands exactly. Problems from one template
with other numbers are different problems. Pairs are found by rare word triples and by numbers, without comparing all
pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from verikit.audit.findings import Finding
from verikit.audit.rows import AuditRow

MAX_CHARS = 20_000
"""Characters of a question that are compared."""
MAX_SHARED = 60
"""Maximum number of questions per lookup key. More common keys are not informative."""
MAX_PAIRS = 40
"""Pairs of a question that are compared."""
LIKE_FEW, LIKE_MANY = 0.8, 0.6
"""Minimum fraction of words, as a multiset, that nearly equal questions share.

The first applies if they have few numbers and symbols in common, the second if they have `MANY`.
"""
MANY = 10
_TOKEN = re.compile(r"\\[A-Za-z]+|\d+(?:[.,]\d+)*|[^\W\d_]+|[+*/^=<>≤≥_%]|-(?![^\W\d_]{2})|(?<![^\W\d_])-")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b(?:[A-Z][^\W\d_]+|[A-Z]{2,})")
"""A word in capitals, or with a first one that does not begin a sentence."""
_LABEL = re.compile(
    r"\A\s{0,20}(?:q|question|problem|exercise|task)\s{0,3}\d{0,4}\s{0,3}[:.)]"
    r"|\b(?:question|problem|exercise)\s\d{1,4}[:.)]",
    re.IGNORECASE,
)
"""What numbers a question."""
_FORMAL = frozenset((r"\left", r"\right", r"\displaystyle", r"\quad", r"\qquad", r"\text", r"\mathrm", r"\textbf"))
_SAME = {r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\leq": r"\le", r"\geq": r"\ge"}
_ARTICLES = frozenset(("a", "i"))
_FILLER = frozenset(
    """the an of to is are be in on at for and that this it its as by with please solve answer following question
    problem find what calculate compute determine give me you can could would just carefully step let
    final think explain show state write your""".split()
)
"""Words that a rewording adds or drops without changing the question."""


@dataclass(frozen=True, slots=True)
class ComparedQuestion:
    """A question in the form used for comparison."""

    row: AuditRow
    tokens: tuple[str, ...]
    hard: tuple[str, ...]
    """Numbers, commands, single letters and signs, sorted."""
    soft: Counter[str]
    """Words other than filler."""
    names: frozenset[str]
    """The words of `soft` that are names."""

    @property
    def size(self) -> int:
        """Number of words other than filler."""
        return self.soft.total()


def question(row: AuditRow) -> ComparedQuestion:
    """Read a row's question; options of a multiple choice belong to it, in any order."""
    text = _LABEL.sub("", row.question[:MAX_CHARS])
    found = _tokens(text)
    for option in sorted(" ".join(_tokens(option[:MAX_CHARS])) for option in row.options):
        found += ("|", *option.split())
    hard = tuple(sorted(token for token in found if _is_hard(token)))
    soft = Counter(token for token in found if not _is_hard(token) and token not in _FILLER and token != "|")
    names = frozenset(name.casefold() for name in _NAME.findall(text))
    return ComparedQuestion(row, found, hard, soft, names)


def _tokens(text: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    tokens: list[str] = _TOKEN.findall(plain)
    return tuple(_SAME.get(token, token) for token in tokens if token not in _FORMAL)


@lru_cache(maxsize=2**16)
def _is_hard(token: str) -> bool:
    if token in _ARTICLES:
        return False
    return not token.isalpha() or len(token) == 1


def check_twins(rows: Sequence[AuditRow]) -> Iterator[Finding]:
    """Findings of rows that repeat an earlier row of the same file, the nearest one named."""
    index = QuestionIndex()
    for row in rows:
        asked = question(row)
        earlier, same = index.nearest(asked)
        if earlier is not None:
            alike = "the question of line" if same else "nearly the question of line"
            gold = "" if row.answer == earlier.answer else ", with another gold"
            name = "duplicate" if same else "near_duplicate"
            yield Finding(name, row.line, row.id, f"{alike} {earlier.line}{gold}")
        index.add(asked)


def check_leaks(rows: Sequence[AuditRow], others: Sequence[AuditRow], name: str) -> Iterator[Finding]:
    """Yield a finding for each row whose question, or a nearly equal one, is in another file."""
    index = QuestionIndex()
    for other in others:
        index.add(question(other))
    for row in rows:
        found, same = index.nearest(question(row))
        if found is not None:
            alike = "the question" if same else "nearly the question"
            yield Finding("leak", row.line, row.id, f"{alike} of {name}, line {found.line}")


class QuestionIndex:
    """Questions by what few of them share."""

    def __init__(self) -> None:
        self._questions: list[ComparedQuestion] = []
        self._exact: dict[tuple[str, ...], int] = {}
        self._keys: defaultdict[object, list[int]] = defaultdict(list)

    def add(self, asked: ComparedQuestion) -> None:
        """Add a question. Of equal questions only the first is stored."""
        if not asked.tokens or asked.tokens in self._exact:
            return
        number = len(self._questions)
        self._exact[asked.tokens] = number
        self._questions.append(asked)
        for key in _keys(asked):
            if len(held := self._keys[key]) <= MAX_SHARED:
                held.append(number)

    def nearest(self, asked: ComparedQuestion) -> tuple[AuditRow | None, bool]:
        """Return the row with the same question, or otherwise the most similar one, and whether it is the same."""
        if not asked.tokens:
            return None, False
        if asked.tokens in self._exact:
            return self._questions[self._exact[asked.tokens]].row, True
        shared: Counter[int] = Counter()
        for key in _keys(asked):
            held = self._keys.get(key, ())
            if len(held) <= MAX_SHARED:
                shared.update(held)
        best: tuple[float, AuditRow | None] = (0.0, None)
        for number, _ in shared.most_common(MAX_PAIRS):
            found = self._questions[number]
            if (likeness := _likeness(asked, found)) > best[0]:
                best = likeness, found.row
        return best[1], False


def _keys(asked: ComparedQuestion) -> set[object]:
    """What nearly equal questions share at least one of: their numbers and signs, a triple of words."""
    words = [token for token in asked.tokens if token in asked.soft]
    triples: set[object] = set(zip(words, words[1:], words[2:], strict=False))
    return triples | ({asked.hard} if len(asked.hard) >= 3 else set()) | ({tuple(words)} if words else set())


def _are_short(hard: int, soft: int, *, alike: bool) -> bool:
    """Whether questions have too few words to be called nearly the same."""
    if alike:
        return soft < 4 and hard + soft < 4
    return soft < 4 or (hard < 3 and soft < 6)


def _likeness(a: ComparedQuestion, b: ComparedQuestion) -> float:
    """Return the fraction of shared words, or 0.0 if the questions are not nearly the same."""
    if a.hard != b.hard:
        return 0.0
    most = max(a.size, b.size)
    common = (a.soft & b.soft).total() / most if most else 1.0
    enough = LIKE_FEW + (LIKE_MANY - LIKE_FEW) * min(len(a.hard), MANY) / MANY
    if a.names - set(b.tokens) and b.names - set(a.tokens):
        return 0.0
    if _are_short(len(a.hard), most, alike=common >= 1):
        return 0.0
    return common if common >= enough and _order_agrees(a, b) else 0.0


def _order_agrees(a: ComparedQuestion, b: ComparedQuestion) -> bool:
    """Whether numbers and signs are in much the same order: `5 - 3` and `3 - 5` are different questions."""
    first = [token for token in a.tokens if _is_hard(token) and token != "|"]
    second = [token for token in b.tokens if _is_hard(token) and token != "|"]
    if first == second or len(first) < 2:
        return True
    pairs, others = Counter(pairwise(first)), Counter(pairwise(second))
    return a.size >= 8 and (pairs & others).total() >= 0.7 * pairs.total()
