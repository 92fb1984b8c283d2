"""Credit by turn or step: against plain Python, unscored rewards, what is refused, and that nothing else changes."""

import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.trainers.conftest import make, same, settings, train  # noqa: E402
from verikit.errors import ConfigError, TrainerError  # noqa: E402
from verikit.trainers.credit import differ  # noqa: E402
from verikit.trainers.experience import experience, with_variance  # noqa: E402
from verikit.trainers.recipe import Setting, StepReward, Trajectory  # noqa: E402
from verikit.trainers.recipes.arithmetic import Arithmetic  # noqa: E402
from verikit.trainers.warmup import warm_up  # noqa: E402

VALUES = st.sampled_from([None, 0.0, 1.0, 0.5, -2.0])


@st.composite
def batches(draw):
    """Trajectories of 2 to 8 tokens, whose rewards may be unscored, missing or at the same token."""
    made = []
    for _ in range(draw(st.integers(1, 8))):
        size = draw(st.integers(2, 8))
        mask = [False, *draw(st.lists(st.booleans(), min_size=size - 1, max_size=size - 1))]
        ends = sorted(draw(st.lists(st.integers(0, size - 1), max_size=4)))
        steps = tuple(StepReward(end, draw(VALUES)) for end in ends)
        reward = draw(st.sampled_from([None, 0.0, 1.0, 0.25]))
        group, weight = draw(st.integers(0, 1)), draw(st.sampled_from([1.0, 0.5]))
        made.append(
            Trajectory(range(size), mask, [-0.5] * size, reward, group, weight=weight, step_rewards=steps)
        )  # fmt: skip
    return made


def normalised(value, others):
    """GRPO's comparison of one of these values, written out."""
    if len(set(others)) < 2:
        return 0.0
    return (value - sum(others) / len(others)) / (statistics.stdev(others) + 1e-6)


def by_hand(kept, credit, outcome_weight, step_weight):
    """The advantage of every learnt token, one token and one reward at a time."""
    result = []
    for one in kept:
        group = [other for other in kept if other.group == one.group]
        outcome = normalised(one.reward, [other.reward for other in group])
        tokens = []
        for position, own in enumerate(one.mask):
            if not own or position == 0:
                continue
            total = outcome_weight * outcome
            for number, step in enumerate(one.step_rewards):
                if step.end < position or step.value is None:
                    continue
                peers = [
                    peer.value
                    for other in group
                    for at, peer in enumerate(other.step_rewards)
                    if peer.value is not None and (credit == "step" or at == number)
                ]
                total += step_weight * normalised(step.value, peers)
            tokens.append(one.weight * total)
        result.append(tokens)
    return result


CONFIGS = {
    (credit, outcome, step): settings(
        advantage__epsilon=1e-6,
        advantage__credit=credit, advantage__outcome_weight=outcome, advantage__step_weight=step
    )
    for credit in ("turn", "step")
    for outcome, step in ((1.0, 1.0), (0.0, 0.5))
}  # fmt: skip


@given(batches(), st.sampled_from(sorted(CONFIGS)))
def test_every_token_gets_its_outcome_and_the_rewards_at_or_after_it(batch, chosen):
    scored = [one for one in batch if one.reward is not None]
    kept = [one for one in scored if sum(other.group == one.group for other in scored) > 1]
    rows = experience(batch, CONFIGS[chosen], None).rows
    expected = by_hand(kept, *chosen)
    assert len(rows) == len(expected)
    for row, values in zip(rows, expected, strict=True):
        assert row.advantage.tolist() == pytest.approx(values, rel=1e-5, abs=1e-6)


def turns(*values, reward=0.0, group=0):
    """Six tokens after a prompt of one, with a turn's end at every second."""
    steps = tuple(StepReward(2 * (number + 1), value) for number, value in enumerate(values))
    return Trajectory(range(7), [False] + [True] * 6, [-0.5] * 7, reward, group, step_rewards=steps)


def test_one_turn_reward_gives_the_two_turns_of_mt_grpo():
    config = settings(advantage__credit="turn", advantage__step_weight=0.5, advantage__epsilon=0)
    rows = experience([turns(1.0, reward=1.0), turns(0.0), turns(0.0), turns(0.0)], config, None).rows
    assert rows[0].advantage.tolist() == pytest.approx([0.75 + 1.5] * 2 + [1.5] * 4)
    assert rows[1].advantage.tolist() == pytest.approx([-0.25 - 0.5] * 2 + [-0.5] * 4)


def test_an_unscored_turn_is_no_zero_and_keeps_the_numbers_of_those_after_it():
    config = settings(advantage__credit="turn", advantage__outcome_weight=0.0)
    batch = [turns(None, 1.0), turns(1.0, 0.0), turns(1.0), turns()]
    made = experience(batch, config, None)
    first, second, third, fourth = (row.advantage.tolist() for row in made.rows)
    assert first[:4] == [-value for value in second[:4]]  # the second turns differ, the first ones are both 1
    assert first[0] > 0.5
    assert third == fourth == [0.0] * 6
    zero = experience([turns(0.0, 1.0), *batch[1:]], config, None).rows[0].advantage[0]
    assert zero < first[0]
    assert made.metrics["unscored_step_rewards"] == 1
    assert made.metrics["step_rewards"] == 1.25
    assert made.metrics["step_reward"] == 0.75


def test_groups_tell_something_by_their_turns_where_outcomes_are_equal():
    unequal = [turns(1.0), turns(0.0)]
    assert with_variance(unequal) == []
    assert with_variance(unequal, credit="turn") == with_variance(unequal, credit="step") == unequal
    assert not differ([turns(1.0), turns(1.0, 0.0), turns(None)], "turn")
    assert differ([turns(1.0), turns(1.0, 0.0)], "step")
    assert experience(unequal, settings(advantage__credit="turn"), None).metrics["zero_variance"] == 0
    assert experience(unequal, settings(), None).metrics["zero_variance"] == 1


FROZEN = {  # the first token's advantages, computed before there was credit by turn or step
    "grpo": ["0x1.2401480000000p+0", "-0x1.a8bc0a0000000p-2", "-0x1.73a48a0000000p-1", "0x0.0p+0", "0x0.0p+0",
             "-0x1.f3d2dc0000000p-1", "0x1.ba26d60000000p+0", "-0x1.807ad00000000p-1"],
    "dr-grpo": ["0x1.19999a0000000p-1", "-0x1.99999a0000000p-3", "-0x1.6666660000000p-2", "0x0.0p+0", "0x0.0p+0",
                "-0x1.4ccccc0000000p-2", "0x1.2666660000000p-1", "-0x1.0000000000000p-2"],
    "rloo": ["0x1.a666660000000p-1", "-0x1.3333340000000p-2", "-0x1.0ccccc0000000p-1", "0x0.0p+0", "0x0.0p+0",
             "-0x1.f333340000000p-2", "0x1.b9999a0000000p-1", "-0x1.8000000000000p-2"],
}  # fmt: skip
REWARDS = [(1.0, 0, 3), (0.25, 0, 2), (None, 0, 2), (0.1, 0, 4), (0.7, 1, 1)]
REWARDS += [(0.7, 1, 3), (0.3, 2, 2), (0.9, 2, 5), (0.35, 2, 1)]


@pytest.mark.parametrize("kind", FROZEN)
def test_whole_trajectories_get_the_advantages_of_earlier_releases_to_the_bit(kind):
    batch = [
        Trajectory(range(n + 2), [False, *[True] * n, False], [0.0, *[-0.5] * n, 0.0], reward, group,
                   weight=1.0 + 0.5 * (group == 2), step_rewards=(StepReward(1, float(n)),))
        for reward, group, n in REWARDS
    ]  # fmt: skip
    made = experience(batch, settings(advantage__kind=kind), None)
    assert [row.advantage.tolist() for row in made.rows] == [
        [float.fromhex(value)] * len(row.where) for value, row in zip(FROZEN[kind], made.rows, strict=True)
    ]
    assert not {"step_reward", "step_rewards", "unscored_step_rewards"} & made.metrics.keys()


class Stepped(Arithmetic):
    """Sums with a reward in the middle, for an even digit there; every fifth is unscored."""

    gives_step_rewards = True
    lost = 0.2

    def _trajectory(self, *given):
        made = super()._trajectory(*given)
        middle = (made.mask.index(True) + len(made.ids)) // 2
        value = None if made.ids[middle] % 5 < 5 * self.lost else float(made.ids[middle] % 2)
        return replace(made, step_rewards=(StepReward(middle, value),))


@pytest.mark.slow(seconds=4)
def test_a_resumed_run_with_credit_equals_an_unbroken_run(tmp_path, monkeypatch):
    monkeypatch.setattr("verikit.trainers.grpo.find_recipe", lambda name: Stepped)
    quick = {"run__steps": 2, "run__max_unscored_share": 0.6, "options__evaluate_samples": 0, "options__max_tokens": 12}
    config = settings(advantage__credit="step", **quick)
    whole = train(tmp_path / "whole", config)
    stopped = make(tmp_path / "cut", config)
    warm_up(stopped)
    stopped._train_step(1)
    stopped.close()
    stopped.folder.close()
    assert same(whole, train(tmp_path / "cut", config, resume=True))


def test_a_model_of_steps_that_scores_none_stops_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("verikit.trainers.grpo.find_recipe", lambda name: Stepped)
    monkeypatch.setattr(Stepped, "lost", 1.0)
    with pytest.raises(TrainerError, match="rewards by step are unscored"):
        train(tmp_path / "run", settings(advantage__credit="step", run__max_unscored_steps=1))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"advantage__step_weight": 1.0}, "step_weight and outcome_weight need credit"),
        ({"advantage__outcome_weight": 0.0}, "step_weight and outcome_weight need credit"),
        ({"advantage__credit": "turn", "advantage__kind": "gdpo"}, "needs kind = grpo, dr-grpo or rloo, got gdpo"),
        ({"advantage__credit": "step", "advantage__step_weight": 0}, "greater than 0"),
    ],
)
def test_settings_that_do_not_go_with_the_credit_are_refused(changes, told):
    with pytest.raises(ConfigError, match=told):
        settings(**changes)


def test_a_recipe_without_such_rewards_is_refused_by_name(tmp_path):
    config = settings()
    options = Arithmetic.Options.model_validate(config.options)
    with pytest.raises(ConfigError, match="not given by recipe arithmetic"):
        Arithmetic(options, Setting(None, 0, tmp_path, "turn"))
    with pytest.raises(ConfigError, match="not given by recipe arithmetic"):
        train(tmp_path / "run", settings(advantage__credit="turn"))


@pytest.mark.parametrize("ends", [(3, 1), (-1,), (7,)])
def test_rewards_outside_the_ids_or_out_of_order_are_refused(ends):
    with pytest.raises(ValueError, match="step_rewards end inside the ids"):
        Trajectory(range(7), [True] * 7, [0.0] * 7, 1.0, 0, step_rewards=[StepReward(end, 1.0) for end in ends])
