"""NeMo-RL: the environment's step, called as `calculate_rewards` of its rollouts does.

The package index has only a placeholder of NeMo-RL, so what it does with the return is written out here from
`nemo_rl/experience/rollouts.py`.
"""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from verikit import Score, verifier
from verikit.adapters import nemo_rl
from verikit.adapters.nemo_rl import of_config
from verikit.adapters.stacks import STACKS, shim
from verikit.errors import ConfigError, Unscored, UsageError

CALL = STACKS["nemo-rl"].call


@verifier
def moody(sample):
    return (
        Score.error("the judge is away") if "fail" in sample.completion else float(sample.completion == sample.answer)
    )


def log(text, question="?"):
    return [{"role": "user", "content": question}, {"role": "assistant", "content": text}]


def calculate_rewards(env, logs, infos):
    """The parts of NeMo-RL's function that look at the return."""
    import torch

    observations, metadata, stops, task_rewards, terminateds, answers = env.step(logs, infos)
    if stops is None:
        stops = [None] * len(task_rewards)
    rewards = torch.stack([task_rewards[i] for i in range(len(logs))])
    ended = torch.tensor([terminateds[i] for i in range(len(logs))]).bool()
    total = torch.zeros(len(logs), dtype=torch.float32)
    total[torch.arange(len(logs))] += rewards
    assert all({"role", "content"} == set(message) for message in observations)
    assert len(metadata) == len(stops) == len(answers) == len(logs)
    assert ended.all()
    return total.tolist()


def test_a_batch_is_scored_and_every_episode_ends():
    pytest.importorskip("torch")
    env = of_config({"spec": "0.9*answer + 0.1*boxed"})
    assert calculate_rewards(env, CALL["message_log_batch"], CALL["metadata"]) == [1.0]
    turns = [*log("6 * 7"), {"role": "environment", "content": "42"}, {"role": "assistant", "content": "\\boxed{42}"}]
    assert calculate_rewards(env, [turns, log("41")], [{"ground_truth": 42}] * 2) == [1.0, 0.0]
    batch = {"total_reward": 1}
    assert env.global_post_process_and_metrics(batch) == (batch, {"unscored": 0.0, "unscored_count": 0})


def test_what_has_no_score_gets_its_groups_mean_and_is_counted():
    pytest.importorskip("torch")
    env = nemo_rl.NemoRLReward(moody)
    logs = [log(text, question) for question in "ab" for text in ("5", "fail", "4" if question == "a" else "5")]
    infos = [{"answer": "5"}] * 6
    assert calculate_rewards(env, logs, infos) == [1.0, 0.5, 0.0, 1.0, 1.0, 1.0]
    assert env.global_post_process_and_metrics({})[1] == {"unscored": 2 / 6, "unscored_count": 2}
    with pytest.raises(Unscored, match="away"):
        nemo_rl.NemoRLReward(moody, unscored="raise").step(logs, infos)
    assert calculate_rewards(nemo_rl.NemoRLReward(moody, unscored=-1.0), logs[:2], infos[:2]) == [1.0, -1.0]


def test_a_section_with_unknown_settings_is_refused():
    with pytest.raises(ConfigError, match="num_workers"):
        of_config({"spec": "answer", "num_workers": 4})
    with pytest.raises(ConfigError, match="needs a verifier"):
        of_config({"unscored": "mean"})


def test_the_shim_registers_the_actor_by_its_dotted_name(monkeypatch):
    with pytest.raises(UsageError, match="NeMo-RL is not installed"):
        nemo_rl.register()
    registered = {}
    actors = SimpleNamespace(ACTOR_ENVIRONMENT_REGISTRY={})
    modules = {
        "nemo_rl.distributed.ray_actor_environment_registry": actors,
        "nemo_rl.distributed.virtual_cluster": SimpleNamespace(PY_EXECUTABLES=SimpleNamespace(SYSTEM="python")),
        "nemo_rl.environments.utils": SimpleNamespace(register_env=registered.__setitem__),
    }
    for name in ("nemo_rl", "nemo_rl.distributed", "nemo_rl.environments"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    names = {}
    exec(shim("nemo-rl", "answer"), names)  # the user's file
    assert registered == {"verikit": nemo_rl.ACTOR}
    assert actors.ACTOR_ENVIRONMENT_REGISTRY == {nemo_rl.ACTOR: "python"}
    assert of_config(names["config"]).verifier.fingerprint
    assert nemo_rl.ACTOR.rpartition(".")[0] == nemo_rl.__name__


def test_ray_runs_the_actor():
    ray = pytest.importorskip("ray")
    pytest.importorskip("torch")
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        actor = nemo_rl.VerikitEnvironment.remote({"spec": "answer"})
        found = ray.get(actor.step.remote(CALL["message_log_batch"], CALL["metadata"]))
        assert found[3].tolist() == [1.0]
    finally:
        ray.shutdown()
