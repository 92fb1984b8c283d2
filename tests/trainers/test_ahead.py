"""One step off-policy: whose weights sample, what a checkpoint cuts, and that the objective knows of it."""

import json
import threading
import time

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.trainers.conftest import make, same, settings, train  # noqa: E402
from tests.trainers.test_grpo import JITTER  # noqa: E402
from verikit.engines.rollouts import RolloutsStopped, Work  # noqa: E402
from verikit.errors import ConfigError  # noqa: E402
from verikit.trainers.warmup import warm_up  # noqa: E402


def ahead(**changes):
    return settings(batch__ahead=True, **JITTER, **changes)


def rows(folder):
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [row for row in found if row["phase"] == "1-train" and "loss" in row]


def test_the_next_batch_is_sampled_by_the_weights_before_the_update(tmp_path):
    trainer = make(tmp_path / "run", ahead(run__steps=3, run__save_every=10))
    still = make(tmp_path / "still", settings(run__steps=1, **JITTER))
    made, collect = {}, trainer.recipe.collect
    trainer.recipe.collect = lambda sampler, step: made.setdefault(step, collect(sampler, step))
    try:
        trainer.run()
        warm_up(still)
        for step in (1, 2, 3):
            still.sampler.at(step)
            theirs = still.recipe.collect(still.sampler, step)
            unchanged = [(row.ids, row.logprobs) for row in theirs] == [(row.ids, row.logprobs) for row in made[step]]
            assert unchanged == (step < 3)  # step 3's are of the weights after the first update
    finally:
        for opened in (trainer, still):
            opened.close()
            opened.folder.close()
    off = rows(tmp_path / "run")
    assert [row["steps_off"] for row in off] == [0, 1, 1]
    # What sampled and what learns are one policy in the first step, and one update apart after.
    assert off[0]["mismatch"] < 1e-5
    assert off[1]["mismatch"] > 10 * off[0]["mismatch"]


def test_a_resumed_run_is_the_run_without_a_break_to_the_bit(tmp_path):
    changes = {"run__save_every": 2, "run__evaluate_every": 0}
    whole = train(tmp_path / "whole", ahead(run__steps=5, **changes))
    assert [row["steps_off"] for row in rows(tmp_path / "whole")] == [0, 1, 0, 1, 0]
    trainer = make(tmp_path / "broken", ahead(run__steps=5, **changes))
    wait, seen = trainer.ahead.wait, []

    def stop():
        seen.append(trainer.step)
        if len(seen) == 4:  # while step 4 learns and nothing is saved of it
            raise KeyboardInterrupt
        wait()

    trainer.ahead.wait = stop
    try:
        with pytest.raises(KeyboardInterrupt):
            trainer.run()
    finally:
        trainer.close()
        trainer.folder.close()
    assert same(whole, train(tmp_path / "broken", ahead(run__steps=5, **changes), resume=True))
    assert [row["steps_off"] for row in rows(tmp_path / "broken")] == [0, 1, 0, 1, 0]


def test_what_collecting_ahead_raises_stops_the_run(tmp_path):
    trainer = make(tmp_path / "run", ahead(run__steps=3, run__save_every=10))
    collect = trainer.recipe.collect

    def failing(sampler, step):
        if step == 2:
            raise ValueError("the judge is gone")
        return collect(sampler, step)

    trainer.recipe.collect = failing
    try:
        with pytest.raises(ValueError, match="the judge is gone"):
            trainer.run()
    finally:
        trainer.close()
        trainer.folder.close()


def test_supervised_learning_has_no_importance_weight():
    with pytest.raises(ConfigError, match="importance weight"):
        settings(batch__ahead=True, loss__kind="likelihood")


def test_what_samples_ahead_is_a_whole_copy_and_counted_while_learning(tmp_path):
    from verikit.trainers.memory import expected_memory

    trainer = make(tmp_path / "run", ahead())
    try:
        own = {id(tensor) for tensor in trainer.policy.model.parameters()}
        copied = [tensor for tensor in trainer.engine.engine.model.parameters() if id(tensor) not in own]
        paper = expected_memory(trainer.policy.model, trainer.config, 1, bf16=False)
        still = expected_memory(trainer.policy.model, settings(**JITTER), 1, bf16=False)
        assert sum(tensor.untyped_storage().nbytes() for tensor in copied) == paper.copy == paper.weights
        assert paper.learning == still.learning + paper.copy
    finally:
        trainer.close()
        trainer.folder.close()


def test_a_run_that_fails_while_it_learns_ends_what_is_collected_ahead(tmp_path):
    trainer = make(tmp_path / "run", ahead(run__steps=3, run__save_every=10, run__evaluate_every=0))
    collect, ended = trainer.recipe.collect, []
    began, failed = threading.Event(), threading.Event()

    def waits():
        try:
            began.set()
            yield Work(failed.wait, (60,))  # a judge that answers now and then
            while True:
                yield Work(time.sleep, (0.01,))
        finally:
            ended.append("closed")

    def collecting(sampler, step):
        return collect(sampler, step) if step == 1 else sampler.roll_out([waits()])

    def failing(made, step):
        assert began.wait(60)
        raise KeyboardInterrupt

    trainer.recipe.collect, trainer._learn = collecting, failing
    try:
        with pytest.raises(KeyboardInterrupt):
            trainer.run()
    finally:
        failed.set()
        coming = trainer.ahead._coming
        trainer.close()
        trainer.folder.close()
    assert ended == ["closed"]
    assert isinstance(coming.exception(0), RolloutsStopped)
