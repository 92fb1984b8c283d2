"""`verikit calibrate`: runs of score and judge against labels, gates, drift, several judges."""

import json
import random

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from verikit.cli import cli
from verikit.errors import SchemaError, UsageError
from verikit.judges.calibration.between import judge_agreement, own_preference
from verikit.judges.calibration.confusion import confusion, kappa_interval
from verikit.judges.calibration.measure import calibrate
from verikit.judges.calibration.verdicts import RunVerdicts, read_verdicts
from verikit.judges.match.labels import Label, read_labels
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
    refused = invoke("calibrate", run, "--labels", few, "--fail-under", "50%", "--width", "20%")
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
        ({"label": 1}, "id is missing"),
        ({"id": "a", "label": "maybe"}, "the label 'maybe' is not valid"),
        ({"id": "a", "label": 1, "index": -1}, "not the number of a candidate"),
        ({"id": "a"}, "the label None is not valid"),
        ({"id": "a", "label": ["right"]}, "is not valid"),
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
    with pytest.raises(UsageError, match="the labels cover no candidate"):
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


@pytest.fixture
def sampled(tmp_path):
    """60 prompts of 8 candidates, and a verifier that takes 3 of 10 wrong candidates of the easy prompts."""
    rng = random.Random(3)
    rows, truth = [], {}
    for i in range(60):
        easy = i % 3 == 0
        level, said = rng.betavariate(0.3, 0.2), []
        for j in range(8):
            truth[f"p{i}", j] = rng.random() < level
            said.append("yes" if truth[f"p{i}", j] or (easy and rng.random() < 0.3) else "no")
        row = {"id": f"p{i}", "prompt": "?", "answer": "yes", "completions": said}
        rows.append(row | {"category": "easy" if easy else "hard", "level": i % 2})
    score_file(str(write(tmp_path / "rows.jsonl", rows)), ScoringPlan(verifier="exact"), tmp_path / "run")
    return tmp_path / "run", truth


def label_file(path, truth, keys, **more):
    return write(path, [{"id": id, "index": index, "label": int(truth[id, index])} | more for id, index in keys])


def test_the_judges_own_rate_is_the_runs_mean_with_its_interval_over_prompts(sampled, tmp_path):
    run, truth = sampled
    found = calibrate(
        read_verdicts(run), read_labels(str(label_file(tmp_path / "l.jsonl", truth, list(truth)[::2])), pairs=False)
    )
    mean = json.loads((run / "summary.json").read_text())["metrics"]["mean"]
    assert (found.rate.value, found.rate.low, found.rate.high) == pytest.approx(
        (mean["value"], mean["low"], mean["high"])
    )
    assert found.corrected[0].width > 0.8 * (mean["high"] - mean["low"])


def test_labels_of_one_category_correct_that_category_only(sampled, tmp_path):
    run, truth = sampled
    easy = [key for key in truth if int(key[0][1:]) % 3 == 0]
    file = label_file(tmp_path / "l.jsonl", truth, easy[::2])
    told = json.loads(invoke("calibrate", run, "--labels", file, "--json").output)
    assert (told["covered"], told["verdicts"]) == (160, 480)
    assert "no label is of these categories and verdicts: hard (wrong), hard (right)" in told["notes"][0]
    alone = json.loads(invoke("calibrate", run, "--labels", file, "--where", "category=easy", "--json").output)
    assert alone["corrected"] == told["corrected"]
    assert (alone["covered"], alone["notes"]) == (160, [])
    alike = json.loads(invoke("calibrate", run, "--labels", file, "--exchangeable", "--json").output)
    assert (alike["covered"], alike["notes"]) == (480, [])
    assert alike["corrected"][0]["value"] != pytest.approx(told["corrected"][0]["value"])


def test_a_gate_does_not_decide_by_a_part_of_the_run(sampled, tmp_path):
    run, truth = sampled
    easy = [key for key in truth if int(key[0][1:]) % 3 == 0]
    file = label_file(tmp_path / "l.jsonl", truth, easy)
    gate = ["calibrate", run, "--labels", file, "--fail-under", "1%", "--width", "90%"]
    refused = invoke(*gate)
    assert isinstance(refused.exception, UsageError)
    assert "160 of 480 verdicts" in str(refused.exception)
    assert invoke(*gate, "--where", "category=easy").return_value == 0
    assert invoke(*gate, "--exchangeable").return_value == 0


def test_each_category_has_its_own_corrected_rate(sampled, tmp_path):
    run, truth = sampled
    file = label_file(tmp_path / "l.jsonl", truth, list(truth)[::2])
    told = json.loads(invoke("calibrate", run, "--labels", file, "--json").output)
    assert list(told["by_category"]) == ["hard", "easy"]
    for name, rate in told["by_category"].items():
        alone = json.loads(invoke("calibrate", run, "--labels", file, "--where", f"category={name}", "--json").output)
        assert alone["corrected"][0] == rate
    assert told["classes"].keys() == {"category easy", "category hard"}


def test_labels_of_one_category_correct_nothing_if_the_rows_have_no_category(scored, tmp_path):
    run, truth = scored
    file = labels(tmp_path / "l.jsonl", truth, 40, category="free")
    found = calibrate(read_verdicts(run), read_labels(str(file), pairs=False))
    assert (found.corrected, found.covered) == ([], 0)
    assert "all labels are of category free" in found.notes[0]
    refused = invoke("calibrate", run, "--labels", file, "--fail-under", "1%", "--width", "90%")
    assert "all labels are of category free" in str(refused.exception)
    alike = calibrate(read_verdicts(run), read_labels(str(file), pairs=False), exchangeable=True)
    assert (alike.covered, alike.notes) == (300, [])


def test_conditions_on_rows_must_all_hold_and_misspelt_ones_are_named(sampled, tmp_path):
    run, truth = sampled
    file = label_file(tmp_path / "l.jsonl", truth, truth)
    base = ["calibrate", run, "--labels", file, "--json"]
    both = json.loads(invoke(*base, "--where", "category=easy", "--where", "level=1").output)
    assert (both["verdicts"], both["labelled"], both["unknown"]) == (80, 80, 0)
    for condition, told in (("categry=easy", "key 'categry'"), ("category=eazy", "category=eazy")):
        refused = invoke(*base, "--where", condition).exception
        assert isinstance(refused, UsageError)
        assert told in str(refused)
        assert "easy" in refused.hint or "category" in refused.hint
    (run.parent / "rows.jsonl").rename(run.parent / "moved.jsonl")
    refused = invoke(*base, "--where", "category=easy").exception
    assert "--where needs the rows of the run" in str(refused)


def test_drift_counts_prompts_and_tells_of_verdicts(sampled, tmp_path):
    run, truth = sampled
    now = read_verdicts(run)
    changed = {key: 1 - value if key[0] in ("p0", "p1") else value for key, value in now.values.items()}
    known = read_labels(str(label_file(tmp_path / "l.jsonl", truth, truth)), pairs=False)
    found = calibrate(now, known, earlier=RunVerdicts("score", changed)).drift
    assert (found.docs, found.clusters) == (60, 60)
    assert found.gained + found.lost == 16
    assert found.high - found.low > 0.05


def test_errors_of_a_judge_within_one_prompt_are_one_piece_of_evidence():
    spread = [[(1.0, 1.0)] for _ in range(78)] + [[(1.0, 0.0)], [(0.0, 0.0)]]
    heaped = [[(1.0, 1.0)] * 39, [(1.0, 1.0)] * 39, [(1.0, 0.0), (0.0, 0.0)]]
    wide, narrow = confusion(heaped), confusion(spread)
    assert wide.counts == narrow.counts
    assert wide.accuracy.value == narrow.accuracy.value
    assert (wide.accuracy.n, narrow.accuracy.n) == (3, 80)
    for name in ("accuracy", "sensitivity"):
        first, second = getattr(wide, name), getattr(narrow, name)
        assert first.high - first.low > 2 * (second.high - second.low)
    assert wide.kappa_high - wide.kappa_low > narrow.kappa_high - narrow.kappa_low


@pytest.mark.parametrize("n", [20, 50])
@pytest.mark.parametrize(("right", "hits", "false"), [(0.5, 0.98, 0.02), (0.9, 0.95, 0.3), (0.5, 0.7, 0.4)])
def test_kappas_interval_covers_that_of_the_judge(n, right, hits, false):
    table = {(1.0, 1.0): right * hits, (0.0, 1.0): right * (1 - hits)}
    table |= {(1.0, 0.0): (1 - right) * false, (0.0, 0.0): (1 - right) * (1 - false)}
    agreed, verdicts = table[1.0, 1.0] + table[0.0, 0.0], table[1.0, 1.0] + table[1.0, 0.0]
    chance = verdicts * right + (1 - verdicts) * (1 - right)
    truth = (agreed - chance) / (1 - chance)
    rng, covered, runs = random.Random(n), 0, 100
    for _ in range(runs):
        low, high = kappa_interval([[pair] for pair in rng.choices(list(table), table.values(), k=n)], draws=200)
        covered += low <= truth <= high < 1.01
        assert high - low > 0.01
    assert covered >= 0.88 * runs


def test_confusion_is_told_by_the_evidence_that_the_judge_was_shown():
    keys = [(f"p{i}", 0) for i in range(20)]
    shown = {key: "all entries" if i < 8 else "no entries" for i, key in enumerate(keys)}
    run = RunVerdicts("score", dict.fromkeys(keys, 1.0), shown=shown)
    classes = calibrate(run, {key: Label(float(i < 14)) for i, key in enumerate(keys)}).classes
    assert {name: (part.n, part.accuracy.value) for name, part in classes.items()} == {
        "shown all entries": (8, 1.0), "shown no entries": (12, 0.5),
    }  # fmt: skip
