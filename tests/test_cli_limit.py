"""`--limit N` reads the first N rows in each command that reads rows, and the last line names the next command."""

import json

import pytest
from click.testing import CliRunner

from tests.env.audit.harbor_tasks import sound
from verikit.cli import cli

ROLLOUT = {"responses_create_params": {"input": [{"role": "user", "content": "?"}]}, "reward": 1.0}


def run(*words):
    result = CliRunner().invoke(cli, list(map(str, words)), standalone_mode=False, catch_exceptions=False)
    return result


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_audit_reads_the_first_rows_only(tmp_path):
    file = write(tmp_path / "rows.jsonl", [{"prompt": f"{i}+1?", "answer": str(i)} for i in range(9)])
    assert json.loads(run("audit", file, "--limit", 4, "--json").stdout)["rows"] == 4


def test_environments_are_read_and_audited_up_to_the_limit(tmp_path):
    reply = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "1"}]}]}
    rows = [ROLLOUT | {"response": reply, "expected_answer": "1", "_ng_task_index": i} for i in range(5)]
    file = write(tmp_path / "rollouts.jsonl", rows)
    assert len(run("env", "read", file, "--limit", 2).stdout.splitlines()) == 2
    found = json.loads(run("env", "check", file, "exact", "--answer", "expected_answer", "--limit", 3, "--json").stdout)
    assert found["compared"] == 3
    for number in range(3):
        sound(tmp_path / "tasks" / str(number), number)
    audited = json.loads(run("env", "audit", tmp_path / "tasks", "--limit", 2, "--json", "-q").stdout)
    assert len(audited["tasks"]) == 2


def test_an_index_of_the_first_passages_is_another_index(tmp_path):
    pytest.importorskip("bm25s")
    corpus = write(tmp_path / "corpus.jsonl", [{"title": f"t{i}", "text": f"word{i}"} for i in range(9)])
    questions = write(
        tmp_path / "questions.jsonl", [{"question": f"word{i}", "gold_titles": [f"t{i}"]} for i in range(9)]
    )
    built = run("index", "build", corpus, "-o", tmp_path / "wiki", "--limit", 3)
    assert "3 passages" in built.stderr
    assert built.stderr.splitlines()[-1] == f"next: verikit index search bm25:{tmp_path / 'wiki'} QUERY"
    with pytest.raises(Exception, match="corpus"):
        run("index", "build", corpus, "-o", tmp_path / "wiki")
    spec = f"bm25:{tmp_path / 'wiki'}"
    measured = [run("index", "search", spec, "--questions", questions, *limit) for limit in ((), ("--limit", 3))]
    assert ["1.0000" in result.stdout for result in measured] == [False, True]
    assert measured[0].stderr.splitlines()[-1] == f"next: verikit index serve {spec}"
