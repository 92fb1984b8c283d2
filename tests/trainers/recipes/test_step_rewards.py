"""Where rewards inside a trajectory come from: tool calls of a turn, and steps that a process reward model scores."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.engines import tiny  # noqa: E402
from tests.trainers.recipes.test_tools import call, collect  # noqa: E402
from tests.trainers.recipes.test_tools_steps import echo, with_echo  # noqa: E402
from tests.trainers.recipes.writer import Writer  # noqa: E402
from verikit.engines.types import Output  # noqa: E402
from verikit.errors import ConfigError, TrainerError  # noqa: E402
from verikit.judges.genprm.stepwise import StepVerifier  # noqa: E402
from verikit.trainers.recipe import Setting, StepReward  # noqa: E402
from verikit.trainers.recipes import step_rewards  # noqa: E402
from verikit.trainers.recipes.step_rewards import StepRewardOptions, StepRewards, place  # noqa: E402
from verikit.trainers.recipes.tools.toolbox import ToolResult  # noqa: E402
from verikit.types import Score  # noqa: E402


def turn_ends(trajectory):
    """The last token of each sampled stretch."""
    mask = [*trajectory.mask, False]
    return [at for at, own in enumerate(trajectory.mask) if own and not mask[at + 1]]


def test_a_turn_is_rewarded_for_calls_that_all_ran_and_one_without_calls_is_not(tmp_path):
    made = with_echo(tmp_path, total_tokens=9000, turns=5)
    trajectory, _ = collect(made, echo("a"), echo("b") + echo("bad"), call("none"), "42")
    ends = turn_ends(trajectory)
    assert len(ends) == 4
    assert trajectory.step_rewards == tuple(map(StepReward, ends[:3], [1.0, 0.0, 0.0]))
    assert collect(with_echo(tmp_path), "42")[0].step_rewards == ()


def test_calls_of_the_last_turn_are_not_run_and_give_no_reward(tmp_path):
    trajectory, _ = collect(with_echo(tmp_path, turns=2), echo("a"), echo("b"))
    assert [step.value for step in trajectory.step_rewards] == [1.0]


def test_a_tool_that_is_down_leaves_no_turn_reward_of_its_own(tmp_path):
    made = with_echo(tmp_path)

    made.toolbox.tools["echo"].run = lambda arguments: [ToolResult("", fault="the tool is down")]
    trajectory, _ = collect(made, echo("a"), "42")
    assert (trajectory.reward, trajectory.step_rewards) == (None, ())


class Marked(StepVerifier):
    """A step is as good as the number behind its last colon; `?` is unscored."""

    name = "marked"

    def score_steps(self, solutions, samples):
        return [[self.mark(step) for step in solution.steps] for solution in solutions]

    @staticmethod
    def mark(step):
        told = step.rpartition(":")[2].strip()
        return Score.error("nobody knows") if told == "?" else Score(float(told))


def recipe(folder, monkeypatch, **options):
    row = {"prompt": "What is 6 * 7?", "answer": "42", "steps": ["of another: 1"]}
    (folder / "problems.jsonl").write_text(f"{json.dumps(row)}\n" * 2)
    load = step_rewards.verikit.load
    monkeypatch.setattr(step_rewards.verikit, "load", lambda spec: Marked() if spec == "marked" else load(spec))
    given = {"data": "problems.jsonl", "held_out_size": 1, "prompts": 1, "samples": 1, "steps": "marked"} | options
    return StepRewards(StepRewardOptions(**given), Setting(tiny.tokenizer(), 0, folder, "step"))


def test_the_score_of_each_step_is_at_the_token_its_text_ends_with(tmp_path, monkeypatch):
    made = recipe(tmp_path, monkeypatch)
    text = "six times – é: 0.25\n\nseven : ?\n\nso 42: 1"
    sampler = Writer(made.setting.tokenizer, lambda prompt: text)
    (trajectory,) = made.collect(sampler, 1)
    assert [step.value for step in trajectory.step_rewards] == [0.25, None, 1.0]
    start = trajectory.mask.index(True)
    before = [
        made.setting.tokenizer.decode(trajectory.ids[start : step.end + 1], skip_special_tokens=True)
        for step in trajectory.step_rewards
    ]
    assert [found.rstrip() for found in before] == [text.split("\n\nseven")[0], text.split("\n\nso")[0], text]
    assert trajectory.step_rewards[-1].end == len(trajectory.ids) - 1
    assert trajectory.reward is not None


def test_a_solution_that_is_not_reviewed_by_step_has_one_reward_at_its_end():
    tokenizer = tiny.tokenizer()
    text = "one\n\ntwo"
    output = Output(text, tuple(tokenizer.encode(text)))
    last = len(output.ids) - 1
    assert place(("one", "two"), [Score(0.0)], output, tokenizer) == [StepReward(last, 0.0)]
    assert place((), [Score.error("down")], output, tokenizer) == [StepReward(last, None)]
    lost = place(("one", "never said"), [Score(1.0), Score(1.0)], output, tokenizer)
    assert [step.value for step in lost] == [1.0, None]


def test_a_process_reward_model_is_needed_and_asked_before_a_run(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="names no process reward model"):
        recipe(tmp_path, monkeypatch, steps="")
    with pytest.raises(ConfigError, match="'answer' scores no steps"):
        recipe(tmp_path, monkeypatch, steps="answer")
    probes = dict(recipe(tmp_path, monkeypatch).probes())
    monkeypatch.setattr(Marked, "mark", lambda self, step: Score(1.0))
    assert probes["steps"]() == "marked scores"
    monkeypatch.setattr(Marked, "mark", lambda self, step: Score.error("the engine is down"))
    with pytest.raises(TrainerError, match="the engine is down"):
        probes["steps"]()
