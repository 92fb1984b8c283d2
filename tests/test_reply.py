"""Thoughts and reply: every form of tags, mentions, and what each registered verifier reads."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.test_registry import OURS, spec_of
from verikit import Sample, Score, Verifier, verifier
from verikit.compose.guards import length_guard
from verikit.errors import UsageError
from verikit.names.registry import registered
from verikit.names.spec import load
from verikit.replies.split import TAGS, TAGS_VARIABLE, split
from verikit.replies.views import read, seen
from verikit.types import Group
from verikit.verifiers.answer import Answer
from verikit.verifiers.style.length import Length
from verikit.verifiers.tags import Tags

GPT_OSS = (
    "<|channel|>analysis<|message|>17? a<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json"
    '<|message|>{"x": 17}<|call|><|start|>assistant<|channel|>final<|message|>The answer is 8.<|return|>'
)


@pytest.mark.parametrize(("opening", "closing"), TAGS)
def test_every_pair_of_tags_sets_thoughts_off(opening, closing):
    for text in (f"{opening}17?{closing}8", f"  {opening}\n17?\n{closing}\n\n8\n", f"17?\n{closing}\n\n8"):
        found = split(text)
        assert (found.thoughts, found.reply, found.closed, found.missing) == ("17?", "8", True, "")
    unclosed = split(f"{opening}first guess \\boxed{{7}}, wait")
    assert (unclosed.reply, unclosed.closed) == ("", False)
    assert "never end" in unclosed.missing


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        (GPT_OSS, "The answer is 8."),
        (GPT_OSS.removeprefix("<|channel|>analysis<|message|>"), "The answer is 8."),
        ("<|start|>assistant" + GPT_OSS, "The answer is 8."),
        ("<|channel|>final<|message|>8<|return|>", "8"),
        ("analysisWe get 17, no.assistantfinalThe answer is 8.", "The answer is 8."),
        ("<think>a <think>b</think> 17 </think>8", "8"),
        ("<think>a <think>b</think> 17 </think>", ""),
        ("<think>I write <think> and then 17</think>8", "8"),
        ("<think>I close by </think> later. 17</think>8", "8"),
        ("<think>17</think>\n<think>18</think>\n8", "8"),
        ("<think>17</think>It is 8.\n\n<think>right?</think>Yes, 8.", "It is 8.\nYes, 8."),
        ("Sure.\n<think>17</think>\n8", "Sure.\n8"),
        ("Sure. <think>17</think> 8", "Sure.\n8"),
        ("It is 8.\n<think>\n17", "It is 8."),
        ("<think>17</think>8</think>", "8"),
        ("<think>```python\nprint(17)\n</think>\n```python\nprint(8)\n```", "```python\nprint(8)\n```"),
        ("<think>~~~\n17\n</think>\n8", "8"),
        ("<think>\n```\n17\n</think>\n```\n8\n```", "```\n8\n```"),
        ("<think>17 `</think>` 18</think>8", "8"),
        ("<think>\n```\n17\n```</think>8", "8"),
        ("~~~\n17\n~~~</think>8", "8"),
        ("<think>Is it ```python\n17\n```?</think>```python\n8\n```", "```python\n8\n```"),
        ("<think>\n\n</think>\n\n8", "8"),
    ],
)
def test_the_reply_is_what_follows_the_thoughts(text, reply):
    assert split(text).reply == reply


@pytest.mark.parametrize(
    "text",
    [
        "Use the `<think>` tag. The answer is 8.",
        "Use the <think> tag. The answer is 8.",
        "```\n<think>\n17\n</think>\n8\n```\nThat is the form.",
        "1. An example:\n   ```xml\n   <think>17</think>\n   ```\n2. The answer is 8.",
        "~~~~\n```\n</think>\n```\n~~~~\nThe answer is 8.",
        'Here:\n```python\ntext.split("</think>")\n```',
        "Close with ``</think>`` or `</thinking>`.",
        "The analysis channel of gpt-oss is `<|channel|>analysis<|message|>`.",
        "analysis of assistants",
        "I think> and reason>",
        "",
    ],
)
def test_a_mention_is_no_thought(text):
    found = split(text)
    assert (found.reply, found.thoughts, found.missing) == (text, "", "")


PIECES = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "[THINK]", "[/THINK]", "`", "```", "```py", "\n", "a", " b ", GPT_OSS, "~~~"]
    ),
    max_size=12,
).map("".join)


@settings(max_examples=examples(400), deadline=None, derandomize=True)
@given(PIECES)
def test_bounds_say_where_the_pieces_stand_and_nothing_is_in_both(text):
    found = split(text)
    assert found.reply == "\n".join(text[a:b] for a, b in found.reply_bounds)
    assert found.thoughts == "\n".join(text[a:b] for a, b in found.thought_bounds if b > a)
    taken = sorted(b for b in (*found.reply_bounds, *found.thought_bounds) if b[1] > b[0])
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(taken))
    for i, letter in enumerate(found.reply):
        assert letter == "\n" or text[found.at(i)] == letter


@pytest.mark.parametrize(
    "unit",
    ["<think>", "</think>", "<think></think>", "`</think>", "`</think>`", "``</think>`", "```\n</think>\n", "\n",
     "~~~a\n<think>\n", "> - 1. ", " ", "<|channel|>", "<|channel|>analysis", "<|end|>", "<|channel|>final<|message|>",
     "</think> ", "``` `` ` </think>"],
)  # fmt: skip
def test_splitting_takes_time_linear_in_the_text(linear, unit):
    linear(lambda text: split("<think>" + text + "!"), unit)


def test_more_tags_come_from_the_environment(monkeypatch):
    before = Length(max=3).fingerprint
    assert split("<plan>17</plan>8").reply == "<plan>17</plan>8"
    monkeypatch.setenv(TAGS_VARIABLE, "<plan> </plan> [COT] [/COT]")
    assert split("<plan>17</plan>8").reply == "8"
    assert split("[COT]17[/COT]8").reply == "8"
    assert split("<think>17</think>8").reply == "8"
    assert Length(max=3).fingerprint != before


# What each registered verifier reads. A new one has to be put here.
WHOLE = {"tags", "search_format", "searched", "soft_overlong"}
PASS_ON = {
    "all_of", "by", "cached", "cascade", "clip", "column", "first_of", "gate", "jury", "length_guard", "majority",
    "maximum", "mean", "echo_guard", "rescue", "minimum", "with_timeout", "cosine_length", "tool_calls", "trajectory",
    "turns", "bfcl_multi_turn", "docx", "files", "harbor_tests", "html", "image", "osworld", "pdf", "pptx", "service",
    "state", "table", "xlsx",
}  # fmt: skip
REPLY = {
    "answer", "boxed", "choice", "code", "cover_em", "exact", "f1", "genprm", "json_match", "json_schema", "judge",
    "length", "math", "numeric", "pairwise", "patch", "prm", "program", "reference_judge", "regex", "step_column",
    "bleu", "cer", "chrf", "citations", "csv", "fuzzy", "instructions", "language", "openai_grader", "reasoning_gym",
    "refusal", "repetition", "rm", "rouge", "rubric", "sql", "ter", "toml", "wer", "xml", "yaml",
}  # fmt: skip


def test_every_registered_verifier_states_what_it_reads():
    assert set(OURS) == WHOLE | PASS_ON | REPLY
    for name in OURS:
        spec = spec_of(name) if name != "step_column" else "step_column('s')"
        expected = "all" if name in WHOLE else None if name in PASS_ON else "reply"
        assert load(spec).reads == expected, name
    assert {entry.name for entry in registered("verifiers").values()} >= set(OURS)


SCORED = {
    "answer": "8", "boxed": "\\boxed{8}", "choice": "B", "code": "def f(x): return 8", "cover_em": "8",
    "exact": "8", "f1": "8",
    "json_match": "8", "json_schema": '{"a": 8}', "length": "8", "math": "8", "numeric": "8", "regex": "8",
}  # fmt: skip
OPTIONS = {"json_schema": "json_schema({'required': ['a']})", "regex": "regex('8')", "length": "length(max=30)"}


@pytest.mark.parametrize("name", SCORED)
@pytest.mark.parametrize(
    "wrap", ["{}", "0.5*{}", "cached({}, 9)", "first_of({}, exact)", "by('k', {{'a': exact}}, default={})"]
)
def test_thoughts_are_never_scored_as_the_reply(name, wrap):
    right = SCORED[name]
    gold = "B" if name == "choice" else "8"
    v = load(wrap.format(OPTIONS.get(name, name)))
    meta = {"tests": ["assert f(1) == 8"]} if name == "code" else {}
    full = 0.5 if wrap.startswith("0.5") else 1.0
    said = {
        f"<think>17? or A, {{}}</think>{right}": full,
        f"17? or A, {{}}</think>\n{right}": full,
        f"<think>{right}": 0.0,
        f"<think>{right}</think>": 0.0,
        f"<think>{right}</think>I give up, sorry, this is too long a question for me.": 0.0,
    }
    scores = v.score([Sample("", text, gold, meta=meta) for text in said])
    assert [score.value for score in scores] == list(said.values())


def test_a_missing_reply_follows_no_instruction_and_is_counted_among_the_judged():
    row = {"instruction_id_list": ["punctuation:no_comma", "detectable_format:title"], "kwargs": [{}, {}]}
    for value in ("all", "share"):
        v = load(f"instructions(value={value!r})")
        for thoughts in ("<think><<title>>", "<think>no commas, <<title>></think>"):
            score = v(thoughts, **row)
            assert (score.value, score.reason[:9], score.answer) == (0.0, "no reply:", None)
            assert [part.value for part in score.parts.values()] == [0.0, 0.0]
            assert score.usage["instructions"] == 2 * score.usage["prompts_judged"] == 2
            assert not any(count for key, count in score.usage.items() if key.startswith(("followed", "prompts_s")))
    assert v("<think>x", instruction_id_list=["no:such"], kwargs=[{}]).status == "error"
    assert v("<think>x").status == "error"


def test_what_was_read_is_said():
    text = "<think>17?</think>The answer is 8."
    score = Answer()(text, "8")
    assert score.text == f"read: the reply, characters 18 to {len(text)} of {len(text)}"
    assert Answer()("The answer is 8.", "8").text == ""


def test_the_reason_says_why_there_is_no_reply():
    assert Answer()("<think>\\boxed{7}", "7") == Score(0.0, reason="no reply: the thoughts never end")
    assert Answer()("<think>\\boxed{7}</think>", "7") == Score(0.0, reason="no reply: nothing follows the thoughts")
    assert Answer()("", "7").reason != Answer()("<think></think>", "7").reason


def test_what_is_read_is_an_option():
    text = "<think>one two three</think>four"
    assert Length(max=1, unit="words")(text).value == 1.0
    assert Length(min=3, max=3, unit="words", reads="thoughts")(text).value == 1.0
    assert Length(min=4, unit="words", reads="all")("<think>one two three</think> four").value == 1.0
    assert load("length(max=1, reads='all')").reads == "all"
    assert Length(reads="all").fingerprint != Length().fingerprint
    with pytest.raises(UsageError, match="reads must be one of"):
        Length(reads="everything")


def test_a_function_sees_the_reply_and_the_thoughts():
    @verifier
    def plain(sample):
        return sample.completion == "8" and sample.thoughts == "17"

    @verifier(reads="all")
    def whole(sample):
        return sample.completion == "<think>17</think>8"

    assert plain("<think>17</think>8").value == 1.0
    assert whole("<think>17</think>8").value == 1.0
    assert plain.fingerprint != verifier(plain._function, reads="all").fingerprint


def test_parts_that_read_all_see_the_thoughts_within_any_combination():
    v = 0.5 * Answer() + 0.5 * Tags("think", "answer") >> (lambda value: value)
    assert v("<think>17</think><answer>8</answer>", "8").value == 1.0
    assert length_guard(Tags("think", "answer"), 99)("<think>17</think><answer>8</answer>").value == 1.0


def test_a_verifier_that_forgets_to_say_reads_the_reply():
    class Mine(Verifier):
        name = "mine"

        def score_batch(self, samples):
            return [Score(float(len(sample.completion))) for sample in samples]

    values = [score.value for score in Mine().score([Sample("", "<think>17</think>8"), Sample("", "<think>17")])]
    assert values == [1.0, 0.0]


def test_thoughts_that_came_apart_are_thoughts():
    message = {"role": "assistant", "content": "8", "reasoning_content": "17"}
    group = Group("q", ["8", "8"], "17", candidate_meta=[message, {"reasoning": "17"}])
    for sample in group.samples():
        assert sample.thoughts == "17"
        assert Answer().score([seen(sample, "reply")[0]])[0].value == 0.0
        assert seen(sample, "thoughts")[0].completion == "17"
        assert seen(sample, "all")[0].completion == "<think>\n17\n</think>\n\n8"
        assert Length(min=1).score([sample])[0].text == "read: the reply; 2 characters of thoughts came apart"
    assert Answer().score([Sample("", "", "17", thoughts="17")])[0].reason.startswith("no reply")


OPENED = [
    "Q?\n<think>", "Q?<|assistant|>\n<think>\n", "Q?[THINK]", "<|start|>assistant<|channel|>analysis<|message|>",
    [{"role": "user", "content": "Q?"}, {"role": "assistant", "content": "<think>\n"}],
]  # fmt: skip


@pytest.mark.parametrize("prompt", OPENED)
def test_a_completion_that_never_closes_the_thoughts_of_its_prompt_has_no_reply(prompt):
    cut = read(Sample(prompt, "so the answer is 17"), "reply")
    assert cut.sample.completion == ""
    assert cut.sample.thoughts == "so the answer is 17"
    assert "never closes" in cut.missing
    assert read(Sample(prompt, "so the answer is 17"), "thoughts").sample.completion == "so the answer is 17"


@pytest.mark.parametrize(
    "prompt",
    ["Q?", "Q?\n<think>\n\n</think>\n\n", "Put thoughts in <think> tags.", [{"role": "user", "content": "<think>"}]],
)
def test_a_prompt_that_opens_no_thoughts_changes_nothing(prompt):
    assert read(Sample(prompt, "17"), "reply").sample.completion == "17"


def test_thoughts_that_are_closed_or_came_apart_are_read_as_ever():
    assert read(Sample("Q?<think>", "28</think>17"), "reply").sample.completion == "17"
    assert read(Sample("Q?<think>", "<think>28</think>17"), "reply").sample.completion == "17"
    assert read(Sample("Q?<think>", "17", thoughts="28"), "reply").sample.completion == "17"
