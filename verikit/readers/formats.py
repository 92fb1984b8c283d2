"""The file formats: the keys of prompt, completions, answer and id in each, and how it is recognised.

A key may be a dotted path into the row (`reward_model.ground_truth`). The first one that leads to a value is used. A
format's `prepare`, which sees each row first, handles anything that keys can't express. Sources: lm-eval 0.4.13
(`evaluator.py`, `evaluation_tracker.py`), TRL 1.16.0 (`grpo_trainer.py`), verl 0.9.1 (`ray_trainer.py`,
`main_generation_server.py`), verifiers 0.1.9 (`save_utils.py`), alpaca_eval 0.6.6 (`main.py`) and the OpenAI client's
`ChatCompletion`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from verikit.errors import SchemaError
from verikit.message_formats import in_openai_format
from verikit.readers.logged import evals_sample, inspect_sample, promptfoo_result
from verikit.readers.parse import JsonRow, parse

Prepare = Callable[[JsonRow], JsonRow | None]
"""Changes a row in place before its fields are read. None skips the row."""


@dataclass(frozen=True, slots=True)
class Format:
    """The keys of a row's fields in one format."""

    name: str
    matches: Callable[[JsonRow], bool]
    prompt: tuple[str, ...] = ("prompt",)
    completions: tuple[str, ...] = ("completions",)
    """A list of candidates."""
    completion: tuple[str, ...] = ("completion",)
    """A single candidate. Searched after `completions`."""
    answer: tuple[str, ...] = ("answer",)
    id: tuple[str, ...] = ("id",)
    needs_prompt: bool = True
    prepare: Callable[[list[str]], Prepare] | None = None
    """Creates the `prepare` of one file. It may append to the reader's notes."""


def _lm_eval(notes: list[str]) -> Prepare:
    """Keep one row per document (of the first filter found). A chat prompt is JSON text in a list of one."""
    chosen: list[object] = []

    def prepare(row: JsonRow) -> JsonRow | None:
        name = row.get("filter")
        if not chosen:
            chosen.append(name)
        if name != chosen[0]:
            if len(chosen) == 1:
                chosen.append(name)
                notes.append(f"rows of the filter {chosen[0]!r} are read, those of other filters repeat them")
            return None
        replies = _lm_eval_replies(row.pop("resps"))
        row["prompt"], row["completions"] = _lm_eval_prompt(row.pop("arguments", None)), replies
        return row

    return prepare


def _lm_eval_replies(replies: Any) -> list[Any]:
    if not isinstance(replies, list) or not replies or not isinstance(replies[0], list):
        raise SchemaError("a list of lists of replies is expected", field="resps")
    first = replies[0]
    if first and isinstance(first[0], list) and not isinstance(next(iter(first[0]), 0), dict):
        raise SchemaError("the replies are log-likelihoods", field="resps", hint="score generated samples")
    return first


def _lm_eval_prompt(arguments: Any) -> Any:
    request = arguments.get("gen_args_0") if isinstance(arguments, dict) else None
    text = request.get("arg_0") if isinstance(request, dict) else None
    if isinstance(text, list) and len(text) == 1 and isinstance(text[0], str):
        return parse(b'{"messages":%b}' % text[0].encode())["messages"]
    return text


def _openai(notes: list[str]) -> Prepare:
    """Handle rows of OpenAI's formats.

    A failed line of a batch is an error. A conversation without `choices` ends in its completion.
    """

    def prepare(row: JsonRow) -> JsonRow:
        response = row.get("response")
        _check_succeeded(row.get("error"), response)
        answered = _answered(row)
        if answered.get("object") == "response":
            row["completion"], row["messages"] = answered.get("output"), _asked(row)
        elif isinstance(messages := row.get("messages"), list) and not response and "choices" not in row:
            turns = _prompt_turns(messages)
            if any(_turn_role(message) == "assistant" for message in messages[turns:]):
                row["messages"], row["completion"] = messages[:turns] or None, messages[turns:]
        return row

    return prepare


def _asked(row: JsonRow) -> Any:
    """The prompt of a request to the Responses API; None if there is none."""
    for place in (row.get("request"), row.get("body")):
        body = place.get("body", place) if isinstance(place, dict) else {}
        if isinstance(body, dict) and isinstance(body.get("input"), str | list):
            return body["input"]
    return None


def _prompt_turns(messages: Sequence[Any]) -> int:
    """How many messages of a conversation come before its completion."""
    turns = len(messages)
    while turns and _turn_role(messages[turns - 1]) in ("assistant", "tool"):
        turns -= 1
    return turns


def _turn_role(message: Any) -> Any:
    return in_openai_format(message).get("role") if isinstance(message, dict) else None


def _answered(row: JsonRow) -> JsonRow:
    """What the server answered: a batch's body, a logged response, or the row itself."""
    response = row.get("response")
    if not isinstance(response, dict):
        return row
    body = response.get("body")
    return body if isinstance(body, dict) else response


def _check_succeeded(error: Any, response: Any) -> None:
    body = response.get("body") if isinstance(response, dict) else None
    error = error or (body.get("error") if isinstance(body, dict) else None)
    if error:
        told = error.get("message") or error.get("code") if isinstance(error, dict) else error
        raise SchemaError(f"the request failed: {told}", field="error", hint="send this request again")


def _has(row: JsonRow, *keys: str) -> bool:
    return all(key in row for key in keys)


def _ours(row: JsonRow) -> bool:
    return "prompt" in row and ("completions" in row or "completion" in row)


def _is_openai(row: JsonRow) -> bool:
    response = row.get("response")
    return (
        bool({"choices", "custom_id", "messages"} & row.keys())
        or (isinstance(response, dict) and bool({"body", "choices"} & response.keys()))
        or _answered(row).get("object") == "response"
    )


_CHOICES = ("response.body.choices", "response.choices", "choices", "body.choices")
_REQUESTS = ("request.body.messages", "request.messages", "body.messages", "messages")

_ALL = (
    Format(
        "inspect",
        lambda row: _has(row, "id", "epoch", "input", "target"),
        completions=(),
        answer=("target",),
        prepare=inspect_sample,
    ),
    Format(
        "promptfoo",
        lambda row: _has(row, "prompt", "testCase", "promptIdx"),
        completions=(),
        prepare=promptfoo_result,
    ),
    Format(
        "openai-evals",
        lambda row: _has(row, "sample_id", "sampled"),
        completions=("sampled",),
        completion=(),
        answer=("expected",),
        id=("sample_id",),
        needs_prompt=False,
        prepare=evals_sample,
    ),
    Format(
        "lm-eval",
        lambda row: _has(row, "doc", "resps"),
        completion=(),
        answer=("target",),
        id=("doc_id",),
        prepare=_lm_eval,
    ),
    Format(
        "verl",
        lambda row: "reward_model" in row or _has(row, "data_source", "prompt"),
        completions=("responses",),
        completion=("response", "output", "messages.messages", "messages"),
        answer=("reward_model.ground_truth",),
        id=(),
    ),
    Format(
        "trl",
        lambda row: _ours(row) and "answer" not in row and bool({"ground_truth", "solution"} & row.keys()),
        answer=("ground_truth", "answer", "solution"),
    ),
    Format("verifiers", lambda row: _ours(row) and "example_id" in row, id=("example_id",)),
    Format("verikit", _ours),
    Format(
        "samples",
        lambda row: type(row.get("samples")) is list,
        prompt=("prompt", "problem", "question"),
        completions=("samples",),
        completion=(),
        answer=("answer", "gold", "target", "ground_truth"),
        needs_prompt=False,
    ),
    Format(
        "openai",
        _is_openai,
        prompt=_REQUESTS,
        completions=_CHOICES,
        id=("custom_id", "id"),
        needs_prompt=False,
        prepare=_openai,
    ),
    Format(
        "verl-dump",
        lambda row: _has(row, "input", "output") and bool({"gts", "score"} & row.keys()),
        prompt=("input",),
        completions=(),
        completion=("output",),
        answer=("gts",),
        id=(),
    ),
    Format(
        "bigcodebench",
        lambda row: _has(row, "complete_prompt", "instruct_prompt", "entry_point"),
        prompt=("complete_prompt",),  # a function body continues it, a whole program needs none
        completion=("completion", "solution"),
        answer=(),
        id=("task_id",),
    ),
    Format(
        "alpaca_eval",
        lambda row: _has(row, "instruction", "output"),
        prompt=("instruction",),
        completions=(),
        completion=("output",),
        id=(),
    ),
)
FORMATS = {form.name: form for form in _ALL}
"""The formats by name, in the order in which they are tried."""


def detect(row: JsonRow) -> Format | None:
    """Detect a row's format from its keys. None if it matches no format."""
    return next((form for form in _ALL if form.matches(row)), None)
