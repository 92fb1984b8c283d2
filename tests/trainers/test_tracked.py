"""Training with trackers: they hold what metrics.jsonl holds, also of a run that stopped and was resumed."""

import json
import sys
from contextlib import closing

import pytest

from tests.tracking import read
from tests.trainers.conftest import settings
from verikit.errors import MissingExtra, UsageError
from verikit.trainers.config import read_config
from verikit.trainers.run import RunFolder, read_log
from verikit.trainers.session import run_training


def train(folder, resume=False, **changes):
    run_training(settings(**changes), folder, resume=resume, quiet=True)


def test_a_resumed_run_is_one_run_in_its_tracker_with_every_step_once(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    track = ["tensorboard", "mlflow:sums"]
    train(tmp_path / "run", run__steps=3, run__save_every=2, run__track=track)
    train(tmp_path / "run", resume=True, run__steps=5, run__save_every=2, run__track=track)  # from step 2 on
    rows = list(read_log(tmp_path / "run/metrics.jsonl"))
    steps = [row for row in rows if row["phase"] == "1-train" and "loss" in row]
    assert [row["step"] for row in steps] == [1, 2, 3, 4, 5]
    scalars, texts = read.tensorboard(tmp_path / "run/tensorboard")
    (run,) = read.mlflow((tmp_path / "store").as_uri(), "sums")
    want = [(row["step"], pytest.approx(row["reward"])) for row in steps]
    assert scalars["reward"] == want
    assert run["metrics"]["reward"] == want
    held_out = [row for row in rows if any(name.startswith("held-out/") for name in row)]
    name = next(name for name in held_out[0] if name.startswith("held-out/"))
    assert [step for step, _ in scalars[name]] == list(dict.fromkeys(row["step"] for row in held_out))
    assert scalars["warmup/loss"] == [
        (row["step"], pytest.approx(row["loss"])) for row in rows if row["phase"] == "0-warmup"
    ]
    logged = [json.loads(line) for line in (tmp_path / "run/samples.jsonl").read_text().splitlines()]
    assert len(texts["samples/text_summary"]) == len({row["step"] for row in logged}) == 5
    assert run["files"]["samples-000005.json"]["columns"][:3] == ["step", "role", "task"]


@pytest.mark.parametrize(
    ("module", "change"), [("wandb", {"run__track": ["wandb:x"]}), ("mlflow.tracking", {"run__track": ["mlflow"]})]
)
def test_a_tracker_that_is_not_installed_names_its_extra_before_training(tmp_path, monkeypatch, module, change):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra) as told:
        train(tmp_path / "run", **change)
    assert "verikit[trackers]" in told.value.hint
    assert not (tmp_path / "run/metrics.jsonl").exists()


def test_the_settings_that_track_replaced_are_read_with_a_warning():
    old = {"recipe": "arithmetic", "run": {"track": ["tensorboard"], "tensorboard": True, "wandb": "team/sums"}}
    with pytest.warns(FutureWarning, match=r'set run.track = \["tensorboard", "wandb:team/sums"\]'):
        assert read_config(old).run.track == ("tensorboard", "wandb:team/sums")
    empty = read_config({"recipe": "arithmetic", "run": {"tensorboard": False, "wandb": "", "steps": 7}})
    assert (empty.run.track, empty.run.steps) == ((), 7)
    assert not {"tensorboard", "wandb"} & empty.model_dump()["run"].keys()


def test_what_names_no_tracker_is_refused_before_training(tmp_path):
    with pytest.raises(UsageError, match=r"tracker .* not found"):
        train(tmp_path / "run", run__track=["tensorbord"])


def test_a_tracker_that_fails_costs_no_line_of_the_logs(tmp_path, monkeypatch, caplog):
    pytest.importorskip("mlflow")
    (tmp_path / "taken").write_text("no folder")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "taken").as_uri())
    config = settings(run__track=["mlflow:sums"])
    with closing(RunFolder(tmp_path / "run")) as folder:
        folder.begin(config, 1)
        folder.track(config)
        for step in (1, 2, 3):
            folder.metrics({"phase": "1-train", "step": step, "loss": 0.5})
    assert [row["step"] for row in read_log(tmp_path / "run/metrics.jsonl")] == [1, 2, 3]
    assert caplog.text.count("tracker mlflow:sums: ") == 1
