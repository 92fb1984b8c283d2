"""Whole replies as reasoning models write them, over nine verifiers: right ones are rewarded, wrong ones never."""

from __future__ import annotations

import sys

import pytest

from verikit.names.spec import load
from verikit.types import Sample

WRAPPED = {
    "plain": ("", ""),
    "think": ("<think>Maybe {decoy}? No.</think>\n\n", ""),
    "lone": ("Maybe {decoy}? No.\n</think>\n\n", ""),
    "magistral": ("[THINK]Maybe {decoy}?[/THINK]", ""),
    "gpt-oss": (
        "<|channel|>analysis<|message|>Maybe {decoy}?<|end|><|start|>assistant<|channel|>final<|message|>", "<|return|>"
    ),
}  # fmt: skip
JSON = "json_schema({'type': 'object', 'required': ['n'], 'properties': {'n': {'type': 'integer'}}})"
F, G = "def f(x):\n    return x * x", "def f(x):\n    return x + x"
# Spec, gold, what the thoughts name, right replies, wrong replies.
CASES = {
    "answer": ("answer", "7", r"\boxed{8}", [
        r"So it is $\boxed{7}$.", "The answer is 7.", "**Answer:** 7", "#### 7", "3 + 4 = 7, so the total is 7.",
    ], [r"So it is $\boxed{8}$.", "The answer is not 7.", "I give up.", "The answer is 7 or 8.", "7, or maybe 8"]),
    "boxed": ("boxed", None, r"\boxed{8}", [
        r"\boxed{7}", r"Thus $\boxed{\frac{1}{2}}$.", r"\fbox{7}", r"Use \boxed{...}: \boxed{7}",
    ], ["It is 7.", r"\boxed{7", r"\boxed{}", r"\boxed{your answer}", "% \\boxed{7}"]),
    "choice": ("choice", "B", "the answer is A", [
        "The answer is B.", "Answer: (B)", r"\boxed{B}", "B", "**Answer: B**",
    ], ["The answer is C.", "I can't tell.", r"\boxed{D}"]),
    "cover_em": ("cover_em", "Paris", "Rome", [
        "It is Paris.", "The capital is Paris, on the Seine.", "The answer is **Paris**.", "Paris, France",
    ], ["It is Lyon.", "Paris or Lyon", "It is not Paris.", "Paris, Lyon, Nice", "Paris? I doubt it."]),
    "exact": ("exact", "Paris", "Rome", [
        "Paris", "The answer is Paris.", "<answer>Paris</answer>", "It was founded long ago.\n\nFinal answer: Paris",
    ], ["Lyon", "The answer is Lyon.", "The answer is not Paris.", "Paris or Lyon"]),
    "f1": ("f1", "Paris", "Rome", [
        "Paris.", "The answer is Paris.", "The capital is **Paris**, on the Seine.", "Answer: Paris",
    ], ["Lyon", "The answer is Lyon.", "Paris or Lyon", "Paris, perhaps Lyon"]),
    "json_match": ("json_match", '{"n": 7}', '{"n": 8}', [
        '{"n": 7}', 'Here you are: {"n": 7.0}', '```json\n{"n": 7}\n```\nDone, see [1].', '~~~\n{"n": 7}\n~~~',
    ], ['{"n": "7"}', '{"n": 8}', "n is 7", '{"n": 7', '{"n": 7, "m": 7}', 'It is not {"n": 7}.']),
    "json_schema": (JSON, None, '{"n": 1}', [
        '{"n": 7}', 'Here you are: {"n": 7}', '```json\n{"n": 7}\n```\nDone, see [1].', '~~~\n{"n": 7}\n~~~',
    ], ['{"n": "7"}', '{"n": 7,}', "n is 7", '{"n": 7', '{"a": {"n": 7},}']),
    "numeric": ("numeric", "7", "8", [
        "The answer is 7. I checked it 2 times.", "So we have 7 apples.", "**7** (3 + 4)", "It is not 8 but 7.",
    ], ["It is not 7.", "7, or maybe 8", "The answer is 8.", "Is it 7?", "between 6 and 7"]),
    "code": ("code", None, f"```python\n{G}\n```", [
        f"```python\n{F}\n```", f"```python\n{F}\n```\nOutput:\n```\n9\n```",
        "1. So:\n   ~~~py\n   def f(x):\n       return x * x\n   ~~~",
        f"```python\n{G}\n```\nNo:\n```python title=\"f.py\"\n{F}\n```\n```python\nprint(f(3))\n```",
    ], [f"```python\n{G}\n```", "I give up.", f"```python\n{F}\n```\nRather:\n```python\n{G}\n```"]),
}  # fmt: skip
ROWS = [(name, reply, True) for name in CASES for reply in CASES[name][3]]
ROWS += [(name, reply, False) for name in CASES for reply in CASES[name][4]]


@pytest.mark.parametrize("wrapping", WRAPPED)
@pytest.mark.parametrize("name", CASES)
def test_right_replies_are_rewarded_and_wrong_ones_are_not(name, wrapping):
    if name == "code" and sys.platform != "linux":
        pytest.skip("the local sandbox needs Linux")
    spec, gold, decoy, _, _ = CASES[name]
    before, after = WRAPPED[wrapping]
    rows = [(reply, right) for which, reply, right in ROWS if which == name]
    meta = {"tests": ["assert f(3) == 9", "assert f(4) == 16"]} if name == "code" else {}
    samples = [Sample("", before.format(decoy=decoy) + reply + after, gold, meta=meta) for reply, _ in rows]
    scores = load(spec).score(samples)
    assert [(reply, score.value) for (reply, _), score in zip(rows, scores, strict=True)] == [
        (reply, float(right)) for reply, right in rows
    ]


@pytest.mark.parametrize("name", CASES)
def test_a_right_answer_that_stands_in_the_thoughts_alone_is_not_rewarded(name):
    spec, gold, _, right, _ = CASES[name]
    meta = {"tests": ["assert f(3) == 9"]} if name == "code" else {}
    texts = [form.format(reply) for reply in right for form in ("<think>{}", "<think>{}</think>", "{}</think>\n")]
    scores = load(spec).score([Sample("", text, gold, meta=meta) for text in texts])
    assert {score.value for score in scores} == {0.0}


def test_the_set_is_as_large_as_it_says():
    assert len(ROWS) * len(WRAPPED) >= 350
