"""The loop: learning, exact resume, kills, bad rewards, bad gradients, bad settings."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.trainers.conftest import make, same, settings, train
from tests.trainers.counted import LiveBytes, own_bytes
from verikit.base import verifier
from verikit.errors import ConfigError, TrainerError
from verikit.trainers import checkpoint
from verikit.trainers.config import changed, differences, load_config, read_config
from verikit.trainers.experience import experience, with_variance
from verikit.trainers.recipe import Trajectory
from verikit.trainers.run import read_log
from verikit.trainers.warmup import warm_up
from verikit.trainers.weights import LiveEngine
from verikit.types import Score

torch = pytest.importorskip("torch")


def test_two_runs_are_equal_and_a_resumed_run_equals_an_unbroken_run(tmp_path):
    whole = train(tmp_path / "whole", settings(run__steps=4))
    assert same(whole, train(tmp_path / "again", settings(run__steps=4)))
    stopped = make(tmp_path / "cut", settings(run__steps=4))
    warm_up(stopped)
    stopped._evaluate()
    for step in (1, 2):
        stopped._train_step(step)
    stopped.close()
    stopped.folder.close()
    assert same(whole, train(tmp_path / "cut", settings(run__steps=4), resume=True))
    timeless = [
        [{k: v for k, v in row.items() if "second" not in k and k != "memory_mb"} for row in read_log(path)]
        for path in (tmp_path / "whole/metrics.jsonl", tmp_path / "cut/metrics.jsonl")
    ]
    assert timeless[0] == timeless[1]
    assert (tmp_path / "whole/samples.jsonl").read_bytes() == (tmp_path / "cut/samples.jsonl").read_bytes()


def test_the_kl_reference_of_a_resumed_run_is_the_model_it_started_from(tmp_path):
    config = settings(run__steps=3, kl__coefficient=0.1)
    whole = train(tmp_path / "whole", config)
    part = make(tmp_path / "cut", config)
    warm_up(part)
    part._find_reference()
    part._evaluate()
    part._train_step(1)
    part.close()
    part.folder.close()
    assert same(whole, train(tmp_path / "cut", config, resume=True))


def test_a_checkpoint_is_loaded_into_the_memory_that_learning_has(tmp_path, monkeypatch):
    """Loading makes the optimizer's state, and gradients for a moment: with what samples beside it that is too much."""
    config = settings(run__steps=1, precision__master="float32", **JITTER).model_copy(update={"warmup": None})
    train(tmp_path / "run", config)
    told, counter, load = [], LiveBytes(), checkpoint.load

    def counted_load(*arguments):
        told.append("load")
        counter.peak = counter.now()
        load(*arguments)
        told.append(counter.peak)

    monkeypatch.setattr(checkpoint, "load", counted_load)
    monkeypatch.setattr(LiveEngine, "rest", lambda engine, rest=LiveEngine.rest: (told.append("rest"), rest(engine)))
    with counter:
        trainer = make(tmp_path / "run", config, resume=True)
    weights = own_bytes(trainer.policy.parameters())
    trainer.close()
    trainer.folder.close()
    assert told[:2] == ["rest", "load"]
    learning = 4 * weights  # weights, gradients and two numbers of Adam's for each
    assert 3 * weights < told[2] < 1.02 * learning


@pytest.mark.slow
def test_the_reference_is_asked_when_the_sampler_has_given_the_device_back(tmp_path, monkeypatch):
    trainer = make(tmp_path / "run", settings(run__steps=1, kl__coefficient=0.1))
    told, rest = [], trainer.engine.rest
    monkeypatch.setattr(trainer.engine, "rest", lambda: (told.append("rest"), rest()))
    warm_up(trainer)
    trainer._find_reference()
    reference, told[:] = trainer.reference, []
    trainer.reference = lambda rows: (told.append("reference"), reference(rows))[1]
    trainer._train_step(1)
    assert told == ["rest", "reference"]
    trainer.close()
    trainer.folder.close()


def test_a_kill_at_any_moment_and_also_while_saving_costs_no_more_than_the_steps_since(tmp_path):
    changes = ["run.steps=12", "run.save_every=1", "warmup.steps=2", "warmup.gate=0", "options.held_out_size=8"]
    changes += ["options.prompts=2", "options.samples=4", "run.evaluate_every=0", "run.max_idle_steps=0"]
    sets = [part for change in changes for part in ("--set", change)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    base = [sys.executable, "-m", "verikit", "train"]
    subprocess.run([*base, "arithmetic", "-q", "-o", tmp_path / "whole", *sets], env=environment, check=True)
    command = [*base, "arithmetic", "-q", "-o", tmp_path / "cut", *sets]
    for kill in range(6):
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        seen = len(list((tmp_path / "cut/checkpoints").glob("*")))
        while process.poll() is None and len(list((tmp_path / "cut/checkpoints").glob(".*"))) == 0 and seen < 99:
            time.sleep(0.002)  # until a checkpoint is being written
        time.sleep(0.003 * kill)
        process.send_signal(signal.SIGKILL)
        process.wait()
        command = [*base, "-q", "--resume", tmp_path / "cut"]
        if not (tmp_path / "cut/config.json").exists():
            command = [*base, "arithmetic", "-q", "-o", tmp_path / "cut", *sets]
    subprocess.run(command, env=environment, check=True)
    weights = []
    for name in ("whole", "cut"):
        subprocess.run(
            [*base[:-1], "export", tmp_path / name, "-o", tmp_path / name / "x"], env=environment, check=True
        )
        weights.append((tmp_path / name / "x/model.safetensors").read_bytes())
    assert weights[0] == weights[1]


@pytest.mark.slow
def test_a_thousand_steps_leak_neither_memory_nor_files_nor_processes(tmp_path):
    logs = {"run__save_every": 200, "run__evaluate_every": 500, "run__max_idle_steps": 0}
    config = settings(run__steps=1000, options__prompts=2, **logs)
    trainer = make(tmp_path / "run", config)
    warm_up(trainer)

    def memory_and_files():
        with open("/proc/self/statm") as stream:
            return int(stream.read().split()[1]) * 4 / 1024, len(os.listdir("/proc/self/fd"))

    for step in range(1, 201):
        trainer._train_step(step)
    memory, files = memory_and_files()
    for step in range(201, 1001):
        trainer._train_step(step)
    later, files_later = memory_and_files()
    trainer.close()
    trainer.folder.close()
    print(f"800 steps: {later - memory:+.1f} MB, {files_later - files:+d} files")
    assert later - memory < 16
    assert files_later <= files
    children = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "stat="], capture_output=True, text=True).stdout
    assert "Z" not in children


def trajectories(*rewards, group=0, **others):
    return [Trajectory([1, 2, 3], [False, True, True], [0, -1, -1], r, group, **others) for r in rewards]


def test_the_unscored_leave_the_batch_and_are_counted():
    made = experience(trajectories(1.0, None, 0.0) + trajectories(None, 1.0, group=1), settings(), None)
    assert made.metrics["unscored"] == 2
    assert made.metrics["groups_dropped"] == 1
    assert [row.advantage[0].item() > 0 for row in made.rows] == [True, False]
    assert made.metrics["reward"] == pytest.approx(2 / 3)


def test_groups_that_tell_nothing_are_refilled_or_the_run_stops_by_name(tmp_path):
    assert with_variance(trajectories(1.0, 1.0) + trajectories(0.0, None, 0.0, group=1)) == []
    assert len(with_variance(trajectories(1.0, 0.0))) == 2
    config = settings(batch__dynamic=3, options__reward="length(max=999)")
    with pytest.raises(TrainerError, match="0 of 4 groups have unequal rewards after 3 tries"):
        train(tmp_path / "same", config)
    train(
        tmp_path / "fine",
        settings(batch__dynamic=20, options__reward="length(max=16)", warmup__steps=100, run__steps=1),
    )


def parted(*values, group=0, reward=None):
    """Trajectories with an answer part and a format part; None: unscored."""
    named = [dict(zip(("answer", "format"), pair, strict=True)) for pair in values]
    parts = [{name: value for name, value in pair.items() if value is not None} for pair in named]
    return [Trajectory([1, 2], [False, True], [0, -1], reward, group, parts=pair) for pair in parts]


def test_gdpo_learns_from_the_parts_that_are_scored_and_counts_those_that_are_not():
    config = settings(advantage__kind="gdpo", advantage__weights__answer=1.0, advantage__weights__format=1.0)
    batch = parted((1, 0), (None, 1), (None, None), (0, 0)) + parted((1, 1), (1, 1), group=1)
    made = experience(batch, config, None)
    values = [row.advantage[0].item() for row in made.rows]
    assert len(values) == 5  # the one without any part has left
    assert values[1] > 0 > values[2]  # its format alone, far above the group's; nothing for the answer that is missing
    assert values[3:] == [0, 0]
    assert made.metrics["unscored/answer"] == 2
    assert made.metrics["unscored/format"] == 1
    assert made.metrics["zero_variance"] == made.metrics["zero_variance/answer"] == 0.5


def test_groups_of_equal_sums_tell_something_where_their_parts_differ():
    batch = parted((1, 0), (0, 1), reward=1.0)
    assert with_variance(batch) == []
    assert len(with_variance(batch, ["answer", "format"])) == 2
    config = settings(advantage__kind="gdpo", advantage__weights__answer=2.0, advantage__weights__format=1.0)
    even = experience(batch, config, None)
    assert [row.advantage[0].item() > 0 for row in even.rows] == [True, False]


def test_gdpo_of_a_reward_without_parts_compares_the_reward():
    made = experience(trajectories(1.0, None, 0.0), settings(advantage__kind="gdpo"), None)
    assert [row.advantage[0].item() > 0 for row in made.rows] == [True, False]


def test_a_weight_for_a_part_that_no_reward_has_stops_the_run_by_name(tmp_path):
    config = settings(advantage__kind="gdpo", advantage__weights__boxd=1.0, options__reward="answer + boxed")
    with pytest.raises(TrainerError, match="no reward has a part 'boxd'; parts are answer, boxed"):
        train(tmp_path / "run", config)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"advantage__weights__answer": 1.0}, "are for kind = gdpo"),
        ({"advantage__kind": "gdpo", "kl__in_reward": True}, "kl.in_reward"),
        ({"advantage__kind": "gdpo", "loss__soft_length": 9}, "soft_overlong"),
    ],
)
def test_what_does_not_go_with_gdpo_is_refused(changes, told):
    with pytest.raises(ConfigError, match=told):
        settings(**changes)


def test_sequences_cut_at_the_limit_give_no_gradient():
    config = settings(loss__overlong="filter")
    made = experience(trajectories(1.0) + trajectories(0.0, finished=False), config, None)
    assert [len(row.where) for row in made.rows] == [2, 0]


def test_draws_without_their_probabilities_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="top-p below 1") as refused:
        train(tmp_path / "run", settings(options__top_p=0.9))
    assert "batch.allow_truncated" in refused.value.hint
    train(tmp_path / "allowed", settings(options__top_p=0.9, batch__allow_truncated=True, run__steps=1))


@verifier
def broken(sample):
    """A verifier that always fails, as a judge without a server does."""
    return Score.error("the judge is down")


@verifier
def jitter(sample):
    """A reward that differs between nearly all completions."""
    return sum(map(ord, sample.completion)) % 11 / 11


JITTER = {"options__reward": f"{__name__}:jitter", "options__reward_timeout": 0}


def test_a_verifier_that_always_errors_stops_the_run_with_its_reason(tmp_path):
    reward = f"{__name__}:broken"
    with pytest.raises(TrainerError, match="16 of 16 trajectories of role 'policy' are unscored: the judge is down"):
        train(tmp_path / "run", settings(options__reward=reward, run__steps=9, options__held_out_size=0))
    with pytest.raises(TrainerError, match="completions of the held-out problems are all unscored: the judge is down"):
        train(tmp_path / "evaluated", settings(options__reward=reward, run__steps=9))


@pytest.mark.parametrize("steps", [2, 9])
def test_a_gradient_that_is_not_finite_is_skipped_counted_dumped_and_stops_the_run_in_the_end(tmp_path, steps):
    trainer = make(tmp_path / "run", settings(run__steps=steps, run__max_bad_steps=3, **JITTER))
    warm_up(trainer)
    before = {name: parameter.detach().clone() for name, parameter in trainer.policy.named_parameters()}
    backward = trainer.learner._backward

    def poisoned(micro):
        sums = backward(micro)
        next(trainer.policy.parameters()).grad[0, 0] = float("nan")
        return sums

    trainer.learner._backward = poisoned
    if steps == 2:
        trainer.run()
    else:
        with pytest.raises(TrainerError, match="not finite 3 times in a row"):
            trainer.run()
    assert same(before, dict(trainer.policy.named_parameters()))
    dumped = sorted((tmp_path / "run").glob("not-finite-*.json"))
    assert len(dumped) == min(steps, 3)
    assert json.loads(dumped[0].read_text())["rows"]
    trainer.close()
    trainer.folder.close()


def test_a_full_disk_stops_by_name_and_the_last_checkpoint_stands(tmp_path, monkeypatch):
    trainer = make(tmp_path / "run", settings())
    warm_up(trainer)
    trainer._evaluate()
    trainer._train_step(1)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "dcp_save", full)
        with pytest.raises(TrainerError, match="No space left"):
            trainer._train_step(2)
    trainer.close()
    trainer.folder.close()
    again = make(tmp_path / "run", settings(), resume=True)
    assert again.step == 1
    again.close()
    again.folder.close()


def test_a_misspelt_key_shows_the_nearest_key():
    for change, told in (("loss.clip_hihg=1", "clip_high"), ("option.x=1", "options"), ("options.promts=1", "prompts")):
        with pytest.raises(ConfigError, match=rf"did you mean {told}\?"):
            load_config("arithmetic", [change])
    with pytest.raises(ConfigError) as told:
        load_config("arithmetik")
    assert "arithmetic" in told.value.hint


def test_settings_that_differ_at_a_resume_are_named():
    old = load_config("arithmetic")
    new = read_config(changed(old.model_dump(mode="json"), ["run.steps=70", "optimizer.lr=1e-4"]))
    assert list(differences(old, new)) == ["optimizer.lr: 0.0002 -> 0.0001", "run.steps: 60 -> 70"]


def test_a_folder_that_holds_a_run_is_not_trained_over(tmp_path):
    train(tmp_path / "run", settings(run__steps=1))
    with pytest.raises(ConfigError, match="contains a run") as told:
        make(tmp_path / "run")
    assert "--resume" in told.value.hint


@pytest.mark.parametrize("kind", ["grpo", "dr-grpo", "rloo", "reinforce++", "reinforce++-baseline", "trr++"])
def test_every_estimator_trains(tmp_path, kind):
    config = settings(advantage__kind=kind, run__steps=1, kl__coefficient=0.01, kl__in_reward=True, **JITTER)
    train(tmp_path / "run", config)
    row = [line for line in read_log(tmp_path / "run/metrics.jsonl") if "reward" in line][-1]
    assert row["skipped"] == 0
    assert row["grad_norm"] > 0


@pytest.mark.parametrize(
    ("kind", "others"),
    [
        ("gspo", {"loss__aggregation": "seq-mean-token-mean"}),
        ("cispo", {}),
        ("ppo", {"loss__dual_clip": 3.0, "loss__entropy": 0.01, "loss__mismatch": "truncate", "batch__minibatches": 2}),
        ("ppo", {"loss__aggregation": "seq-mean-token-sum-norm", "loss__length": 32, "batch__epochs": 2}),
    ],
)
def test_every_loss_trains(tmp_path, kind, others):
    train(tmp_path / "run", settings(loss__kind=kind, run__steps=1, **JITTER, **others))
    row = [line for line in read_log(tmp_path / "run/metrics.jsonl") if "reward" in line][-1]
    assert row["skipped"] == 0
    assert row["grad_norm"] > 0
