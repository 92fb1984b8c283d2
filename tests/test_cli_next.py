"""The last line of a command names the next step, and a mistyped name is an error that suggests the nearest."""

import json
import shlex
import sys

import click
import pytest
from click.testing import CliRunner

from verikit.cli import cli
from verikit.cli.command import NameChoice, next_note, next_step
from verikit.errors import CONSIDERED, LISTED, LONGEST_NAME, MissingExtra, UsageError, nearest


def run(*words, code=0):
    result = CliRunner().invoke(cli, list(map(str, words)), standalone_mode=False)
    assert (result.return_value or 0) == code, result.output
    return result


def last(*words, code=0):
    return run(*words, code=code).output.rstrip("\n").rpartition("\n")[2]


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"id": "a", "prompt": "1+1?", "completions": ["2", "3"], "answer": "2"}) + "\n")
    return path


def test_the_last_line_names_the_next_step_when_a_gate_fails_too(rows, tmp_path):
    out = tmp_path / "out"
    assert last("score", rows, "-o", out, "--fail-under", "90%", code=4).startswith(f"next: verikit report {out}")
    told = last("score", rows, "-v", "column('rm')", "-o", tmp_path / "x", code=3)
    assert told == "next: remove the reason above and run the command again with --restart"
    assert last("compare", out, out, "--fail-under", "90%", code=4).startswith("next: verikit report")
    assert last("verify", out).startswith("next: nothing to do")
    (out / "scores.jsonl").write_text("")
    assert last("verify", out, code=1).startswith("next: restore")


def test_a_run_whose_replies_came_from_the_cache_is_told_how_to_get_new_ones(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("VERIKIT_CACHE", str(tmp_path / "cache.sqlite"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mute.py").write_text(
        "from verikit.engines import Engine, Generation, Output\n\n\n"
        "class Mute(Engine):\n    name = 'mute'\n\n    def generate(self, requests):\n"
        "        return [Generation((Output('nothing'),), usage={'calls': 1}) for request in requests]\n"
    )
    judge = ("score", rows, "-v", "judge('mute.py:Mute', probe=0)", "-o", tmp_path / "x")
    assert last(*judge, code=3).endswith("with --restart")
    assert last(*judge, "--restart", code=3).endswith("with --restart, after `verikit cache clear` for new replies")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("list", "selectors"), "next: `verikit list NAME`"),
        (("list", "answer"), "next: `verikit list` shows all"),
        (("list", "verikit_gsm8k"), "next: verikit eval verikit_gsm8k --model MODEL"),
        (("list", "trl"), "next: verikit adapter show trl"),
        (("data", "list"), "next: verikit data FORM"),
        (("adapter", "show", "trl"), "next: verikit adapter write trl SPEC"),
        (("adapter", "show", "openai-grader"), "next: verikit adapter write openai-grader SPEC -o grader.json"),
        (("adapter", "show", "harbor"), "next: verikit adapter write harbor SPEC --data FILE"),
        (("adapter", "write", "trl", "answer"), "next: write it to a file"),
        (("explain", "--completion", "2", "--answer", "2", "-v", "answer"), "next: verikit score FILE -v answer"),
        (("cache", "--path", "/nowhere/cache"), "next: nothing to do"),
    ],
)
def test_commands_that_only_show_name_the_next_step(words, expected):
    assert last(*words).startswith(expected)


def test_rows_that_can_be_graded_are_scored_next_and_others_are_corrected(rows):
    assert last("doctor", "--data", rows).startswith(f"next: verikit score {rows}")
    rows.write_text(rows.read_text() + "{\n")
    assert last("doctor", "--data", rows, code=1).startswith("next: correct these rows")
    assert last("doctor", "--data", rows, "--limit", 1).startswith("next: verikit score")


def test_environments_name_the_next_step(tmp_path):
    row = {"prompt": "1+1?", "completion": "2", "answer": "2", "reward": 1.0}
    file = tmp_path / "rollouts.jsonl"
    file.write_text(json.dumps(row) + "\n")
    assert last("env", "check", file, "answer").startswith("next: nothing to do")
    assert "verikit explain" in last("env", "check", file, "0*answer")
    file.write_text(json.dumps({"question": "?"}) + "\n")
    assert last("env", "check", file, "answer", code=1).startswith("next: 0 rollouts compared")
    assert last("env", "read", file, code=1).startswith("next: check that SOURCE")


def test_an_audit_repeats_the_keys_that_it_was_given(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"question": "1+1?", "answer": "2"}) + "\n")
    assert last("audit", file, "--map", "prompt=question").endswith(f"{file} --map prompt=question --by answer")


ASKED = {"ask": "1+1?", "sum": "2", "outs": ["2", "3"]}
BARE = {"id": "a", "prompt": "?", "completion": "2"}
KEYS = ("--map", "prompt=ask", "--map", "completions=outs", "--map", "answer=sum", "--format", "verikit")


@pytest.mark.parametrize(
    ("words", "row"),
    [
        (("explain", "my rows.jsonl", *KEYS, "-v", "answer + 0 * boxed"), ASKED),
        (("doctor", "--data", "my rows.jsonl", *KEYS), ASKED),
        (("doctor", "--data", "my rows.jsonl", "--gold", "gold.jsonl"), BARE),
        (("explain", "my rows.jsonl", "--gold", "gold.jsonl"), BARE),
        (("audit", "my rows.jsonl", *KEYS), ASKED),
        (("score", "my rows.jsonl", *KEYS, "-o", "my run"), ASKED),
    ],
)
def test_a_suggested_command_runs_when_it_is_pasted(words, row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my rows.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "gold.jsonl").write_text(json.dumps({"id": "a", "answer": "2"}) + "\n")
    command = shlex.split(last(*words).removeprefix("next: "))
    assert command[0] == "verikit"
    assert run(*command[1:]).exit_code == 0


def test_nothing_to_do_is_said_only_if_nothing_is_wrong(rows, tmp_path):
    run("score", rows, "-o", tmp_path / "many/one")
    (tmp_path / "many/other").mkdir()
    (tmp_path / "many/other/file").write_text("")
    signers = tmp_path / "signers"
    signers.write_text("")
    assert "nothing to do" not in last("verify", tmp_path / "many", "--signers", signers, code=1)
    file = tmp_path / "rollouts.jsonl"
    good = {"prompt": "1+1?", "completion": "2", "answer": "2", "reward": 1.0}
    file.write_text(json.dumps(good) + "\n{\n")
    assert last("env", "check", file, "answer").startswith("next: correct the unreadable")
    file.write_text(json.dumps(good) + "\n" + json.dumps(good | {"answer": "\\frac{1}{0}"}) + "\n")
    assert "verikit explain" in last("env", "check", file, "answer")
    file.write_text(json.dumps({"question": "?"}) + "\n")
    assert "0 rollouts compared" in run("env", "check", file, "answer", "--json", code=1).stderr


@pytest.mark.parametrize(
    "words",
    [
        "doctor --limit 2",
        "report x --html -",
        "report x --csv -o -",
        "score rows.jsonl --junit -",
        "audit rows.jsonl -o -",
        "env audit . --html -",
        "env audit . --junit -",
        "data gsm8k rows.jsonl -o x --errors -",
    ],
)
def test_options_of_another_input_and_files_named_stdout_are_usage_errors(words, rows, monkeypatch):
    monkeypatch.chdir(rows.parent)
    with pytest.raises(UsageError):
        CliRunner().invoke(cli, words.split(), standalone_mode=False, catch_exceptions=False)
    assert not (rows.parent / "-").exists()


@pytest.mark.parametrize("words", ["adapter write trl answer", "env fix ."])
def test_a_dash_is_stdout_where_stdout_is_the_default(words, rows, monkeypatch):
    monkeypatch.chdir(rows.parent)
    assert run(*words.split(), "-o", "-").stdout == run(*words.split()).stdout
    assert not (rows.parent / "-").exists()


def test_fetching_without_the_packages_of_eval_names_their_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    for name in ("fetch", "sources"):
        monkeypatch.delitem(sys.modules, f"verikit.evals.{name}", raising=False)
    error = CliRunner().invoke(cli, ["data", "fetch", "verikit_gsm8k"], standalone_mode=False).exception
    assert isinstance(error, MissingExtra)
    assert "verikit[eval]" in error.hint


def test_a_missing_signature_is_not_a_changed_file(rows, tmp_path):
    run("score", rows, "-o", tmp_path / "out")
    signers = tmp_path / "signers"
    signers.write_text("")
    assert "--sign KEY" in last("verify", tmp_path / "out", "--signers", signers, code=1)


def test_no_row_after_the_limit_is_read(rows, tmp_path):
    rows.write_text(rows.read_text() + "{\n")
    run("adapter", "write", "verifiers-env", "answer", "--data", rows, "--limit", "1", "-o", tmp_path / "package")


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("list", "verifers"), "verifiers"),
        (("adapter", "show", "tlr"), "trl"),
        (("data", "gsm9k", "x"), "gsm8k"),
        (("audit", "rows.jsonl", "--fail-on", "gols"), "golds"),
        (("env", "compare", ".", ".", "--fail-on", "al"), "all"),
        (("score", "rows.jsonl", "--format", "opnai"), "openai"),
        (("score", "rows.jsonl", "--map", "promt=question"), "prompt"),
        (("sample", "opnai:m", "rows.jsonl"), "openai"),
        (("index", "search", "bm52:wiki", "query"), "bm25"),
    ],
)
def test_a_mistyped_name_is_an_error_that_suggests_the_nearest(words, near, rows, monkeypatch):
    monkeypatch.chdir(rows.parent)
    error = CliRunner().invoke(cli, words, standalone_mode=False).exception
    assert f"did you mean {near}" in f"{error} {getattr(error, 'hint', '')} {getattr(error, 'message', '')}"


def test_an_engine_in_place_of_a_judge_is_an_error_that_shows_the_judge(rows):
    error = run("explain", rows, "-v", "openai:http://localhost:8000/v1#m").exception
    assert "pairwise('openai:http://localhost:8000/v1#m')" in error.hint


def test_the_nearest_names_are_found_among_any_keys():
    assert nearest("numric", ["answer", "numeric"]) == "did you mean numeric?"
    assert nearest("x", []) == ""
    assert nearest("zzz", ["a", "b"]) == "available: a, b"
    assert nearest("zzz", ["a", "b"], "see the list") == "see the list"
    many = [f"key{i}" for i in range(CONSIDERED * 2)]
    assert nearest("zzz", many) == f"available: {', '.join(many[:LISTED])}, and {len(many) - LISTED} more"
    assert nearest("y" * 10**6, ["y" * 10**6, "a"]) == "available: a"
    assert nearest("promt", ["", "\ufeffprompt"]) == r"did you mean '\ufeffprompt'?"
    assert nearest("zzz", ["\x1b[2J"]) == r"available: '\x1b[2J'"
    assert nearest("numric", [*("cimrun" * 9, "numeric") * 400]).startswith("did you mean numeric")
    assert nearest("y" * 10**6, ["y" * LONGEST_NAME]) == f"did you mean {'y' * LONGEST_NAME}?"


def test_the_next_step_is_one_printable_line(capsys):
    next_step("verikit", "score", "a b\n\x1b[2J")
    next_note("open it", quiet=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("next: verikit score 'a b  [2J'")


def test_a_choice_takes_its_names_only():
    choice = NameChoice(["trl", "verl"])
    assert choice.convert("trl", None, None) == "trl"
    with pytest.raises(click.BadParameter, match="did you mean trl"):
        choice.convert("trll", None, None)


def test_a_folder_that_is_not_a_run_is_named(tmp_path):
    with pytest.raises(UsageError, match="is not the folder of a run"):
        CliRunner().invoke(cli, ["report", str(tmp_path)], standalone_mode=False, catch_exceptions=False)


def test_a_missing_file_or_run_suggests_the_nearest_name_of_its_folder(rows, tmp_path):
    assert hint_of("score", tmp_path / "row.jsonl") == "did you mean rows.jsonl?"
    assert hint_of("score", tmp_path / "unlike.csv") == "check the path and its permissions"
    assert hint_of("score", tmp_path / "none/rows.jsonl") == "check the path and its permissions"
    (tmp_path / "runs").mkdir()
    assert hint_of("report", tmp_path / "runz") == "did you mean runs?"
    assert hint_of("report", tmp_path / "runs") == "give the folder that -o named"


def test_a_mistyped_key_or_tracker_suggests_the_nearest(rows, tmp_path):
    assert "did you mean prompt?" in run("score", rows, "--map", "prompt=promt", "-o", tmp_path / "x", code=3).output
    assert hint_of("score", rows, "--track", "wandbb:mine", "-o", tmp_path / "y") == "did you mean wandb?"


def hint_of(*words):
    with pytest.raises(UsageError) as told:
        CliRunner().invoke(cli, list(map(str, words)), standalone_mode=False, catch_exceptions=False)
    return told.value.hint
