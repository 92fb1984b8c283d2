"""OpenRLHF's calls: by position, one sample at a time in threads, with special tokens; and OpenRLHF itself."""

import asyncio
import pickle
from types import SimpleNamespace

import pytest

from verikit import Score, verifier
from verikit.adapters import to_openrlhf
from verikit.adapters.openrlhf import response_of
from verikit.adapters.stacks import STACKS, shim

CALL = STACKS["openrlhf"].call


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@verifier
def broken(sample):
    return Score.error("no sandbox")


def test_the_shown_call_gives_tensors_of_the_batchs_length(torch):
    found = to_openrlhf("answer")(CALL["queries"], CALL["prompts"], CALL["labels"])
    assert found["rewards"].tolist() == found["scores"].tolist() == [1.0]
    assert found["extra_logs"]["scored"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("query", "prompt"),
    [
        ("2+2= 4, so the answer is 4</s>", "2+2="),
        ("<s>2+2= 4, so the answer is 4</s></s>", "2+2="),
        ("<|begin_of_text|>2+2= 4, so the answer is 4<|eot_id|>\n<|end_of_text|>", "2+2="),
        ("<s> 2 + 2 = 4, so the answer is 4<|im_end|>", "2 +  2 =\n"),
        ("<｜begin▁of▁sentence｜>2+2= 4, so the answer is 4<｜end▁of▁sentence｜>", "2+2="),
        ("and then at last: what is 2 plus 2? 4, so the answer is 4", "Long ago, and then at last: what is 2 plus 2?"),
        ("4, so the answer is 4<eos><pad><pad>", ""),
    ],
)
def test_the_response_is_what_stands_after_the_prompt_without_special_tokens(query, prompt):
    assert response_of(query, prompt) == "4, so the answer is 4"


def test_a_query_without_its_prompt_has_no_score_rather_than_the_prompts(torch):
    found = to_openrlhf("answer")(["an example: \\boxed{42}. Now you: 7"], ["\\boxed{42} is an example:"], ["42"])
    assert found["rewards"].tolist() == [0.0]
    assert found["extra_logs"]["scored"].tolist() == [0.0]


def test_marks_inside_a_response_stay():
    assert response_of("p: a <|x|> b", "p:") == "a <|x|> b"
    assert response_of("p: 1 <| 2 |>", "p:") == "1 <| 2 |>"


def test_what_has_no_score_is_a_number_and_counted(torch):
    found = to_openrlhf(broken, unscored=-1.0)(["a"], [""], [None])
    assert found["rewards"].tolist() == [-1.0]
    assert found["scores"].tolist() == [0.0]
    assert found["extra_logs"]["scored"].tolist() == [0.0]


def test_calls_from_many_threads_come_back_each_with_its_own(torch):
    reward = pickle.loads(pickle.dumps(to_openrlhf("answer")))

    async def many():
        calls = [asyncio.to_thread(reward, [f"p {i % 3}"], ["p"], ["1"]) for i in range(60)]
        return [found["rewards"].item() for found in await asyncio.gather(*calls)]

    assert asyncio.run(many()) == [float(i % 3 == 1) for i in range(60)]


@pytest.mark.filterwarnings("ignore")
def test_openrlhfs_executor_loads_the_shim_and_fills_reward_and_logs(tmp_path, torch):
    pytest.importorskip("openrlhf")
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    from tests.engines import tiny

    path = tmp_path / "reward.py"
    path.write_text(shim("openrlhf", "answer"))
    tokenizer = tiny.tokenizer()

    class Engine:
        async def generate(self, prompt_ids, params, multi_modal_data=None):
            ids = tokenizer("The answer is 42</s>", add_special_tokens=False)["input_ids"]
            return SimpleNamespace(outputs=[SimpleNamespace(token_ids=ids, finish_reason="stop", logprobs=None)])

    params = SimpleNamespace(max_tokens=32, logprobs=None)
    prompt = "<s>user: 6 * 7?</s><s>assistant:"
    executor = SingleTurnAgentExecutor([str(path)])
    out = asyncio.run(executor.execute(prompt, "42", params, 256, tokenizer, Engine()))
    assert torch.tensor([out["reward"]]).tolist() == [1.0]  # as its samples generator does
    assert torch.tensor([out["scores"]]).tolist() == [1.0]
    assert out["extra_logs"]["scored"].tolist() == [1.0]


def test_the_parts_of_a_combination_are_logged(torch):
    logs = to_openrlhf("0.8*exact + 0.2*boxed")(["Say 1: 1"], ["Say 1: "], ["1"])["extra_logs"]
    assert {name: values.tolist() for name, values in logs.items()} == {
        "scored": [1.0], "part/exact": [1.0], "part/boxed": [0.0],
    }  # fmt: skip


def test_a_part_without_a_value_is_not_a_number_and_never_0(torch):
    logs = to_openrlhf("0.8*exact + 0.2*length(max=4)")(["Say 1: 1"], ["Say 1: "], [None])["extra_logs"]
    assert logs["scored"].tolist() == [0.0]
    assert logs["part/exact"].isnan().all()
    assert logs["part/length"].tolist() == [1.0]


def test_a_prompt_that_cant_be_graded_gets_equal_rewards_between_calls_of_others(torch):
    reward = to_openrlhf("exact")
    found = []
    for said in "1213":
        found += reward(["bad: x"], ["bad: "], [None])["rewards"].tolist()
        reward([f"Say 1: {said}"], ["Say 1: "], ["1"])
    assert len(set(found)) == 1
