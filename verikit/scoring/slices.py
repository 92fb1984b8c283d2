"""A run by the keys of its rows: estimates for each value of a key such as `category`, from the rows that have it.

Keys are read again from the input, so any key works with any finished run. A key may be in the row, in its `meta`,
below a dotted path, or among a candidate's own keys. In the last case, the candidates of a prompt can be in several
slices. A list puts a row into the slice of each of its items.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from verikit.base import Verifier
from verikit.errors import UsageError, nearest
from verikit.messages import content_text
from verikit.readers import Paths, RowSource
from verikit.readers.layout import ALIASES, either, locate
from verikit.scoring.chunk import SCORES, SELECTED
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.rereading import find_input, plan_of, read_groups
from verikit.scoring.rows import from_row, read_rows
from verikit.scoring.tally import Tally
from verikit.stats.early import EarlyStop
from verikit.types import Group, Prompt

NONE = "(none)"
"""The slice of rows without the key."""
MOST = 1000
"""Maximum number of values of one key. With more, the key identifies rows instead of grouping them."""
LONGEST = 300
"""Number of characters of a question to keep."""
_KEYS = "give a key of the rows that were scored. For an eval run: a key of `doc` in its samples, such as category"
_COUNTS = ("prompts", "candidates", "unscored", "metrics")
Slices = dict[str, dict[str, dict[str, Any]]]
"""By key and value: counts and metrics, as in summary.json."""


class PromptRow(NamedTuple):
    """A row's content, except for its candidates."""

    question: str
    values: Mapping[str, tuple[str, ...]]
    """Values by key. Empty if the row does not have the key."""


def check_keys(source: Paths | RowSource, plan: ScoringPlan, keys: Sequence[str]) -> None:
    """Search for each key in the input, up to the first row that has it.

    Raises:
        UsageError: No row has it.
    """
    missing = dict.fromkeys(keys)
    known: dict[str, None] = {}
    for _, group in read_groups(source, plan) if keys else ():
        for key in [key for key in missing if any(values_of(group, key, i, plan) for i in _candidates(group))]:
            del missing[key]
        if not missing:
            return
        known |= dict.fromkeys(chain(group.meta, *group.candidate_meta))
    if missing:
        raise unknown_key(next(iter(missing)), known)


def unknown_key(key: str, known: Collection[str]) -> UsageError:
    """Return the error for a key that no row has. `known` are the rows' keys."""
    hint = nearest(key, known) or _KEYS
    return UsageError(f"key {key!r} not found in any row", hint=hint)


def slices(
    run: Path, keys: Sequence[str], plan: ScoringPlan, source: Paths | RowSource, verifier: Verifier | None = None
) -> Slices:
    """Count and estimate each slice of a run's scores, largest first.

    Args:
        run: The run's folder.
        keys: Keys of the rows.
        plan: The run's plan.
        source: The input that was scored.
        verifier: Decides which answers are equal. Without it, there is no maj@k.

    Raises:
        UsageError: No row has a key, a key has more than `MOST` values, or a value is an object.
    """
    found: dict[str, dict[str, Tally]] = {key: {} for key in keys}
    chosen = {row["line"]: row["selected"] for row in read_rows(run / SELECTED)}
    known: dict[str, None] = {}
    for line, group, scores in _scored(run, plan, source):
        known |= dict.fromkeys(chain(group.meta, *group.candidate_meta))
        for key in keys:
            for value, held in _parts(group, key, plan).items():
                tally = found[key].setdefault(value, Tally(plan, verifier))
                _check_count(key, found[key])
                by = [from_row(scores[i]["by"]) for i in held] if plan.by is not None else None
                selected = held.index(chosen[line]) if chosen.get(line) in held else None
                tally.add([from_row(scores[i]) for i in held], by, selected, early=_early(group, key, len(held)))
    for key, tallies in found.items():
        if not tallies.keys() - {NONE}:
            raise unknown_key(key, known)
    return {key: {value: _told(tally) for value, tally in _by_size(tallies)} for key, tallies in found.items()}


def _early(group: Group, key: str, held: int) -> EarlyStop | None:
    """Return how sampling ended for the candidates of a slice.

    Raises:
        UsageError: A rule used all candidates of the prompt before it stopped, and the slice has only some of them.
    """
    early = EarlyStop.of(group.meta)
    if early is not None and held < len(group.completions):
        problem = f"candidates of {group.id!r} differ in {key!r}, and a rule could end their sampling early"
        raise UsageError(problem, hint="use a key of the prompt: metrics over some of its candidates would be biased")
    return early


def _scored(
    run: Path, plan: ScoringPlan, source: Paths | RowSource
) -> Iterator[tuple[int, Group, list[dict[str, Any]]]]:
    """Each group of the input that has scores, with its line and its scores."""
    groups = read_groups(source, plan)
    for line, scores in groupby(read_rows(run / SCORES), key=itemgetter("line")):
        rows = list(scores)
        group = next((group for at, group in groups if at == line), None)
        if group is not None:
            yield line, group, rows


def _by_size(tallies: Mapping[str, Tally]) -> list[tuple[str, Tally]]:
    return sorted(tallies.items(), key=lambda item: (-item[1].counts["prompts"], item[0]))


def _told(tally: Tally) -> dict[str, Any]:
    summary = tally.summary()
    return {name: summary[name] for name in _COUNTS}


def rows(run: Path, keys: Sequence[str] = (), others: Sequence[str] = ()) -> dict[str, dict[str, PromptRow]]:
    """Return the rows of a run by the prompt's id, under "" because that is valid for every metric.

    Empty if the input is missing and no keys are requested.

    Args:
        run: The folder of a score run.
        keys: Keys of the rows.
        others: Files to try after the one that was scored.

    Raises:
        UsageError: Keys are requested, and the input is missing or has changed, or candidates of a prompt differ in a
            key.
    """
    config = json.loads((run / "config.json").read_bytes())
    plan, (source, problem) = plan_of(config), find_input(run, config, others)
    if source is None and keys:
        raise UsageError(
            f"{run}: the rows' keys can't be read: {problem}",
            hint="move the file back to the path at which it was scored",
        )
    found: dict[str, PromptRow] = {}
    for _, group in read_groups(source, plan):
        values = {key: _of_prompt(group, key, plan) for key in keys}
        found.setdefault(group.id, PromptRow(question_of(group.prompt), values))
    return {"": found}


def question_of(prompt: Prompt) -> str:
    """Return a prompt's question on one line: its text or the user's last message."""
    if isinstance(prompt, str):
        text: str = prompt
    else:
        turns = [message for message in prompt if message["role"] == "user"] or list(prompt)
        text = content_text(turns[-1]["content"])
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _of_prompt(group: Group, key: str, plan: ScoringPlan) -> tuple[str, ...]:
    """A key's values of a whole prompt.

    Raises:
        UsageError: Its candidates differ.
    """
    parts = _parts(group, key, plan)
    if any(len(held) < len(group.completions) for held in parts.values()):
        raise UsageError(
            f"candidates of {group.id!r} differ in {key!r}: {', '.join(map(repr, parts))}",
            hint="runs are compared by prompt. Use `verikit score --by-key` to slice candidates",
        )
    return tuple(value for value in parts if value != NONE)


def _parts(group: Group, key: str, plan: ScoringPlan) -> dict[str, list[int]]:
    """The candidates of a group by their value of a key."""
    found: dict[str, list[int]] = {}
    for i in _candidates(group):
        for value in values_of(group, key, i, plan) or (NONE,):
            found.setdefault(value, []).append(i)
    return found


def _candidates(group: Group) -> range:
    return range(len(group.completions))


def values_of(group: Group, key: str, index: int, plan: ScoringPlan) -> list[str]:
    """Return a candidate's values of a key. Empty if neither it nor its row has the key."""
    for keys in (group.candidate_meta[index] if group.candidate_meta else {}, group.meta):
        found = locate(dict(keys), either(key))
        if found is not None and found[1] is not None:
            return texts_of(found[1], key)
    fields = {path: name.rpartition(":")[2] for name, path in plan.mapping.items()}
    field = fields.get(key, key)
    known = {"id": group.id, "answer": group.answer, "prompt": group.prompt}
    return texts_of(known.get(ALIASES.get(field, field)), key)


def texts_of(value: object, key: str) -> list[str]:
    """Return a row's value as names of slices: strings unchanged, numbers and booleans as JSON, a list item by item.

    Raises:
        UsageError: It is an object.
    """
    if value is None or value == "":
        return []
    if isinstance(value, list | tuple):
        return list(dict.fromkeys(text for item in value for text in texts_of(item, key)))
    if isinstance(value, Mapping):
        inner = next(iter(value), "NAME")
        raise UsageError(f"{key!r} is an object, not a single value", hint=f"--by-key {key}.{inner}")
    return [value if isinstance(value, str) else json.dumps(value)]


def _check_count(key: str, values: Collection[str]) -> None:
    if len(values) > MOST:
        raise UsageError(f"{key!r} has over {MOST:,} values", hint="give a key that many rows share")


def ids_by_value(rows: Mapping[str, PromptRow], key: str) -> dict[str, list[str]]:
    """Return the ids of the prompts in each slice, the largest slice first.

    Raises:
        UsageError: No row has the key, or it has more than `MOST` values.
    """
    found: dict[str, list[str]] = {}
    for id, row in rows.items():
        for value in row.values.get(key) or (NONE,):
            found.setdefault(value, []).append(id)
            _check_count(key, found)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))
