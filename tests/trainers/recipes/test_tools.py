"""Rollouts with tools: forms, masks, limits, hostile calls, faults, and the tiny world."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.trainers.conftest import make, same, train  # noqa: E402
from tests.trainers.recipes.test_r1_searcher import keep  # noqa: E402
from tests.trainers.recipes.writer import Writer  # noqa: E402
from verikit.errors import ConfigError, EngineError  # noqa: E402
from verikit.sandbox import Failure, RunLimits, RunResult  # noqa: E402
from verikit.trainers.config import load_config, shipped  # noqa: E402
from verikit.trainers.distributed import World  # noqa: E402
from verikit.trainers.experience import experience  # noqa: E402
from verikit.trainers.learner import Learner  # noqa: E402
from verikit.trainers.policy import PolicyModel  # noqa: E402
from verikit.trainers.recipe import Setting  # noqa: E402
from verikit.trainers.recipes.tiny_model import make_llama, make_tokenizer  # noqa: E402
from verikit.trainers.recipes.tools.forms import make_form  # noqa: E402
from verikit.trainers.recipes.tools.recipe import ToolOptions, ToolRecipe  # noqa: E402
from verikit.trainers.recipes.tools.toolbox import (  # noqa: E402
    FunctionTool,
    Interpreter,
    Toolbox,
    ToolResult,
    shortened,
)
from verikit.trainers.recipes.tools.world import ToolWorld, ToolWorldOptions  # noqa: E402
from verikit.trainers.warmup import warm_up  # noqa: E402

KNOWS_TOOLS = (  # as Qwen2.5's, shortened
    "{% if tools %}<|im_start|>system\n# Tools\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|im_end|>\n"
    "{% endif %}{% for message in messages %}{% if message.role == 'tool' %}<|im_start|>user\n<tool_response>\n"
    "{{ message.content }}\n</tool_response>{% else %}<|im_start|>{{ message.role }}\n{{ message.content }}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
KNOWS_NONE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOOLS = '''
import time
from verikit.errors import VerikitError

CALLS = []

def lookup(key: str, times: int = 1) -> str:
    """Look a key up.

    Args:
        key: What is looked up.
        times: How often.
    """
    if key == "hang":
        time.sleep(60)
    if key == "down":
        raise VerikitError("the data base is down")
    if key == "odd":
        return {"key": key, "found": [1, None]}
    if key == "half":
        return "\\ud800!"
    return {"a": "1", "b": "2"}[key] * times

def bare(key):
    """Look."""
'''


def tokenizer(template=KNOWS_TOOLS):
    """One token a character, with the special tokens and tags of the Qwen family."""
    made = make_tokenizer(["?", "\n", *map(chr, range(32, 127))])
    made.backend_tokenizer.model.unk_token = "?"
    made.add_special_tokens({"eos_token": "<|im_end|>", "additional_special_tokens": ["<|im_start|>"]})
    made.add_tokens(["<tool_call>", "</tool_call>"])
    made.chat_template = template
    return made


def recipe(folder, template=KNOWS_TOOLS, **options):
    """The recipe on one problem."""
    row = {"prompt": "What is 6 * 7?", "answer": "42", "calls": "any"}
    row["trajectory"] = [{"name": "python", "arguments": {"code": "print(1)"}}]
    (folder / "problems.jsonl").write_text(f"{json.dumps(row)}\n" * 2)
    (folder / "my_tools.py").write_text(TOOLS)
    small = {"data": "problems.jsonl", "held_out_size": 1, "prompts": 1, "samples": 1, "max_tokens": 400}
    return ToolRecipe(ToolOptions(**small | options), Setting(tokenizer(template), 0, folder))


def call(name="python", **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def collect(made, *turns):
    """Roll out a policy that says these turns one after the other; returns the trajectory and the sampler."""
    left = list(turns)
    sampler = Writer(made.setting.tokenizer, lambda text: left.pop(0) if left else "enough")
    (trajectory,) = made.collect(sampler, 1)
    return trajectory, sampler


def result_of(trajectory):
    """What the model was shown first."""
    return trajectory.completion.split("<tool_response>\n")[1].split("\n</tool_response>")[0]


@pytest.fixture
def box():
    with_limits = RunLimits(wall_s=2)
    return Toolbox([Interpreter(with_limits)], 200)


def run(box, name="python", **arguments):
    (result,) = box.answer([make_form("hermes", tokenizer(), box.schemas).read(call(name, **arguments)).calls[0]])
    return result


def test_a_call_is_run_and_its_result_is_shown_in_the_templates_own_form(tmp_path):
    trajectory, sampler = collect(recipe(tmp_path), f"Let me see.\n{call(code='print(6 * 7)')}", r"It is \boxed{42}.")
    assert trajectory.completion == (
        f"Let me see.\n{call(code='print(6 * 7)')}<|im_end|>\n<|im_start|>user\n<tool_response>\n42\n</tool_response>"
        "<|im_end|>\n<|im_start|>assistant\nIt is \\boxed{42}.<|im_end|>"
    )
    assert (trajectory.reward, trajectory.answer, trajectory.finished) == (1.0, "42", True)
    whole = sampler.tokenizer.decode(trajectory.ids)
    assert whole.startswith('<|im_start|>system\n# Tools\n{"type": "function", "function": {"name": "python"')
    assert list(trajectory.ids) == sampler.tokenizer(whole, add_special_tokens=False).input_ids
    assert list(sampler.requests[1].prompt) == list(trajectory.ids[: len(sampler.requests[1].prompt)])


def test_a_template_without_tools_is_told_of_them_and_of_results_in_hermes_own_words(tmp_path):
    made = recipe(tmp_path, KNOWS_NONE, system="Be brief.")
    trajectory, sampler = collect(made, call(code="print(6 * 7)"), "42")
    whole = sampler.tokenizer.decode(trajectory.ids)
    assert whole.startswith("<|im_start|>system\nBe brief.\n\nYou may call one or more functions")
    assert whole.count("<|im_start|>system") == 1
    assert '"name": "python"' in whole
    assert "<|im_start|>user\n<tool_response>\n42\n</tool_response><|im_end|>" in trajectory.completion


def test_only_sampled_tokens_are_masked_in_and_only_they_get_a_gradient(tmp_path):
    made = recipe(tmp_path, samples=4)
    sampler = Writer(made.setting.tokenizer, lambda text: "42" if "_response" in text else call(code="print(42)"))
    trajectories = made.collect(sampler, 1)
    trajectory = trajectories[0]
    own = sampler.tokenizer.decode([token for token, mine in zip(trajectory.ids, trajectory.mask, strict=True) if mine])
    assert own == f"{call(code='print(42)')}<|im_end|>42<|im_end|>"

    model = make_llama(made.setting.tokenizer, 0, positions=1024)
    grads = []
    model.model.norm.register_forward_hook(lambda module, inputs, out: keep(out, grads))
    config = load_config("tools-tiny", ['loss.kind="cispo"', "batch.share_prompts=false", "batch.tokens=99999"])
    rewarded = [replace(each, reward=reward) for each, reward in zip(trajectories, (1.0, 0.0, 0.0, 1.0), strict=True)]
    rows = experience(rewarded, config, None).rows
    Learner(PolicyModel(model), World(), config, config.optimizer, config.loss, 1).learn(rows, 1)
    (grad,) = grads
    learnt = {(row, index + 1) for row, index in grad.abs().sum(-1).nonzero().tolist()}
    assert learnt == {(row, at) for row, each in enumerate(trajectories) for at, mine in enumerate(each.mask) if mine}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('<tool_call>\n{"name": "python", "arguments": {"code": }}\n</tool_call>', "error: "),
        ("<tool_call>\nrm -rf\n</tool_call>", "error: "),
        ('<tool_call>{"name": "python"', "error: "),
        ("<tool_call>" + "[" * 5000 + "</tool_call>", "error: "),
        (call("shell", command="ls"), "error: there is no tool 'shell'; there are python"),
        (call(), "error: bad arguments of python: 'code' is a required property"),
        (call(code=7), "error: bad arguments of python: code: 7 is not of type 'string'"),
        (call(code="1 / 0"), "error: ZeroDivisionError: division by zero (line 1)"),
        (call(code="print(1)\nx"), "1\nerror: NameError: name 'x' is not defined (line 2)"),
        (call(code="x = 1"), "(nothing was printed)"),
        (call(code="while True: pass"), "error: the program ran out of time"),
    ],
)
def test_what_is_wrong_with_a_call_is_told_to_the_model_and_costs_no_score(tmp_path, said, told):
    trajectory, _ = collect(recipe(tmp_path, tool_seconds=3.0, max_tokens=6000, total_tokens=9000), said, "42")
    assert result_of(trajectory).startswith(told)
    assert trajectory.reward == 1.0


@pytest.mark.parametrize("text", ["<|im_end|>", "<|im_start|>system", "</tool_response>", "<tool_call>", "<｜User｜>"])
def test_template_tokens_in_a_result_have_no_force(tmp_path, text):
    trajectory, sampler = collect(recipe(tmp_path), call(code=f"print({text[0]!a} + {text[1:]!a})"), "42")
    ids = sampler.tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"])
    plain, _ = collect(recipe(tmp_path), call(code="print(0)"), "42")
    after = [each.ids[each.mask.index(True) :] for each in (trajectory, plain)]
    assert [[ids_after.count(token) for token in ids] for ids_after in after] == [[2, 3, 1, 1]] * 2
    assert result_of(trajectory).startswith("&#60;")


def test_a_result_that_would_become_a_special_token_after_all_is_not_shown(tmp_path):
    made = recipe(tmp_path)
    made.form.disarmed = lambda text: text
    trajectory, _ = collect(made, call(code="print('<' + '|im_end|>')"), "42")
    assert result_of(trajectory) == "error: the result can't be shown"
    assert trajectory.reward == 1.0


def test_a_result_with_the_words_that_stand_in_for_a_turn_is_shown_like_any_other(tmp_path):
    trajectory, _ = collect(recipe(tmp_path), call(code="print('verikit-goes-on-here')"), "42")
    assert result_of(trajectory) == "verikit-goes-on-here"


def test_a_huge_result_is_cut_in_its_middle(tmp_path):
    trajectory, _ = collect(recipe(tmp_path, result_chars=100), call(code="print('a' * 9 + 'b' * 99999 + 'z')"), "42")
    shown = result_of(trajectory)
    assert shown.startswith("a" * 9)
    assert shown.endswith("z")
    assert "(99909 characters left out)" in shown
    assert len(shown) < 160
    assert shortened("abcdef", 6) == "abcdef"
    assert [text for text in shortened("abcdefg", 5).split("\n") if "left" not in text] == ["abc", "fg"]


def test_turns_calls_and_tokens_are_limited(tmp_path):
    again = call(code="print(1)")
    trajectory, sampler = collect(recipe(tmp_path, turns=3), *[again] * 9)
    assert len(sampler.requests) == 3
    assert not trajectory.finished
    assert trajectory.completion.endswith("</tool_call><|im_end|>")  # the last turn's calls are not run

    made = recipe(tmp_path, max_calls=2, max_tokens=9000, total_tokens=20000)
    trajectory, _ = collect(made, again * 100, "42")
    shown = trajectory.completion.split("<tool_response>\n")[1:]
    assert [text.split("\n")[0] for text in shown] == [
        "1",
        "1",
        "error: no more than 2 calls are allowed: answer now",
    ]
    assert made.metrics()["failed_calls"] == pytest.approx(1 / 3)

    trajectory, _ = collect(recipe(tmp_path, max_tokens=20), again)
    assert (sum(trajectory.mask), trajectory.finished) == (20, False)
    start = len(collect(recipe(tmp_path), "42")[0].ids) - 3
    trajectory, sampler = collect(recipe(tmp_path, total_tokens=start + 100), call(code="print('1' * 500)"), "42")
    assert len(trajectory.ids) == start + 100
    assert len(sampler.requests) == 1


def test_functions_are_called_and_their_errors_told(tmp_path):
    made = recipe(tmp_path, tools=["my_tools.py:lookup"], tool_seconds=60)
    trajectory, sampler = collect(made, call("lookup", key="a", times=2), "42")
    assert result_of(trajectory) == "11"
    assert '"What is looked up."' in sampler.tokenizer.decode(trajectory.ids)
    box = made.toolbox
    assert run(box, "lookup", key="odd").text == '{"key": "odd", "found": [1, null]}'
    assert run(box, "lookup", key="half").text == "?!"
    assert run(box, "lookup", key="x") == ToolResult("error: KeyError: 'x'", failed=True)
    assert run(box, "lookup", key="a", much=1).text.startswith("error: TypeError")
    assert run(box, "lookup", key="a", times="1").text.endswith("times: '1' is not of type 'integer'")
    assert "the data base is down" in run(box, "lookup", key="down").fault
    trajectory, _ = collect(made, call("lookup", key="down"), "42")
    assert trajectory.reward is None
    assert "the data base is down" in trajectory.answer
    made.close()
    hasty = recipe(tmp_path, tools=["my_tools.py:lookup"], tool_seconds=0.5)
    assert run(hasty.toolbox, "lookup", key="hang").text.startswith("error: lookup was stopped")
    hasty.close()


def test_faults_of_sandbox_and_engine_leave_their_rollouts_unscored_and_the_others_alone(tmp_path, monkeypatch):
    class Down:
        def map(self, jobs):
            return [RunResult("infra_error", error=Failure("infra", "no fork server")) for _ in jobs]

    monkeypatch.setattr("verikit.trainers.recipes.tools.toolbox.chosen_sandbox", lambda name: Down())
    made = recipe(tmp_path, samples=4)
    turns = iter(range(100))
    sampler = Writer(made.setting.tokenizer, lambda text: call(code="1") if next(turns) % 2 else "42")
    assert [each.reward for each in made.collect(sampler, 1)] == [1.0, None, 1.0, None]
    assert made.metrics()["faults"] == 0.5
    trajectory, _ = collect(recipe(tmp_path), EngineError("gone"))
    assert trajectory.reward is None
    assert "gone" in trajectory.answer


def test_programs_run_in_the_sandbox(box, tmp_path):
    assert "error: " in run(box, code="import socket\nsocket.create_connection(('127.0.0.1', 80))").text
    assert run(box, code=f"open({str(tmp_path / 'x')!r}, 'w').write('1')").failed
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("reward", "value"),
    [
        ("tool_calls", 1.0),
        ("trajectory(match='unordered')", 1.0),
        ("trajectory(match='none', most=0)", 0.0),
        ("trajectory(match='none', forbidden=['python'])", 0.0),
    ],
)
def test_verifiers_of_whole_conversations_see_the_calls(tmp_path, reward, value):
    trajectory, _ = collect(recipe(tmp_path, reward=reward), call(code="print(1)"), "42")
    assert trajectory.reward == value


def test_a_step_costs_all_turns_of_a_rollout_and_their_calls(tmp_path):
    cost = recipe(tmp_path, turns=3, max_tokens=100, total_tokens=4096, max_calls=5, samples=4, prompts=2).step_cost()
    assert (cost.completions, cost.tokens, cost.calls["tool calls"]) == ((8, 8), 300, (0, 40))
    cost = recipe(tmp_path, turns=1, max_tokens=100, total_tokens=50).step_cost()
    assert (cost.tokens, cost.calls["tool calls"]) == (50, (0, 0))


def test_calls_that_are_only_thought_of_are_none(tmp_path):
    said = f"<think>I could write {call(code='print(1)')} here.</think>42"
    trajectory, _ = collect(recipe(tmp_path), said)
    assert (trajectory.reward, trajectory.finished) == (1.0, True)


def test_bare_json_is_a_call_only_where_other_families_are_read(tmp_path):
    said = '{"name": "python", "arguments": {"code": "print(5)"}}'
    assert collect(recipe(tmp_path), said)[0].completion == said + "<|im_end|>"
    assert "<tool_response>\n5\n" in collect(recipe(tmp_path, calls="any"), said, "42")[0].completion


def test_fenced_code_is_run_where_its_output_is_asked_for(tmp_path):
    made = recipe(tmp_path, KNOWS_NONE, calls="fenced", reward="0.5*answer + 0.5*tool_calls")
    said = "First:\n```python\nprint('```')\nprint(6 * 7)\n```\n```output"
    trajectory, _ = collect(made, said, r"So \boxed{42}.")
    assert trajectory.completion == f"{said}\n&#96;``\n42\n```\nSo \\boxed{{42}}.<|im_end|>"
    assert trajectory.reward == 1.0
    own = [token for token, mine in zip(trajectory.ids, trajectory.mask, strict=True) if mine]
    assert made.setting.tokenizer.decode(own) == said + "So \\boxed{42}.<|im_end|>"
    trajectory, _ = collect(made, "```output", "42")
    assert "error: no ```python block before ```output" in trajectory.completion.replace("&#96;``", "```")


def test_a_base_model_continues_plain_text_with_fenced_code(tmp_path):
    made = recipe(tmp_path, "", calls="fenced", chat=False)
    trajectory, sampler = collect(made, "\n```python\nprint(42)\n```\n```output", "42")
    assert sampler.tokenizer.decode(trajectory.ids).startswith("What is 6 * 7?\n```python")
    assert trajectory.reward == 1.0


@pytest.mark.parametrize(
    ("options", "template", "told"),
    [
        ({}, "", "need a chat template"),
        ({"chat": False}, KNOWS_TOOLS, "no chat template"),
        ({"calls": "fenced", "tools": ["my_tools.py:lookup"]}, KNOWS_TOOLS, "runs programs"),
        ({"tools": ["my_tools.py:bare"]}, KNOWS_TOOLS, "can't be described"),
        ({"tools": ["my_tools.py:missing"]}, KNOWS_TOOLS, "has no 'missing'"),
        ({"tools": ["python", "python"]}, KNOWS_TOOLS, "same name"),
        ({}, "{{ messages[-1].content }}", "does not show the model's turn"),
        ({}, "{{ raise_exception('no tools') }}", "does not support tools"),
    ],
)
def test_settings_that_do_not_fit_are_refused_before_anything_is_sampled(tmp_path, options, template, told):
    with pytest.raises(ConfigError, match=told):
        recipe(tmp_path, template, **options)


def test_check_runs_a_program(tmp_path):
    probes = dict(recipe(tmp_path).probes())
    assert probes["tools"]() == "python as hermes calls"


def test_a_function_is_described_by_its_docstring(tmp_path):
    (tmp_path / "my_tools.py").write_text(TOOLS)
    tool = FunctionTool("my_tools.py:lookup", tmp_path, 1.0)
    assert tool.schema["function"]["parameters"]["required"] == ["key"]


@pytest.mark.parametrize("name", [name for name in shipped() if name.startswith("tools")])
def test_the_configs_are_read(name):
    assert load_config(name).options["turns"] >= 2


def tiny(**changes):
    small = {"options.prompts": 2, "options.samples": 4, "options.held_out_size": 4, "warmup.steps": 2}
    wanted = small | {"warmup.gate": 0, "run.steps": 4, "run.save_every": 1, "run.samples_every": 1} | changes
    return load_config("tools-tiny", [f"{key}={json.dumps(value)}" for key, value in wanted.items()])


def test_the_tiny_worlds_demonstrations_are_its_own_transcripts(tmp_path):
    options = ToolWorldOptions(prompts=1, samples=1, reading=1.0, batch=1, held_out_size=4, problems=8)
    _, tokens = ToolWorld.make_model(options, 0)
    made = ToolWorld(options, Setting(tokens, 0, Path()))
    shown = made.demonstrations(1)[0]
    problem = next(each for each in made.problems if each.id == shown.group)
    made.problems = [problem]
    made._epochs.count = 1
    turns = iter([f'<tool_call>{{"name": "python", "arguments": {{"code": "print({problem.id})"}}}}</tool_call>'])
    answer = rf"\boxed{{{problem.answer}}}"
    (rolled,) = made.collect(Writer(tokens, lambda text: next(turns, answer)), 1)
    assert list(rolled.ids) == list(shown.ids)
    assert sum(rolled.mask) == sum(shown.mask) + 1  # the decision is not learnt
    assert rolled.reward == 1.0


def test_a_resumed_run_is_the_run_without_a_break(tmp_path):
    whole = train(tmp_path / "whole", tiny())
    trainer = make(tmp_path / "cut", tiny())
    warm_up(trainer)
    for step in (1, 2):
        trainer._train_step(step)
    trainer.close()
    trainer.folder.close()
    assert same(train(tmp_path / "cut", tiny(), resume=True), whole)
    logs = [(tmp_path / name / "samples.jsonl").read_text() for name in ("whole", "cut")]
    assert logs[0] == logs[1]
