"""The page of a training run: curves of each phase, held-out figures, samples; also of a run that goes on."""

import json
import math

import pytest

from tests.report.conftest import chart, shown, texts, write
from verikit.errors import UsageError
from verikit.report import report
from verikit.trainers.page import POINTS, thinned

CONFIG = {"recipe": "arithmetic", "seed": 0, "model": {"path": "m"}, "optimizer": {"lr": 0.1}, "run": {"steps": 3}}


def row(step, phase="1-train", **more):
    return {"phase": phase, "step": step, "seconds": step * 2.0, **more}


def sample(step, reward, **more):
    base = {"step": step, "role": "policy", "task": "", "prompt": "1+1=", "completion": f"{step}", "answer": "2"}
    return base | {"reward": reward, "finished": True, "parts": {}} | more


@pytest.fixture
def trained(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text(json.dumps(CONFIG))
    warm = [row(step, "0-warmup", loss=3 / step, tokens=9.0 + step) for step in (1, 2, 3)]
    held = [row(0, **{"held-out/greedy": 0.25}), row(3, **{"held-out/greedy": 0.75})]
    steps = [row(i, reward=i / 4, passed=i / 4, loss=-0.1 * i, kl=math.nan, unscored=1.0, tokens=i) for i in (1, 2, 3)]
    write(run / "metrics.jsonl", [*warm, held[0], *steps, held[1]])
    parts = {"format": 1.0, "answer": 0.0}
    write(run / "samples.jsonl", [sample(1, 1.0), sample(1, None), sample(3, 0.0, finished=False, parts=parts)])
    return run


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
    assert not [one for one in run["charts"] if one["key"] == "1-train/kl"]
    assert b"NaN" not in report([trained]).split(b'id="data">')[1].split(b"</script")[0]


def test_held_out_figures_tell_where_they_began_and_lost_trajectories_are_noticed(trained):
    run = shown(trained)["runs"][0]
    (figure,) = run["figures"]
    assert (figure["label"], figure["value"], figure["note"]) == ("Held out: greedy", 0.75, "25.0 % at first")
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


def test_a_damaged_log_is_refused_with_its_line(trained):
    with open(trained / "metrics.jsonl", "a") as stream:
        stream.write('{"step": 4')
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
