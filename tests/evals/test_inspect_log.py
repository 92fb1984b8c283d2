"""A run of `verikit eval` as logs of inspect: inspect's reader and verikit's own read the same samples and scores."""

import io
import json
import math
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

pytest.importorskip("lm_eval")

from tests.evals.scripted import MATH, Scripted, write
from verikit.cli import cli
from verikit.engines.errors import Unreachable
from verikit.evals.inspect_log import _archive
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.run import run_tasks

TASK = "verikit_math500"


def answers(request):
    """The first question has a right and a wrong reply, the second two right ones, and the third none."""
    number = next(i for i, row in enumerate(MATH) if row["problem"] in str(request.prompt))
    return ["\\boxed{5}", "\\boxed{6}"] if number == 0 else Unreachable("gone") if number == 2 else ["\\boxed{1/2}"] * 2


@pytest.fixture(scope="module", params=[False, True], ids=["text", "chat"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspect")
    settings = Settings(data=write(folder / "rows.jsonl", MATH), repeats=2, chat=request.param)
    run_tasks([TASK], "m", EngineLM(Scripted(answers)), settings, folder / "run")
    return folder / "run"


def logs(run: Path, form: str = "json") -> Path:
    out = run.parent / "logs"
    words = ["report", str(run), "--inspect", str(out), "--inspect-format", form]
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert result.stderr.splitlines()[-1] == f"next: inspect view --log-dir {out}"
    return out / f"{TASK}.{form}"


def test_a_log_has_each_reply_with_its_score_or_the_reason_why_it_has_none(run):
    log = json.loads(logs(run).read_text())
    told = [
        (s["epoch"], s.get("scores", {}).get("acc", {}).get("value"), s.get("error", {}).get("message", ""))
        for s in log["samples"]
    ]
    assert [(epoch, value) for epoch, value, _ in told] == [
        (1, 1.0),
        (2, 0.0),
        (1, 1.0),
        (2, 1.0),
        (1, None),
        (2, None),
    ]
    assert all("gone" in message for _, value, message in told if value is None)
    assert log["results"]["completed_samples"] == 4


@pytest.mark.parametrize("form", ["json", "eval"])
def test_verikit_reads_its_own_log_back(run, form):
    words = ["score", str(logs(run, form)), "--format", "inspect", "-o", "-", "-q", "--json", "--fail-over", "100%"]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["value"] for row in rows if row["value"] is not None] == [1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("form", ["json", "eval"])
def test_inspect_reads_the_log(run, form):
    log = pytest.importorskip("inspect_ai.log").read_eval_log(str(logs(run, form)))
    own = json.loads((run / "results.json").read_text())["tasks"][TASK]["metrics"]
    assert (log.status, log.eval.task, log.eval.config.epochs) == ("success", TASK, 2)
    for score in log.results.scores:
        assert math.isclose(score.metrics["mean"].value, own[score.name]["value"])
    samples = sorted(log.samples, key=lambda sample: (sample.id, sample.epoch))  # inspect sorts an archive by epoch
    assert [sample.error is None for sample in samples] == [True] * 4 + [False] * 2
    assert log.samples[0].output.completion == "\\boxed{5}"
    assert log.samples[0].scores["acc"].answer == "5"


def test_inspect_lists_the_samples_of_an_archive_with_their_scores_and_errors(run):
    listed = pytest.importorskip("inspect_ai.log").read_eval_log_sample_summaries(str(logs(run, "eval")))
    assert [(one.epoch, one.scores["acc"].value if one.scores else None) for one in listed] == [
        *((1, 1.0), (2, 0.0), (1, 1.0), (2, 1.0)),
        *((1, None), (2, None)),
    ]
    assert ["gone" in (one.error or "") for one in listed] == [False] * 4 + [True] * 2
    assert all(one.completed for one in listed)


def test_an_archive_of_the_same_run_has_the_same_bytes(run):
    assert logs(run, "eval").read_bytes() == logs(run, "eval").read_bytes()


def test_each_sample_of_an_archive_has_a_name_of_its_own_that_leaves_no_folder():
    ids = ["a", "a", "a-2", "../../x", "/etc/y", "b\0b", "b\0c", "z" * 70_000, 7, "../../x"]
    samples = [{"id": one, "epoch": 1, "input": "?", "target": "5", "scores": {}} for one in ids]
    samples.append({**samples[3], "epoch": 2})
    with ZipFile(io.BytesIO(_archive({"eval": {}, "samples": samples}))) as archive:
        names = [name for name in archive.namelist() if name.startswith("samples/")]
        stored = [json.loads(archive.read(name)) for name in names]
        listed = json.loads(archive.read("summaries.json"))
    assert len(set(names)) == len(samples) == len(listed)
    assert all(name.count("/") == 1 and len(name) < 250 for name in names)
    assert [f"samples/{one['id']}_epoch_{one['epoch']}.json" for one in stored] == names
    assert [one["id"] for one in listed] == [one["id"] for one in stored]
    assert stored[0]["id"] == "a"
    assert stored[3]["id"] == stored[-1]["id"]  # the epochs of a question


def test_only_runs_of_eval_have_logs(tmp_path):
    rows = write(tmp_path / "in.jsonl", [{"id": "a", "prompt": "?", "completions": ["1"], "answer": "1"}])
    runner = CliRunner()
    runner.invoke(cli, ["score", rows, "-o", str(tmp_path / "run"), "-q"], catch_exceptions=False)
    done = runner.invoke(cli, ["report", str(tmp_path / "run"), "--inspect", str(tmp_path / "logs")])
    assert "only runs of `verikit eval`" in str(done.exception)
