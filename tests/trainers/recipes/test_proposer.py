"""Benchmarks' table of ablations: its test is the one that was said beforehand, and its queue does each arm once."""

import json
from math import inf
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from benchmarks import proposer
from verikit.errors import ConfigError
from verikit.trainers.config import find_recipe, load_config

PAGE = Path(__file__).parents[3] / "docs" / "recipes.md"


def written(runs, name, arm, seed, end, steps=None):
    """Leave the log of a run that ended so."""
    family = proposer.FAMILIES[name]
    folder = runs / name / f"{arm}-{seed}"
    folder.mkdir(parents=True)
    rows = [{"phase": "1-train", "step": step, family.metric: end} for step in (0, steps or proposer.last_step(family))]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.mark.parametrize(("freedom", "p", "t"), [(4, 0.975, 2.776445), (4, 0.95, 2.131847), (1, 0.975, 12.706205)])
def test_student_s_t_is_that_of_the_tables(freedom, p, t):
    assert proposer.student_quantile(p, freedom) == pytest.approx(t, abs=1e-5)
    assert proposer.student_quantile(1 - p, freedom) == pytest.approx(-t, abs=1e-5)
    assert proposer.upper_tail(t, freedom) == pytest.approx(1 - p, abs=1e-6)
    assert proposer.upper_tail(-t, freedom) == pytest.approx(p, abs=1e-6)


def test_five_differences_have_the_interval_of_a_paired_t_test():
    found = proposer.Paired((0.1, 0.2, 0.0, 0.3, 0.15))  # mean .15, deviation .1118, error .05
    assert found.mean == pytest.approx(0.15)
    assert (found.low, found.high) == pytest.approx((0.0111777, 0.2888223), abs=1e-6)
    assert found.p == pytest.approx(0.0199706, abs=1e-6)  # t = 3, one tail
    assert proposer.Paired((0.1,)).high == inf
    assert proposer.Paired((0.1,)).p == 0.5
    assert [proposer.Paired((x, x)).p for x in (0.1, 0.0, -0.1)] == [0.0, 0.5, 1.0]


def test_a_verdict_needs_its_direction_and_holm_s_p():
    ahead, level = proposer.Paired((0.2, 0.21, 0.19, 0.2, 0.22)), proposer.Paired((0.1, -0.1, 0.05, -0.05, 0.0))
    behind = proposer.Paired(tuple(-x for x in ahead.differences))
    close = proposer.Paired((0.1, 0.2, 0.0, 0.3, 0.15))
    assert proposer.verdicts([ahead, None, level, behind]) == ["shown", "not run", "not shown", "the other way round"]
    assert proposer.verdicts([close]) == ["shown"]
    assert proposer.verdicts([close, level, level]) == ["not shown"] * 3  # three times .02


def test_the_queue_skips_what_is_done_and_brings_a_seed_s_arms_together(tmp_path):
    arms = list(proposer.FAMILIES["spice"].arms)
    written(tmp_path, "spice", "frozen", 11, 0.5)
    written(tmp_path, "spice", "threshold", 11, 0.5, steps=40)  # was stopped
    left = list(proposer.queue(tmp_path, ["spice"], [11, 12]))
    assert left == [("spice", arm, seed) for seed in (11, 12) for arm in arms if (arm, seed) != ("frozen", 11)]


def test_only_seeds_with_both_arms_at_the_end_are_compared(tmp_path):
    for seed, (one, two) in zip(proposer.SEEDS, [(0.6, 0.4), (0.7, 0.4), (0.5, 0.4), (0.6, 0.5)], strict=False):
        written(tmp_path, "spice", "variance", seed, one)
        written(tmp_path, "spice", "frozen", seed, two, steps=None if seed != proposer.SEEDS[3] else 40)
    end, over, level, other = proposer.compared("spice", "variance", "frozen", tmp_path)
    assert end.differences == (pytest.approx(0.2), pytest.approx(0.3), pytest.approx(0.1))
    assert over == end  # the evaluation at step 0 does not count
    assert (level, other) == (pytest.approx(0.6), pytest.approx(0.4))
    rows = proposer.table(tmp_path).splitlines()
    assert "+0.200 [-0.048, +0.448]" in rows[6]
    assert "(3 seeds)" in rows[6]
    assert sum("*not run*" in row for row in rows) == len(rows) - 3


@pytest.mark.parametrize("name", proposer.FAMILIES)
def test_every_arm_s_settings_are_those_of_the_recipe_and_differ_only_as_told(name):
    family, start = proposer.FAMILIES[name], Path("start").resolve()
    whole = {arm: proposer.arm_settings(name, arm, 11, start) for arm in family.arms}
    for settings in whole.values():
        find_recipe(settings.recipe).Options.model_validate(settings.options)
        assert settings.warmup is None
        assert settings.model.path == str(start)
    base, *others = whole
    for arm in others:
        changed = {line.partition(" ")[0].rstrip(":") for line in proposer.differences(whole[base], whole[arm])}
        assert len(changed) >= 1
        assert all(key.startswith("options.") for key in changed)
    for first, second, _ in family.comparisons:
        assert {first, second} <= set(whole)
    assert load_config(family.config, list(family.world)).run.steps == proposer.last_step(family)


def test_a_folder_run_with_other_settings_is_not_gone_on_with(tmp_path):
    start = tmp_path / "start"
    settings = proposer.arm_settings("spice", "variance", 11, start)
    (tmp_path / "config.json").write_text(settings.model_dump_json(), "utf-8")
    with pytest.raises(ConfigError, match="other settings"):
        proposer.train(proposer.arm_settings("spice", "threshold", 11, start), tmp_path)


@pytest.mark.slow
def test_a_shared_start_leads_to_each_arm_and_a_frozen_challenger_is_that_start(tmp_path, monkeypatch):
    whole = proposer.FAMILIES["spice"]
    short = ("options.documents=2", "options.attempts=2", "options.group=2", "options.held_out_size=4", "run.steps=2",
             "warmup.steps=3", "warmup.gate=0")  # fmt: skip
    cut = proposer.Family(whole.config, whole.metric, short, whole.arms, whole.comparisons)
    monkeypatch.setitem(proposer.FAMILIES, "spice", cut)
    for arm in ("variance", "frozen"):
        proposer.run("spice", arm, 11, tmp_path)
        assert set(proposer.curve(tmp_path / "spice" / f"{arm}-11", cut.metric)) == {0, 2}
    first = [
        (tmp_path / "spice" / f"{arm}-11" / "metrics.jsonl").read_text("utf-8").splitlines()[0]
        for arm in ("variance", "frozen")
    ]
    untimed = [{key: value for key, value in json.loads(line).items() if key != "seconds"} for line in first]
    assert untimed[0] == untimed[1]  # the same weights, before a step
    assert (tmp_path / "spice" / "start-11" / "model.safetensors").is_file()
    assert ("spice", "frozen", 11) not in list(proposer.queue(tmp_path, ["spice"], [11]))


def test_the_page_tells_every_comparison(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text("utf-8"), "utf-8")
    before, _, rest = page.read_text("utf-8").partition(proposer.BEGIN)
    table = rest.partition(proposer.END)[0].strip().splitlines()
    wanted = proposer.table(tmp_path).splitlines()
    assert [row.split("|")[1:3] for row in table] == [row.split("|")[1:3] for row in wanted]
    proposer.fill(page, "filled")
    assert page.read_text("utf-8").startswith(f"{before}{proposer.BEGIN}\nfilled\n{proposer.END}")
