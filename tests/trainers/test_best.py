"""run.best: the weights with the best held-out metric, over resumes, to the export."""

import pytest

from tests.trainers.conftest import make, same, settings, train
from tests.trainers.test_grpo import JITTER
from verikit.errors import ConfigError, TrainerError
from verikit.results.folders import CallFolder
from verikit.trainers.call import TrainRun
from verikit.trainers.recipes.arithmetic import Arithmetic

torch = pytest.importorskip("torch")

RISE_AND_FALL = {0: 0.1, 1: 0.5, 2: 0.3, 3: 0.5, 4: 0.4}


@pytest.fixture
def scripted(monkeypatch):
    """Held-out metrics by step, which a test may change."""
    values = dict(RISE_AND_FALL)
    monkeypatch.setattr(Arithmetic, "evaluate", lambda self, sampler, step: {"greedy": values[step]})
    return values


def config(**changes):
    """Four steps without warm-up, evaluated at each."""
    usual = {"run__steps": 4, "run__evaluate_every": 1, "run__best": "greedy", "run__keep": 1, **JITTER}
    made = settings(**usual | changes)
    return made.model_copy(update={"warmup": None})


def kept(folder):
    return [path.name for path in sorted((folder / "best").iterdir())]


def exported(folder, **options):
    from transformers import AutoModelForCausalLM

    TrainRun(CallFolder(folder, None), []).export(folder / "out", **options)
    return dict(AutoModelForCausalLM.from_pretrained(folder / "out").named_parameters())


def test_the_weights_of_the_best_evaluation_are_kept_and_exported(tmp_path, scripted):
    first = train(tmp_path / "first", config(run__steps=1))
    last = train(tmp_path / "run", config())
    assert kept(tmp_path / "run") == ["1-train-00000001"]  # of equal evaluations the first
    best = {f"model.{name}": weight for name, weight in exported(tmp_path / "run", best=True).items()}
    assert same(best, {name: first[name] for name in best})
    assert not same(best, {name: last[name] for name in best})
    with pytest.raises(ConfigError, match="can't be combined"):
        exported(tmp_path / "run", best=True, step=4)


def test_a_resumed_run_forgets_the_best_of_steps_that_it_takes_again(tmp_path, scripted):
    """The run stops after an evaluation that was the best, and before the checkpoint of its step."""
    scripted.update({3: 0.9})
    stopped = make(tmp_path / "run", config(run__save_every=2))
    stopped._evaluate()
    for step in (1, 2, 3):
        stopped._train_step(step)
    stopped.close()
    stopped.folder.close()
    assert kept(tmp_path / "run") == ["1-train-00000001", "1-train-00000003"]
    scripted.update({3: 0.2})
    train(tmp_path / "run", config(run__save_every=2), resume=True)
    assert kept(tmp_path / "run") == ["1-train-00000001"]


def test_a_metric_that_should_fall_is_named_with_a_minus(tmp_path, scripted):
    train(tmp_path / "run", config(run__best="-greedy"))
    assert kept(tmp_path / "run") == ["1-train-00000000"]


def test_a_metric_that_is_not_evaluated_stops_the_run_by_name(tmp_path, scripted):
    with pytest.raises(ConfigError, match="'accuracy', and the held-out metrics are greedy"):
        train(tmp_path / "run", config(run__best="accuracy"))
    with pytest.raises(ConfigError, match="kept no best weights"):
        exported(tmp_path / "run", best=True)


def test_a_damaged_best_value_ends_with_a_message(tmp_path, scripted):
    train(tmp_path / "run", config())
    path = tmp_path / "run/checkpoints/1-train-00000004/state.json"
    path.write_text(path.read_text().replace('"value": 0.5', '"value": "x"'))
    with pytest.raises(TrainerError, match="its state can't be used"):
        make(tmp_path / "run", config(), resume=True)
