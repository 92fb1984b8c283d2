"""The page of a judge run: win rates, bias with intervals, each verdict with the texts it was given on."""

import json

import pytest

from tests.report.conftest import EXAMPLES, chart, edited, shown, table, texts, write
from verikit.errors import UsageError
from verikit.report import Options, report

FILES = (EXAMPLES / "judge/ours.jsonl", EXAMPLES / "judge/theirs.jsonl")


@pytest.fixture
def judged(verikit, tmp_path):
    spec = f"pairwise('replay:{EXAMPLES}/judge/judge.jsonl')"
    assert not verikit("judge", *FILES, "-j", spec, "-o", "run", "-q", "--fail-over", "50%")
    return tmp_path / "run"


def test_a_run_is_shown_in_the_terminal_as_its_command_showed_it(judged, verikit, capsys):
    assert verikit("report", judged) == 0
    assert "win rate of" in capsys.readouterr().out
    assert verikit("report", judged, "--by-key", "categories") == 2
    assert "key 'categories' not found in any row" in capsys.readouterr().err


def test_a_judge_run_without_a_key_stops_no_other_run(judged, verikit, capsys, tmp_path):
    (tmp_path / "runs").mkdir()
    judged.rename(tmp_path / "runs/judged")
    verikit("score", EXAMPLES / "candidates.jsonl", "--by", "answer", "-o", "runs/scored", "-q")
    capsys.readouterr()
    assert verikit("report", tmp_path / "runs", "--by-key", "id") == 0
    told = capsys.readouterr()
    assert "ex01" in told.out
    assert "key 'id' not found in any row" in told.err


JUDGE = "from verikit import verifier\n\n\n@verifier\ndef longer(sample):\n    return len(sample.completion) / 100\n"


@pytest.fixture
def by_category(verikit, tmp_path):
    (tmp_path / "judge.py").write_text(JUDGE)
    rows = [{"id": i, "prompt": f"{i}?", "category": "easy" if i % 3 else "hard"} for i in range(30)]
    del rows[0]["category"]
    write(tmp_path / "a.jsonl", [row | {"completion": "x" * (9 if i % 3 else 1)} for i, row in enumerate(rows)])
    for row in rows[15:]:
        row.pop("category")  # the other file has it
    write(tmp_path / "b.jsonl", [row | {"completion": "x" * 5} for row in rows])
    assert not verikit(
        "judge", "a.jsonl", "b.jsonl", "-j", "judge.py:longer", "-o", "run", "-q", "--by-key", "category"
    )
    return tmp_path / "run"


def test_win_rates_by_category_are_over_the_comparisons_of_each(by_category, verikit, capsys):
    capsys.readouterr()
    slices = json.loads((by_category / "summary.json").read_bytes())["slices"]["category"]
    assert {value: (pair["n"], pair["win_rate"]["value"]) for value, (pair,) in slices.items()} == {
        "easy": (20, 1.0),
        "hard": (9, 0.0),
        "(none)": (1, 0.0),
    }
    assert verikit("report", by_category) == 0
    assert "hard" in capsys.readouterr().out
    run = shown(by_category)["runs"][0]
    assert [row[:4] for row in table(run, "By category")["rows"]] == [
        ["easy", "a", "b", 20],
        ["hard", "a", "b", 9],
        ["(none)", "a", "b", 1],
    ]
    assert [entry["name"] for entry in chart(run, "win_rates_category")["series"]] == ["easy", "hard", "(none)"]


def test_a_finished_judge_run_is_sliced_by_another_key_of_its_files(by_category, verikit, capsys, tmp_path):
    assert verikit("report", by_category, "--by-key", "prompt_length") == 2
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    write(tmp_path / "a.jsonl", [row | {"team": ["red", "blue"] if row["id"] else "red"} for row in rows])
    capsys.readouterr()
    assert verikit("report", by_category, "--by-key", "team", "--json") == 0
    (summary,) = json.loads(capsys.readouterr().out).values()
    assert {value: pair["n"] for value, (pair,) in summary["slices"]["team"].items()} == {"red": 30, "blue": 29}
    write(tmp_path / "a.jsonl", [row | {"completion": "other", "team": "red"} for row in rows])
    assert verikit("report", by_category, "--by-key", "team") == 2
    assert "contain other answers than the judged ones" in capsys.readouterr().err


def test_an_unknown_key_stops_a_judge_run_before_it_spends(by_category, verikit, capsys, tmp_path):
    command = ("judge", "a.jsonl", "b.jsonl", "-j", "judge.py:longer", "-o", "new", "--by-key", "categry")
    assert verikit(*command) == 2
    assert "did you mean category" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_win_rate_and_bias_are_those_of_the_summary_with_intervals(judged):
    run = shown(judged)["runs"][0]
    summary = json.loads((judged / "summary.json").read_bytes())
    rate = summary["pairs"][0]["win_rate"]
    assert chart(run, "win_rates")["series"] == [
        {"name": "ours against theirs", "points": [[rate["value"], rate["low"], rate["high"]]]}
    ]
    assert chart(run, "win_rates")["reference"] == 0.5
    trust = {entry["name"]: entry["points"][0] for entry in chart(run, "trust")["series"]}
    bent = {entry["name"]: entry["points"][0] for entry in chart(run, "bias")["series"]}
    assert trust["same verdict in both orders"][0] == summary["bias"]["consistency"]
    assert trust["ties"][0] == summary["bias"]["tie_rate"]
    assert bent["for the answer shown first"][0] == summary["bias"]["first_rate"]
    assert all(low < value < high or value in (0, 1) for value, low, high in (*trust.values(), *bent.values()))
    assert table(run, "Pairs")["rows"][0][4:] == [3, 3, 1, 1]


def test_every_verdict_is_a_sample_with_both_answers_and_both_replies(judged):
    data = shown(judged)
    items = data["runs"][0]["items"]
    rows = [json.loads(line) for line in (judged / "verdicts.jsonl").read_bytes().splitlines()]
    ours, theirs = ({row["id"]: row for row in map(json.loads, file.read_text().splitlines())} for file in FILES)
    assert len(items) == len(rows)
    for item, row in zip(items, rows, strict=True):
        found = texts(data, item)
        assert found["Answer of ours"] in json.dumps(ours[row["id"]], ensure_ascii=False).replace("\\n", "\n")
        assert found["Answer of theirs"] in json.dumps(theirs[row["id"]], ensure_ascii=False).replace("\\n", "\n")
        replies = {{"a": "ours", "b": "theirs"}[entry["first"]]: entry["reply"] for entry in row["orders"]}
        assert {f"Judge, {name} shown first": reply for name, reply in replies.items()} == dict(list(found.items())[3:])


def test_verdicts_are_told_apart_and_a_missing_one_is_not_a_loss(judged):
    items = {item["id"]: item for item in shown(judged)["runs"][0]["items"]}
    assert (items["capital"]["tags"], items["capital"]["verdict"]) == (["first"], "ours wins")
    assert items["sum"]["tags"] == ["tie", "orders"]
    assert items["sort"]["tags"][0] == "second"
    assert (items["advice"]["tags"], items["advice"]["value"]) == (["unscored"], None)


def test_other_answers_than_the_judged_are_not_shown(judged, tmp_path):
    other = tmp_path / "theirs.jsonl"
    other.write_text(FILES[1].read_text().replace("Sydney", "Perth"))
    config = json.loads((judged / "config.json").read_bytes())
    edited(judged, config | {"input": [str(FILES[0]), str(other)]})
    with pytest.raises(UsageError, match="other answers"):
        report([judged], Options(data=[str(FILES[0]), str(other)]))
    assert texts(moved := shown(judged, data=[str(file) for file in FILES]), moved["runs"][0]["items"][0])["Prompt"]
    run = shown(judged)["runs"][0]
    assert any("the answers are not here" in text for text in run["notices"])
    assert all(text[0].startswith("Judge") for item in run["items"] for text in item["texts"])


def test_labels_and_length_are_held_against_the_judge(verikit, tmp_path):
    (tmp_path / "judge.py").write_text(JUDGE)
    rows = [
        {"id": f"{i}", "instruction": f"{i}?", "output_1": "x" * (i % 7 + 1), "output_2": "y" * (i % 5 + 2), "label": 1}
        for i in range(60)
    ]
    write(tmp_path / "pairs.jsonl", rows)
    assert not verikit("judge", "pairs.jsonl", "-j", "judge.py:longer", "-o", "run", "-q")
    run = shown(tmp_path / "run")["runs"][0]
    bins = chart(run, "length")["series"][0]["points"]
    assert len(bins) > 1
    assert all(rate == 1 for _, rate, _, _ in bins)
    assert "Agreement with labels" in {entry["label"] for entry in run["metrics"]}
    for item in run["items"]:
        assert ("against" in item["tags"]) == (item["value"] <= 0.5)


def test_a_key_that_can_be_no_slice_stops_before_the_judge_is_asked(by_category, verikit, capsys):
    summary = (by_category / "summary.json").read_bytes()
    command = ["judge", "a.jsonl", "b.jsonl", "-j", "judge.py:longer", "-o", "run", "-q", "--by-key"]
    for row, key in ((0, "uid"), (-1, "uid")):
        for name in ("a.jsonl", "b.jsonl"):
            rows = [json.loads(line) for line in (by_category.parent / name).read_text().splitlines()]
            rows = [{**one, key: "x"} for one in rows]
            rows[row][key] = {"k": 1}
            (by_category.parent / name).write_text("".join(json.dumps(one) + "\n" for one in rows))
        assert verikit(*command, key) == 2
        assert "is an object" in capsys.readouterr().err
        assert (by_category / "summary.json").read_bytes() == summary
