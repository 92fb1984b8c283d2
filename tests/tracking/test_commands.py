"""`--track` of score, judge and eval: the finished run's numbers and samples, once however often the command is run."""

import json
import sys
from uuid import uuid4

import pytest
from click.testing import CliRunner

import verikit
from tests.conftest import ROOT
from tests.tracking import read
from tests.tracking.test_trackers import offline  # noqa: F401 - a fixture
from verikit.cli import cli
from verikit.errors import MissingExtra

pytestmark = pytest.mark.usefixtures("offline")
ROWS = [
    {"id": "a", "prompt": "1+1?", "completions": ["2", "3"], "answer": "2"},
    {"id": "b", "prompt": "2+2?", "completions": ["4", "4"], "answer": "4"},
]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def command(*arguments):
    done = CliRunner().invoke(cli, [*map(str, arguments), "-q"])
    assert done.exit_code == 0, done.output
    assert "tracker" not in done.stderr
    return done


def test_a_score_run_is_in_mlflow_with_every_estimate_and_its_samples(tmp_path):
    pytest.importorskip("mlflow")
    file = write(tmp_path / "in.jsonl", ROWS)
    done = [command("score", file, "-o", tmp_path / "run", "--track", "mlflow:maths") for _ in range(2)]
    (run,) = read.mlflow((tmp_path / "mlruns").as_uri(), "maths")
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert run["metrics"]["mean"] == [(0, summary["metrics"]["mean"]["value"])] == [(0, 0.75)]
    assert run["metrics"]["low/mean"] == [(0, summary["metrics"]["mean"]["low"])]
    assert run["metrics"]["pass_at_2"] == [(0, 1.0)]
    assert run["metrics"]["candidates"] == [(0, 4)]
    assert run["params"]["verifier"] == "answer"
    table = run["files"]["samples-000000.json"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    assert [(row["id"], row["Candidate"], row["value"]) for row in rows] == [
        ("a", "2", 1),
        ("a", "3", 0),
        ("b", "4", 1),
        ("b", "4", 1),
    ]
    assert done[0].stdout == done[1].stdout


def test_what_changed_is_sent_to_the_same_run_and_a_restart_begins_another(tmp_path):
    pytest.importorskip("mlflow")
    track = ("-o", tmp_path / "run", "--track", "mlflow:maths")
    command("score", write(tmp_path / "in.jsonl", ROWS[:1]), *track)
    command("score", write(tmp_path / "in.jsonl", ROWS), *track)
    (run,) = read.mlflow((tmp_path / "mlruns").as_uri(), "maths")
    assert [value for _, value in run["metrics"]["mean"]] == [0.5, 0.75]
    command("score", tmp_path / "in.jsonl", *track, "--restart")
    assert len(read.mlflow((tmp_path / "mlruns").as_uri(), "maths")) == 2


def test_scores_on_stdout_stay_scores_whatever_a_tracker_prints(tmp_path):
    pytest.importorskip("trackio")
    file = write(tmp_path / "in.jsonl", ROWS)
    plain = command("score", file, "-o", "-")
    project = uuid4().hex  # trackio's folder may be the user's, which holds what earlier test runs left
    tracked = command("score", file, "-o", "-", "--track", f"trackio:{project}")
    assert tracked.stdout == plain.stdout
    (rows,) = read.trackio(project).values()
    assert rows[0]["mean"] == 0.75


def test_the_call_tracks_as_the_command_does(tmp_path):
    pytest.importorskip("tensorboard")
    run = verikit.score(ROWS, "answer", out=tmp_path / "run", track="tensorboard", quiet=True)
    scalars, texts = read.tensorboard(tmp_path / "run/tensorboard")
    assert scalars["mean"] == [(0, 0.75)]
    assert "2+2?" in texts["samples/text_summary"][0]
    assert run.metrics["mean"].value == 0.75


def test_a_judge_run_is_tracked_with_its_win_rates(tmp_path):
    pytest.importorskip("tensorboard")
    ours = [
        {"id": row["id"], "prompt": row["prompt"], "completion": row["answer"], "answer": row["answer"]} for row in ROWS
    ]
    theirs = [row | {"completion": "5"} for row in ours]
    files = [write(tmp_path / f"{name}.jsonl", rows) for name, rows in (("ours", ours), ("theirs", theirs))]
    command("judge", *files, "-j", "exact", "-o", tmp_path / "run", "--track", "tensorboard")
    scalars, _ = read.tensorboard(tmp_path / "run/tensorboard")
    assert scalars["ours vs theirs/win_rate"] == [(0, 1.0)]
    assert scalars["comparisons"] == [(0, 2)]


def test_an_eval_run_is_tracked_by_its_tasks(tmp_path):
    pytest.importorskip("tensorboard")
    pytest.importorskip("lm_eval")
    example = ROOT / "examples" / "eval"
    model = ("--model", f"replay:{example / 'large.jsonl'}", "--data", example / "math.jsonl")
    command("eval", "verikit_math500", *model, "-o", tmp_path / "run", "--track", "tensorboard")
    task = json.loads((tmp_path / "run/results.json").read_text())["tasks"]["verikit_math500"]
    scalars, texts = read.tensorboard(tmp_path / "run/tensorboard")
    assert scalars["verikit_math500/acc"] == [(0, pytest.approx(task["metrics"]["acc"]["value"]))]
    assert scalars["low/verikit_math500/acc"] == [(0, pytest.approx(task["metrics"]["acc"]["low"]))]
    assert scalars["verikit_math500/replies"] == [(0, task["replies"])]
    assert texts["samples/text_summary"][0].count("\n") == 1 + task["replies"]


def test_a_tracker_that_is_not_installed_is_named_before_anything_is_scored(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(MissingExtra, match="trackers"):
        verikit.score(ROWS, "answer", out=tmp_path / "run", track="wandb:p", quiet=True)
    assert not (tmp_path / "run").exists()
