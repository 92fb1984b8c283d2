"""`verikit calibrate`: runs of score and judge against labels, gates, drift, several judges."""

import json
import random

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from verikit.cli import cli
from verikit.errors import SchemaError, UsageError
from verikit.judges.calibration.between import judge_agreement, own_preference
from verikit.judges.calibration.labels import read_labels
from verikit.judges.calibration.measure import calibrate
from verikit.judges.calibration.verdicts import RunVerdicts, read_verdicts
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.run import score_file


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def invoke(*words):
    return CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)


@pytest.fixture
def scored(tmp_path):
    """A score run whose verifier takes 9 of 10 right candidates, and 2 of 10 wrong ones."""
    rng = random.Random(1)
    rows, truth = [], {}
    for i in range(300):
        right = rng.random() < 0.6
        said = rng.random() < (0.9 if right else 0.2)
        truth[f"p{i}"] = right
        rows.append({"id": f"p{i}", "prompt": "?", "answer": "yes", "completions": ["yes" if said else "no"]})
    score_file(str(write(tmp_path / "rows.jsonl", rows)), ScoringPlan(verifier="exact"), tmp_path / "run")
    return tmp_path / "run", truth


def labels(path, truth, n, **more):
    rows = [{"id": id, "label": "right" if right else "wrong"} | more for id, right in list(truth.items())[:n]]
    return write(path, rows)


def test_a_score_run_is_measured_by_its_labels(scored, tmp_path):
    run, truth = scored
    found = calibrate(read_verdicts(run), read_labels(str(labels(tmp_path / "l.jsonl", truth, 200)), pairs=False))
    assert (found.labelled, found.unknown, found.without_verdict) == (200, 0, 0)
    assert found.confusion.sensitivity.low < 0.9 < found.confusion.sensitivity.high
    assert found.confusion.specificity.low < 0.8 < found.confusion.specificity.high
    assert found.confusion.kappa_low < found.confusion.kappa < found.confusion.kappa_high
    true_rate = sum(truth.values()) / len(truth)
    assert [rate.method for rate in found.corrected] == ["by verdict", "Rogan-Gladen", "posterior"]
    assert all(rate.low < true_rate < rate.high for rate in found.corrected)


def test_the_command_tells_it_and_gates_only_by_enough_labels(scored, tmp_path):
    run, truth = scored
    few, many = labels(tmp_path / "few.jsonl", truth, 30), labels(tmp_path / "many.jsonl", truth, 300)
    told = invoke("calibrate", run, "--labels", many)
    assert told.return_value == 0
    assert "corrected, by verdict" in told.output
    refused = invoke("calibrate", run, "--labels", few, "--fail-under", "50%")
    assert isinstance(refused.exception, UsageError)
    assert "more labels" in str(refused.exception)
    assert invoke("calibrate", run, "--labels", many, "--fail-under", "40%", "--width", "20%").return_value == 0
    assert invoke("calibrate", run, "--labels", many, "--fail-under", "90%", "--width", "20%").return_value == 4
    plain = json.loads(invoke("calibrate", run, "--labels", many, "--json").output)
    assert plain["corrected"][0]["method"] == "by verdict"


def test_the_error_is_told_by_category_and_length(scored, tmp_path):
    run, truth = scored
    rows = [
        {"id": id, "label": int(right), "category": "even" if int(id[1:]) % 2 else "odd", "completion": "x" * (i % 90)}
        for i, (id, right) in enumerate(truth.items())
    ]
    found = calibrate(read_verdicts(run), read_labels(str(write(tmp_path / "l.jsonl", rows)), pairs=False))
    sizes = {name: part.n for name, part in found.classes.items()}
    assert sizes["category even"] == sizes["category odd"] == 150
    assert sizes["shortest third"] + sizes["middle third"] + sizes["longest third"] == 300


def test_labels_of_one_verdict_alone_are_named(scored, tmp_path):
    run, truth = scored
    read = read_verdicts(run)
    accepted = [id for (id, _), value in read.values.items() if value]
    file = write(tmp_path / "l.jsonl", [{"id": id, "label": truth[id]} for id in accepted])
    found = calibrate(read, read_labels(str(file), pairs=False))
    assert "nothing that the judge calls wrong is labelled" in found.notes[0]
    assert all(rate.method != "by verdict" for rate in found.corrected)


def test_drift_from_an_earlier_judge_is_told_candidate_by_candidate(scored, tmp_path):
    run, truth = scored
    now = read_verdicts(run)
    before = RunVerdicts("score", dict.fromkeys(now.values, 1.0))
    found = calibrate(now, read_labels(str(labels(tmp_path / "l.jsonl", truth, 50)), pairs=False), earlier=before)
    assert found.drift.value == pytest.approx(found.rate.value - 1)
    assert found.drift.gained == 0


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"label": 1}, "no id"),
        ({"id": "a", "label": "maybe"}, "the label 'maybe' is none"),
        ({"id": "a", "label": 1, "index": -1}, "no candidate's number"),
        ({"id": "a"}, "the label None is none"),
        ({"id": "a", "label": ["right"]}, "is none"),
    ],
)
def test_a_bad_label_names_its_line(tmp_path, row, problem):
    path = write(tmp_path / "l.jsonl", [{"id": "b", "label": 1}, row])
    with pytest.raises(SchemaError, match=problem) as raised:
        read_labels(str(path), pairs=False)
    assert raised.value.line == 2


def test_a_second_label_and_labels_of_nothing_are_refused(scored, tmp_path):
    run, _ = scored
    twice = write(tmp_path / "twice.jsonl", [{"id": "b", "label": 1}] * 2)
    with pytest.raises(SchemaError, match="a second label"):
        read_labels(str(twice), pairs=False)
    with pytest.raises(UsageError, match="no label is of a candidate"):
        calibrate(
            read_verdicts(run), read_labels(str(write(tmp_path / "o.jsonl", [{"id": "x", "label": 1}])), pairs=False)
        )


def test_a_judge_run_brings_its_own_labels(tmp_path):
    spec = f"pairwise('replay:{ROOT}/examples/judge/judge.jsonl')"
    judge = ROOT / "examples/judge"
    result = invoke(
        "judge", judge / "ours.jsonl", judge / "theirs.jsonl", "-j", spec, "-o", tmp_path / "run", "--fail-over", "99%"
    )
    assert result.return_value == 0
    run = read_verdicts(tmp_path / "run")
    rows = [{"id": id, "label": 1} for id, _ in run.values]
    found = calibrate(run, read_labels(str(write(tmp_path / "l.jsonl", rows)), pairs=True))
    assert found.labelled == len(run.values) > 0
    assert isinstance(invoke("calibrate", tmp_path / "run").exception, UsageError)
    again = ["judge", judge / "ours.jsonl", judge / "theirs.jsonl", "-j", spec, "--fail-over", "99%"]
    told = invoke(*again, "--labels", tmp_path / "l.jsonl", "-o", tmp_path / "labelled")
    assert "agreement with labels" in told.output
    assert invoke("calibrate", tmp_path / "labelled").return_value == 0


def compared(preferences, models):
    keys = [(f"p{i}", 0) for i in range(len(preferences))]
    return RunVerdicts(
        "judge", dict(zip(keys, preferences, strict=True)), models=dict.fromkeys(keys, models), longer={}
    )


def test_a_judge_that_prefers_its_own_model_is_found_and_a_fair_one_is_not():
    rng = random.Random(2)
    fair = [float(rng.random() < 0.5) for _ in range(200)]
    biased = [1.0 if rng.random() < 0.3 else value for value in fair]
    runs = {name: compared(values, ("mine", "other")) for name, values in (("a", biased), ("b", fair), ("c", fair))}
    own = own_preference(runs, "a", "mine")
    assert own.difference.low > 0.05
    against = own_preference(runs, "a", "other")
    assert against.difference.value == pytest.approx(-own.difference.value)
    found = {(row.first, row.second): row for row in judge_agreement(runs)}
    assert found["b", "c"].agree == 1.0
    assert found["a", "b"].agree < 0.95
    none = own_preference({"b": runs["b"], "c": runs["c"]}, "b", "mine").difference
    assert none.low < 0 < none.high
    with pytest.raises(UsageError, match="no comparison with 'nobody'"):
        own_preference(runs, "a", "nobody")
