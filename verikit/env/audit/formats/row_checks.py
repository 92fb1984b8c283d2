"""Checks of rows: expected values that a prompt gives away, and rows that ask the same."""

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
"""Characters of a prompt that are looked at."""
MAX_FINDINGS = 50
"""Of each check."""
SHORT = 6.0
"""Bits of a value that counts in a hidden comment."""
_ANNOUNCES = re.compile(
    r"\b(?:answer|solution|gold(?: answer)?|ground[ _-]?truth|key|hint"
    r"|(?:expected|correct|reference|right|true)(?:[ _-](?:output|answer|value|result|label|response))?)"
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
    """Whether the value is long enough to be no chance."""


def reached_rows(rows: Sequence[EnvRow]) -> Iterator[EnvFinding]:
    """Prompts that announce their own expected value.

    A value that is only among the words of the prompt is no leak: it may be one of several options, or a part of the
    text that has to be found. Examples in a prompt announce values too, so a short value counts only if the prompts of
    several rows announce nothing but their own value.
    """
    told = [found for row in rows for found in _announced(row)]
    short = {found.gold for found in told if not found.rare}
    seen: set[str] = set()
    for row in rows:
        for gold in row.golds:
            if _in_comment(row, gold) and row.where not in seen:
                seen.add(row.where)
                what = f"a comment of the prompt has the expected value {shown(gold[:60])!r}"
                yield EnvFinding("prompt", what, row.where)
    for found in told:
        if (found.rare or len(short) >= 2) and found.row.where not in seen:
            seen.add(found.row.where)
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
    """Whether a value stands here as a whole."""
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
    """Rows that ask what an earlier row asks, with the same data and expected values."""
    indexes: defaultdict[tuple[str, tuple[str, ...]], QuestionIndex] = defaultdict(QuestionIndex)
    kept: dict[int, EnvRow] = {}
    count = 0
    for row in rows:
        count += 1
        asked = question(AuditRow(count, "", row.prompt, ""))
        index = indexes[row.data, row.golds]
        near, equal = index.nearest(asked)
        earlier = kept[near.line] if near is not None else None
        # Rows of one template are near each other, so other words count as the same only with a rare value in common.
        if earlier is not None and (equal or any(bits(gold, frozenset()) >= RARE for gold in row.golds)):
            yield from _same(row, earlier)
        index.add(asked)
        kept[count] = row


def _same(row: EnvRow, earlier: EnvRow) -> Iterator[EnvFinding]:
    if row.split and earlier.split and row.split != earlier.split:
        what = f"the row of the split {row.split} is {earlier.where} of the split {earlier.split}"
        yield EnvFinding("leak", what, row.where)
    elif row.where.partition(":")[0] == earlier.where.partition(":")[0] and row.left == earlier.left:
        yield EnvFinding("duplicate", f"the row is the same as {earlier.where}", row.where)
