"""Fields of NeMo-Gym's tasks under the names that verifiers read: references, expected calls, tests of programs.

Its servers name their references each in its own way (nemo-gym 0.7.0); recognised are the name and the form.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from verikit.adapters.nemo_gym import GOLDS
from verikit.messages import content_text

MORE_GOLDS = ("expected_result", "expected_output", "reference", "translation", "expected_weather", "ideal", "text")
"""References under other names than the usual ones, in this order."""
Row = Mapping[str, Any]


def prepared(row: Row) -> dict[str, Any]:
    """A rollout with `expected_answer`, `calls`, `trajectory` and `tests`, if its own fields provide them.

    Fields that the row has already are unchanged.
    """
    fields = {**(more if isinstance(more := row.get("verifier_metadata"), Mapping) else {}), **row}
    found: dict[str, Any] = {}
    calls = expected_calls(fields)
    if calls is not None:
        found = {"calls": calls, "trajectory": calls}
    if (tests := _tests(fields)) is not None:
        found["tests"] = tests
    if all(fields.get(key) is None for key in GOLDS) and (gold := _gold(fields)) is not None:
        found["expected_answer"] = gold
    return {**found, **row}


def _gold(fields: Row) -> Any:
    if isinstance(words := fields.get("expected_judgement"), str) and words:
        return words.split()[-1]
    if isinstance(index := fields.get("correct_index"), int):
        return str(index)
    value = next((fields[key] for key in MORE_GOLDS if fields.get(key) is not None), None)
    nested = isinstance(value, list) and any(isinstance(item, list) for item in value)
    return json.dumps(value) if nested or isinstance(value, Mapping) else value


def expected_calls(fields: Row) -> list[dict[str, Any]] | None:
    """The calls that a task expects, as names and arguments; [] if it expects text; None if it doesn't specify any."""
    for key in ("expected_action", "expected_answers", "ground_truth"):
        value = fields.get(key)
        listed = [value] if isinstance(value, Mapping) else value
        if not isinstance(listed, list) or not listed or not all(isinstance(call, Mapping) for call in listed):
            continue
        if any(call.get("type") == "message" for call in listed):
            return []
        if all("name" in call and "arguments" in call for call in listed):
            return [{"name": call["name"], "arguments": call["arguments"]} for call in listed]
    return None


def _tests(fields: Row) -> list[dict[str, Any]] | None:
    """Tests of a program: `unit_tests` with inputs and outputs as long as each other, or a grid that is transformed."""
    tests = fields.get("unit_tests")
    if isinstance(tests, Mapping) and isinstance(tests.get("inputs"), list) and isinstance(tests.get("outputs"), list):
        pairs = zip(tests["inputs"], tests["outputs"], strict=False)
        same = len(tests["inputs"]) == len(tests["outputs"])
        return [{"input": given, "output": wanted} for given, wanted in pairs] if same else None
    if fields.get("agent_mode") == "inductive" and "test_input" in fields:
        return [{"fn": "transform", "args": [fields["test_input"]], "expected": fields.get("expected_output")}]
    return None


class TaskIndex:
    """Tasks of a data file, by their prompt and by their number, for rollouts that were stored without them."""

    def __init__(self, tasks: Iterable[Row]) -> None:
        self.rows = list(tasks)
        self._by_prompt: dict[str, list[int]] = {}
        for number, row in enumerate(self.rows):
            self._by_prompt.setdefault(_asked(row), []).append(number)

    def joined(self, row: Row) -> dict[str, Any]:
        """A rollout with its task's fields. Its own fields take precedence. Without its task it is returned unchanged.

        Tasks with the same prompt (for example with different images) are distinguished by NeMo-Gym's number.
        """
        same = self._by_prompt.get(_asked(row), [])
        number = row.get("_ng_task_index")
        if len(same) > 1 and number in same:
            same = [number]
        return {**(self.rows[same[0]] if same else {}), **row}


def _asked(row: Row) -> str:
    """The text of a prompt. Images are ignored, because their formats vary."""
    params = row.get("responses_create_params")
    asked = params.get("input") if isinstance(params, Mapping) else None
    if isinstance(asked, list):
        texts = [content_text(turn.get("content")) for turn in asked if isinstance(turn, Mapping)]
        return "\n".join("".join(text.split()) for text in texts if text.strip())
    return "".join(asked.split()) if isinstance(asked, str) else ""
