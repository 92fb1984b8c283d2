"""The table of `benchmarks.gold_alarm`: what counts, when an alarm was in time, and what a stopped queue leaves."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.trainers.test_proofs import imported
from verikit import Sample


@pytest.fixture(scope="module")
def gold_alarm() -> Any:
    return imported("gold_alarm", Path(__file__).parents[2] / "benchmarks")


def leave(module: Any, folder: Path, golds: list[float], *alarms: int) -> None:
    """Leave the log of a run with these evaluations, the last at the last step."""
    first = module.STEPS - module.EVERY * (len(golds) - 1)
    rows = [
        {"phase": "1-train", "step": first + module.EVERY * at, "held-out/gold": gold, "held-out/gold_reward": at / 100}
        for at, gold in enumerate(golds)
    ]
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    lines = [json.dumps({"step": step, "told": ""}) + "\n" for step in alarms]
    folder.with_name(f"{folder.name}.alarms.jsonl").write_text("".join(lines), "utf-8")


def test_the_loss_at_the_first_alarm_is_from_the_highest_gold_so_far(gold_alarm: Any, tmp_path: Path) -> None:
    last = gold_alarm.STEPS
    leave(gold_alarm, tmp_path / "long-1", [0.5, 0.9, 0.8, 0.95, 0.4], last, last - 2 * gold_alarm.EVERY, last)
    leave(gold_alarm, tmp_path / "noise-2", [0.5, 0.9, 0.88])
    late, healthy = gold_alarm.outcomes(tmp_path)
    assert late.alarm == last - 2 * gold_alarm.EVERY
    assert late.lost_at_alarm == pytest.approx(0.1)
    assert late.lost == pytest.approx(0.55)
    assert (healthy.alarm, healthy.lost_at_alarm) == (None, None)


def test_a_run_counts_only_if_gold_moved_as_its_reward_should_move_it(gold_alarm: Any, tmp_path: Path) -> None:
    last = gold_alarm.STEPS
    leave(gold_alarm, tmp_path / "round-1", [0.5, 0.9, 0.89, 0.5], last - gold_alarm.EVERY)
    leave(gold_alarm, tmp_path / "round-2", [0.5, 0.9, 0.5], last)
    leave(gold_alarm, tmp_path / "long-1", [0.5, 0.9])
    leave(gold_alarm, tmp_path / "holes-1", [0.5, 0.9])
    leave(gold_alarm, tmp_path / "noise-1", [0.9, 0.5], last)
    weak, healthy, neither = gold_alarm.tests(gold_alarm.outcomes(tmp_path))
    assert "lost: 1 of 2, *not shown*. With an alarm at all: 2." in weak
    assert "alarm: 0 of 1, *shown*" in healthy
    assert neither.endswith("2.")
    assert gold_alarm.tests([])[0].endswith("0 of 0, *not shown*. With an alarm at all: 0.")
    assert gold_alarm.table(gold_alarm.outcomes(tmp_path)).count("\n| `") == 4
    assert gold_alarm.svg(gold_alarm.outcomes(tmp_path)).count("<circle") == 3


def test_a_stopped_run_is_not_done_and_a_step_evaluated_twice_counts_once(gold_alarm: Any, tmp_path: Path) -> None:
    folder = tmp_path / "round-1"
    leave(gold_alarm, folder, [0.5, 0.9])
    assert gold_alarm.done(folder)
    text = (folder / "metrics.jsonl").read_text("utf-8")
    (folder / "metrics.jsonl").write_text(text + text.splitlines()[-1] + "\n", "utf-8")
    assert [gold for _, gold, _ in gold_alarm.points(folder)] == [0.5, 0.9]
    (folder / "metrics.jsonl").write_text(text.splitlines()[0] + "\n", "utf-8")
    assert not gold_alarm.done(folder)
    assert gold_alarm.outcomes(tmp_path) == []
    assert not gold_alarm.done(tmp_path / "holes-1")


def test_alarms_are_taken_from_the_trainers_own_warning(gold_alarm: Any, tmp_path: Path) -> None:
    from verikit.trainers.gold import GoldWatch, RowScores
    from verikit.trainers.sections import GoldSection

    watch = GoldWatch.__new__(GoldWatch)
    watch._section, watch._factor, watch._comparisons = GoldSection(verifier="answer", action="warn"), 1.0, 0
    watch._peak, watch._peak_step = [RowScores(0.1, 1.0)] * 20, 3
    watch._now = [RowScores(0.5, 0.0)] * 20
    told = watch.watch(None, 6)  # type: ignore[arg-type]
    log = logging.Logger("test")
    log.addHandler(gold_alarm.Alarms(tmp_path / "alarms.jsonl"))
    log.warning("%s", told)
    log.warning("step 9: held-out metrics are left out: the engine failed")
    assert gold_alarm.first_alarm(tmp_path / "alarms.jsonl") == 6


def test_one_verdict_in_ten_is_flipped_whatever_the_completion_contains(gold_alarm: Any) -> None:
    right = [gold_alarm.noisy(Sample(f"{n}+1=", rf"\boxed{{{n + 1}}}", str(n + 1))).value for n in range(400)]
    wrong = [gold_alarm.noisy(Sample(f"{n}+1=", rf"\boxed{{{n + 2}}}", str(n + 1))).value for n in range(400)]
    assert 340 <= sum(right) <= 380
    assert 20 <= sum(wrong) <= 60
