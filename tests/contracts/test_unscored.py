"""What a stack gets for a sample without a score, by the one option of all adapters."""

import logging
import pickle
import threading
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit import Sample, Score, verifier
from verikit.adapters import to_areal, to_forge, to_openrlhf, to_rllm, to_slime, to_swift, to_trl, to_verifiers, to_verl
from verikit.adapters.reward import GroupMeans, NumberReward, Reward
from verikit.errors import Unscored, UsageError


@verifier
def lengths(sample):
    return Score.error("judge prompt") if sample.completion == "lost" else float(len(sample.completion))


class Flaky:
    """Fails so many times, then scores."""

    def __init__(self, failures):
        self.left, self.calls = failures, 0

    def __call__(self, sample):
        self.calls += 1
        self.left -= 1
        return Score.timeout("busy") if self.left >= 0 else 1.0


def batch(*completions, prompt="p"):
    return [Sample(prompt, text, "gold") for text in completions]


def rewards(reward, samples):
    return reward.rewards(samples, reward.score(samples))


def test_the_mean_is_of_the_same_prompts_scored_samples_in_the_call():
    samples = batch("a", "abc", "lost") + batch("abcde", "lost", prompt="q")
    assert rewards(Reward(lengths, None, "mean"), samples) == [1.0, 3.0, 2.0, 5.0, 5.0]


@given(st.lists(st.tuples(st.sampled_from("pq"), st.none() | st.floats(-1, 1)), min_size=1, max_size=16))
def test_a_stand_in_has_no_advantage_in_its_group(rows):
    filled = GroupMeans().filled([prompt for prompt, _ in rows], [value for _, value in rows])
    for prompt in "pq":
        scored = [value for group, value in rows if group == prompt and value is not None]
        group = [value for (name, _), value in zip(rows, filled, strict=True) if name == prompt]
        for (name, value), found in zip(rows, filled, strict=True):
            if name == prompt and value is None and scored:
                assert found == pytest.approx(fmean(scored))
                assert found - fmean(group) == pytest.approx(0.0, abs=1e-9)
            elif name == prompt and value is not None:
                assert found == value


def test_asked_one_by_one_it_is_the_mean_of_what_the_prompt_got_before():
    reward = Reward(lengths, None, "mean")
    found = [rewards(reward, batch(text))[0] for text in ("a", "abc", "lost")]
    assert found == [1.0, 3.0, 2.0]
    assert rewards(reward, batch("lost", prompt="new")) == [2.0]  # of all prompts, where its own has none
    assert rewards(Reward(lengths, None, "mean"), batch("lost")) == [0.0]


def test_the_values_that_are_kept_are_bounded():
    means = GroupMeans()
    for group in range(2000):
        means.filled([group] * 100, [1.0] * 100)
    assert len(means._latest) == 1024
    assert {len(values) for values in means._latest.values()} == {64}


def test_rows_without_a_prompt_are_told_apart_by_their_index():
    samples = [Sample("", text, "g", meta={"index": row}) for row, text in ((0, "a"), (0, "lost"), (1, "abc"))]
    assert rewards(Reward(lengths, None, "mean"), samples) == [1.0, 1.0, 3.0]


def test_raise_names_the_reward_and_the_reason():
    with pytest.raises(Unscored, match=r"mine: error: .*judge prompt"):
        rewards(Reward(lengths, "mine", "raise"), batch("a", "lost"))
    assert rewards(Reward(lengths, "mine", "raise"), batch("a")) == [1.0]


def test_every_adapter_takes_the_option_and_refuses_what_is_none_of_its_forms():
    for made in (to_areal, to_forge, to_openrlhf, to_rllm, to_slime, to_swift, to_trl, to_verifiers, to_verl):
        for form in ("mean", "raise", -1.0):
            assert made("answer", unscored=form).unscored == form
        with pytest.raises(UsageError, match="'average'"):
            made("answer", unscored="average")
    for made in (to_areal, to_forge, to_openrlhf, to_rllm, to_slime, to_verl):  # there is no None in these stacks
        with pytest.raises(UsageError, match="None"):
            made("answer", unscored=None)


def test_what_failed_is_asked_again_and_only_that():
    flaky = Flaky(2)
    assert rewards(Reward(verifier(flaky), "flaky", "raise", tries=3), batch("a")) == [1.0]
    assert flaky.calls == 3
    stubborn = Flaky(9)
    with pytest.raises(Unscored, match="busy"):
        rewards(Reward(verifier(stubborn), "flaky", "raise", tries=2), batch("a"))
    assert stubborn.calls == 2
    with pytest.raises(UsageError, match="tries"):
        Reward(lengths, None, "mean", tries=0)


def test_abstaining_is_no_failure_and_not_asked_again():
    calls = []

    @verifier
    def abstains(sample):
        calls.append(sample)
        return Score.abstained("not mine")

    Reward(abstains, None, "mean", tries=3).score(batch("a"))
    assert len(calls) == 1


def test_lost_samples_are_counted_and_logged_ever_more_rarely(caplog):
    reward = Reward(lengths, "mine", "mean")
    with caplog.at_level(logging.WARNING, "verikit"):
        for _ in range(40):
            reward.score(batch("lost", "abc"))
    assert reward.counts == {"scored": 40, "unscored": 40}
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        "mine could not score 1 of 2 samples",
        "mine could not score 10 of 20 samples",
    ]


def test_counts_from_many_threads_add_up_and_a_pickled_reward_goes_on():
    reward = Reward(lengths, "mine", "mean")
    threads = [
        threading.Thread(target=lambda: [rewards(reward, batch("lost", "a")) for _ in range(50)]) for _ in "1234"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reward.counts == {"scored": 200, "unscored": 200}
    assert rewards(pickle.loads(pickle.dumps(Reward("exact", "mine", "mean"))), batch("gold", "x")) == [1.0, 0.0]


def test_a_score_that_takes_too_long_for_a_waiting_caller_is_a_timeout():
    done = threading.Event()

    @verifier
    def slow(sample):
        done.wait(60)
        return 1.0

    reward = NumberReward(slow, "slow", "raise")
    score = reward.score_waiting(batch("a")[0], 0.05)
    done.set()
    assert score.status == "timeout"
    with pytest.raises(Unscored):
        reward.number(batch("a")[0], score)


@given(st.permutations([("bad", None)] * 6 + [("p", 1.0), ("p", 0.0), ("q", 0.5), ("r", None)] * 2))
def test_a_prompt_without_any_score_gets_one_stand_in_whatever_the_order_of_calls(calls):
    for constant in (False, True):
        means = GroupMeans(constant=constant)
        found = [(group, means.filled([group], [value])[0]) for group, value in calls]
        stand_ins = {given for group, given in found if group == "bad"}
        assert len(stand_ins) == 1
        assert not constant or stand_ins == {0.0}


def test_a_stand_in_outlasts_the_values_it_was_made_of_and_gives_way_to_the_prompts_own():
    means = GroupMeans()
    assert means.filled(["p", "bad"], [1.0, None]) == [1.0, 1.0]
    for other in range(2000):
        means.filled([other], [0.0])
    assert means.filled(["bad"], [None]) == [1.0]
    assert means.filled(["bad"], [0.2]) == [0.2]
    assert means.filled(["bad"], [None]) == [0.2]


def silent(reward, steps, prompts, text="lost"):
    for step in range(*steps):
        samples = [Sample(f"{step} {name}", text) for name in range(prompts)]
        reward.watch(samples, reward.score(samples), step)


def test_two_steps_without_any_score_stop_a_run_and_its_first_reason_is_told():
    reward = Reward(lengths, "mine", "mean")
    silent(reward, (0, 1), 1)
    silent(reward, (0, 1), 1)  # the same step: an evaluation, say
    with pytest.raises(Unscored, match=r"mine scored none of 3 samples in 2 steps.*judge prompt"):
        silent(reward, (1, 2), 1)


def test_a_run_that_had_scores_goes_on_until_several_prompts_in_a_row_have_none():
    reward = Reward(lengths, "mine", None)
    silent(reward, (0, 1), 1, "abc")
    silent(reward, (1, 4), 1)  # three prompts
    silent(reward, (4, 5), 1, "abc")
    silent(reward, (5, 8), 1)
    with pytest.raises(Unscored, match="of 4 samples in 4 steps"):
        silent(reward, (8, 9), 1)


def test_without_a_step_batches_of_several_prompts_are_the_steps():
    reward = Reward(lengths, "mine", None)
    one, two = batch("lost"), batch("lost") + batch("lost", prompt="q")
    for _ in range(5):
        reward.watch(one, reward.score(one))
    reward.watch(two, reward.score(two))
    with pytest.raises(Unscored, match="judge prompt"):
        reward.watch(two, reward.score(two))


def test_very_many_single_calls_without_a_score_stop_a_run():
    reward = NumberReward(lengths, "mine", "mean")
    (sample,) = batch("lost")
    (lost,) = reward.score([sample])
    for _ in range(1023):
        reward.number(sample, lost)
    with pytest.raises(Unscored, match="mine scored none of 1024 samples in a row"):
        reward.number(sample, lost)
    assert reward.number(batch("abc")[0], Score(3.0)) == 3.0
    assert reward.number(sample, lost) == 3.0
