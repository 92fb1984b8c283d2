"""What a caller asks of a run: exit codes, what is said, and JUnit files that CI reads."""

import json
import xml.etree.ElementTree as ET

import pytest

from tests.report.conftest import EXAMPLES, HOSTILE, write
from verikit.cli.gates import GateResult, junit_xml
from verikit.errors import UsageError
from verikit.report.floors import check_floors, unscored_share
from verikit.testing import assert_at_least

CANDIDATES = EXAMPLES / "candidates.jsonl"


def rows(*rights):
    """A prompt for each list, a candidate for each of its verdicts."""
    texts = [[r"\boxed{4}" if right else r"\boxed{5}" for right in some] for some in rights]
    return [{"id": f"q{i}", "prompt": "2+2?", "answer": "4", "completions": some} for i, some in enumerate(texts)]


def cases(path):
    """The test cases of a JUnit file: their names, and the message of those that failed."""
    found = {}
    for case in ET.parse(path).getroot().iter("testcase"):
        failure = case.find("failure")
        found[case.get("name")] = None if failure is None else failure.get("message")
    return found


@pytest.fixture
def scored(verikit, tmp_path):
    """Score rows with gates; returns the exit code."""

    def score(rights, *options, name="run"):
        write(tmp_path / "rows.jsonl", rows(*rights))
        return verikit("score", "rows.jsonl", "-o", name, "-q", *options)

    return score


@pytest.mark.parametrize(
    ("floor", "code"),
    [("75%", 0), ("0.75", 0), ("75.01%", 4), ("pass@2=100%", 0), ("pass^2=60%", 4), ("mean=10%", 0), ("maj@9=10%", 2)],
)
def test_a_floor_is_met_at_its_value_and_not_above(scored, floor, code, capsys):
    assert scored([[1, 1], [1, 0]], "--fail-under", floor) == code
    told = capsys.readouterr().err
    assert ("asked for at least" in told) == (code == 4)
    assert ("no metric 'maj@9'" in told) == (code == 2)


def test_a_run_without_any_score_reaches_no_floor_and_is_told_in_junit_too(verikit, tmp_path, capsys):
    write(tmp_path / "rows.jsonl", [{"prompt": "2+2?", "completions": ["4"]}])  # no gold
    asked = ("score", "rows.jsonl", "-o", "run", "-q", "--fail-under", "10%", "--junit", "junit.xml")
    assert verikit(*asked) == 3
    assert verikit(*asked, "--fail-over", "1") == 4
    assert "mean has no value, since nothing was scored; asked for at least 10%" in capsys.readouterr().err
    assert cases(tmp_path / "junit.xml")["mean at least 10%"] is not None
    with pytest.raises(AssertionError, match="nothing was scored"):
        assert_at_least(tmp_path / "run", 0.1, unscored=1.0)


def test_a_floor_that_is_missed_shows_the_wrong_rows_and_what_chance_leaves_open(scored, capsys):
    assert scored([[1], [1], [0], [1]], "--fail-under", "80%") == 4
    told = capsys.readouterr().err
    assert "mean is 75% [" in told
    assert "this may be chance" in told
    assert "row 3, q2 #0: 0.00, answer '5'" in told
    assert "q1" not in told
    assert scored([[0]] * 40, "--fail-under", "80%", name="bad") == 4
    assert "chance" not in capsys.readouterr().err


def test_unscored_candidates_come_before_a_floor(verikit, tmp_path, capsys):
    unreadable = {"id": "q9", "prompt": "2+2?", "answer": "4"}
    write(tmp_path / "rows.jsonl", [*rows([1], [0]), unreadable])
    command = ["score", "rows.jsonl", "-o", "run", "-q", "--fail-under", "90%", "--junit", "ci/score.xml"]
    assert verikit(*command) == 3
    assert capsys.readouterr().err.count("1 of 3") == 1
    found = cases(tmp_path / "ci/score.xml")
    assert found["scored"] == "1 of 3 candidates have no score"
    assert found["mean at least 90%"].startswith("mean is 50%")
    assert unscored_share(tmp_path / "run") == pytest.approx(1 / 3)


def test_junit_names_each_floor_and_a_run_that_passes_has_no_failure(scored, tmp_path):
    assert scored([[1, 1]], "--fail-under", "80%", "--fail-under", "pass@2=0.9", "--junit", "j.xml") == 0
    assert cases(tmp_path / "j.xml") == {"scored": None, "mean at least 80%": None, "pass@2 at least 90%": None}
    root = ET.parse(tmp_path / "j.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("3", "0")


def test_compare_writes_its_differences_and_fails_under_a_floor(scored, verikit, tmp_path, capsys):
    scored([[1]] * 30, name="main")
    scored([[1]] * 15 + [[0]] * 15, name="mine")
    command = ["compare", "main", "mine", "--junit", "c.xml"]
    assert verikit(*command) == 0
    assert cases(tmp_path / "c.xml") == {"mine against main: mean": None}
    assert verikit(*command, "--fail-if-worse", "1pt", "--fail-under", "60%") == 4
    found = cases(tmp_path / "c.xml")
    assert found["mine against main: mean"].startswith("mine is worse on mean by 50.00 points")
    assert found["mine: mean at least 60%"].startswith("mean is 50%")
    assert verikit("compare", "mine", "main", "--fail-if-worse", "1pt", "--fail-under", "60%") == 0
    capsys.readouterr()


def test_a_loss_that_may_be_chance_is_told_and_passes(scored, verikit, tmp_path, capsys):
    scored([[1], [1], [1]], name="main")
    scored([[1], [1], [0]], name="mine")
    assert verikit("compare", "main", "mine", "--fail-if-worse", "1pt", "--junit", "c.xml") == 0
    assert "may be chance" in capsys.readouterr().err
    assert cases(tmp_path / "c.xml") == {"mine against main: mean": None}


@pytest.mark.parametrize("text", HOSTILE)
def test_junit_is_xml_whatever_a_row_says(text):
    root = ET.fromstring(junit_xml(text, [GateResult(text, text, False, [text]), GateResult(text, text)]))
    assert {element.tag for element in root.iter()} == {"testsuites", "testsuite", "testcase", "failure", "system-out"}


def test_an_eval_run_is_asked_by_task(verikit, tmp_path):
    pytest.importorskip("lm_eval")
    model = f"replay:{EXAMPLES / 'eval/small.jsonl'}"
    command = ["eval", "verikit_math500", "--model", model, "--data", EXAMPLES / "eval/math.jsonl", "-o", "run", "-q"]
    assert verikit(*command, "--fail-under", "1%", "--junit", "e.xml") == 0
    results = json.loads((tmp_path / "run/results.json").read_bytes())
    ((task, found),) = results["tasks"].items()
    value = found["metrics"][found["own"]]["value"]
    assert 0 < value < 1
    assert verikit(*command, "--fail-under", f"{value - 0.001}") == 0
    assert verikit(*command, "--fail-under", f"{task}={value + 0.001}", "--junit", "e.xml") == 4
    assert any(message for message in cases(tmp_path / "e.xml").values())
    (check,) = check_floors(tmp_path / "run", value + 0.001)
    assert not check.passed
    assert check.rows
    with pytest.raises(UsageError, match="no metric"):
        check_floors(tmp_path / "run", 0.5, "verikit_aime24")


def test_a_run_in_which_nothing_was_scored_is_no_wrong_command(verikit, tmp_path, capsys):
    write(tmp_path / "rows.jsonl", [{"id": "q1", "prompt": "2+2?", "completion": "4"}])
    command = ["score", "rows.jsonl", "-o", "run", "-q", "--fail-under", "pass@4=90%", "--junit", "score.xml"]
    assert verikit(*command) == 3
    assert cases(tmp_path / "score.xml")["pass@4 at least 90%"].startswith(
        "pass@4 has no value, since nothing was scored"
    )
    assert verikit(*command, "--fail-over", "100%") == 4
    with pytest.raises(AssertionError, match="mean has no value"):
        assert_at_least(tmp_path / "run", 0.5)
