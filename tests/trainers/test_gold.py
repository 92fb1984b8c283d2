"""run.gold: a second verifier on held-out rows, and the alarm if it falls while the reward rises."""

import random

import pytest

pytest.importorskip("torch")

from tests.trainers.conftest import make, same, settings, train
from tests.trainers.test_grpo import JITTER
from verikit.errors import ConfigError, TrainerError
from verikit.trainers.gold import RowScores, gold_fall, raised_z
from verikit.trainers.recipes.arithmetic import Arithmetic
from verikit.trainers.recipes.single_turn import SingleTurn
from verikit.trainers.run import read_log
from verikit.types import Score

ROWS = 16


def config(action="stop", **changes):
    usual = {"run__steps": 4, "run__evaluate_every": 1, "run__gold__verifier": "answer", "run__gold__action": action}
    return settings(**usual | JITTER | changes).model_copy(update={"warmup": None})


def held_out(folder, name):
    return [row[f"held-out/{name}"] for row in read_log(folder / "metrics.jsonl") if f"held-out/{name}" in row]


def rates(folder):
    return [row["lr"] for row in read_log(folder / "metrics.jsonl") if "lr" in row]


@pytest.fixture
def scripted(monkeypatch):
    """Rewards that rise, and gold by evaluation: the number of rows that it accepts."""
    gold, calls = [4, 14, 13, 4, 4, 4], []

    def scores(self, sampler, verifier, samples):
        calls.append(sampler)
        accepted, paid = gold[len(calls) - 1], 10 + len(calls)
        return [[(Score(float(row < paid)), Score(float(row < accepted)))] for row in range(ROWS)]

    monkeypatch.setattr(Arithmetic, "gold_scores", scores)
    monkeypatch.setattr(Arithmetic, "evaluate", lambda self, sampler, step: {})
    return calls


def alarm(draw, slope):
    """The evaluation of 20 at which a simulated run raises an alarm. Gold falls by `slope` each time."""
    chances = [draw.random() for _ in range(64)]
    peak, highest = [], -1.0
    for step in range(20):
        now = [RowScores(step / 100, float(draw.random() < chance - slope * step)) for chance in chances]
        if peak and gold_fall(peak, now, raised_z(2.0, step)):
            return step
        mean = sum(row.gold for row in now)
        if mean > highest:
            peak, highest = now, mean
    return None


def test_many_evaluations_of_constant_gold_rarely_raise_an_alarm_and_a_steady_fall_does():
    draw = random.Random(0)
    assert sum(alarm(draw, 0.0) is not None for _ in range(60)) <= 4
    assert sum(alarm(draw, 0.03) is not None for _ in range(20)) >= 18
    assert raised_z(2.0, 1) > 2.0
    assert raised_z(40.0, 9) < float("inf")


def test_the_alarm_needs_a_fall_beyond_noise_on_the_same_rows_and_a_rising_reward():
    draw = random.Random(0)
    before = [RowScores(0.5, float(draw.random() < 0.7)) for _ in range(200)]
    noise = [RowScores(0.6, float(draw.random() < 0.7)) for _ in range(200)]
    worse = [RowScores(0.6, row.gold * (draw.random() < 0.8)) for row in before]
    assert gold_fall(before, noise, 2.0) is None
    fall = gold_fall(before, worse, 2.0)
    assert fall is not None
    assert fall.gold < -2 * fall.error
    assert fall.reward == pytest.approx(0.1)
    assert gold_fall(before, [row._replace(reward=0.4) for row in worse], 2.0) is None
    unscored = [None] * 195 + worse[195:]
    assert gold_fall(before, unscored, 2.0) is None  # five rows show nothing


def test_healthy_runs_raise_no_alarm_and_exploited_rewards_do():
    """Thirty evaluations of 128 rows: the policy learns, or learns to please a reward with false positives."""

    def fires(seed, exploits):
        draw, peak = random.Random(seed), None
        for time in (index / 30 for index in range(30)):
            right = 0.4 + 0.3 * time - exploits * max(0.0, time - 0.3)
            false_positives = 0.05 + exploits * time
            now = []
            for _ in range(128):
                gold = draw.random() < right
                now.append(RowScores(float(gold or draw.random() < false_positives), float(gold)))
            if peak is not None and gold_fall(peak, now, 2.0) is not None:
                return True
            if peak is None or sum(row.gold for row in now) > sum(row.gold for row in peak):
                peak = now
        return False

    assert sum(fires(seed, 0.0) for seed in range(20)) == 0
    assert sum(fires(seed, 0.9) for seed in range(20)) >= 18


def test_a_run_whose_gold_falls_while_its_reward_rises_is_stopped_also_after_a_resume(tmp_path, scripted):
    told = r"step 3: gold fell by 0.625 \(standard error 0.125\) on 16 held-out rows since step 1, .* rose by 0.125"
    with pytest.raises(TrainerError, match=told):
        train(tmp_path / "run", config())
    assert held_out(tmp_path / "run", "gold") == [0.25, 0.875, 0.8125, 0.25]
    assert held_out(tmp_path / "run", "gold_alarm") == [0.0, 0.0, 0.0, 1.0]
    del scripted[-1]
    with pytest.raises(TrainerError, match=told):
        train(tmp_path / "run", config(), resume=True)


def test_the_rate_is_lowered_at_each_alarm_and_stays_so_after_a_resume(tmp_path, scripted):
    whole = train(tmp_path / "whole", config("lower", run__steps=5))
    assert len({*rates(tmp_path / "whole")[:3]}) == 1
    assert rates(tmp_path / "whole")[3] == rates(tmp_path / "whole")[0] / 2
    scripted.clear()
    stopped = make(tmp_path / "cut", config("lower", run__steps=5))
    stopped._evaluate()
    for step in (1, 2, 3):
        stopped._train_step(step)
    stopped.close()
    stopped.folder.close()
    assert same(whole, train(tmp_path / "cut", config("lower", run__steps=5), resume=True))
    assert rates(tmp_path / "cut") == rates(tmp_path / "whole")


def test_the_reward_and_gold_score_the_completions_of_the_held_out_metric(tmp_path):
    made = config("warn", run__steps=1, options__reward="answer", run__best="gold").model_copy(update={"warmup": None})
    train(tmp_path / "run", made)
    assert held_out(tmp_path / "run", "gold_reward") == held_out(tmp_path / "run", "sampled")
    assert held_out(tmp_path / "run", "gold") == held_out(tmp_path / "run", "gold_reward")
    assert [path.name for path in (tmp_path / "run/best").iterdir()] == ["1-train-00000000"]


def test_rows_that_are_trained_on_are_refused(tmp_path, monkeypatch):
    load = Arithmetic.load_problems
    monkeypatch.setattr(Arithmetic, "load_problems", lambda self: (load(self)[0] + load(self)[1][:3], load(self)[1]))
    with pytest.raises(ConfigError, match="3 held-out prompts are also trained on"):
        make(tmp_path / "run", config())


def test_a_recipe_without_gold_scores_is_refused_by_name(tmp_path, monkeypatch):
    from verikit.trainers.recipe import Recipe

    monkeypatch.setattr(SingleTurn, "gold_rows", Recipe.gold_rows)
    with pytest.raises(ConfigError, match=r"recipe arithmetic does not support run\.gold"):
        make(tmp_path / "run", config())


def test_gold_without_evaluations_or_rows_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"set run\.evaluate_every"):
        config(run__evaluate_every=0)
    with pytest.raises(ConfigError, match="at least 8, and there are 4"):
        make(tmp_path / "run", config(options__held_out_size=4))


def test_a_verifier_that_scores_nothing_stops_the_run_with_its_reason(tmp_path):
    with pytest.raises(TrainerError, match=r"scored no completion of the held-out rows: .*the judge is down"):
        train(tmp_path / "run", config(run__gold__verifier="tests.trainers.test_grpo:broken", run__gold__timeout=0))
