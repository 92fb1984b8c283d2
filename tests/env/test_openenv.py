"""Completions played in a server that speaks OpenEnv's WebSocket messages."""

import json
import os
import subprocess
import threading

import pytest
from click.testing import CliRunner

from verikit.cli import cli
from verikit.env import check, play
from verikit.errors import SchemaError, UsageError, VerikitError


@pytest.fixture
def address():
    """The messages of openenv 0.10: a sum a task, an error where there is none, garbage where it is asked for."""
    server = pytest.importorskip("websockets.sync.server")

    def answer(socket):
        task = None
        for text in socket:
            told = json.loads(text)
            if told["type"] == "reset":
                task = told["data"].get("index", 0)
                messages = [{"role": "user", "content": f"{task} + {task}?"}]
                reply = {"type": "observation", "data": {"observation": {"messages": messages}, "done": False}}
                if task > 9:
                    reply = {"type": "error", "data": {"message": "there is no such task", "code": "EXECUTION_ERROR"}}
            else:
                said = told["data"]["message"]
                reward = {"lost": None}.get(said, float(said == str(2 * task)))
                reply = {"type": "observation", "data": {"observation": {}, "reward": reward, "done": said != "on"}}
                if said == "unscored":
                    told = {"status": "error", "reason": "bad gold", "answer": None}
                    reply["data"] |= {"reward": None, "metadata": {"verikit": told}}
                if said == "garbage":
                    socket.send("[1")
                    continue
            socket.send(json.dumps(reply))

    with server.serve(answer, "127.0.0.1", 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.socket.getsockname()[1]}"
        running.shutdown()


def test_a_completion_gets_the_environments_own_reward(address):
    rows = [
        {"completion": "6", "answer": "6", "index": 3, "level": 1},
        {"completion": [{"role": "assistant", "content": "5"}], "answer": "6", "meta": {"index": 3}},
        {"completion": "lost", "index": 1},
        {"completion": "6", "index": 10},
        {"index": 1},
    ]
    right, wrong, lost, absent, bad = play(address, rows)
    assert (right.reward, right.sample.prompt) == (1.0, [{"role": "user", "content": "3 + 3?"}])
    assert (right.sample.answer, right.sample.meta) == ("6", {"index": 3, "level": 1})
    assert wrong.reward == 0.0
    assert (lost.reward, lost.why) == (None, "the environment gave no reward")
    assert absent.why == "reset: there is no such task"
    assert isinstance(bad, SchemaError)
    found = check([right, wrong, lost, absent], "answer")
    assert (found.equal, found.compared, len(found.unrewarded)) == (2, 2, 2)


def test_a_reason_in_the_metadata_says_why_a_step_has_no_reward(address):
    unscored, lost = play(address, [{"completion": text, "index": 1} for text in ("unscored", "lost")])
    assert (unscored.reward, unscored.why) == (None, "error: bad gold")
    assert unscored.row()["why"] == "error: bad gold"
    assert lost.why == "the environment gave no reward"


def test_the_command_writes_what_check_reads(address, tmp_path):
    (tmp_path / "completions.jsonl").write_text('{"completion": "8", "answer": "8", "index": 4}\n')
    out = tmp_path / "rollouts.jsonl"
    run = CliRunner().invoke
    assert run(cli, ["env", "play", address, str(tmp_path / "completions.jsonl"), "-o", str(out)]).exit_code == 0
    assert run(cli, ["env", "check", str(out), "answer"]).output.startswith("equal: 1 of 1")


def test_a_server_that_breaks_off_is_an_error_and_no_reward(address):
    with pytest.raises(VerikitError, match="must be JSON"):
        list(play(address, [{"completion": "garbage"}]))
    with pytest.raises(VerikitError):
        list(play("http://127.0.0.1:9", [{"completion": "6"}]))
    with pytest.raises(UsageError, match="is not a valid address"):
        list(play("localhost", []))


def test_rows_that_cannot_be_played_are_told_by_line_and_stop_no_other(address, tmp_path):
    rows = ['{"completion": "6", "index": 3}', '{"completion": 7, "index": 3}', "{broken", '{"index": 3}']
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text("\n".join([*rows, '{"completion": "4", "index": 2}', ""]))
    done = CliRunner().invoke(cli, ["env", "play", address, str(path), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert [json.loads(line)["reward"] for line in out.read_text().splitlines()] == [1.0, 1.0]
    assert "2 rows, 3 skipped" in done.stderr
    assert "got int" in done.stderr
    for line in (3, 4):
        assert f"rows.jsonl:{line}: " in done.stderr


def test_what_was_played_before_the_server_broke_off_is_kept_beside_and_never_under_the_name(address, tmp_path):
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text('{"completion": "6", "index": 3}\n{"completion": "garbage", "index": 3}\n')
    done = CliRunner().invoke(cli, ["env", "play", address, str(path), "-o", str(out)], standalone_mode=False)
    assert isinstance(done.exception, VerikitError)
    assert not out.exists()
    assert json.loads((tmp_path / "out.jsonl.part").read_text())["reward"] == 1.0
    assert "out.jsonl.part" in done.stderr


@pytest.mark.parametrize("out", ["absent/out.jsonl", "."])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_read(out, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "1", "completion": "1", "reward": 1}\n')
    args = ["env", "read", str(path), "-o", str(tmp_path / out), "--force"]
    done = CliRunner().invoke(cli, args, standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert "can't write" in str(done.exception)


def test_a_source_that_cannot_be_read_leaves_no_file(tmp_path):
    args = ["env", "read", str(tmp_path / "absent.jsonl"), "-o", str(tmp_path / "out.jsonl")]
    assert isinstance(CliRunner().invoke(cli, args, standalone_mode=False).exception, UsageError)
    assert not list(tmp_path.iterdir())


def test_a_pipe_is_written_as_it_is(tmp_path):
    path, pipe = tmp_path / "rows.jsonl", tmp_path / "pipe"
    path.write_text('{"prompt": "1", "completion": "1", "reward": 1}\n')
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert CliRunner().invoke(cli, ["env", "read", str(path), "-o", str(pipe)]).exit_code == 0
        assert json.loads(reader.stdout.read())["reward"] == 1.0
    assert pipe.is_fifo()
