"""Rollouts with tools by exact numbers: requests, messages, limits, metrics, evaluation, results of every kind."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.trainers.recipes.test_tools import KNOWS_NONE, KNOWS_TOOLS, call, collect, recipe, tokenizer  # noqa: E402
from tests.trainers.recipes.writer import Writer  # noqa: E402
from verikit.base import FunctionVerifier  # noqa: E402
from verikit.calls import ToolCall  # noqa: E402
from verikit.engines.types import Generation, Output  # noqa: E402
from verikit.errors import ContextOverflow, EngineError, HelperError, TrainerError, VerikitError  # noqa: E402
from verikit.sandbox import Failure, RunLimits, RunResult  # noqa: E402
from verikit.trainers.recipe import Setting, Transcript  # noqa: E402
from verikit.trainers.recipes.tools import toolbox as boxes  # noqa: E402
from verikit.trainers.recipes.tools.forms import FencedForm, TemplateForm, with_system  # noqa: E402
from verikit.trainers.recipes.tools.functions import answer  # noqa: E402
from verikit.trainers.recipes.tools.rollout import ToolRollout, rollout_metrics  # noqa: E402
from verikit.trainers.recipes.tools.toolbox import (  # noqa: E402
    FunctionTool,
    Interpreter,
    Tool,
    Toolbox,
    ToolResult,
    as_text,
    shortened,
)
from verikit.trainers.recipes.tools.world import ToolWorld, ToolWorldOptions  # noqa: E402
from verikit.types import Score  # noqa: E402


class Echo(Tool):
    """Says what it was given, several at once."""

    def __init__(self, name="echo"):
        self.name, self.asked = name, []
        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        self.schema = {"type": "function", "function": {"name": name, "description": "Echo.", "parameters": text}}

    def run(self, arguments):
        self.asked.append([given["text"] for given in arguments])
        return [ToolResult(f"{self.name}: {given['text']}", failed=given["text"] == "bad") for given in arguments]


def with_echo(folder, template=KNOWS_TOOLS, **options):
    """The recipe with tools that need no process."""
    made = recipe(folder, template, **options)
    made.toolbox = Toolbox([Echo(), Echo("other")], 100)
    made.form = TemplateForm(made.setting.tokenizer, made.toolbox.schemas)
    return made


def echo(text, name="echo"):
    return call(name, text=text)


def test_each_turn_is_asked_with_the_options_limits_and_a_seed_of_its_own(tmp_path):
    made = with_echo(tmp_path, max_tokens=150, turns=3, samples=2, temperature=0.7, top_p=0.9)
    total = made.options.total_tokens = len(made.form.prompt(made.prompt(made.problems[0]))) + 350
    sampler = Writer(made.setting.tokenizer, lambda text: echo("x"))
    made.collect(sampler, 1)
    requests = sampler.requests
    assert len(requests) == 6
    assert [request.max_tokens for request in requests] == [min(150, total - len(r.prompt)) for r in requests]
    assert {request.max_tokens < 150 for request in requests} == {True, False}
    assert {(request.temperature, request.top_p, request.logprobs) for request in requests} == {(0.7, 0.9, 0)}
    assert len({request.seed for request in requests}) == 6
    seeds = [request.seed for request in requests]
    sampler.requests.clear()
    made.collect(sampler, 2)
    assert not {request.seed for request in sampler.requests} & set(seeds)


def test_held_out_problems_are_sampled_and_greedy_and_what_has_no_score_is_left_out(tmp_path):
    made = with_echo(tmp_path, evaluate_samples=3, temperature=0.6, top_p=0.8)
    replies = iter(["42", "41", EngineError("gone"), "42"])
    sampler = Writer(made.setting.tokenizer, lambda text: next(replies))
    assert made.evaluate(sampler, 1) == {"sampled": 0.5, "greedy": 1.0}
    asked = [(request.temperature, request.top_p, request.logprobs) for request in sampler.requests]
    assert asked == [(0.6, 0.8, None)] * 3 + [(0.0, 1.0, None)]
    assert len({request.seed for request in sampler.requests[:3]}) == 3
    with pytest.raises(TrainerError, match="rollouts of the held-out problems are all unscored"):
        made.accuracy(Writer(made.setting.tokenizer, lambda text: EngineError("gone")), 0.0, 1)
    made.held_out = []
    assert made.accuracy(sampler, 0.0, 1) == 0.0


def test_the_verifier_is_shown_the_messages_with_their_calls_and_results(tmp_path):
    made, seen = with_echo(tmp_path), []
    made.reward = FunctionVerifier(lambda sample: seen.append(sample) or Score(0.25, answer="told"), "rule")
    first = f" Two: {echo('é')}{echo('b', 'other')}"
    trajectory, _ = collect(made, first, "<tool_call>\nnothing\n</tool_call>", " done ")
    (sample,) = seen
    assert (trajectory.reward, trajectory.answer, sample.prompt) == (0.25, "told", "What is 6 * 7?")
    messages = [dict(message) for message in sample.messages]
    broken = messages[3]["tool_calls"][0]["function"]
    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "assistant", "tool", "assistant"]
    assert [message["content"] for message in messages[:3]] == ["Two:", "echo: é", "other: b"]
    assert [asked["id"] for asked in messages[0]["tool_calls"]] == ["call-1-0", "call-1-1"]
    assert messages[0]["tool_calls"][0]["function"] == {"name": "echo", "arguments": '{"text": "é"}'}
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == [
        "call-1-0",
        "call-1-1",
        "call-2-0",
    ]
    assert broken["name"] == "unknown"
    assert broken["arguments"].startswith("(")
    assert messages[4]["content"].startswith("error: ")
    assert messages[5]["content"] == "done"


def test_calls_that_wait_together_go_to_their_tools_together_and_come_back_in_order(tmp_path):
    first, second = Echo(), Echo("other")
    box = Toolbox([first, second], 100)
    calls = [ToolCall("other", {"text": "1"}), ToolCall("echo", {"text": "2"}), ToolCall("none", {})]
    calls += [ToolCall("other", {"text": "3"}), ToolCall("echo", {}), ToolCall("echo", {}, "not JSON")]
    found = box.answer(calls)
    assert [result.text.split(":")[0] for result in found] == ["other", "echo", "error", "other", "error", "error"]
    assert [result.failed for result in found] == [False, False, True, False, True, True]
    assert (first.asked, second.asked) == ([["2"]], [["1", "3"]])
    assert found[5].text == "error: not JSON"
    assert len(box.answer([ToolCall("echo", {}, "x" * 999)])[0].text) == 100 + len(
        "\n... (207 characters left out) ...\n"
    )
    box.close()


def test_the_context_that_is_full_cuts_a_rollout_off_but_at_the_first_turn_it_is_a_fault(tmp_path):
    trajectory, _ = collect(with_echo(tmp_path), echo("x"), ContextOverflow("too long"))
    assert (trajectory.reward, trajectory.finished) == (0.0, False)
    assert "echo: x" in trajectory.completion
    made = with_echo(tmp_path)
    trajectory, _ = collect(made, ContextOverflow("too long"))
    assert (trajectory.reward, trajectory.finished) == (None, False)
    assert "too long" in trajectory.answer
    assert made.metrics()["faults"] == 1.0


@pytest.mark.parametrize(
    ("change", "told"),
    [(lambda output: replace(output, ids=(), logprobs=()), "no token ids"), (None, "0 outputs of 1")],
)
def test_an_engine_that_gives_no_ids_or_nothing_is_no_zero(tmp_path, change, told):
    made = with_echo(tmp_path)

    class Odd(Writer):
        def _generation(self, request):
            whole = super()._generation(request)
            return replace(whole, outputs=tuple(map(change, whole.outputs)) if change else ())

    (trajectory,) = made.collect(Odd(made.setting.tokenizer, lambda text: "42"), 1)
    assert trajectory.reward is None
    assert told in trajectory.answer


def test_a_turn_cut_off_by_its_tokens_calls_nothing(tmp_path):
    made = with_echo(tmp_path, max_tokens=len(echo("x")) // 2)
    trajectory, sampler = collect(made, echo("x"), "42")
    assert (trajectory.finished, len(sampler.requests)) == (False, 1)
    assert made.metrics()["calls"] == 0.0


def test_calls_over_the_limit_are_told_so_once_and_counted(tmp_path):
    made = with_echo(tmp_path, max_calls=2, max_tokens=900, total_tokens=9000)
    trajectory, _ = collect(made, echo("a"), echo("b") + echo("c") + echo("d"), "42")
    shown = [part.split("\n")[0] for part in trajectory.completion.split("<tool_response>\n")[1:]]
    assert shown == ["echo: a", "echo: b", "error: no more than 2 calls are allowed: answer now"]
    metrics = made.metrics()
    assert (metrics["calls"], metrics["failed_calls"], metrics["turns"]) == (3.0, pytest.approx(1 / 3), 3.0)
    trajectory, _ = collect(with_echo(tmp_path, max_calls=2, total_tokens=9000), echo("a") + echo("b"), "42")
    assert "no more than" not in trajectory.completion


def test_metrics_are_means_over_rollouts_and_shares_of_calls_and_tokens():
    def transcript(*pieces):
        made = Transcript([0, 0, 0])
        for kind, size in pieces:
            if kind == "own":
                made.sampled(Output("", (1,) * size, logprobs=(0.0,) * size))
            else:
                made.foreign([2] * size)
        return made

    first = ToolRollout(transcript(("own", 4), ("result", 2), ("own", 1)), turns=2, calls=3, failed=1, finished=True)
    second = ToolRollout(transcript(("own", 3)), turns=1)
    third = ToolRollout(transcript(), error=VerikitError("down"))
    assert rollout_metrics([first, second, third]) == {
        "turns": 1.0,
        "calls": 1.0,
        "called": pytest.approx(1 / 3),
        "failed_calls": pytest.approx(1 / 3),
        "observation_share": 0.2,
        "faults": pytest.approx(1 / 3),
    }
    nothing = rollout_metrics([third])
    assert (nothing["failed_calls"], nothing["observation_share"]) == (0.0, 0.0)
    assert rollout_metrics([]) == {}


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (RunResult("ok", stdout=" 1 \n"), ToolResult("1")),
        (RunResult("ok"), ToolResult("(nothing was printed)")),
        (RunResult("timeout", stdout="1\n"), ToolResult("1\nerror: the program ran out of time", failed=True)),
        (RunResult("memory"), ToolResult("error: the program ran out of memory", failed=True)),
        (RunResult("output"), ToolResult("error: the program printed too much", failed=True)),
        (RunResult("disk"), ToolResult("error: the program wrote too much", failed=True)),
        (RunResult("error", error=Failure("KeyError", "x", 3)), ToolResult("error: KeyError: x (line 3)", failed=True)),
        (RunResult("error"), ToolResult("error: error", failed=True)),
        (RunResult("infra_error", error=Failure("gone")), ToolResult("", fault="the sandbox failed: gone")),
    ],
)
def test_every_end_of_a_program_has_its_words(result, told, monkeypatch):
    class Box:
        def map(self, jobs):
            return [result for _ in jobs]

    monkeypatch.setattr(boxes, "chosen_sandbox", lambda name: Box())
    assert Interpreter(RunLimits()).run([{"code": "1"}, {"code": "2"}]) == [told] * 2


def test_a_sandbox_that_is_not_there_is_a_fault_of_every_call(tmp_path, monkeypatch):
    def none(name):
        raise VerikitError("no sandbox here")

    monkeypatch.setattr(boxes, "chosen_sandbox", none)
    assert Interpreter(RunLimits()).run([{"code": "1"}] * 3) == [ToolResult("", fault="no sandbox here")] * 3
    with pytest.raises(TrainerError, match="can't run a program: no sandbox here"):
        dict(recipe(tmp_path).probes())["tools"]()


def test_check_wants_the_interpreters_sum_and_only_where_there_is_one(tmp_path, monkeypatch):
    class Wrong:
        def map(self, jobs):
            return [RunResult("ok", stdout="3") for _ in jobs]

    monkeypatch.setattr(boxes, "chosen_sandbox", lambda name: Wrong())
    with pytest.raises(TrainerError, match="can't run a program: 3"):
        dict(recipe(tmp_path).probes())["tools"]()
    assert dict(with_echo(tmp_path).probes())["tools"]() == "echo, other as hermes calls"


FUNCTION = '''
import os

def die(code: int) -> str:
    """End.

    Args:
        code: Of the exit.
    """
    os._exit(code)
'''


def test_a_function_that_ends_its_process_failed_and_a_helper_that_is_gone_is_a_fault(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(FUNCTION)
    tool = FunctionTool("mine.py:die", tmp_path, 20.0)

    def gone(*args, **options):
        raise HelperError("it died twice")

    try:
        (ended,) = tool.run([{"code": 3}])
        assert (ended.failed, ended.fault) == (True, "")
        assert ended.text.startswith("error: die was stopped")
        monkeypatch.setattr(tool._helper, "call", gone)
        assert tool.run([{"code": 3}]) == [ToolResult("", fault="die: it died twice")]
    finally:
        tool.close()


def test_what_a_function_returns_or_raises_is_told_by_its_kind(tmp_path):
    (tmp_path / "kinds.py").write_text(
        "from verikit.errors import VerikitError\n"
        "def f(x):\n"
        "    if x == 1:\n        raise VerikitError('down')\n"
        "    return {'é': x} if x else 'plain'\n"
    )
    spec = "kinds.py:f"
    assert answer(spec, str(tmp_path), {"x": 0}) == ("ok", "plain")
    assert answer(spec, str(tmp_path), {"x": 2}) == ("ok", '{"é": 2}')
    assert answer(spec, str(tmp_path), {"x": 1}) == ("fault", "VerikitError: down")
    kind, text = answer(spec, str(tmp_path), {"y": 1})
    assert (kind, text.startswith("error: TypeError: ")) == ("error", True)
    assert as_text([None, "é"]) == '[null, "é"]'


def test_a_long_text_keeps_both_ends_and_the_longer_half_is_the_first():
    cut = [shortened("abcdefghij", chars) for chars in (9, 4, 3, 1, 10)]
    told = "\n... ({} characters left out) ...\n"
    assert cut == [
        "abcde" + told.format(1) + "ghij",
        "ab" + told.format(6) + "ij",
        "ab" + told.format(7) + "j",
        "a" + told.format(9),
        "abcdefghij",
    ]


def test_a_system_message_is_added_to_or_put_first():
    user = {"role": "user", "content": "q"}
    assert with_system([user], "told") == [{"role": "system", "content": "told"}, user]
    assert with_system([], "told") == [{"role": "system", "content": "told"}]
    whole = with_system([{"role": "system", "content": "old"}, user], "told")
    assert whole == [{"role": "system", "content": "old\n\ntold"}, user]


def test_what_is_said_stands_before_the_first_call_and_thoughts_are_none():
    form = TemplateForm(tokenizer(), Toolbox([Echo()], 9).schemas)
    said, calls = form.read(f"<think>{echo('no')}</think>first {echo('a')} between {echo('b')}")
    assert said == "first "
    assert [found.arguments["text"] for found in calls] == ["a", "b"]
    assert form.read("only words") == ("only words", [])
    families = TemplateForm(tokenizer(), Toolbox([Echo()], 9).schemas, families=True)
    bare = '{"name": "echo", "arguments": {"text": "x"}}'
    assert (families.read(bare).said, len(families.read(bare).calls), form.read(bare).calls) == ("", 1, [])
    assert families.read("only words") == ("only words", [])


def test_results_follow_in_the_templates_form_or_in_one_message_of_the_users():
    calls = [ToolCall("echo", {}), ToolCall("", {}, "broken")]
    known = TemplateForm(tokenizer(KNOWS_TOOLS), Toolbox([Echo()], 9).schemas)
    turn = "<|im_end|>\n<|im_start|>user\n<tool_response>\n{}\n</tool_response>"
    assert known.shown("", calls, ["1", "2"]) == (
        turn.format(1) + turn.format(2) + "<|im_end|>\n<|im_start|>assistant\n"
    )
    other = TemplateForm(tokenizer(KNOWS_NONE), Toolbox([Echo()], 9).schemas)
    assert other.shown("", calls, ["1", "2"]) == (
        "<|im_end|>\n<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>"
        "<|im_end|>\n<|im_start|>assistant\n"
    )


def test_fenced_results_stand_on_lines_of_their_own_and_the_last_python_block_before_is_run():
    form = FencedForm(tokenizer(KNOWS_NONE))
    asks = "```python\n1\n```\n```py\n2\n```\n```sh\nls\n```\n```output"
    said, calls = form.read(asks + "\nand more")
    assert said == asks.removesuffix("```output")
    assert [found.arguments["code"].strip() for found in calls] == ["2"]
    assert form.read("```python\n1\n```") == ("```python\n1\n```", [])
    assert [form.shown(text, calls, ["7", "8"]) for text in ("```output", "```output\n")] == [
        "\n7\n8\n```\n",
        "7\n8\n```\n",
    ]


def test_a_turn_s_end_token_is_told_apart_from_a_stop_text_and_from_a_cut():
    form = TemplateForm(tokenizer(), Toolbox([Echo()], 9).schemas)
    ids = form.encode("4<|im_end|>")
    assert form.text(ids, ended=True) == ("4", "<|im_end|>")
    assert form.text(ids, ended=False) == ("4<|im_end|>", "")
    assert form.text(ids[:-1], ended=True) == ("4", "")


def test_a_fault_in_any_of_a_turns_calls_leaves_the_rollout_unscored(tmp_path):
    made = with_echo(tmp_path)
    tool = made.toolbox.tools["other"]
    tool.run = lambda arguments: [ToolResult("", fault="the other is down")] * len(arguments)
    trajectory, sampler = collect(made, echo("a") + echo("b", "other"), "42")
    assert (trajectory.reward, len(sampler.requests)) == (None, 1)
    assert "the other is down" in trajectory.answer
    assert trajectory.ids[-1] == sampler.tokenizer.eos_token_id  # nothing was appended


def test_problems_keep_their_task_and_a_conversation_its_last_words_in_the_log(tmp_path):
    made = with_echo(tmp_path)
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Sum?"}]
    made.problems = [replace(made.problems[0], prompt=turns, meta={"task": "sums"})]
    trajectory, sampler = collect(made, "42")
    assert (trajectory.task, trajectory.prompt) == ("sums", "Sum?")
    assert json.loads(json.dumps(dict(trajectory.parts))) == {}
    assert "Be brief." in sampler.tokenizer.decode(trajectory.ids)


def test_an_engine_that_fails_at_the_gate_of_the_tiny_world_ends_it_with_its_error():
    options = ToolWorldOptions(held_out_size=1, problems=1)
    _, tokens = ToolWorld.make_model(options, 0)
    writer = Writer(tokens, lambda text: "")
    writer.generate = lambda requests: [Generation(error=EngineError("the worker died")) for _ in requests]
    with pytest.raises(EngineError, match="the worker died"):
        ToolWorld(options, Setting(tokens, 0, Path())).gate(writer)
