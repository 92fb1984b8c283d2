"""The warm-up: until its gate, and no further than its last step; resumed on the same arithmetic and on another."""

import json

import pytest

from tests.trainers.conftest import make, same, settings, train
from verikit.errors import ConfigError, TrainerError
from verikit.trainers.recipes.arithmetic import Arithmetic
from verikit.trainers.run import other_arithmetic, read_log


@pytest.fixture
def gate_by_step(monkeypatch):
    """A gate that rises by a sixteenth with each step of the warm-up."""
    demonstrations = Arithmetic.demonstrations

    def counted(self, step):
        self.warmed = step
        return demonstrations(self, step)

    monkeypatch.setattr(Arithmetic, "demonstrations", counted)
    monkeypatch.setattr(Arithmetic, "gate", lambda self, sampler: self.warmed / 16)


GATED = {"warmup__steps": 6, "warmup__gate": 0.8, "warmup__gate_every": 4, "run__steps": 1}


def gates(folder):
    """The gates that a run logged, by step."""
    return {row["step"]: row["gate"] for row in read_log(folder / "metrics.jsonl") if "gate" in row}


def test_the_warm_up_goes_on_until_its_gate_is_reached(tmp_path, gate_by_step):
    train(tmp_path / "run", settings(**GATED))
    assert gates(tmp_path / "run") == {6: 0.375, 10: 0.625, 14: 0.875}
    steps = [row["step"] for row in read_log(tmp_path / "run/metrics.jsonl") if row["phase"] == "0-warmup"]
    assert steps == list(range(1, 15))


def test_a_run_that_is_stopped_while_its_warm_up_goes_on_resumes_to_the_same_weights(tmp_path, gate_by_step):
    whole = train(tmp_path / "whole", settings(**GATED))
    cut = make(tmp_path / "cut", settings(**GATED))
    learn = cut.learner.learn

    def stopped(rows, step):
        if step == 12:
            raise KeyboardInterrupt
        return learn(rows, step)

    cut.learner.learn = stopped
    with pytest.raises(KeyboardInterrupt):
        cut.run()
    cut.close()
    cut.folder.close()
    assert same(whole, train(tmp_path / "cut", settings(**GATED), resume=True))
    assert gates(tmp_path / "cut") == gates(tmp_path / "whole")


def test_a_gate_that_is_never_reached_ends_the_run_with_how_far_it_came_and_after_how_many_steps(tmp_path):
    config = settings(warmup__gate=0.9, warmup__gate_every=2, warmup__max_steps=5)
    with pytest.raises(TrainerError, match=r"reached 0\.\d+ after 5 steps, .* warmup\.gate = 0\.9") as ended:
        train(tmp_path / "run", config)
    assert "warmup.max_steps" in ended.value.hint
    assert list(gates(tmp_path / "run")) == [2, 4, 5]
    with pytest.raises(ConfigError, match=r"warmup\.max_steps = 1 is below warmup\.steps = 2"):
        settings(warmup__max_steps=1)


def test_a_run_that_is_resumed_on_other_arithmetic_says_so(tmp_path, caplog):
    train(tmp_path / "run", settings(run__steps=1))
    train(tmp_path / "run", settings(run__steps=2), resume=True)
    assert "arithmetic" not in caplog.text
    (state,) = (tmp_path / "run/checkpoints").glob("1-train-00000002/state.json")
    saved = json.loads(state.read_text())
    saved["environment"]["arithmetic"]["cpu"] = "ABACUS"
    state.write_text(json.dumps(saved))
    train(tmp_path / "run", settings(run__steps=3), resume=True)
    assert "resumed on other arithmetic (cpu ABACUS -> " in caplog.text
    assert other_arithmetic({"processes": 1}, {"processes": 2, "arithmetic": {"threads": 1}}) == "processes 1 -> 2"
