"""Samples of other tools' logs (`logs.py`) with the fields of rows.

Sources: inspect_ai 0.3.285 (`log/_log.py`, `model/_chat_message.py`, `scorer/_metric.py`), promptfoo 0.118
(`models/evalResult.ts`, `evaluator.ts`) and OpenAI evals 3.0.1 (`record.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from verikit.errors import SchemaError
from verikit.readers.parse import JsonRow, kind

ATTACHED = "attachment://"
"""Prefix of a reference to a text stored under its digest in the sample's `attachments`."""
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""The values of inspect's scorers that are letters: correct, partial, incorrect, no answer."""


def inspect_sample(notes: list[str]) -> Callable[[JsonRow], JsonRow]:
    """Make the function that reads inspect's samples. A sample that failed without output is an error."""

    def prepare(row: JsonRow) -> JsonRow:
        _check_sample(row)
        attached = row.pop("attachments", None)
        texts = attached if type(attached) is dict else {}
        turns = _turns(row)
        output = row.pop("output", None)
        if not turns:
            raise SchemaError("the sample has no reply of the model", field="output", hint="run this sample again")
        asked = row.pop("input")
        chat = type(asked) is list
        row["prompt"] = [_message(turn, n, texts, "input") for n, turn in enumerate(asked)] if chat else asked
        row["completion"] = _completion([_message(turn, n, texts, "messages") for n, turn in enumerate(turns)])
        if options := row.pop("choices", None):
            row["options"] = options
        if row.get("target") in ("", []):
            row.pop("target")
        row["scores"] = _scores(row.get("scores"))
        if type(output) is dict and type(output.get("model")) is str:
            row["model"] = output["model"]
        return row

    return prepare


def _check_sample(row: JsonRow) -> None:
    for key in ("id", "input"):
        if row.get(key) is None:
            raise SchemaError(f"the sample has no {key}", field=key)
    if error := row.get("error"):
        told = error.get("message") if type(error) is dict else error
        raise SchemaError(f"the sample failed: {str(told)[:300]}", field="error", hint="run this sample again")
    if invalid := row.pop("invalidation", None):
        told = invalid.get("reason") if type(invalid) is dict else None
        problem = f"the sample was marked as invalid: {str(told or 'no reason given')[:300]}"
        raise SchemaError(problem, field="invalidation", hint="run this sample again")


def _completion(messages: list[JsonRow]) -> str | list[JsonRow]:
    """The text of a single message without calls, or otherwise the messages."""
    only = messages[0] if len(messages) == 1 else {}
    text = only.get("content")
    return text if type(text) is str and not only.get("tool_calls") else messages


def _turns(row: JsonRow) -> list[Any]:
    """The messages since the model's first reply, or the reply of the output if there are no messages."""
    found = row.pop("messages", None)
    if found is not None and type(found) is not list:
        raise SchemaError(f"a list of messages is expected, this is {kind(found)}", field="messages")
    messages: list[Any] = found or []
    given = sum(map(_by_model, row["input"])) if type(row["input"]) is list else 0
    for number, message in enumerate(messages):
        if type(message) is not dict:
            raise SchemaError(f"a message is an object, this is {kind(message)}", field=f"messages[{number}]")
        if _by_model(message) and (message.get("source") == "generate" or not given):
            return messages[number:]
        given -= _by_model(message)
    return _reply_of(row.get("output"))


def _reply_of(output: Any) -> list[JsonRow]:
    choices = output.get("choices") if type(output) is dict else None
    choice = choices[0] if type(choices) is list and choices else None
    message = choice.get("message") if type(choice) is dict else None
    return [message] if type(message) is dict else []


def _by_model(message: Any) -> bool:
    return type(message) is dict and message.get("role") == "assistant"


def _message(message: Any, number: int, texts: JsonRow, field: str) -> JsonRow:
    """Return a message in OpenAI's format."""
    field = f"{field}[{number}]"
    if type(message) is not dict:
        raise SchemaError(f"a message is an object, this is {kind(message)}", field=field)
    content = _resolved(message.get("content"), texts)
    content = list(map(_part, content)) if type(content) is list else content
    found = {"role": message.get("role", "assistant"), "content": content}
    calls = message.get("tool_calls")
    if type(calls) is list and calls:
        found["tool_calls"] = [_call(call, field) for call in calls]
    if message.get("role") == "tool":
        found |= {"tool_call_id": message.get("tool_call_id"), "name": message.get("function")}
    return found


def _part(part: Any) -> Any:
    """A content part, with a picture in OpenAI's format."""
    picture = type(part) is dict and part.get("type") == "image" and type(part.get("image")) is str
    return {"type": "image_url", "image_url": {"url": part["image"]}} if picture else part


def _call(call: Any, field: str) -> JsonRow:
    if type(call) is not dict or type(call.get("function")) is not str:
        raise SchemaError("a tool call names its function", field=f"{field}.tool_calls")
    called = {"name": call["function"], "arguments": json.dumps(call.get("arguments") or {})}
    return {"id": call.get("id"), "type": "function", "function": called}


def _resolved(value: Any, texts: JsonRow) -> Any:
    """Return a string, parts or messages with references replaced by the stored texts."""
    if type(value) is str and value.startswith(ATTACHED):
        return texts.get(value.removeprefix(ATTACHED), value)
    if type(value) is list:
        return [_resolved(item, texts) for item in value]
    if type(value) is dict:
        return value | {key: _resolved(value[key], texts) for key in ("content", "text", "image") if key in value}
    return value


def _scores(scores: Any) -> JsonRow:
    """Each scorer's value, as a number if it is one."""
    if scores is None:
        return {}
    if type(scores) is not dict:
        raise SchemaError(f"an object of scores is expected, this is {kind(scores)}", field="scores")
    values = {name: score.get("value") if type(score) is dict else score for name, score in scores.items()}
    return {name: _number(value) for name, value in values.items()}


def _number(value: Any) -> Any:
    """A scorer's value. Letters are numbers, including those of a scorer with several values."""
    if type(value) is dict:
        return {name: LETTERS.get(part, part) if type(part) is str else part for name, part in value.items()}
    return LETTERS.get(value, value) if type(value) is str else value


def evals_sample(notes: list[str]) -> Callable[[JsonRow], JsonRow]:
    """Make the function that reads samples of OpenAI evals. One that failed before the model answered is an error."""

    def prepare(row: JsonRow) -> JsonRow:
        told = row.pop("error", None)
        if told is not None and not row["sampled"]:
            raise SchemaError(f"the sample failed: {str(told)[:300]}", field="error", hint="run this sample again")
        return row

    return prepare


def promptfoo_result(notes: list[str]) -> Callable[[JsonRow], JsonRow]:
    """Make the function that reads promptfoo's results.

    The id is the number of the test. For results of other providers and prompts, its name is appended. promptfoo writes
    results as they finish, so the first in the file is not always that of the first provider and prompt.
    """
    first: list[str] = []

    def prepare(row: JsonRow) -> JsonRow:
        row["completion"] = _output_of(row.pop("response", None), row.get("error"))
        prompt = row.get("prompt")
        if type(prompt) is not dict or type(prompt.get("raw")) is not str:
            raise SchemaError("the prompt's text is expected", field="prompt.raw")
        row["prompt"] = _chat(prompt["raw"])
        provider = row.get("provider")
        name = provider.get("label") or provider.get("id") if type(provider) is dict else provider
        asked, number = str(name or ""), row.get("promptIdx") or 0
        if number == 0 and not first:
            first.append(asked)
        if row.get("testIdx") is not None:
            usual = number == 0 and asked == first[0]
            row["id"] = str(row["testIdx"]) + ("" if usual else f" {asked} prompt {number}")
        if golds := _equals(row.get("testCase")):
            row["answer"] = golds
        return row

    return prepare


def _chat(text: str) -> Any:
    """A prompt's messages if its text is a JSON list of some, otherwise the text."""
    if not text.lstrip().startswith("["):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    chat = all(type(item) is dict and type(item.get("role")) is str and "content" in item for item in found)
    return found if found and chat else text


def _equals(test: Any) -> list[str]:
    """Return the strings that the test's `equals` assertions compare with. Literal ones are gold answers."""
    asserts = test.get("assert") if type(test) is dict else None
    found = [item for item in asserts if type(item) is dict] if type(asserts) is list else []
    values = [item.get("value") for item in found if item.get("type") == "equals"]
    return [value for value in values if type(value) is str and "{{" not in value]


def _output_of(response: Any, error: Any) -> str:
    """The output as text. One that is no text becomes JSON."""
    output = response.get("output") if type(response) is dict else None
    if output is None:
        told = error or (response.get("error") if type(response) is dict else None)
        problem = f"the request failed: {str(told)[:300]}" if told else "no output of the model"
        raise SchemaError(problem, field="response.output", hint="run this test again")
    return output if type(output) is str else json.dumps(output, ensure_ascii=False)
