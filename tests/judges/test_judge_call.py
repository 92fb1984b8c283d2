"""`verikit.judge_answers`: rows and files of models, the same verdicts as the command's."""

import asyncio
import json

import pytest
from click.testing import CliRunner

import verikit
from tests.conftest import ROOT
from tests.engines.server import Server, chat_reply
from tests.results.test_html import assert_harmless
from verikit.cli import cli
from verikit.errors import EngineError, UsageError
from verikit.judges.match import call

EXAMPLE = ROOT / "examples" / "judge"
JUDGE = f"pairwise('replay:{EXAMPLE / 'judge.jsonl'}')"


def rows_of(name):
    return [json.loads(line) for line in (EXAMPLE / f"{name}.jsonl").read_text().splitlines()]


def test_files_and_rows_give_what_the_command_writes(tmp_path):
    files = [EXAMPLE / "ours.jsonl", EXAMPLE / "theirs.jsonl"]
    command = ["judge", *map(str, files), "-j", JUDGE, "-o", str(tmp_path / "theirs"), "--fail-over", "100%"]
    assert CliRunner().invoke(cli, command).exit_code == 0
    wanted = (tmp_path / "theirs" / "verdicts.jsonl").read_bytes()
    summary = json.loads((tmp_path / "theirs" / "summary.json").read_text())
    by_file = verikit.judge_answers(files, JUDGE, out=tmp_path / "ours")
    by_rows = verikit.judge_answers({name: rows_of(name) for name in ("ours", "theirs")}, JUDGE)
    assert (tmp_path / "ours" / "config.json").read_bytes() == (tmp_path / "theirs" / "config.json").read_bytes()
    for run in (by_file, by_rows):
        assert (run.path / "verdicts.jsonl").read_bytes() == wanted
        assert run.summary == summary
    assert by_rows.folder is None
    assert by_rows.win_rates == {("ours", "theirs"): summary["pairs"][0]["win_rate"]["value"]}


def test_a_run_shows_win_rates_and_a_picture():
    run = verikit.judge_answers({"o.1": rows_of("ours"), "t.2": EXAMPLE / "theirs.jsonl"}, JUDGE)
    assert "win rate of" in repr(run)
    text = run._repr_html_()
    checked = assert_harmless(text)
    assert "o.1 against t.2" in text
    assert "svg" in checked.tags
    assert "the answers are not here" not in text


def test_a_frame_has_a_row_for_each_comparison():
    pytest.importorskip("pandas")
    run = verikit.judge_answers({name: rows_of(name) for name in ("ours", "theirs")}, JUDGE)
    frame = run.to_pandas().set_index("id")
    verdicts = {row["id"]: row for row in run.rows()}
    assert set(frame.index) == set(verdicts)
    for id, row in verdicts.items():
        shown = frame.loc[id]
        assert (shown.preference == row["preference"]) or (row["preference"] is None and shown.error == row["error"])
    assert frame.preference.isna().sum() == run.summary["comparisons"] - run.summary["judged"]


def test_labels_of_a_mapping_are_held_against_the_judge():
    labels = {row["id"]: 1 for row in rows_of("ours")}
    run = verikit.judge_answers({name: rows_of(name) for name in ("ours", "theirs")}, JUDGE, labels=labels)
    assert run.summary["agreement"]["n"] == sum("label" in row for row in run.rows())
    with pytest.raises(UsageError, match="the labels match none"):
        verikit.judge_answers({name: rows_of(name) for name in ("ours", "theirs")}, JUDGE, labels={"nobody": 1})


def test_other_answers_do_not_go_on_with_a_folder(tmp_path):
    both = {name: rows_of(name) for name in ("ours", "theirs")}
    first = verikit.judge_answers(both, JUDGE, out=tmp_path / "run")
    again = verikit.judge_answers(both, JUDGE, out=tmp_path / "run")
    assert again.summary == first.summary
    changed = {**both, "ours": [dict(row, completion="another") for row in both["ours"]]}
    with pytest.raises(UsageError, match="other rows"):
        verikit.judge_answers(changed, JUDGE, out=tmp_path / "run")


def test_one_model_alone_is_refused():
    with pytest.raises(UsageError, match="at least two models"):
        verikit.judge_answers({"ours": rows_of("ours")}, JUDGE)


def test_a_judge_is_asked_within_a_running_loop_and_a_gone_one_is_no_tie(tmp_path):
    pairs = [{"id": f"{i}", "prompt": f"{i}?", "output_1": f"good {i}", "output_2": f"bad {i}"} for i in range(3)]

    def reply(body, k):
        text = json.dumps(body["messages"])
        return chat_reply("[[A]]" if text.find("good") < text.find("bad") else "[[B]]")

    async def notebook(url):
        return verikit.judge_answers(pairs, f"pairwise('openai:{url}#m')", out=tmp_path / "run")

    with Server(reply) as server:
        run = asyncio.run(notebook(server.url))
    assert [row["preference"] for row in run.records()] == [1.0, 1.0, 1.0]
    with pytest.raises(EngineError):
        verikit.judge_answers(pairs, f"pairwise('openai:{server.url}#m', cache=False)")


def test_the_call_is_found_by_its_name():
    assert verikit.judge_answers is call.judge_answers
    assert verikit.judge is not verikit.judge_answers
