"""Trackers by their real packages, offline: what was sent is read back by the package that wrote it."""

import json
import socket
from uuid import uuid4

import pytest

from tests.tracking import read
from verikit.errors import UsageError
from verikit.tracking import Trackers, TrackerSpec, read_trackers, trackers

KEY = "sk-" + "a" * 24
PACKAGES = {"wandb": "wandb", "tensorboard": "tensorboard", "trackio": "trackio", "mlflow": "mlflow"}


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """An empty folder to work in, every tracker offline or local; gives the folder of a run."""
    monkeypatch.chdir(tmp_path)
    for name in ("WANDB_API_KEY", "MLFLOW_TRACKING_URI", "TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    folder = tmp_path / "mine"
    folder.mkdir()
    return folder


def test_only_finite_numbers_are_sent():
    assert trackers._numbers({"a": 1, "b": 10**400, "c": float("nan"), "d": "x"}) == {"a": 1.0}


def session(folder, spec, steps, told=None):
    """Send steps and their samples in one session, as a training run does."""
    pytest.importorskip(PACKAGES[spec.partition(":")[0]])
    open_ = Trackers(read_trackers([spec]), folder, {"lr": 0.5, "model": {"api_key": KEY}}, warn=(told or pytest.fail))
    for step in steps:
        open_.log({"reward": step / 8, "pass@8": 0.5, "phase": "1-train", "lost": None}, step, "1-train")
        open_.table("samples", [{"step": step, "prompt": "a|b\nc", "parts": {"answer": 1.0}}], step)
    open_.close()


@pytest.mark.parametrize("text", ["", "weights:p", "wandb:p,samples=-1", "wandb:p,colour=red", "wandb:p,samples"])
def test_what_names_no_tracker_is_refused_with_the_forms(text):
    with pytest.raises(UsageError) as told:
        TrackerSpec.read(text)
    assert "mlflow:EXPERIMENT" in told.value.hint


def test_a_spec_says_where_how_many_samples_and_which_name():
    spec = TrackerSpec.read("wandb:team/maths,samples=3,name=first")
    assert (spec.kind, spec.project, spec.samples, spec.name) == ("wandb", "team/maths", 3, "first")
    assert TrackerSpec.read("mlflow").samples == 100


def test_tensorboard_holds_each_step_once_though_a_resumed_session_sends_some_again(offline):
    session(offline, "tensorboard", range(1, 4))
    session(offline, "tensorboard", range(3, 6))
    scalars, texts = read.tensorboard(offline / "tensorboard")
    assert scalars["reward"] == [(step, step / 8) for step in range(1, 6)]
    assert set(scalars) == {"reward", "pass@8"}
    assert texts["config/text_summary"][0].count("***") == 1
    assert KEY not in str(texts)
    assert r"a\|b<br>c" in texts["samples/text_summary"][0]
    assert len(texts["samples/text_summary"]) == 5


def test_wandb_goes_on_with_its_run_offline_and_has_the_samples_as_tables(offline):
    session(offline, "wandb:maths", range(1, 4))
    session(offline, "wandb:maths", range(3, 6))
    sessions = read.wandb(offline)
    assert len({part["id"] for part in sessions}) == 1
    rows = [row for part in sessions for row in part["history"] if "reward" in row]
    assert [(row["step"], row["reward"]) for row in rows] == [(step, step / 8) for step in range(1, 6)]
    assert sessions[0]["config"]["model"] == {"api_key": "***"}
    tables = [row for table in read.wandb_tables(offline) for row in table]
    assert sorted(row["step"] for row in tables) == [1, 2, 3, 4, 5]
    assert tables[0]["prompt"] == "a|b\nc"
    assert json.loads(tables[0]["parts"]) == {"answer": 1.0}


def test_trackio_goes_on_with_its_run(offline):
    project = uuid4().hex  # trackio keeps to the folder that it found when it was imported, perhaps the user's own
    session(offline, f"trackio:{project}", range(1, 4))
    session(offline, f"trackio:{project}", range(3, 6))
    (rows,) = read.trackio(project).values()
    assert [(row["step"], row["reward"]) for row in rows if "reward" in row] == [(s, s / 8) for s in range(1, 6)]
    tables = [row["samples"]["_value"] for row in rows if "samples" in row]
    assert [table[0]["prompt"] for table in tables] == ["a|b\nc"] * 5


def test_mlflow_goes_on_with_its_run_in_a_file_store(offline):
    session(offline, "mlflow:maths", range(1, 4))
    session(offline, "mlflow:maths", range(3, 6))
    (run,) = read.mlflow((offline.parent / "mlruns").as_uri(), "maths")
    assert run["metrics"]["reward"] == [(step, step / 8) for step in range(1, 6)]
    assert (run["name"], run["status"], run["params"]["lr"]) == ("mine", "FINISHED", "0.5")
    assert run["files"]["config.json"] == {"lr": 0.5, "model": {"api_key": "***"}}
    assert run["files"]["samples-000002.json"]["data"][0][:2] == [2, "a|b\nc"]
    assert len(json.loads(run["tags"]["mlflow.loggedArtifacts"])) == 5
    assert "pass_at_8" in run["metrics"]


def test_mlflow_holds_a_metric_beside_those_below_its_name(offline):
    pytest.importorskip("mlflow")
    open_ = Trackers(read_trackers(["mlflow:maths"]), offline, {}, warn=pytest.fail)
    open_.log({"reward": 0.5, "reward/solver": 1.0, "reward/solver/code": 0.0}, 1)
    open_.close()
    (run,) = read.mlflow((offline.parent / "mlruns").as_uri(), "maths")
    assert run["metrics"] == {
        "reward/all": [(1, 0.5)],
        "reward/solver/all": [(1, 1.0)],
        "reward/solver/code": [(1, 0.0)],
    }


def test_a_tracker_that_fails_is_told_of_once_and_the_others_go_on(offline, monkeypatch):
    pytest.importorskip("tensorboard")
    pytest.importorskip("mlflow")
    (offline / "taken").write_text("no folder")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (offline / "taken").as_uri())
    told = []
    both = Trackers(read_trackers(["mlflow:maths", "tensorboard"]), offline, {}, warn=told.append)
    for step in range(5):
        both.log({"reward": 1.0}, step)
    both.close()
    assert len(told) == 1
    assert told[0].startswith("tracker mlflow:maths: ")
    assert f"the run continues; everything is in {offline}" in told[0]
    assert len(read.tensorboard(offline / "tensorboard")[0]["reward"]) == 5


def test_a_tracker_that_answers_nothing_does_not_hold_up_the_end_of_a_run(offline, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.setattr(trackers, "CLOSE_S", 0.3)
    told = []
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and never says a word
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        slow = Trackers(read_trackers(["mlflow:maths"]), offline, {}, warn=told.append)
        thread = slow._thread
        slow.log({"reward": 1.0}, 1)
        slow.close()
        assert told == ["trackers: mlflow:maths took more than 0 s to finish. Data that was not sent is in the run"]
    thread.join(60)  # the connection is reset


def test_no_texts_are_sent_where_samples_are_none(offline):
    session(offline, "mlflow:maths,samples=0", [1])
    (run,) = read.mlflow((offline.parent / "mlruns").as_uri(), "maths")
    assert set(run["files"]) == {"config.json"}


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"tensorboard": 1}', '{"tensorboard": {"sent": {"1-train": "x"}}}'])
def test_a_state_that_is_damaged_begins_anew(offline, text):
    (offline / "trackers.json").write_text(text)
    session(offline, "tensorboard", [1])
    assert read.tensorboard(offline / "tensorboard")[0]["reward"] == [(1, 0.125)]


def test_two_of_the_same_tracker_are_refused():
    with pytest.raises(UsageError, match="named twice"):
        read_trackers(["wandb:p", "wandb:p,samples=0"])
