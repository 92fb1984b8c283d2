"""Checks of rows: expected values that a prompt gives away, and rows with the same question."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from verikit.audit.rows import AuditRow
from verikit.audit.twins import QuestionIndex, question
from verikit.env.audit.formats.rows import EnvRow
from verikit.env.audit.golds import bits, words_of
from verikit.env.audit.reach import RARE, VERY_RARE
from verikit.env.audit.records import EnvFinding
from verikit.workspaces.names import shown

MAX_PROMPT = 200_000
"""Characters of a prompt that are checked."""
MAX_FINDINGS = 50
"""Of each check."""
SHORT = 6.0
"""Bits of a value that counts in a hidden comment."""
_ANNOUNCES = re.compile(
    r"\b(?:answer|solution|gold(?: answer)?|ground[ _-]?truth|key|hint"
    r"|(?:expected|correct|reference|right|true)(?:[ _-][a-z]{1,20})?)"
    r"(?:\s{1,3}(?:here|to this|for (?:this|reference)))?\s{0,3}(?:is|=|:)\s{0,3}(?:\\boxed\{|[\"'`*(\[{$<]){0,3}",
    re.IGNORECASE,
)
_END = re.compile(r"""(?:\s{0,3}(?:\Z|[\n.;)"'`*}\]$<]))|(?:\s{0,3}-->)""")


@dataclass(frozen=True, slots=True)
class _Told:
    """An expected value that a prompt announces."""

    row: EnvRow
    gold: str
    rare: bool
    """Whether the value is too long to occur by chance."""


def reached_rows(rows: Sequence[EnvRow]) -> Iterator[EnvFinding]:
    """Prompts that announce their own expected value.

    A value that is only among the words of the prompt is not a leak. It may be one of several options, or a part of the
    text to be found. Examples in a prompt announce values too. So a short value counts only if the prompts of several
    rows announce only their own value.
    """
    told = [found for row in rows for found in _announced(row)]
    short = {found.gold for found in told if not found.rare}
    hidden = {row.where: gold for row in rows for gold in row.golds if _in_comment(row, gold)}
    for where, gold in hidden.items():
        yield EnvFinding("prompt", f"a comment of the prompt has the expected value {shown(gold[:60])!r}", where)
    for found in told:
        if (found.rare or len(short) >= 2) and found.row.where not in hidden:
            what = f"the prompt announces the expected value {shown(found.gold[:60])!r}"
            yield EnvFinding("prompt", what, found.row.where)


def _announced(row: EnvRow) -> Iterator[_Told]:
    prompt = row.prompt[:MAX_PROMPT]
    ends = [match.end() for match in _ANNOUNCES.finditer(prompt)]
    for gold in row.golds:
        places = [at for at in ends if _begins(prompt, at, gold)]
        if not places:
            continue
        rest = prompt[: places[0]] + prompt[places[0] + len(gold) :]
        own = bits(gold, words_of(rest))
        rare = own >= RARE or (bits(gold, frozenset()) >= VERY_RARE and len(gold.split()) > 2)
        if rare or len(ends) == len(places):
            yield _Told(row, gold, rare)
            return


def _begins(prompt: str, at: int, gold: str) -> bool:
    """Whether the value is here as a whole."""
    return prompt.startswith(gold, at) and _END.match(prompt, at + len(gold)) is not None


def _in_comment(row: EnvRow, gold: str) -> bool:
    begin = row.prompt.find("<!--")
    while begin >= 0:
        end = row.prompt.find("-->", begin)
        if end < 0:
            return False
        if bits(gold, frozenset()) >= SHORT and gold in row.prompt[begin:end]:
            return True
        begin = row.prompt.find("<!--", end)
    return False


def alike_rows(rows: Iterable[EnvRow]) -> Iterator[EnvFinding]:
    """Rows with the same question, data and expected values as an earlier row of their file or of another split."""
    seen = _SeenRows()
    for row in rows:
        if not row.golds and not row.data:
            continue  # a game that is generated when it starts
        yield from _same(row, seen)
        seen.add(row, _file(row))
        if row.split:
            seen.add(row, row.split)


def _file(row: EnvRow) -> str:
    """The scope of a row's file."""
    return f"file {row.where.partition(':')[0]}"


def _same(row: EnvRow, seen: _SeenRows) -> Iterator[EnvFinding]:
    """The earlier row with the same question, in another split or in the same file."""
    others = [seen.nearest(row, split) for split in seen.splits - {row.split}] if row.split else []
    other = next((held for held in others if held is not None), None)
    twin = seen.nearest(row, _file(row))
    if other is not None:
        what = f"the row of the split {row.split} is {other.where} of the split {other.split}"
        yield EnvFinding("leak", what, row.where)
    elif twin is not None and twin.left == row.left:
        yield EnvFinding("duplicate", f"the row is the same as {twin.where}", row.where)


class _SeenRows:
    """Rows by files and by splits."""

    def __init__(self) -> None:
        self.splits: set[str] = set()
        self._indexes: defaultdict[tuple[str, ...], QuestionIndex] = defaultdict(QuestionIndex)
        self._rows: list[EnvRow] = []

    def nearest(self, row: EnvRow, scope: str) -> EnvRow | None:
        """The row of a file or a split with the same question, or None."""
        index = self._indexes.get(_key(row, scope))
        if index is None:
            return None
        near, equal = index.nearest(question(AuditRow(0, "", row.prompt, "")))
        # Rows of one template are near each other, so different words are equal only with a rare value in common.
        rare = any(bits(gold, frozenset()) >= RARE for gold in row.golds)
        return self._rows[near.line] if near is not None and (equal or rare) else None

    def add(self, row: EnvRow, scope: str) -> None:
        """Keep a row."""
        self._rows.append(row)
        self._indexes[_key(row, scope)].add(question(AuditRow(len(self._rows) - 1, "", row.prompt, "")))
        if not scope.startswith("file "):
            self.splits.add(scope)


def _key(row: EnvRow, scope: str) -> tuple[str, ...]:
    return scope, row.data, *row.golds
