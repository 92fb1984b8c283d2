import json
import socket
from contextlib import closing
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

TINY = {"options.held_out_size": 16, "options.prompts": 4, "options.samples": 4, "warmup.steps": 2, "warmup.gate": 0}
"""Changes that make the arithmetic config take a moment."""


@pytest.fixture(autouse=True)
def _single_thread():
    torch.set_num_threads(1)


@pytest.fixture
def alone(monkeypatch):
    """A world of DDP with one process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in {"RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}.items():
        monkeypatch.setenv(name, str(value))
    from verikit.trainers.distributed import Ranks

    with closing(Ranks()) as world:
        yield world


def settings(**changes):
    """The arithmetic config, made small; changes by their dotted keys, dots as double underscores."""
    from verikit.trainers.config import load_config

    wanted = (
        TINY
        | {"run.steps": 3, "run.save_every": 1, "run.samples_every": 1}
        | {key.replace("__", "."): v for key, v in changes.items()}
    )
    return load_config("arithmetic", [f"{key}={json.dumps(value)}" for key, value in wanted.items()])


def make(folder: Path, config=None, resume=False, world=None):
    """An open trainer in a folder."""
    from verikit.trainers.distributed import World
    from verikit.trainers.grpo import Trainer
    from verikit.trainers.run import RunFolder

    config = config or settings()
    opened = RunFolder(folder)
    try:
        if not resume:
            opened.begin(config, 1)
        trainer = Trainer(config, opened, world or World())
        if resume:
            trainer.resume()
    except BaseException:
        opened.close()
        raise
    return trainer


def train(folder: Path, config=None, resume=False):
    """Train in this process and return the weights at the end."""
    trainer = make(folder, config, resume)
    try:
        trainer.run()
        return {name: parameter.detach().clone() for name, parameter in trainer.policy.named_parameters()}
    finally:
        trainer.close()
        trainer.folder.close()


def same(a, b):
    """Whether two sets of weights are equal to the bit."""
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)
