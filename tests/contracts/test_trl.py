"""TRL's calls: keywords as `GRPOTrainer._calculate_rewards` of TRL 1.16 passes them, and TRL itself."""

import asyncio
import inspect
import pickle

import pytest

from verikit import Score, verifier
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


def test_a_reward_keeps_its_name_over_pickling_and_says_whether_it_is_awaited():
    for reward, awaited in ((to_trl("answer", name="mine"), False), (to_trl("answer", asynchronous=True), True)):
        copy = pickle.loads(pickle.dumps(reward))
        assert copy.__name__ == reward.__name__
        assert inspect.iscoroutinefunction(copy) is awaited
        assert list(inspect.signature(copy).parameters)[:2] == ["prompts", "completions"]


def test_the_coroutine_form_gives_the_same_rewards():
    call = STACKS["trl"].call | {"log_extra": None, "log_metric": None}
    assert asyncio.run(to_trl("answer", asynchronous=True)(**call)) == [1.0, 0.0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_grpo_trainer_trains_on_a_composed_reward_and_logs_its_parts(tmp_path, asynchronous):
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
    )
    reward = to_trl("0.8*answer + 0.2*length(max=6)", name="good", asynchronous=asynchronous)
    trainer = trl.GRPOTrainer(
        model=path, reward_funcs=reward, args=config, train_dataset=datasets.Dataset.from_list(rows)
    )
    trainer.train()
    last = [row for row in trainer.state.log_history if "reward" in row]
    assert len(last) == 2
    for row in last:
        assert row["reward"] == pytest.approx(row["rewards/good/mean"])
        assert row["good/unscored"] == 0.0
        assert row["reward"] == pytest.approx(0.8 * row["good/answer"] + 0.2 * row["good/length"], abs=1e-6)
