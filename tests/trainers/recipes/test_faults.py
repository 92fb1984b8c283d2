"""What breaks beside the policy: a full disk at a checkpoint, sandbox servers killed amid a step.

A retriever and a judge that are down, and an engine that loses requests, are in the tests of their recipes.
"""

import random
import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.trainers.conftest import make, same, train
from tests.trainers.recipes.scripted import Scripted
from tests.trainers.recipes.test_absolute_zero import Honest, answer
from tests.trainers.recipes.test_absolute_zero import made as absolute_zero
from tests.trainers.recipes.test_elo_evolve import tiny as elo_evolve
from tests.trainers.recipes.test_r1_searcher import tiny as r1_searcher
from tests.trainers.recipes.test_self_play_tiny import short
from verikit.errors import TrainerError
from verikit.sandbox.client import ForkServer
from verikit.trainers import checkpoint


def with_few_players(config):
    """Rating them takes most of the time of a short run."""
    config.options |= {"players": {"p50": 0.5, "p90": 0.9}, "strangers": {"s60": 0.6}}
    return config


CONFIGS = {
    "absolute-zero": lambda: short("absolute-zero-tiny"),
    "spice": lambda: short("spice-tiny"),
    "r1-searcher": r1_searcher,
    "elo-evolve": lambda: with_few_players(elo_evolve()),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_disk_full_at_a_checkpoint_stops_by_name_and_the_resumed_run_is_the_run_without_a_break(
    tmp_path, monkeypatch, name
):
    whole = train(tmp_path / "whole", CONFIGS[name]())
    trainer = make(tmp_path / "parts", CONFIGS[name]())
    save = checkpoint.dcp_save

    def full(tensors, checkpoint_id, **others):
        if trainer.phase == "1-train" and trainer.step == 2:
            (Path(checkpoint_id) / "half").write_bytes(b"x" * 1000)
            raise OSError(28, "No space left on device")
        return save(tensors, checkpoint_id=checkpoint_id, **others)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "dcp_save", full)
        with pytest.raises(TrainerError, match=r"can't write the checkpoint.*No space left") as stopped:
            trainer.run()
    trainer.close()
    trainer.folder.close()
    assert "--resume" in stopped.value.hint
    assert [path.name for path in checkpoint.checkpoints(tmp_path / "parts" / "checkpoints")][-1] == "1-train-00000001"
    assert same(whole, train(tmp_path / "parts", CONFIGS[name](), resume=True))


class Right(Honest):
    """Proposes `x + n`, and solves all of it."""

    def __call__(self, prompt, number):
        if "What does f return" not in prompt:
            return super().__call__(prompt, number)
        program = re.search(r"return x \+ (\d+)", prompt)
        output = 1 + int(program[1]) if program else "'Hello World'"
        return answer(f"```output\n{output}\n```")


def test_sandbox_servers_killed_amid_steps_leave_what_they_held_unscored_and_nothing_scored_wrongly(monkeypatch):
    shares = {1: 0.0, 2: 1.0, 3: 0.4}
    dies = [0.0]

    def rewards(shares):
        recipe, rows = absolute_zero(batch=4, tasks=["deduction"]), []
        for step, share in shares.items():
            dies[0] = share
            rows += recipe.collect(Scripted(Right()), step)
        return {role: {row.reward for row in rows if row.role == role} for role in ("propose", "solve")}

    assert rewards(dict.fromkeys(shares, 0.0)) == {"propose": {0.0}, "solve": {1.0}}
    draw, start = random.Random(0), ForkServer.start

    def dying(server, *given, **named):
        if draw.random() < dies[0]:
            server._process.kill()
        return start(server, *given, **named)

    monkeypatch.setattr(ForkServer, "start", dying)
    found = rewards(shares)
    assert found["propose"] <= {0.0, None}
    assert found["solve"] == {1.0, None}
