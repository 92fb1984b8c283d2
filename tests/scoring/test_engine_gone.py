"""A score run whose engine is gone stops by name, keeps what is done, and goes on by the same command."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from verikit import Verifier
from verikit.engines.errors import BadReply, Unreachable
from verikit.errors import EngineError, EngineTimeout
from verikit.scoring.chunk import check_engines
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.run import score_file
from verikit.types import Score

GONE = Path("gone")  # while it is there, so is no engine


@dataclass(frozen=True)
class Asking(Verifier):
    """Asks an engine, whose replies are the lengths of texts."""

    name = "asking"
    batch = 8

    def score_batch(self, samples):
        """Score, or fail as a judge does."""
        if GONE.exists():
            error = Unreachable("nobody is there")
            return [Score.error(str(error), cause=error) for _ in samples]
        return [Score(len(sample.completion) / 100, usage={"calls": 1}) for sample in samples]


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": str(n), "prompt": "p", "completions": ["a" * n, "b"], "answer": "b"} for n in range(90)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "in.jsonl"


PLAN = ScoringPlan(verifier="exact", by=f"0.5*length(max=10) + {__file__}:Asking", select="best")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_stops_where_its_engine_is_gone_and_goes_on_to_the_same_bytes(file, tmp_path, jobs, monkeypatch):
    whole = score_file(file, PLAN, tmp_path / "whole")
    score_file(file, PLAN, tmp_path / "out", limit=20)
    (tmp_path / "out/summary.json").unlink()
    GONE.touch()
    with pytest.raises(Unreachable, match="nobody is there") as caught:
        score_file(file, PLAN, tmp_path / "out", jobs=jobs)
    assert "Run the command again" in caught.value.hint
    assert len((tmp_path / "out/scores.jsonl").read_text().splitlines()) == 40
    assert not (tmp_path / "out/summary.json").exists()
    GONE.unlink()
    assert score_file(file, PLAN, tmp_path / "out", jobs=jobs) == whole
    for name in ("scores.jsonl", "selected.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_rows_that_always_fail_do_not_stop_a_retry(tmp_path):
    rows = [{"id": n, "prompt": "p", "completion": "poison" if n in (3, 4) else "x"} for n in range(9)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = ScoringPlan(verifier=f"{__file__}:Poisoned")
    first = score_file(tmp_path / "in.jsonl", plan, tmp_path / "out")
    assert first["unscored"] == 2
    assert score_file(tmp_path / "in.jsonl", plan, tmp_path / "out", retry_errors=True) == first


def test_a_retry_without_an_engine_keeps_the_summary(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": n, "prompt": "p", "completion": "poison" if n in (3, 4) else "x"} for n in range(9)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = ScoringPlan(verifier=f"{__file__}:Poisoned")
    score_file("in.jsonl", plan, tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    GONE.touch()
    with pytest.raises(Unreachable, match="nobody is there"):
        score_file("in.jsonl", plan, tmp_path / "out", retry_errors=True)
    after = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert after["summary.json"] == before["summary.json"]
    assert after["scores.jsonl"] == before["scores.jsonl"]
    assert "manifest.json" in after


@dataclass(frozen=True)
class Poisoned(Verifier):
    """Asks an engine that always fails for one text."""

    name = "poisoned"
    batch = 8

    def score_batch(self, samples):
        """Score, or fail as a judge does."""
        error = Unreachable("nobody is there") if GONE.exists() else EngineTimeout("too late")
        lost = Score.error(str(error), cause=error)
        return [lost if sample.completion == "poison" else Score(1.0, usage={"calls": 1}) for sample in samples]


OK, DOWN, LATE = Score(1.0), Unreachable("down"), EngineTimeout("late")


def lost(error, **details):
    return Score.error("lost", cause=error, **details)


@pytest.mark.parametrize(
    "scores",
    [
        [],
        [OK, lost(DOWN)],  # one came back
        [lost(LATE)],  # a request alone may be to blame
        [lost(BadReply("html")), lost(BadReply("html"))],  # another try would not help
        [Score.error("no gold"), Score.abstained("does not apply")],
        [Score.error("lost", parts={"a": OK, "b": lost(DOWN)}), Score(1.0, parts={"a": OK, "b": OK})],
    ],
)
def test_a_run_goes_on_where_an_engine_answers_or_a_request_may_be_to_blame(scores):
    check_engines(scores)


@pytest.mark.parametrize(
    "scores",
    [
        [lost(DOWN)],
        [lost(LATE), lost(LATE)],
        [Score.error("no gold"), lost(DOWN)],  # the other was not asked
        [OK, Score.error("lost", parts={"a": OK, "b": lost(DOWN)})],  # one part, which others did not need
        [Score.error("lost", steps=(OK, Score.error("lost", parts={"deep": lost(DOWN)})))],
    ],
)
def test_a_run_stops_where_nothing_that_was_asked_came_back(scores):
    with pytest.raises(EngineError):
        check_engines(scores)
