"""The page of a training run: curves of each phase, held-out metrics, samples; also of a run that goes on."""

import pytest

from tests.report.conftest import chart, shown, texts, training_run, write
from verikit.errors import UsageError
from verikit.report import report
from verikit.trainers.page import POINTS, thinned


@pytest.fixture
def trained(tmp_path):
    return training_run(tmp_path / "run")


def test_curves_are_the_logged_numbers_by_phase(trained):
    run = shown(trained)["runs"][0]
    assert chart(run, "1-train/reward")["series"][0]["points"] == [[1, 0.25], [2, 0.5], [3, 0.75]]
    assert chart(run, "1-train/held-out")["series"] == [{"name": "greedy", "points": [[0, 0.25], [3, 0.75]]}]
    assert chart(run, "1-train/held-out")["percent"]
    assert chart(run, "0-warmup/loss")["series"][0]["points"] == [[1, 3.0], [2, 1.5], [3, 1.0]]
    assert not chart(run, "0-warmup/loss")["more"]
    assert chart(run, "1-train/tokens")["more"], "what few look at is folded away"


def test_what_is_no_number_is_left_out_and_nothing_else(trained):
    run = shown(trained)["runs"][0]
    assert not [entry for entry in run["charts"] if entry["key"] == "1-train/kl"]
    assert b"NaN" not in report([trained]).split(b'id="data">')[1].split(b"</script")[0]


def test_held_out_metrics_tell_where_they_began_and_lost_trajectories_are_noticed(trained):
    run = shown(trained)["runs"][0]
    (metric,) = run["metrics"]
    assert (metric["label"], metric["value"], metric["note"]) == ("Held out: greedy", 0.75, "25.0 % at first")
    assert any(text.startswith("3 trajectories had no score") for text in run["notices"])


def test_samples_are_tagged_and_an_unscored_reward_is_no_zero(trained):
    data = shown(trained)
    right, lost, wrong = data["runs"][0]["items"]
    assert right["tags"] == ["right"]
    assert (lost["tags"], lost["value"], lost["verdict"]) == (["unscored"], None, "unscored")
    assert wrong["tags"] == ["wrong", "disagree", "unfinished"]
    assert wrong["scores"]["reward"]["parts"]["format"]["value"] == 1.0
    assert texts(data, right) == {"Prompt": "1+1=", "Completion": "1"}
    assert [item["label"] for item in (right, lost, wrong)] == ["#0", "#1", "#0"]


def test_a_run_that_has_only_begun_is_shown(trained):
    (trained / "metrics.jsonl").unlink()
    write(trained / "metrics.jsonl", [])
    (trained / "samples.jsonl").unlink()
    run = shown(trained)["runs"][0]
    assert run["charts"] == []
    assert "no step has been logged yet" in run["notices"]


def test_a_line_that_is_just_being_written_is_left_out_and_a_damaged_one_refused_by_number(trained):
    with open(trained / "metrics.jsonl", "a") as stream:
        stream.write('{"step": 4')
    assert chart(shown(trained)["runs"][0], "1-train/reward")["series"][0]["points"][-1] == [3, 0.75]
    with open(trained / "metrics.jsonl", "a") as stream:
        stream.write("\n")
    with pytest.raises(UsageError, match=r"metrics\.jsonl:9"):
        report([trained])


@pytest.mark.parametrize("n", [1, POINTS, POINTS + 1, 10 * POINTS + 3])
def test_long_curves_are_thinned_to_means_within_their_range(n):
    points = [(i, float(i % 17)) for i in range(n)]
    found = thinned(points)
    assert len(found) <= POINTS
    assert found[-1][0] == n - 1
    if n <= POINTS:
        assert found == points
    else:
        assert all(low <= mean <= high for _, mean, low, high in found)
        assert min(low for *_, low, _ in found) == 0
        assert max(high for *_, high in found) == 16
