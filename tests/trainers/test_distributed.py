"""Several processes: the same tokens and weights as one, DDP and FSDP2, and exact resumes. Each run is torchrun's."""

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
# One group: the runs that all compare with are made once, not on every worker.
pytestmark = [pytest.mark.slow(seconds=190), pytest.mark.xdist_group("distributed")]

SETS = {
    "run.steps": 4, "run.save_every": 2, "warmup.steps": 1, "warmup.gate": 0, "run.evaluate_every": 0,
    "options.held_out_size": 16, "options.prompts": 6, "options.samples": 6, "run.samples_every": 1,
    "batch.tokens": 256, "warmup.optimizer.lr": 1e-9,
}  # fmt: skip
START = {"run.steps": 1, "warmup.steps": 250, "warmup.optimizer.lr": 5e-3}
"""A start that earns rewards, learnt once: 250 steps at a high rate make 1e-4 of the last digit of a sum."""
WHOLE_GRADIENTS = {"distributed.whole_gradients": "true"}
"""FSDP2 then sums gradients in DDP's order."""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def command(processes, *arguments):
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)] if processes > 1 else []
    return [sys.executable, *start, "-m", "verikit", *map(str, arguments)]


def sets(**changes):
    return [part for key, value in {**SETS, **changes}.items() for part in ("--set", f"{key}={value}")]


def train(folder, processes, kind="ddp", resume=False, **changes):
    what = ["train", "-q", "--resume", folder] if resume else ["train", "-q", "arithmetic", "-o", folder]
    more = sets(**{"distributed.kind": kind} if processes > 1 else {}, **changes) if not resume else []
    more = ["--set", "run.steps=4"] if resume else more
    done = subprocess.run(
        command(processes, *what, *more), env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return weights(folder)


def weights(folder):
    from safetensors.torch import load_file

    subprocess.run(command(1, "export", folder, "-o", folder / "exported"), env=ENVIRONMENT, check=True, timeout=300)
    return load_file(folder / "exported/model.safetensors")


def apart(a, b):
    return max((a[name] - b[name]).abs().max().item() for name in a)


def sampled(folder):
    rows = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    return [(row["step"], row["prompt"], row["completion"], row["reward"]) for row in rows]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    train(folder / "start", 1, **START)
    start = {"model.path": folder / "start/exported"}
    kinds = {"one": (1, "ddp", {}), "ddp": (2, "ddp", {}), "fsdp2": (2, "fsdp2", WHOLE_GRADIENTS)}
    found = {
        name: train(folder / name, processes, kind, **start, **more) for name, (processes, kind, more) in kinds.items()
    }
    return folder, found


def test_two_processes_sample_the_same_tokens_and_learn_the_same_weights_as_a_single_process(runs):
    folder, found = runs
    assert apart(weights(folder / "start"), found["one"]) > 1e-4
    assert sampled(folder / "one") == sampled(folder / "ddp") == sampled(folder / "fsdp2")
    assert apart(found["one"], found["ddp"]) <= 1e-6
    assert apart(found["one"], found["fsdp2"]) <= 1e-6


def test_fsdp2_with_a_kl_learns_and_resumes_like_a_single_process(runs, tmp_path):
    folder, _ = runs
    shared = {"model.path": folder / "start/exported", "kl.coefficient": 0.5, "optimizer.lr": 1e-3}
    alone = train(tmp_path / "one", 1, **shared)
    train(tmp_path / "cut", 2, "fsdp2", **{**shared, "run.steps": 2})
    assert apart(alone, train(tmp_path / "cut", 2, "fsdp2", resume=True)) <= 1e-5


def test_fsdp2_equals_ddp_to_the_bit(runs):
    _, found = runs
    assert apart(found["ddp"], found["fsdp2"]) == 0


@pytest.mark.parametrize("kind", ["ddp", "fsdp2"])
def test_a_resume_on_two_processes_is_exact_to_the_bit(runs, tmp_path, kind):
    folder, found = runs
    more = WHOLE_GRADIENTS if kind == "fsdp2" else {}
    train(tmp_path / "cut", 2, kind, **{"run.steps": 2, "model.path": folder / "start/exported"}, **more)
    resumed = train(tmp_path / "cut", 2, kind, resume=True)
    assert apart(found[kind], resumed) == 0
