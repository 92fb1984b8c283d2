"""Each estimator against plain Python, and where groups have nothing to compare."""

import ast
import inspect
import math
import statistics
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from verikit.trainers import advantages  # noqa: E402

NUMBERS = st.floats(-5, 5, allow_nan=False).map(lambda x: round(x, 3))
BATCHES = st.lists(st.tuples(NUMBERS, st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=12)


def tensors(batch):
    rewards = torch.tensor([r for r, _, _ in batch], dtype=torch.float64)
    order = {}
    groups = torch.tensor([order.setdefault(g, len(order)) for _, g, _ in batch])
    return rewards, groups, torch.tensor([n for _, _, n in batch])


def members(batch, number):
    return [r for r, g, _ in batch if g == batch[number][1]]


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


@given(BATCHES)
def test_grpo_drgrpo_and_rloo_equal_their_formulas(batch):
    rewards, groups, _ = tensors(batch)
    found = [f(rewards, groups).tolist() for f in (advantages.grpo, advantages.dr_grpo, advantages.rloo)]
    for i, (reward, _, _) in enumerate(batch):
        group = members(batch, i)
        if len(group) == 1 or max(group) - min(group) == 0:
            assert [values[i] for values in found] == [0, 0, 0]
            continue
        mean = sum(group) / len(group)
        others = (sum(group) - reward) / (len(group) - 1)
        assert near(found[0][i], (reward - mean) / (statistics.stdev(group) + 1e-6))
        assert near(found[1][i], reward - mean)
        assert near(found[2][i], reward - others)


def test_the_papers_example():
    rewards, groups = torch.tensor([1.0, 0, 0, 0]).double(), torch.zeros(4, dtype=torch.int64)
    assert advantages.grpo(rewards, groups, 0.0).tolist() == pytest.approx([1.5, -0.5, -0.5, -0.5])
    assert advantages.dr_grpo(rewards, groups).tolist() == [0.75, -0.25, -0.25, -0.25]
    assert advantages.rloo(rewards, groups).tolist() == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])


@given(BATCHES, st.lists(NUMBERS, min_size=48, max_size=48))
def test_reinforce_plus_plus_whitens_returns_to_go_over_tokens(batch, pool):
    rewards, _, lengths = tensors(batch)
    penalties = torch.tensor(pool[: int(lengths.sum())], dtype=torch.float64)
    found = advantages.reinforce_pp(rewards, lengths, penalties).tolist()
    returns, at = [], 0
    for reward, _, length in batch:
        own = pool[at : at + length]
        returns += [reward - sum(own[t:]) for t in range(length)]
        at += length
    if len(returns) < 2 or max(returns) - min(returns) <= 1e-9 * max(map(abs, returns)):
        assert not any(found)
        return
    mean, variance = statistics.fmean(returns), statistics.variance(returns)
    for a, r in zip(found, returns, strict=True):
        assert math.isclose(a, (r - mean) / math.sqrt(variance + 1e-8), rel_tol=1e-7, abs_tol=1e-7)


@given(BATCHES)
def test_the_baseline_form_whitens_what_is_left_after_the_groups_mean(batch):
    rewards, groups, lengths = tensors(batch)
    found = advantages.reinforce_pp_baseline(rewards, groups, lengths)
    plain = advantages.dr_grpo(rewards, groups).repeat_interleave(lengths)
    if len(plain) > 1 and plain.max() - plain.min() > 1e-6:
        expected = (plain - plain.mean()) / torch.sqrt(plain.var() + 1e-8)
        assert torch.allclose(found, expected, rtol=1e-9, atol=1e-12)
    else:
        assert not found.any()


@given(BATCHES)
def test_trr_plus_plus_is_reinforce_plus_plus_for_each_role_and_task(batch):
    rewards, kinds, lengths = tensors(batch)
    found = advantages.trr_pp(rewards, kinds, lengths).split(lengths.tolist())
    for kind in kinds.unique().tolist():
        own = [i for i, k in enumerate(kinds.tolist()) if k == kind]
        alone = advantages.reinforce_pp(rewards[own], lengths[own])
        assert torch.equal(torch.cat([found[i] for i in own]), alone)


@pytest.mark.parametrize("name", sorted(advantages.GROUPED))
def test_a_nearly_equal_group_is_not_blown_up(name):
    rewards = torch.tensor([0.1 + 0.2, 0.3, 0.3]).double()
    groups, lengths = torch.zeros(3, dtype=torch.int64), torch.tensor([2, 1, 3])
    assert not advantages.estimate(name, rewards, groups, groups, lengths).any()


def test_penalties_in_the_reward_are_summed_for_estimators_of_whole_sequences():
    rewards, groups, lengths = (
        torch.tensor([1.0, 0.0]).double(),
        torch.zeros(2, dtype=torch.int64),
        torch.tensor([2, 1]),
    )
    penalties = torch.tensor([0.25, 0.25, 0.1]).double()
    found = advantages.estimate("dr-grpo", rewards, groups, groups, lengths, penalties=penalties)
    assert found.tolist() == pytest.approx([0.3, 0.3, -0.3])


PARTS = st.lists(
    st.tuples(st.lists(st.none() | st.sampled_from([0.0, 1.0, 0.3, -2.0]), min_size=2, max_size=2), st.integers(0, 2)),
    min_size=1,
    max_size=12,
)


@given(PARTS, st.tuples(st.floats(0.1, 3), st.floats(-3, 3)))
def test_gdpo_equals_its_formula_with_unscored_parts_left_out(batch, weights):
    order = {}
    groups = [order.setdefault(group, len(order)) for _, group in batch]
    parts = [values for values, _ in batch]
    expected = [0.0] * len(batch)
    for part, weight in enumerate(weights):
        for number in set(groups):
            own = [i for i, g in enumerate(groups) if g == number and parts[i][part] is not None]
            values = [parts[i][part] for i in own]
            if len(set(values)) > 1:
                mean, deviation = statistics.fmean(values), statistics.stdev(values)
                for i in own:
                    expected[i] += weight * (parts[i][part] - mean) / (deviation + 1e-6)
    deviation = statistics.stdev(expected) if len(expected) > 1 else 0.0
    expected = [value / (deviation + 1e-6) for value in expected]
    tensor = torch.tensor([[math.nan if x is None else x for x in row] for row in parts], dtype=torch.float64)
    found = advantages.gdpo(tensor, torch.tensor(weights), torch.tensor(groups))
    assert torch.allclose(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-6, atol=1e-6)


def test_gdpo_tells_apart_what_the_sum_of_two_rewards_makes_equal():
    first, both = torch.tensor([[0.0, 1], [0, 0]]), torch.tensor([[1.0, 1], [0, 0]])
    groups = torch.zeros(2, dtype=torch.int64)
    assert torch.allclose(advantages.grpo(first.sum(1), groups, 0.0), advantages.grpo(both.sum(1), groups, 0.0))
    parts, weights = torch.cat([first, both]).double(), torch.ones(2)
    found = advantages.gdpo(parts, weights, torch.tensor([0, 0, 1, 1]))
    assert (found[2] / found[0]).item() == pytest.approx(2)  # the paper's figure 2: (0, 2) tells more than (0, 1)


@pytest.fixture(scope="module")
def trl_block():
    """TRL's own lines for `normalize_then_sum`, out of the installed trainer, as a function."""
    pytest.importorskip("trl")
    from trl.trainer import grpo_trainer

    (test,) = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(grpo_trainer)))
        if isinstance(node, ast.If)
        and ast.unparse(node.test) == "self.multi_objective_aggregation == 'normalize_then_sum'"
    ]
    code = compile(ast.Module(test.body, []), grpo_trainer.__file__, "exec")

    def run(parts, weights, size):
        names = {
            "torch": torch,
            "nanstd": grpo_trainer.nanstd,
            "rewards_per_func": parts,
            "num_generations": size,
            "device": "cpu",
            "unscorable_mask": parts.isnan().all(dim=1),
            "self": SimpleNamespace(reward_funcs=list(weights), reward_weights=weights),
        }
        exec(code, names)  # the installed package's own lines
        return torch.nan_to_num(names["advantages"], nan=0.0)

    return run


@pytest.mark.parametrize("seed", range(20))
def test_gdpo_equals_the_lines_of_trl(trl_block, seed):
    draw = torch.Generator().manual_seed(seed)
    size = 4
    parts = torch.rand(6 * size, 3, generator=draw, dtype=torch.float64).round(decimals=1)
    parts[torch.rand(parts.shape, generator=draw) < 0.1] = math.nan
    weights = torch.tensor([1.0, 0.3, 2.0], dtype=torch.float64)
    kept = ~parts.isnan().all(dim=1)
    groups = torch.arange(6).repeat_interleave(size)
    found = advantages.gdpo(parts[kept], weights, groups[kept], 1e-4)
    assert torch.allclose(found, trl_block(parts, weights, size)[kept], rtol=1e-6, atol=1e-6)
