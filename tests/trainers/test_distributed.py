"""Several processes: the same tokens and weights as one, DDP and FSDP2, and exact resumes. Runs of two are torchrun's.

The runs of two processes are made by two torchruns, since importing torch takes longer than a run: all that begin, then
all that resume, in processes that know nothing of what was there before. Runs of one process are made in this one.
"""

import json
import os
import shutil
import socket
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import load_file  # noqa: E402

from tests.conftest import ROOT  # noqa: E402
from verikit.cli import cli  # noqa: E402
from verikit.trainers.checkpoint import checkpoints  # noqa: E402
from verikit.trainers.export import export_run  # noqa: E402
from verikit.trainers.run import read_settings  # noqa: E402

# One group: the runs that all compare with are made once, not on every worker.
pytestmark = [pytest.mark.slow(seconds=125), pytest.mark.xdist_group("distributed")]

SETS = {
    "run.steps": 4, "run.save_every": 2, "warmup.steps": 1, "warmup.gate": 0, "run.evaluate_every": 0,
    "options.held_out_size": 16, "options.prompts": 6, "options.samples": 6, "run.samples_every": 1,
    "batch.tokens": 256, "warmup.optimizer.lr": 1e-9, "run.threads": 1,
}  # fmt: skip
START = {"run.steps": 1, "warmup.steps": 250, "warmup.optimizer.lr": 5e-3}
"""A start that earns rewards, learnt once: 250 steps at a high rate make 1e-4 of the last digit of a sum."""
FSDP2 = {"distributed.kind": "fsdp2"}
WHOLE_GRADIENTS = {"distributed.whole_gradients": "true"}
"""FSDP2 then sums gradients in DDP's order."""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def told(folder, *, resume=False, **changes):
    """The arguments of `verikit`."""
    if resume:
        return ["train", "-q", "--resume", str(folder), "--set", "run.steps=4"]
    sets = [part for key, value in {**SETS, **changes}.items() for part in ("--set", f"{key}={value}")]
    return ["train", "-q", "arithmetic", "-o", str(folder), *sets]


def on_one(*commands):
    """Run them in this process."""
    for arguments in commands:
        assert not cli.main(arguments, prog_name="verikit", standalone_mode=False)


def on_two(folder, *commands):
    """Run them in the two processes of one torchrun."""
    ports = [socket.create_server(("127.0.0.1", 0)) for _ in commands]
    numbers = [port.getsockname()[1] for port in ports]
    for port in ports:
        port.close()
    listed = folder / "commands.json"
    listed.write_text(json.dumps(list(zip(numbers, commands, strict=True))))
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [sys.executable, *start, "-m", "tests.trainers.several", str(listed)]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]


def weights(folder):
    """Of the last checkpoint."""
    export_run(folder, read_settings(folder), folder / "exported")
    return load_file(folder / "exported/model.safetensors")


def apart(a, b):
    return max((a[name] - b[name]).abs().max().item() for name in a)


def sampled(folder):
    rows = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    return [(row["step"], row["prompt"], row["completion"], row["reward"]) for row in rows]


def killed_after_two_steps(folder, run):
    """A copy of a run without the checkpoint of its end: what a kill before that leaves."""
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("1-train-00000004", "exported"))
    assert [path.name for path in checkpoints(folder / "checkpoints")][-1] == "1-train-00000002"
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folder of all runs, and the weights that each ended with."""
    folder = tmp_path_factory.mktemp("runs")
    on_one(told(folder / "start", **START))
    found = {"start": weights(folder / "start")}
    start = {"model.path": folder / "start/exported"}
    kl = {**start, "kl.coefficient": 0.5, "optimizer.lr": 1e-3}
    on_one(told(folder / "one", **start), told(folder / "one kl", **kl))
    on_two(
        folder,
        told(folder / "ddp", **start, **{"distributed.kind": "ddp"}),
        told(folder / "fsdp2", **start, **FSDP2, **WHOLE_GRADIENTS),
        told(folder / "resumed kl", **kl, **FSDP2, **{"run.steps": 2}),
    )
    for kind in ("ddp", "fsdp2"):
        killed_after_two_steps(folder / f"resumed {kind}", folder / kind)
    on_two(folder, *(told(folder / f"resumed {kind}", resume=True) for kind in ("ddp", "fsdp2", "kl")))
    names = ("one", "one kl", "ddp", "fsdp2", "resumed ddp", "resumed fsdp2", "resumed kl")
    return folder, found | {name: weights(folder / name) for name in names}


def test_two_processes_sample_the_same_tokens_and_learn_the_same_weights_as_a_single_process(runs):
    folder, found = runs
    assert apart(found["start"], found["one"]) > 1e-4
    assert sampled(folder / "one") == sampled(folder / "ddp") == sampled(folder / "fsdp2")
    assert apart(found["one"], found["ddp"]) <= 1e-6
    assert apart(found["one"], found["fsdp2"]) <= 1e-6


def test_fsdp2_with_a_kl_learns_and_resumes_like_a_single_process(runs):
    _, found = runs
    assert apart(found["one kl"], found["resumed kl"]) <= 1e-5


def test_fsdp2_equals_ddp_to_the_bit(runs):
    _, found = runs
    assert apart(found["ddp"], found["fsdp2"]) == 0


@pytest.mark.parametrize("kind", ["ddp", "fsdp2"])
def test_a_resume_on_two_processes_is_exact_to_the_bit(runs, kind):
    folder, found = runs
    assert apart(found[kind], found[f"resumed {kind}"]) == 0
    assert sampled(folder / kind) == sampled(folder / f"resumed {kind}")
