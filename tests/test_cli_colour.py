"""Each command that prints verdicts or findings colours them on a terminal, and only there unless it is forced."""

import json
import os
import sys
import threading
from types import SimpleNamespace

import pytest

from tests.env.audit.harbor_tasks import FAULTS, sound
from tests.test_cli_help import ALL, called

GREEN, RED, YELLOW = "\x1b[32m", "\x1b[31m", "\x1b[33m"
VARIABLES = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "TERM")
CHECKED = {
    "score": ("score rows.jsonl -v column('rm') -o out/unscored", YELLOW),
    "explain": ("explain --completion 4 --answer 4", GREEN),
    "audit": ("audit twice.jsonl --by answer", RED),
    "env audit": ("env audit tasks", RED),
    "env check": ("env check rollouts.jsonl answer", RED),
    "env compare": ("env compare sound faulty", RED),
    "compare": ("compare out/right out/wrong", RED),
    "doctor": ("doctor --data bad.jsonl", RED),
    "verify": ("verify out/right", GREEN),
    "report": ("report out/unscored", YELLOW),
    "train": ("train arithmetic --check", RED),
}
"""Commands, an example of each, and a colour of its output."""
ELSEWHERE = {"eval", "judge", "calibrate"}
"""Commands whose output is checked as lines, because they need packages or an engine."""
WITHOUT = {
    "sample", "export", "index build", "index search", "index serve", "serve", "mcp", "adapter write", "adapter show",
    "env read", "env play", "env fix", "list", "cache clear", "data",
}  # fmt: skip
"""Commands that print neither verdicts nor findings."""


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files for the examples, with runs of some commands."""
    path = tmp_path_factory.mktemp("colour")
    rows = [{"id": str(i), "prompt": f"{i}+1?", "answer": str(i + 1)} for i in range(12)]
    right, wrong = ([row | {"completion": str(i + shift)} for i, row in enumerate(rows)] for shift in (1, 2))
    for name, held in (("rows", right), ("wrong", wrong), ("twice", [rows[0], rows[0]]), ("bad", [{}])):
        write(path / f"{name}.jsonl", held)
    write(path / "rollouts.jsonl", [row | {"reward": 1.0} for row in wrong])
    sound(path / "tasks" / "one", 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        for name, file in (("right", "rows.jsonl"), ("wrong", "wrong.jsonl")):
            assert called(patch, "score", file, "-o", f"out/{name}", "-q") == 0
        called(patch, "score", "rows.jsonl", "-v", "column('rm')", "-o", "out/unscored", "-q")
        called(patch, "env", "audit", "tasks", "-o", "sound", "-q")
        FAULTS["an unknown table"][1](path / "tasks" / "one")
        called(patch, "env", "audit", "tasks", "-o", "faulty", "-q")
    return path


@pytest.fixture
def plain(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    found = [(True, "data: 9 rows"), (False, "model: missing")]
    monkeypatch.setattr("verikit.trainers.cli.import_transformers", lambda *_: None)
    monkeypatch.setitem(sys.modules, "verikit.trainers.check", SimpleNamespace(check=lambda *_: found))
    return monkeypatch


def on_a_terminal(monkeypatch, *words):
    """What a command prints if stdout and stderr are a terminal."""
    master, slave = os.openpty()
    found = []

    def drain():
        try:
            while data := os.read(master, 65536):
                found.append(data)
        except OSError:  # Linux reports the closed terminal so
            return

    reader = threading.Thread(target=drain)
    reader.start()
    with open(slave, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        patch.setattr(sys, "stderr", terminal)
        called(patch, *words)
    reader.join()
    os.close(master)
    return b"".join(found).decode()


def test_each_command_is_sorted_by_whether_it_prints_verdicts():
    others = {name for name in ALL if not name.startswith("synth ")}
    assert others == CHECKED.keys() | ELSEWHERE | WITHOUT


@pytest.mark.parametrize("name", CHECKED)
def test_verdicts_and_findings_have_a_colour_on_a_terminal_and_none_elsewhere(name, plain, capfd):
    text, colour = CHECKED[name]
    words = text.split()
    assert colour in on_a_terminal(plain, *words)
    called(plain, *words)
    assert "\x1b" not in "".join(capfd.readouterr())
    plain.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in on_a_terminal(plain, *words)


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({"FORCE_COLOR": "1"}, True),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
    ],
)
def test_colours_can_be_forced_into_a_pipe(variables, coloured, plain, capfd):
    for name, value in variables.items():
        plain.setenv(name, value)
    called(plain, "explain", "--completion", "5", "--answer", "4")
    assert (RED in capfd.readouterr().out) is coloured


@pytest.mark.parametrize("variable", [("TERM", "dumb"), ("CLICOLOR", "0")])
def test_a_terminal_without_colours_gets_none(variable, plain):
    plain.setenv(*variable)
    assert "\x1b" not in on_a_terminal(plain, "explain", "--completion", "5", "--answer", "4")


def test_forced_colours_are_not_in_json_or_in_files(plain, tmp_path, capfd):
    plain.setenv("FORCE_COLOR", "1")
    for words in (["env", "audit", "tasks", "--json"], ["compare", "out/right", "out/wrong", "--markdown"]):
        called(plain, *words)
        assert "\x1b" not in capfd.readouterr().out
    called(plain, "env", "audit", "tasks", "--html", tmp_path / "a.html", "--junit", tmp_path / "a.xml")
    assert not any("\x1b" in path.read_text() for path in tmp_path.iterdir())


def test_an_assistant_gets_an_audit_without_colours(plain):
    from verikit.mcp.work import audit

    assert "duplicate" in audit("twice.jsonl", "answer", False, "", {}, 9, 3)["text"]
    assert "\x1b" not in audit("twice.jsonl", "answer", False, "", {}, 9, 3)["text"]


def test_rows_of_eval_that_have_no_value_are_yellow():
    report = pytest.importorskip("verikit.evals.report")
    task = {"metrics": {}, "own": "acc", "fewshot": 0, "repeats": 1, "replies": 2, "unscored": {"acc": 2}}
    results = {"model": "m", "groups": {}, "tasks": {"t": task | {"reasons": {}, "unparsed": 0}}}
    assert any(line.startswith(YELLOW) for line in report.show(results))
