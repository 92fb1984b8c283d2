"""Samples for the browser: what they are tagged with, and how much of their text a page holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from verikit.report.criteria import is_criterion
from verikit.report.model import DIFFERS, RIGHT, UNSCORED, VERDICTS, WRONG, Run, SampleItem, Text
from verikit.types import PASS_MARK, JsonObject, Prompt

LONGEST = 20_000
"""Characters of one text that a page holds."""
SHORTEST = 500
EXTRACTED, STEP = 300, 2000
"""Characters of an extracted answer that are kept, and of a step's."""
BUDGET = 40_000_000
"""Characters of all texts of a page; with more of them, each is cut shorter."""
TAIL = 4
"""One part in so many of what is kept is the end: final answers stand there."""


def verdict_of(value: float | None) -> str:
    """Right, wrong or unscored."""
    if value is None:
        return UNSCORED
    return RIGHT if value >= PASS_MARK else WRONG


def leaves(row: JsonObject, prefix: str = "") -> Iterator[tuple[str, JsonObject]]:
    """The scores of a score row that have no parts themselves, by their path; none if the row has no parts.

    What was said of a criterion is no part of it.
    """
    for name, part in row.get("parts", {}).items():
        path = f"{prefix}{name}"
        if part.get("parts") and not is_criterion(part):
            yield from leaves(part, f"{path}/")
        else:
            yield path, part


def scored(row: JsonObject, name: str = "score") -> Iterator[tuple[str, JsonObject]]:
    """A score row and all its parts, by their names."""
    yield name, row
    for inner, part in row.get("parts", {}).items():
        yield from scored(part, inner)


def disagree(row: JsonObject) -> bool:
    """Whether one part of a score row is right and another wrong."""
    found = {part["value"] >= PASS_MARK for _, part in leaves(row) if part["value"] is not None}
    return len(found) == 2


def lengths(items: Iterable[SampleItem]) -> dict[str, list[float]]:
    """Lengths of the right and of the wrong samples."""
    found: dict[str, list[float]] = {RIGHT: [], WRONG: []}
    for item in items:
        if item.length and item.tags[0] in found:
            found[item.tags[0]].append(item.length)
    return found


def spread(count: int, wanted: int) -> int:
    """Every how many-th of `count` things to keep, so that at most `wanted` are kept."""
    return max(1, -(-count // wanted))


def shown(title: str, text: str) -> Text:
    """A text as the page holds it at most."""
    return cut(Text(title, text), LONGEST)


def cut(text: Text, limit: int) -> Text:
    """A text, cut before or not, of at most so many characters: its beginning and its end."""
    whole = text.head + text.tail
    if len(whole) <= limit:
        return text
    tail = limit // TAIL
    omitted = text.omitted + len(whole) - limit
    return replace(text, head=whole[: limit - tail], tail=whole[len(whole) - tail :], omitted=omitted)


def shortened(row: JsonObject, most: int = EXTRACTED) -> dict[str, Any]:
    """A score row whose extracted answers, which may be whole texts, are cut; also those of its parts and steps."""
    found = dict(row)
    if len(answer := row.get("answer") or "") > most:
        found["answer"] = answer[:most] + "…"
    if "parts" in row:
        found["parts"] = {name: shortened(part, most) for name, part in row["parts"].items()}
    if "steps" in row:
        found["steps"] = [shortened(step, STEP) for step in row["steps"]]
    return found


def fit(runs: Iterable[Run]) -> None:
    """Cut all texts so that the page stays within its budget; the same prompt counts once."""
    items = [item for run in runs for item in run.items]
    lengths = {text.head: len(text.head) + len(text.tail) for item in items for text in item.texts}.values()
    limit = LONGEST
    while limit > SHORTEST and sum(min(length, limit) for length in lengths) > BUDGET:
        limit //= 2
    for item in items:
        item.texts = [cut(text, limit) for text in item.texts]


def mark_differences(runs: Iterable[Run]) -> None:
    """Tag what two runs of one kind say otherwise of the same candidate."""
    said: dict[tuple[str, str, str], set[str]] = {}
    runs = list(runs)
    for run in runs:
        for item in run.items:
            said.setdefault((run.kind, item.id, item.label), set()).update(_verdict(item))
    for run in runs:
        for item in run.items:
            if len(said[run.kind, item.id, item.label]) > 1:
                item.tags.append(DIFFERS)


def _verdict(item: SampleItem) -> Iterator[str]:
    return (tag for tag in item.tags if tag in VERDICTS)


def conversation(prompt: Prompt) -> str:
    """A prompt as it is shown: its text, or each turn under its role."""
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(f"{message['role']}: {message['content']}" for message in prompt)
