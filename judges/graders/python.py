"""Python graders in the sandbox: a reply's grade, and the cause if a grader returns none.

A grader that raises, loops or returns no number may be broken. Or the reply is one that it was not written for: it has
no JSON, no tag, or text that makes its pattern backtrack. Simple replies distinguish these cases. A grader that grades
one of them works, so the reply caused the missing grade.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from verikit.replies.text import accepted
from verikit.sandbox import Array, FunctionCall, LocalSandbox, RunLimits, RunResult
from verikit.types import Sample

_TRIES = """

def verikit_grades_any(samples, item):
    import copy, math
    for sample in samples:
        try:
            grade_ = grade(copy.deepcopy(sample), copy.deepcopy(item))
            if not isinstance(grade_, (str, bytes)) and math.isfinite(float(grade_)):
                return True
        except BaseException as error:
            problem = f"{type(error).__name__}: {error}"
        else:
            problem = f"{grade_!r} is not a number"
    return problem[:300]
"""
_FORMS = (
    "{gold}\n", "{gold}\n{json}", "The answer is {gold}.\n<think>{gold}</think>\n<answer>{gold}</answer>\n"
    "<reasoning>{gold}</reasoning>\n<solution>{gold}</solution>\n\\boxed{{{gold}}}\n[[{gold}]]\n**{gold}**\n"
    "```python\n{gold}\n```\n```json\n{json}\n```\nAnswer: {gold}\n#### {gold}",
)  # fmt: skip
"""Strings with an answer: bare, and in the formats that graders search for."""
_MOST_KEYS = 30


def grade(
    source: str, sample: Mapping[str, Any], item: Mapping[str, Any], box: LocalSandbox, limits: RunLimits
) -> RunResult:
    """Run `grade(sample, item)`.

    Raises:
        ValueError: The sandbox does not accept an argument.
    """
    call: FunctionCall = ("grade", [dict(sample), dict(item)], {})
    return box.run(source, call=call, limits=limits)


def row_fault(
    source: str, item: Mapping[str, Any], samples: list[dict[str, Any]], box: LocalSandbox, limits: RunLimits
) -> str:
    """Why a grader grades none of these samples for a row. "" if it grades one."""
    call: FunctionCall = ("verikit_grades_any", [samples, dict(item)], {})
    result = box.run(source + _TRIES, call=call, limits=limits)
    if result.status == "ok" and result.value is True:
        return ""
    return str(result.value) if result.status == "ok" else f"{result.status} ({result.error})"


def number(value: Any) -> float | None:
    """A grade as a number. None for anything else."""
    if isinstance(value, Array) and not value.shape and len(value.items) == 1:
        value = value.items[0]
    if not isinstance(value, (bool, int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def simple_replies(source: str, sample: Sample) -> Iterator[Sample]:
    """Replies that a working grader grades: the gold answer or a number, also as JSON with every key in the source.

    None of them is empty: a grader may grade an empty reply before it reaches its own error.
    """
    golds = [text for text in accepted(sample.answer) if 0 < len(text) < 1000][:1]
    keys = _keys(source)
    for gold in golds or ["0"]:
        values: list[Any] = [gold, 0, [], [gold]]
        objects: list[Any] = [dict.fromkeys(keys, value) for value in values]
        objects += [dict.fromkeys(keys, inner) for inner in objects[:2]]
        for made in (*objects, objects[:1], [gold], [0]):
            arguments = json.dumps(made)
            called = [_call(name, arguments) for name in keys[:1] or ["f"]]
            yield Sample(completion=[{"role": "assistant", "content": arguments, "tool_calls": called}])
        for form, inner in product(_FORMS, objects[:1]):
            yield Sample(completion=form.format(gold=gold, json=json.dumps(inner)))


def _call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "0", "type": "function", "function": {"name": name, "arguments": arguments}}


def _keys(source: str) -> list[str]:
    """The strings that a program uses for lookups: `x["key"]`, `x.get("key")`, `"key" in x`."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    looked_up = [part for node in nodes for part in _looked_up(node)]
    texts = (part.value for part in looked_up if isinstance(part, ast.Constant) and isinstance(part.value, str))
    return list(dict.fromkeys(texts))[:_MOST_KEYS]


def _looked_up(node: ast.AST) -> list[ast.expr]:
    """The part of an expression that may be a key."""
    if isinstance(node, ast.Subscript):
        return [node.slice]
    if isinstance(node, ast.Call):
        return node.args[:1]
    return [node.left] if isinstance(node, ast.Compare) else []
