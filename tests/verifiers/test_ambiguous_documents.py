"""Documents and calls that two readers would read in two ways earn nothing: keys given twice, NaN, several syntaxes."""

from __future__ import annotations

import json
import os
import random

import pytest

from verikit.base import Verifier
from verikit.calls import load_json, text_calls
from verikit.types import Sample
from verikit.verifiers.documents.json_schema import JsonSchema
from verikit.verifiers.documents.toml import Toml
from verikit.verifiers.documents.yaml import Yaml
from verikit.verifiers.tools.tool_calls import ToolCalls

EFFORT = int(os.environ.get("VERIKIT_FORGERIES", "1"))
CALL = {"name": "f", "arguments": {"a": 1, "b": {"c": 2}}}
OTHER = {"name": "g", "arguments": {}}


def value(verifier: Verifier, text: str, **meta: object) -> float | None:
    return verifier.score([Sample(completion=text, meta=meta)])[0].value


FORMS = {
    "<tool_call>": "<tool_call>\n{}\n</tool_call>",
    "<TOOLCALL>": "<TOOLCALL>[{}]</TOOLCALL>",
    "<function_call>": "<function_call>{}</function_call>",
    "[TOOL_CALLS]": "[TOOL_CALLS][{}]",
    "<|python_tag|>": "<|python_tag|>{}",
    "a fence": "```json\n{}\n```",
    "bare": "{}",
}
"""Each syntax of calls in JSON."""
OTHERS = {
    **{name: form.replace("{}", json.dumps(OTHER)) for name, form in FORMS.items()},
    "<function=": "<function=g>{}</function>",
    "<function=, open": "<function=g>{}",
    "parameters": "<function=g>\n</function>",
    "Python": "[g()]",
    "Python, bare": "g()",
    "a call that can't be read": "[g(1)]",
    "keys given twice": '{"name": "g", "arguments": {"a": 1, "a": 2}}',
}
"""A second call in each syntax."""
BETWEEN = ["", "\n", "\n\n", " ", "Now:\n"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", OTHERS)
def test_a_second_syntaxs_extra_call_counts(form: str, other: str) -> None:
    verifier, right = ToolCalls(), FORMS[form].replace("{}", json.dumps(CALL))
    assert value(verifier, right, calls=[CALL]) == 1.0
    for text in (
        right + OTHERS[other],
        OTHERS[other] + right,
        f"{right}\n{OTHERS[other]}",
        f"{OTHERS[other]}\n{right}",
    ):
        assert value(verifier, text, calls=[CALL]) == 0.0, text


@pytest.mark.parametrize("form", [name for name in FORMS if name.startswith("<") and name != "<|python_tag|>"])
def test_prose_around_a_call_is_no_call(form: str) -> None:
    verifier, right = ToolCalls(), FORMS[form].replace("{}", json.dumps(CALL))
    for before, after in (
        ("I call f (as asked).\n", "\nDone."), ("f(a, b) it is:", ""), ('{"thought": "f"}\n', ""), ("[1]\n", " [2]"),
        ("```python\nx = 1\n```\n", "\n```\nls\n```"), ("<function> tags:", "</function>"), ("", "</s>"),
    ):  # fmt: skip
        assert value(verifier, before + right + after, calls=[CALL]) == 1.0, (before, after)


def test_tags_within_an_argument_are_its_text() -> None:
    said = {"name": "f", "arguments": {"a": "<function=g>{}</function> [TOOL_CALLS] <TOOLCALL>"}}
    for form in ("<tool_call>{}</tool_call>", "[TOOL_CALLS][{}]", "<|python_tag|>{}"):
        assert value(ToolCalls(), form.replace("{}", json.dumps(said)), calls=[said]) == 1.0, form


def test_a_call_beside_a_function_tag_within_one_tag_counts() -> None:
    inner = "<function=f>\n<parameter=a>\n1\n</parameter>\n</function>"
    wanted = [{"name": "f", "arguments": {"a": 1}}]
    assert value(ToolCalls(), f"<tool_call>\n{inner}\n</tool_call>", calls=wanted) == 1.0
    for extra in (json.dumps(OTHER), "g()", "<function=g>{}</function>"):
        assert value(ToolCalls(), f"<tool_call>\n{extra}\n{inner}\n</tool_call>", calls=wanted) == 0.0, extra


def test_many_openings_are_read_in_linear_work(linear) -> None:
    for unit in (
        "[TOOL_CALLS]",
        "<tool_call>",
        "<function=",
        "<function=f>",
        "<|python_tag|>[1,",
        "<TOOLCALL></TOOLCALL>",
    ):
        linear(text_calls, unit)


TWICE = [
    '{{"a": {0}, "a": {1}}}', '{{"b": 1, "a": {0}, "c": [], "a": {1}}}', '{{"a": {0}, "\\u0061": {1}}}',
    '{{"x": {{"a": {0}, "a": {1}}}}}', '[{{"a": {0}, "a": {1}}}]', '{{"a": {0}, "a": {0}}}',
]  # fmt: skip
"""Objects in JSON with a key given twice."""


@pytest.mark.parametrize("text", TWICE)
def test_a_key_given_twice_is_refused_in_json_and_calls(text: str) -> None:
    text = text.format(1, 2)
    for written in (text, f"```json\n{text}\n```", f"So: {text} it is."):
        assert value(JsonSchema({}), written) == 0.0, written
    assert load_json(text)[1].startswith("JSON that can't be read: a duplicate key")
    call = f'{{"name": "f", "arguments": {text}}}'
    for form in FORMS.values():
        assert value(ToolCalls(), form.replace("{}", call), calls="any") == 0.0
    once = text.replace('"a": 2', '"d": 2').replace('"a": 1}', '"e": 1}').replace('"\\u0061"', '"d"')
    assert value(JsonSchema({}), once) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "f(a=1, a=2)", "f(a={'x': 1, 'x': 2})", "f(a={'x': 1, \"x\": 2})", "f(a=[{1: 1, True: 2}])",
        "<function=f>\n<parameter=a>\n1\n</parameter>\n<parameter=a>\n2\n</parameter>\n</function>",
        '<function=f>{"a": 1, "a": 2}</function>', "f(a={**{}, 'x': 1, 'x': 2})",
    ],
)  # fmt: skip
def test_an_argument_given_twice_is_refused_in_every_call_format(text: str) -> None:
    assert value(ToolCalls(), text, calls="any") == 0.0
    assert all(call.problem for call in text_calls(text)) or not text_calls(text)


def test_expected_calls_with_a_key_twice_are_the_rows_fault() -> None:
    score = ToolCalls().score([Sample(completion="f(a=1)", answer='[{"name": "f", "arguments": {"a": 1, "a": 2}}]')])[0]
    assert score.status == "error"
    assert "duplicate key" in score.reason


BOUNDS = [
    {"minimum": 0}, {"maximum": 1}, {"exclusiveMinimum": 0}, {"exclusiveMaximum": 1}, {"multipleOf": 1},
    {"minimum": 0, "maximum": 1}, {"not": {"minimum": 0}}, {"anyOf": [{"minimum": 0}, {"maximum": 1}]},
    {"if": {"minimum": 0}, "then": False}, {"allOf": [{"type": "number", "minimum": 0}]},
]  # fmt: skip


@pytest.mark.parametrize("bound", BOUNDS)
def test_nan_meets_no_bound(bound: dict[str, object]) -> None:
    schema = {"properties": {"p": bound}}
    for text in ("p: .nan", "p: .NaN", "p: .NAN"):
        assert value(Yaml(schema), text) == 0.0
    for text in ("p = nan", "p = +nan", "p = -nan"):
        assert value(Toml(schema), text) == 0.0
    assert value(JsonSchema(schema), '{"p": NaN}') == 0.0


def test_other_numbers_meet_bounds_as_they_did_and_nan_is_a_number_elsewhere() -> None:
    unit = {"properties": {"p": {"minimum": 0, "maximum": 1}}}
    assert [value(Yaml(unit), f"p: {number}") for number in ("0", "0.5", "1", "2", ".inf", "-.inf", "x")] == [
        1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0,
    ]  # fmt: skip
    assert value(Yaml({"properties": {"p": {"minimum": 0}}}), "p: .inf") == 1.0
    assert value(Yaml({"properties": {"q": {"minimum": 0}}}), "p: .nan\nq: 1") == 1.0
    assert value(Toml({"properties": {"p": {"type": "number"}}}), "p = nan") == 1.0


def test_no_mixture_of_syntaxes_hides_a_call() -> None:
    """A standing search: whatever stands around it, a right reply with one call more is refused."""
    draw, verifier = random.Random(EFFORT), ToolCalls()
    for _ in range(400 * EFFORT):
        right = draw.choice(list(FORMS.values())).replace("{}", json.dumps(CALL))
        extra = draw.choice(list(OTHERS.values()))
        parts = [right, extra, *(draw.choice(BETWEEN) for _ in range(2))]
        draw.shuffle(parts)
        text = draw.choice(BETWEEN[:4]).join(parts)
        if "Now" in text and not any(mark in extra for mark in ("<", "[TOOL")):
            continue  # a call among prose is none, whatever its syntax
        assert value(verifier, text, calls=[CALL]) == 0.0, text
