"""SkyRL: the environment made and stepped by skyrl-gym itself, as its generator does."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from verikit import Score, verifier
from verikit.adapters.skyrl import sample_of, to_skyrl
from verikit.adapters.stacks import STACKS, shim
from verikit.errors import Unscored

CALL = STACKS["skyrl"].call


@verifier
def moody(sample):
    return (
        Score.error("the judge is away") if "fail" in sample.completion else float(sample.completion == sample.answer)
    )


@pytest.fixture
def run():
    gym = pytest.importorskip("skyrl_gym")
    from skyrl_gym.metrics import aggregate_for_environment

    def run(entry, rows):
        """As SkyRL's generator: one environment a sample, its methods in threads, its metrics in the end."""
        gym.register(id="verikit", entry_point=entry)
        try:
            outs, metrics = [], []
            with ThreadPoolExecutor(4) as threads:
                for prompt, extras, action in rows:
                    env = gym.make("verikit", env_config={}, extras=extras)
                    asked, _ = threads.submit(env.init, prompt).result()
                    assert asked == prompt
                    outs.append(threads.submit(env.step, action).result())
                    metrics.append(env.get_metrics())
                    threads.submit(env.close).result()
            return outs, aggregate_for_environment("verikit", metrics)
        finally:
            del gym.registry["verikit"]

    return run


def test_skyrls_example_is_read_as_a_sample():
    sample = sample_of(CALL["prompt"], CALL["action"], CALL["extras"])
    assert (sample.prompt, sample.answer, sample.meta) == (CALL["prompt"], "42", {"data_source": "gsm8k"})
    assert sample_of("?", "x", {"extra_info": {"answer": 5, "level": 2}}).answer == "5"


def test_skyrl_steps_the_environment_of_the_shim(run, tmp_path, monkeypatch):
    (tmp_path / "skyrl_reward.py").write_text(shim("skyrl", "0.9*answer + 0.1*boxed"))
    monkeypatch.syspath_prepend(tmp_path)
    rows = [(CALL["prompt"], CALL["extras"], text) for text in (CALL["action"], "It is 41.")]
    outs, metrics = run("skyrl_reward:Environment", rows)
    assert [out["reward"] for out in outs] == [1.0, 0.0]
    assert all(out["done"] and out["observations"] == [] for out in outs)
    assert metrics == {"verikit/unscored": 0.0, "verikit/part/answer": 0.5, "verikit/part/boxed": 0.5}


def test_what_has_no_score_gets_its_prompts_mean_and_is_counted(run):
    prompt = [{"role": "user", "content": "?"}]
    extras = {"reward_spec": {"ground_truth": "5"}}
    rows = [(prompt, extras, action) for action in ("5", "4", "fail", "fail")]
    outs, metrics = run(to_skyrl(moody), rows)
    assert [out["reward"] for out in outs] == [1.0, 0.0, 0.5, 0.5]
    assert outs[2]["metadata"]["verikit"]["reason"] == "the judge is away"
    assert metrics["verikit/unscored"] == 0.5
    with pytest.raises(Unscored):
        run(to_skyrl(moody, unscored="raise"), rows)
    assert [out["reward"] for out in run(to_skyrl(moody, unscored=-1.0), rows)[0]] == [1.0, 0.0, -1.0, -1.0]


def test_steps_inside_a_running_loop_work(run):
    async def inside():
        return run(to_skyrl("answer"), [(CALL["prompt"], CALL["extras"], CALL["action"])])

    outs, _ = asyncio.run(inside())
    assert outs[0]["reward"] == 1.0
