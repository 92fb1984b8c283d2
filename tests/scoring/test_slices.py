"""A run by the keys of its rows: counts and estimates of each value are those of its rows alone."""

import json

import pytest

from tests.scoring.conftest import lines, row, write
from verikit.report.model import Options
from verikit.report.score import slices_of


def summary(folder):
    return json.loads((folder / "summary.json").read_bytes())


def many(n=12, **keys):
    """Rows with two to four candidates each, right and wrong in turns; `keys` are functions of the row's number."""
    for i in range(n):
        texts = [str(i) if (i * j) % 3 else "no" for j in range(2 + i % 3)]
        yield row(i, *texts, **{name: make(i) for name, make in keys.items()})


def category(i):
    return ("math", "json", "free text")[i % 3]


def test_a_slice_has_the_estimates_of_its_rows_alone(score, tmp_path):
    rows = list(many(category=category))
    file = write(tmp_path / "all.jsonl", rows)
    options = ("--k", "1,2", "--by", "length(max=9)", "--select", "first")
    assert score(file, "-o", "all", "--by-key", "category", *options).code == 0
    slices = summary(tmp_path / "all")["slices"]["category"]
    assert list(slices) == ["free text", "json", "math"]
    for name, found in slices.items():
        alone = write(tmp_path / "alone.jsonl", [one for one in rows if one["category"] == name])
        score(alone, "-o", name, *options)
        assert found == {key: summary(tmp_path / name)[key] for key in ("prompts", "candidates", "unscored", "metrics")}
        assert {"mean", "pass@2", "maj@2", "bon@2", "selected"} <= found["metrics"].keys()


def test_slices_do_not_depend_on_jobs_or_on_an_earlier_part_of_the_run(score, tmp_path):
    file = write(tmp_path / "in.jsonl", many(40, category=category))
    score(file, "-o", "one", "--by-key", "category")
    score(file, "-o", "two", "--by-key", "category", "--jobs", 2)
    score(file, "-o", "three", "--limit", 7)
    score(file, "-o", "three", "--by-key", "category")
    assert summary(tmp_path / "one") == summary(tmp_path / "two") == summary(tmp_path / "three")


def test_each_key_has_a_table_and_paths_lists_and_missing_values_have_their_slices(score, tmp_path):
    keys = {
        "meta": lambda i: {"level": i % 2},
        "tags": lambda i: ["a", "b"] if i % 2 else ["b"],
        "hard": lambda i: {0: True, 1: None}.get(i),
    }
    file = write(tmp_path / "in.jsonl", many(6, extra_info=lambda i: {"source": f"s{i % 2}"}, **keys))
    named = ("level", "tags", "hard", "extra_info.source")
    outcome = score(file, "-o", "out", *(word for key in named for word in ("--by-key", key)))
    slices = summary(tmp_path / "out")["slices"]
    counts = {key: {value: held["prompts"] for value, held in values.items()} for key, values in slices.items()}
    assert counts == {
        "level": {"0": 3, "1": 3},
        "tags": {"b": 6, "a": 3},
        "hard": {"(none)": 5, "true": 1},
        "extra_info.source": {"s0": 3, "s1": 3},
    }
    tables = [line.split()[0] for line in outcome.out.splitlines() if "prompts  candidates" in line]
    assert tables == list(named)


def test_a_key_of_the_candidates_slices_them(score, tmp_path):
    texts = [{"text": "0", "model": "a"}, {"text": "no", "model": "b"}]
    file = write(tmp_path / "in.jsonl", [row(0) | {"completions": texts}])
    score(file, "-o", "out", "--by-key", "model")
    found = summary(tmp_path / "out")["slices"]["model"]
    assert {name: (held["candidates"], held["metrics"]["mean"]["value"]) for name, held in found.items()} == {
        "a": (1, 1.0),
        "b": (1, 0.0),
    }


def test_a_mapped_key_is_found_under_its_own_name(score, tmp_path):
    rows = [{"q": f"{i}?", "out": str(i % 2), "label": str(i % 2)} for i in range(4)]
    mapping = [word for pair in ("prompt=q", "text=out", "gold=label") for word in ("--map", pair)]
    score(write(tmp_path / "in.jsonl", rows), "-o", "out", *mapping, "--by-key", "label")
    assert {value: held["prompts"] for value, held in summary(tmp_path / "out")["slices"]["label"].items()} == {
        "0": 2,
        "1": 2,
    }


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("categry", "did you mean category?"),
        ("nothing", "available: category, extra"),
        ("extra", "--by-key extra.level"),
    ],
)
def test_a_key_that_cant_slice_is_refused_before_anything_is_scored(score, tmp_path, key, told):
    file = write(tmp_path / "in.jsonl", many(3, category=category, extra=lambda i: {"level": i}))
    outcome = score(file, "-o", "out", "--by-key", key)
    assert (outcome.code, told in outcome.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_key_with_a_value_for_each_row_is_refused_and_the_scores_are_kept(score, tmp_path, monkeypatch):
    monkeypatch.setattr("verikit.scoring.slices.MOST", 5)
    file = write(tmp_path / "in.jsonl", many(6))
    outcome = score(file, "-o", "out", "--by-key", "id")
    assert (outcome.code, "'id' has over 5 values" in outcome.err) == (2, True)
    assert len(lines(tmp_path / "out/scores.jsonl")) == sum(len(one["completions"]) for one in many(6))


def test_stdin_cant_be_read_again_for_its_keys(score, tmp_path):
    outcome = score("-", "--by-key", "category", stdin=json.dumps(row(1)).encode())
    assert (outcome.code, "--by-key reads the input twice" in outcome.err) == (2, True)


def test_only_what_is_scored_is_counted(score, tmp_path):
    rows = [*many(4, category=category), b'{"id": "bad"}', row(9, "9", category="math", answer=None)]
    file = write(tmp_path / "in.jsonl", rows)
    outcome = score(file, "-o", "out", "--by-key", "category", "--fail-over", "100%")
    found = summary(tmp_path / "out")["slices"]["category"]["math"]
    assert (found["prompts"], found["unscored"], found["metrics"]["mean"]["n"]) == (3, 1, 2)
    assert "(n 2)" in outcome.out


def test_a_finished_run_is_sliced_by_further_keys_without_its_verifier(score, tmp_path):
    file = write(tmp_path / "in.jsonl", many(category=category, level=lambda i: i % 2))
    score(file, "-o", "out", "--by-key", "category")
    config = json.loads((tmp_path / "out/config.json").read_bytes())
    found = slices_of(tmp_path / "out", summary(tmp_path / "out"), config, Options(keys=("category", "level")))
    assert list(found) == ["category", "level"]
    assert "maj@2" in found["category"]["math"]["metrics"]
    assert "maj@2" not in found["level"]["0"]["metrics"]
    score(file, "-o", "out", "--by-key", "level")
    own = summary(tmp_path / "out")["slices"]["level"]
    for value, held in found["level"].items():
        assert held["metrics"]["pass@2"] == own[value]["metrics"]["pass@2"]
