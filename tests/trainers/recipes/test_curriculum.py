"""The curriculum of single turns: which problems are replayed, and the same ones after a resume."""

from collections import Counter

import pytest

pytest.importorskip("torch")

from tests.trainers.conftest import make, same, settings, train
from tests.trainers.test_grpo import JITTER
from verikit.errors import ConfigError
from verikit.trainers.config import load_config
from verikit.trainers.recipe import Trajectory
from verikit.trainers.recipes.base import Epochs
from verikit.trainers.recipes.curriculum import Curriculum
from verikit.trainers.run import read_log


def rewarded(group, *rewards):
    return [Trajectory((1,), (True,), (0.0,), reward, group) for reward in rewards]


def seen_all(rates):
    """A curriculum that has seen each prompt once, at these success rates."""
    curriculum = Curriculum(Epochs("0", len(rates)))
    draws = {draw: curriculum.draw(draw) for draw in range(0, 2 * len(rates), 2)}  # even draws are new
    curriculum.note([each for draw, index in draws.items() for each in rewarded(draw, rates[index])])
    return curriculum


def test_half_of_a_batch_is_new_and_half_is_replayed_by_the_variance_of_its_success():
    curriculum = seen_all([0.0, 0.1, 0.5, 1.0, 0.9])
    replayed, new = Counter(), Counter()
    for draw in range(100, 2100):
        index = curriculum.draw(draw)
        (replayed if draw % 2 else new)[index] += 1
        curriculum.note([])
    assert all(count == 200 for count in new.values())
    assert len(new) == 5
    assert set(replayed) == {1, 2, 4}  # never and always solved prompts are not replayed
    assert 0.5 < replayed[2] / 1000 < 0.66  # 1 / (1 + .36 + .36)
    assert curriculum.replayed in (0.0, 1.0)


def test_a_batch_replays_no_prompt_twice_and_takes_new_ones_if_nothing_is_worth_replaying():
    curriculum = seen_all([0.5, 0.5, 0.0, 1.0])
    batch = [curriculum.draw(draw) for draw in (101, 103, 105, 107)]
    assert set(batch[:2]) == {0, 1}
    curriculum.note([])
    assert curriculum.replayed == 0.5


def test_a_rate_is_the_last_groups_and_an_unscored_group_changes_nothing():
    curriculum = seen_all([0.5])
    assert curriculum.draw(101) == 0
    curriculum.note(rewarded(101, None, None))
    assert curriculum.state()["rates"] == [[0, 0.5]]
    assert curriculum.draw(103) == 0
    curriculum.note(rewarded(103, 1.0, None, 3.0))
    assert curriculum.state()["rates"] == [[0, 1.0]]


def test_a_resumed_run_replays_the_same_problems(tmp_path):
    config = settings(run__steps=3, options__curriculum=True, **JITTER).model_copy(update={"warmup": None})
    whole = train(tmp_path / "whole", config)
    cut = make(tmp_path / "cut", config)
    cut._evaluate()
    cut._train_step(1)
    cut.close()
    cut.folder.close()
    assert same(whole, train(tmp_path / "cut", config, resume=True))
    logs = (tmp_path / "whole/samples.jsonl").read_bytes(), (tmp_path / "cut/samples.jsonl").read_bytes()
    assert logs[0] == logs[1]
    rows = read_log(tmp_path / "cut/metrics.jsonl")
    assert [row["replayed"] for row in rows if "replayed" in row] == [0, 0.5, 0.5]


@pytest.mark.parametrize("rates", [[[99999, 0.5]], [[0, 2.0]], [[0, "x"]], [[0]], 3, [[0, None]]])
def test_a_damaged_state_is_refused(rates):
    with pytest.raises((ValueError, TypeError)):
        Curriculum(Epochs("0", 4)).restore({"new": 1, "rates": rates})


def test_a_curriculum_is_refused_where_rewards_are_games(tmp_path):
    config = load_config("elo-evolve-tiny", ["options.curriculum=true"])
    with pytest.raises(ConfigError, match="needs success rates"):
        make(tmp_path / "run", config)
