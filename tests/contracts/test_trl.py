"""TRL's calls: keywords as `GRPOTrainer._calculate_rewards` of TRL 1.16 passes them, and TRL itself."""

import asyncio
import inspect
import pickle

import pytest

from verikit import Score, load, verifier
from verikit.adapters import to_trl
from verikit.adapters.stacks import STACKS
from verikit.errors import UsageError


class Caller:
    """Calls a reward as TRL does, and keeps what it logs."""

    def __init__(self):
        self.columns, self.metrics = {}, {}

    def __call__(self, reward, prompts, completions, **columns):
        return reward(
            prompts=prompts,
            completions=completions,
            completion_ids=[[1, 2]] * len(prompts),
            **columns,
            trainer_state=object(),
            log_extra=self.columns.__setitem__,
            log_metric=self.metrics.__setitem__,
        )


@verifier
def broken(sample):
    return Score.error("the judge is away") if "away" in sample.completion else 1.0


def test_the_shown_call_is_scored_turn_by_turn_of_a_conversation():
    assert to_trl("answer")(**STACKS["trl"].call | {"log_extra": None, "log_metric": None}) == [1.0, 0.0]


def test_plain_texts_and_every_name_of_the_gold_column_work():
    for column in ("answer", "ground_truth", "solution", "target"):
        rewards = Caller()(to_trl("answer"), ["1+1=", "1+1="], ["2", "3"], **{column: ["2", "2"]})
        assert rewards == [1.0, 0.0]
    assert Caller()(to_trl("answer", answer="key"), ["?"], ["2"], key=["2"], answer=["3"]) == [1.0]


def test_a_missing_gold_column_is_named():
    with pytest.raises(UsageError, match="no column 'key'"):
        Caller()(to_trl("answer", answer="key"), ["?"], ["2"], other=["2"])


def test_what_has_no_score_is_none_and_counted():
    caller = Caller()
    assert caller(to_trl(broken), ["", ""], ["away", "here"]) == [None, 1.0]
    assert caller.metrics["broken/unscored"] == 0.5
    assert "the judge is away" in caller.columns["broken_reason"][0]
    assert caller(to_trl(broken, unscored=-1.0), ["", ""], ["away", "here"]) == [-1.0, 1.0]


def test_the_parts_of_a_composed_reward_get_curves_of_their_own():
    caller = Caller()
    reward = to_trl("0.9*answer + 0.1*boxed", name="good")
    assert caller(reward, ["", ""], ["\\boxed{2}", "2"], answer=["2", "2"]) == [pytest.approx(1.0), pytest.approx(0.9)]
    assert caller.metrics["good/answer"] == 1.0
    assert caller.metrics["good/boxed"] == 0.5
    assert "answer: equal" in caller.columns["good_reason"][1]
    assert "boxed: no closed box" in caller.columns["good_reason"][1]


def test_a_reward_keeps_its_name_over_pickling_and_says_whether_it_is_awaited():
    for reward, awaited in ((to_trl("answer", name="mine"), False), (to_trl("answer", asynchronous=True), True)):
        copy = pickle.loads(pickle.dumps(reward))
        assert copy.__name__ == reward.__name__
        assert inspect.iscoroutinefunction(copy) is awaited
        assert list(inspect.signature(copy).parameters)[:2] == ["prompts", "completions"]


def test_the_coroutine_form_gives_the_same_rewards():
    call = STACKS["trl"].call | {"log_extra": None, "log_metric": None}
    assert asyncio.run(to_trl("answer", asynchronous=True)(**call)) == [1.0, 0.0]


@verifier
def counted(sample):
    counted_calls.append(sample)
    return Score.error("the judge is away") if "away" in sample.completion else 1.0


counted_calls = []


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_split_reward_is_a_function_a_part_scored_once_a_batch(asynchronous):
    parts = to_trl(0.7 * counted + 0.3 * load("length(max=4)"), split=True, asynchronous=asynchronous)
    assert [part.__name__ for part in parts] == ["counted", "length"]
    assert parts.weights == pytest.approx([0.7, 0.3])
    assert [inspect.iscoroutinefunction(part) for part in parts] == [asynchronous] * 2

    def call(completions):
        async def together():
            return await asyncio.gather(*(part(prompts=["p"] * 2, completions=completions) for part in parts))

        if asynchronous:
            return asyncio.run(together())
        return [part(prompts=["p"] * 2, completions=completions) for part in parts]

    counted_calls.clear()
    batches = [["away", "here!"], ["b", "c"]]
    assert call(batches[0]) == [[None, 1.0], [1.0, 0.0]]
    assert len(counted_calls) == 2
    assert call(batches[1]) == [[1.0, 1.0], [1.0, 1.0]]
    assert len(counted_calls) == 4
    call(batches[1])  # the same list again: what is in it may be new
    assert len(counted_calls) == 6
    assert parts[0].counts == {"scored": 5, "unscored": 1}
    assert parts[1].counts == {"scored": 6, "unscored": 0}


def test_the_weighted_sum_of_a_split_rewards_parts_is_the_whole():
    spec = "0.9*answer + 0.1*boxed"
    texts = ["\\boxed{2}", "2", "\\boxed{3}", "", "\\boxed{(1+i)2}"]
    columns = {"answer": ["2", "2", "2", "2", "2+2i"]}
    prompts = ["1+1="] * 4 + ["Compute $(1+i)2$."]
    parts = to_trl(spec, split=True)
    found = [Caller()(part, prompts, texts, **columns) for part in parts]
    weighed = [sum(w * v for w, v in zip(parts.weights, row, strict=True)) for row in zip(*found, strict=True)]
    assert weighed == pytest.approx(Caller()(to_trl(spec), prompts, texts, **columns))
    assert weighed[-1] == 0.0  # an echo of the question is paid for by no part


def test_a_split_reward_can_be_pickled_and_named_and_stands_in_by_part():
    parts = pickle.loads(pickle.dumps(to_trl("answer + boxed", name="good", split=True)))
    assert ([part.__name__ for part in parts], parts.weights) == (["good/answer", "good/boxed"], [1.0, 1.0])
    assert Caller()(parts[0], ["", ""], ["2", "3"], answer=["2", "2"]) == [1.0, 0.0]
    parts = to_trl(0.7 * counted + 0.3 * load("length(max=4)"), split=True, unscored="mean")
    completions = ["away", "here!", "also"]
    assert [part(["p"] * 3, completions) for part in parts] == [[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]]


@pytest.mark.parametrize("spec", ["answer", "minimum(answer, boxed)", "clip(answer + boxed)"])
def test_what_is_no_sum_is_not_split(spec):
    with pytest.raises(UsageError, match="weighted sum"):
        to_trl(spec, split=True)


def trained(tmp_path, rewards, rollout=None, **options):
    """A run of TRL's trainer on a tiny model: what it logged of each step. `rollout` samples instead of TRL."""
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    from tests.engines import tiny

    path = tiny.save(tmp_path / "model")
    rows = [{"prompt": f"{a} + 1 = ", "answer": str(a + 1)} for a in range(8)]
    config = trl.GRPOConfig(
        output_dir=str(tmp_path / "out"),
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=8,
        max_steps=2,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
        **options,
    )
    trainer = trl.GRPOTrainer(
        model=path, reward_funcs=rewards, args=config, train_dataset=datasets.Dataset.from_list(rows),
        rollout_func=rollout,
    )  # fmt: skip
    trainer.train()
    return [row for row in trainer.state.log_history if "reward" in row]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_grpo_trainer_trains_on_a_composed_reward_and_logs_its_parts(tmp_path, asynchronous):
    last = trained(tmp_path, to_trl("0.8*answer + 0.2*length(max=6)", name="good", asynchronous=asynchronous))
    assert len(last) == 2
    for row in last:
        assert row["reward"] == pytest.approx(row["rewards/good/mean"])
        assert row["good/unscored"] == 0.0
        assert row["reward"] == pytest.approx(0.8 * row["good/answer"] + 0.2 * row["good/length"], abs=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_a_grpo_trainer_weighs_and_normalises_the_parts_of_a_split_reward(tmp_path):
    parts = to_trl("0.8*answer + 0.2*length(max=6)", split=True)
    options = {"reward_weights": parts.weights, "multi_objective_aggregation": "normalize_then_sum"}
    for row in trained(tmp_path, parts, **options):
        means = [row[f"rewards/{part.__name__}/mean"] for part in parts]
        assert row["reward"] == pytest.approx(0.8 * means[0] + 0.2 * means[1], abs=1e-6)
        assert row["sum/unscored"] == 0.0


LENGTHS = "answer + soft_overlong(24, 8)"


def test_a_length_part_counts_the_tokens_that_trl_hands_over():
    call = {"prompts": ["", ""], "completions": ["2", "2"], "answer": ["2", "2"]}
    ids = [[1] * 16, [1] * 20]
    assert to_trl(LENGTHS)(**call, completion_ids=ids) == [1.0, 0.5]
    assert to_trl(LENGTHS)(**call, completion_ids=ids, completion_tokens=[0, 0]) == [1.0, 0.5]  # a row's own is stale
    assert asyncio.run(to_trl(LENGTHS, asynchronous=True)(**call, completion_ids=ids)) == [1.0, 0.5]
    assert [part(**call, completion_ids=ids) for part in to_trl(LENGTHS, split=True)] == [[1.0, 1.0], [0.0, -0.5]]


@pytest.mark.filterwarnings("ignore")
def test_a_grpo_trainer_trains_with_a_length_part(tmp_path):
    for row in trained(tmp_path, to_trl("answer + soft_overlong(8, 8)", name="good")):
        assert row["good/unscored"] == 0.0
        assert row["good/soft_overlong"] == pytest.approx(-row["completions/mean_length"] / 8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"asynchronous": True}, {"split": True}, {"unscored": "mean"}])
def test_a_grpo_trainer_stops_after_two_steps_without_any_score(tmp_path, options):
    from verikit.errors import Unscored

    with pytest.raises(Unscored, match="none of 8 samples in 2 steps"):
        trained(tmp_path, to_trl("answer + column('no_such')", **options))


@pytest.mark.filterwarnings("ignore")
def test_a_grpo_trainer_trains_on_the_files_of_rollouts_and_leaves_out_the_lost_ones(tmp_path):
    """Of four rollouts per prompt two are right, one is forged, and of one nothing is known."""
    before = {"in.csv": "3\n"}
    right = {"before": before, "after": {"in.csv": "3\n", "sales.csv": "7\n"}}
    forged = {"before": before, "after": {"in.csv": "9\n", "sales.csv": "7\n"}}
    left = [right, forged, {"after": right["after"]}, right]

    def rollout(prompts, trainer):
        ids = [[5 + number, 6, 7] for number in range(len(prompts))]
        return {
            "prompt_ids": [[3, 4]] * len(prompts), "completion_ids": ids,
            "logprobs": [[-1.0] * 3 for _ in prompts], "workspace": [left[i % 4] for i in range(len(prompts))],
        }  # fmt: skip

    reward = to_trl("files(exist=['sales.csv'], unchanged=['in.csv'])", name="left")
    log = trained(tmp_path, reward, rollout)
    assert len(log) == 2
    for row in log:
        assert row["left/unscored"] == 0.25
        assert row["reward"] == pytest.approx(2 / 3)
