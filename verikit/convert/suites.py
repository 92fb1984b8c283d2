"""Rows of benchmarks that are not graded by an answer.

Sources: google/IFEval (also IFBench and IF-RLVR), gorilla-llm/Berkeley-Function-Calling-Leaderboard (its gold answers
are in the sibling folder possible_answer), openai/healthbench.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verikit.convert.parts import made, need, text
from verikit.errors import SchemaError
from verikit.readers.parse import JsonRow
from verikit.types import Sample
from verikit.verifiers.instructions.arguments import BadArgument
from verikit.verifiers.instructions.row import instructions
from verikit.verifiers.instructions.table import INSTRUCTIONS


def ifeval(row: JsonRow) -> Iterator[JsonRow]:
    """A prompt with the ids and arguments of its instructions. Null arguments, which tables add, are dropped."""
    try:
        given = instructions(Sample("", "", meta=row))
        for id, arguments in given:
            if id not in INSTRUCTIONS:
                raise BadArgument(f"no instruction is called {id[:80]!r}")
            INSTRUCTIONS[id].look(arguments)
    except BadArgument as error:
        raise SchemaError(str(error), field="instruction_id_list") from None
    asked, turns = row.get("prompt"), row.get("messages")
    if not asked and isinstance(turns, list) and turns and isinstance(turns[0], dict):
        asked = turns[0].get("content")
    taken = ("ground_truth", "instruction_id_list", "instruction_id", "kwargs")
    more = {"instruction_id_list": [id for id, _ in given], "kwargs": [dict(arguments) for _, arguments in given]}
    yield made(row, text({"prompt": asked}, "prompt"), taken=taken, **more)


def bfcl(row: JsonRow) -> Iterator[JsonRow]:
    """A single-turn question with tools and the expected calls. Irrelevance items need no call, relevance items any.

    A multi-turn item has its services and the expected calls of each turn. Its prompt is the first turn, and `turns`
    has the messages of all turns.
    """
    if "involved_classes" in row:
        yield _bfcl_turns(row)
        return
    asked, tools = need(row, "question"), need(row, "function", "tools")
    turns = asked if isinstance(asked, list) else [[{"role": "user", "content": asked}]]
    if len(turns) != 1 or not isinstance(turns[0], list):
        if all(isinstance(turn, dict) for turn in turns):
            turns = [turns]
        else:
            raise SchemaError(
                "a single turn is expected", field="question", hint="multi-turn items have involved_classes"
            )
    messages = [_message(item) for item in turns[0]]
    category = _category(row)
    calls = _expected_calls(row, category)
    if calls is None:
        raise SchemaError(
            "expected calls not found",
            field="ground_truth",
            hint="put them into the row, or into the folder possible_answer next to the file",
        )
    more: JsonRow = {"category": category, "tools": tools, "calls": calls}
    yield made(row, messages, taken=("question", "function", "ground_truth"), **more)


def _bfcl_turns(row: JsonRow) -> JsonRow:
    asked, config, classes = need(row, "question"), need(row, "initial_config"), need(row, "involved_classes")
    calls = need(row, "ground_truth")
    if not isinstance(config, dict):
        raise SchemaError("is not an object", field="initial_config")
    if not isinstance(classes, list):
        raise SchemaError("is not a list", field="involved_classes")
    if not _is_list_of_lists(calls):
        raise SchemaError("is not a list of calls per turn", field="ground_truth")
    if not _is_list_of_lists(asked) or len(asked) != len(calls):
        raise SchemaError(f"messages of {len(calls)} turns are expected", field="question")
    turns = [[_message(item) for item in turn] for turn in asked]
    return made(row, turns[0], taken=("question", "ground_truth"), category=_category(row), turns=turns, calls=calls)


def _expected_calls(row: JsonRow, category: str) -> Any:
    """Return the calls in a row, or those that its category implies."""
    calls = row.get("ground_truth")
    if calls is None and "relevance" in category:
        return [] if "irrelevance" in category else "any"
    return calls


def _is_list_of_lists(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, list) for item in value)


def _category(row: JsonRow) -> str:
    """A row's category; its id begins with it."""
    return str(row.get("category") or str(row.get("id") or "").rpartition("_")[0])


def _message(item: object) -> dict[str, str]:
    if not isinstance(item, dict) or not isinstance(item.get("content"), str):
        raise SchemaError("is not a message", field="question")
    return {"role": str(item.get("role") or "user"), "content": item["content"]}


def _has_points(item: Any) -> bool:
    points = item.get("points") if isinstance(item, dict) else None
    return isinstance(points, int | float) and not isinstance(points, bool)


def healthbench(row: JsonRow) -> Iterator[JsonRow]:
    """A conversation whose reply is judged by the row's own rubric. Answers in the row are omitted."""
    turns = need(row, "prompt")
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise SchemaError("is not a list of messages", field="prompt")
    rubrics = need(row, "rubrics")
    if not isinstance(rubrics, list):
        raise SchemaError("is not a list", field="rubrics")
    for number, item in enumerate(rubrics):
        if not _has_points(item):
            raise SchemaError("is not a number", field=f"rubrics[{number}].points")
        text(item, "criterion")
    if not any(item["points"] > 0 for item in rubrics):
        raise SchemaError("a criterion with positive points is required", field="rubrics")
    messages = [_message({**turn, "content": turn.get("content")}) for turn in turns]
    taken = ("ideal_completions_data", "canary")
    yield made(row, messages, taken=taken, rubrics=rubrics)
