"""verl's calls: the naive and batch managers' and the reward loop's keywords of verl 0.9.1, and verl itself."""

import asyncio
import inspect
import pickle

import pytest

from verikit import Score, verifier
from verikit.adapters import to_verl
from verikit.adapters.stacks import STACKS, shim
from verikit.errors import Unscored

KEYS = {"score", "scored", "pred", "reason"}
CALL = STACKS["verl"].call


@verifier
def broken(sample):
    return Score.error("no sandbox") if sample.completion == "broken" else 1.0


@verifier
def batched(sample):
    return float(sample.meta["question"] == sample.prompt)


def test_the_shown_call_is_scored_and_told_in_columns():
    found = to_verl("answer")(**CALL)
    assert found["score"] == found["scored"] == 1.0
    assert found["pred"] == "42"
    assert set(found) == KEYS


def test_the_batch_managers_plural_names_give_a_list():
    plural = {"data_sources": ["gsm8k"] * 2, "ground_truths": ["42", "42"], "extra_infos": [{"index": 0}, None]}
    found = to_verl("answer")(**plural, solution_strs=["\\boxed{42}", "\\boxed{41}"])
    assert [row["score"] for row in found] == [1.0, 0.0]


def test_what_has_no_score_is_a_number_and_said_so():
    found = to_verl(broken)(data_source="x", solution_str="broken", ground_truth="1")
    assert (found["score"], found["scored"]) == (0.0, 0.0)
    assert "no sandbox" in found["reason"]
    assert to_verl(broken, unscored=-1.0)(data_source="x", solution_str="broken", ground_truth="1")["score"] == -1.0


def test_the_question_and_the_rows_own_fields_reach_the_verifier():
    assert to_verl(batched)(**CALL)["score"] == 1.0


def test_a_gold_in_an_array_or_a_dict_is_read():
    numpy = pytest.importorskip("numpy")
    for gold in (numpy.array(["41", "42"]), {"target": numpy.array(["42"])}, 42, numpy.int64(42)):
        assert to_verl("answer")(**CALL | {"ground_truth": gold})["score"] == 1.0


def test_the_reward_loops_router_arguments_are_taken():
    assert to_verl("answer")(**CALL, reward_router_address=None, reward_model_tokenizer=None)["score"] == 1.0


def test_the_coroutine_form_is_told_by_inspect_and_survives_pickling():
    reward = pickle.loads(pickle.dumps(to_verl("answer", asynchronous=True)))
    assert inspect.iscoroutinefunction(reward)
    assert not inspect.iscoroutinefunction(to_verl("answer"))

    async def many():
        return await asyncio.gather(*(reward(**CALL) for _ in range(50)))

    assert {row["score"] for row in asyncio.run(many())} == {1.0}


def managed(tmp_path, name, manager):
    """What verl's own loader and reward-loop manager make of two samples."""
    import torch
    from omegaconf import OmegaConf
    from tensordict import TensorDict
    from verl import DataProto
    from verl.trainer.ppo.reward import get_custom_reward_fn

    from tests.engines import tiny

    path = tmp_path / "reward.py"
    path.write_text(shim("verl", "answer"))
    config = OmegaConf.create({"reward": {"custom_reward_function": {"path": str(path), "name": name}}})
    compute_score = get_custom_reward_fn(config)
    tokenizer = tiny.tokenizer()
    ids = [tokenizer(text)["input_ids"] for text in ("The answer is 42", "The answer is 41")]
    width = max(map(len, ids))
    rows = [row + [tokenizer.eos_token_id] * (width - len(row)) for row in ids]
    mask = [[1] * (1 + len(row)) + [0] * (width - len(row)) for row in ids]
    batch = {
        "prompts": torch.ones(2, 1, dtype=torch.long),
        "responses": torch.tensor(rows),
        "attention_mask": torch.tensor(mask),
    }
    data = DataProto.from_dict(
        tensors=batch,
        non_tensors={
            "data_source": ["gsm8k"] * 2,
            "reward_model": [{"ground_truth": "42"}] * 2,
            "extra_info": [{"index": 0}, {"index": 1}],
        },
    )
    assert isinstance(data.batch, TensorDict)
    return manager(compute_score, tokenizer, data, config)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["compute_score", "compute_score_async"])
def test_verls_reward_loop_loads_the_shim_and_scores_with_it(tmp_path, name):
    pytest.importorskip("verl")
    from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls

    def loop(compute_score, tokenizer, data, config):
        made = get_reward_manager_cls("naive")(config, tokenizer, compute_score)

        async def both():
            return [await made.run_single(data[i : i + 1]) for i in range(2)]

        return made.loop.run_until_complete(both())

    right, wrong = managed(tmp_path, name, loop)
    assert (right["reward_score"], wrong["reward_score"]) == (1.0, 0.0)
    assert set(right["reward_extra_info"]) == KEYS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["naive", "batch"])
def test_verls_older_managers_put_the_score_on_the_last_token(tmp_path, kind):
    pytest.importorskip("verl")
    from verl.workers.reward_manager import get_reward_manager_cls

    def call(compute_score, tokenizer, data, config):
        made = get_reward_manager_cls(kind)(tokenizer=tokenizer, num_examine=0, compute_score=compute_score)
        return made(data, return_dict=True)

    found = managed(tmp_path, "compute_score", call)
    assert found["reward_tensor"].sum(-1).tolist() == [1.0, 0.0]
    assert found["reward_extra_info"]["scored"] == [1.0, 1.0]


def test_the_parts_of_a_combination_are_columns_of_every_sample():
    reward = to_verl("0.8*exact + 0.2*answer")
    right = reward(data_source="x", solution_str="1", ground_truth="1")
    assert {key: value for key, value in right.items() if key.startswith("part/")} == {
        "part/exact": 1,
        "part/answer": 1,
    }
    lost = reward(data_source="x", solution_str="1", ground_truth=None)
    assert lost.keys() == right.keys() == KEYS | {"part/exact", "part/answer"}


def bad_group(reward, order):
    """The reward loop's calls: 15 prompts of four samples and one whose gold can't be read, as they finish."""
    calls = [(f"q{prompt}", str(prompt), answer) for prompt in range(15) for answer in (prompt, 99, prompt, 99)]
    calls = order(calls + [("bad", "", "1")] * 8)

    async def loop():
        return await asyncio.gather(
            *(
                reward(
                    data_source="x", solution_str=f"\\boxed{{{said}}}", ground_truth=gold, extra_info={"question": q}
                )
                for q, gold, said in calls
            )
        )

    return [row for (question, _, _), row in zip(calls, asyncio.run(loop()), strict=True) if question == "bad"]


@pytest.mark.parametrize("seed", range(4))
def test_a_prompt_that_cant_be_graded_gets_equal_rewards_from_any_worker_in_any_order(seed):
    import random

    def shuffled(calls):
        return random.Random(seed).sample(calls, len(calls))

    workers = [to_verl("answer", asynchronous=True) for _ in range(2)]  # verl picks one at random for each sample
    rows = [row for worker in workers for row in bad_group(worker, shuffled)]
    assert len({row["score"] for row in rows}) == 1
    assert {row["scored"] for row in rows} == {0.0}


def test_the_columns_of_parts_without_a_value_are_missing_and_not_0():
    reward = to_verl("0.8*answer + 0.2*length(max=4)", unscored=-1.0)
    lost = reward(data_source="x", solution_str="1", ground_truth=None)
    assert (lost["score"], lost["part/answer"], lost["part/length"]) == (-1.0, None, 1.0)


def test_verls_batch_manager_stops_at_two_batches_without_a_score():
    reward = to_verl(broken)
    plural = {"solution_strs": ["broken"] * 2, "extra_infos": [{"index": 0}, {"index": 1}]}
    reward(**plural)
    with pytest.raises(Unscored, match="no sandbox"):
        reward(**plural)
