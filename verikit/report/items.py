"""Samples for the browser: their tags, and the length at which their texts are cut on a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from verikit.messages import content_text, media_of
from verikit.report.criteria import is_criterion
from verikit.report.model import DIFFERS, RIGHT, UNSCORED, VERDICTS, WRONG, Run, SampleItem, Text
from verikit.types import PASS_MARK, JsonObject, Prompt

LONGEST = 20_000
"""Maximum characters of one text on a page."""
SHORTEST = 500
EXTRACTED, STEP = 300, 2000
"""Maximum characters of an extracted answer, and of a step."""
BUDGET = 40_000_000
"""Maximum characters of all texts of a page. Beyond it, each text is cut shorter."""
TAIL = 4
"""One part in `TAIL` of a cut text is its end, which usually has the final answer."""


def verdict_of(value: float | None) -> str:
    """Right, wrong or unscored."""
    if value is None:
        return UNSCORED
    return RIGHT if value >= PASS_MARK else WRONG


def leaves(row: JsonObject, prefix: str = "") -> Iterator[tuple[str, JsonObject]]:
    """Yield the scores of a score row that have no parts, with their paths. Nothing is yielded if the row has no parts.

    The parts of a criterion are not listed.
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
    """Return the step n for which keeping every n-th of `count` things keeps at most `wanted`."""
    return max(1, -(-count // wanted))


def shown(title: str, text: str) -> Text:
    """Cut a text to the page's maximum length."""
    return cut(Text(title, text), LONGEST)


def cut(text: Text, limit: int) -> Text:
    """Cut a text, which may already be cut, to at most `limit` characters from its start and end."""
    whole = text.head + text.tail
    if len(whole) <= limit:
        return text
    tail = limit // TAIL
    omitted = text.omitted + len(whole) - limit
    return replace(text, head=whole[: limit - tail], tail=whole[len(whole) - tail :], omitted=omitted)


def shortened(row: JsonObject, most: int = EXTRACTED) -> dict[str, Any]:
    """Cut a score row's extracted answers, which may be whole texts. Answers of parts and steps are also cut."""
    found = dict(row)
    if len(answer := row.get("answer") or "") > most:
        found["answer"] = answer[:most] + "…"
    if "parts" in row:
        found["parts"] = {name: shortened(part, most) for name, part in row["parts"].items()}
    if "steps" in row:
        found["steps"] = [shortened(step, STEP) for step in row["steps"]]
    return found


def fit(runs: Iterable[Run]) -> None:
    """Cut all texts so that the page stays within its budget. A repeated prompt counts once."""
    items = [item for run in runs for item in run.items]
    lengths = {text.head: len(text.head) + len(text.tail) for item in items for text in item.texts}.values()
    limit = LONGEST
    while limit > SHORTEST and sum(min(length, limit) for length in lengths) > BUDGET:
        limit //= 2
    for item in items:
        item.texts = [cut(text, limit) for text in item.texts]


def mark_differences(runs: Iterable[Run]) -> None:
    """Tag candidates on which two runs of one kind disagree."""
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
    """Return a prompt as displayed: its text, or each turn under its role."""
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(f"{message['role']}: {_displayed(message['content'])}" for message in prompt)


def _displayed(content: object) -> str:
    """A message's text, and a word in brackets for each picture or other file."""
    return "\n\n".join([content_text(content), *(f"[{word}]" for word in media_of(content))]).strip()
