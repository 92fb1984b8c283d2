"""Tasks of environments: Harbor's folders, servers with the task API, NeMo-Gym's files, installed packages."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from verikit.cli import cli
from verikit.env import play_ors, served, tasks
from verikit.errors import SchemaError, UsageError, VerikitError, WorkspaceError
from verikit.workspaces.harbor import task_config

TOML = '[task]\nname = "me/hello"\n[metadata]\ndifficulty = "easy"\n[verifier]\ntimeout_sec = 30.0\n'


def harbor(folder, toml=TOML, instruction="Write hello.txt."):
    (folder / "tests").mkdir(parents=True)
    (folder / "task.toml").write_text(toml)
    (folder / "instruction.md").write_text(instruction)
    (folder / "tests" / "test.sh").write_text(f"touch {folder}/ran\n")
    return folder


def test_a_harbor_task_is_its_instruction_and_nothing_of_it_runs(tmp_path):
    folder = harbor(tmp_path / "hello")
    (folder / "tests" / "passwd").symlink_to("/etc/passwd")
    (found,) = tasks(folder)
    assert (found["id"], found["prompt"]) == ("me/hello", "Write hello.txt.")
    assert found["meta"]["difficulty"] == "easy"
    assert (found["meta"]["timeout_s"], found["meta"]["tests"]) == (30.0, ["test.sh"])
    assert not (folder / "ran").exists()


def test_a_folder_of_harbor_tasks_names_those_that_cant_be_read(tmp_path):
    harbor(tmp_path / "a")
    harbor(tmp_path / "b", toml="[task")
    harbor(tmp_path / "d", toml="a = " + "[" * 9000)
    harbor(tmp_path / "c", toml='[[steps]]\nname = "one"\n')
    (tmp_path / "c" / "instruction.md").unlink()
    good, bad, steps, deep = tasks(tmp_path)
    assert good["id"] == "me/hello"
    assert "must be TOML" in str(bad)
    assert "must be TOML" in str(deep)
    assert "must have one step" in str(steps)
    with pytest.raises(UsageError, match="is not a Harbor task"):
        list(tasks(tmp_path / "a" / "tests"))


@pytest.mark.parametrize(
    "toml", ["a = " + "9" * 5000, "a = " + "[" * 60 + "]" * 60, ".".join("a" * 9000) + " = 1", "a = 1\n" + "#" * 2**16]
)
def test_a_hostile_config_is_an_error_of_its_task(tmp_path, toml):
    harbor(tmp_path / "a", toml=toml)
    (told,) = tasks(tmp_path)
    assert "task.toml" in str(told)
    assert "must be TOML" in str(told)
    with pytest.raises(WorkspaceError, match=r"task\.toml can't be read"):
        task_config(str(tmp_path), ("a",))


def test_nemo_gyms_tasks_keep_their_fields(tmp_path):
    path = tmp_path / "example.jsonl"
    asked = {"input": [{"role": "user", "content": "?"}], "tools": [{"name": "f"}]}
    rows = [{"responses_create_params": asked, "expected_answer": "A", "verifier_metadata": {"k": 1}}, {"prompt": "?"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    good, bad = tasks(path)
    assert (good["answer"], good["meta"]["k"], good["meta"]["tools"]) == ("A", 1, [{"name": "f"}])
    assert isinstance(bad, SchemaError)
    told = CliRunner().invoke(cli, ["env", "read", str(path), "--tasks"])
    assert json.loads(told.stdout)["prompt"] == asked["input"]
    assert "1 rows, 1 skipped" in told.stderr


class Answers(BaseHTTPRequestHandler):
    """The task API of OpenEnv and ORS, with three tasks."""

    TASKS = ({"id": "a", "question": "1+1?", "answer": "2"}, {"problem": "2+2?", "level": 1}, "say hi")

    def answer(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer(
            {"/list_environments": ["sums"], "/sums/splits": [{"name": "train", "type": "train"}, "test"]}[self.path]
        )

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/sums/num_tasks":
            self.answer({"num_tasks": 3 if body["split"] == "train" else 10**9})
        elif body["split"] == "train":
            self.answer({"tasks": self.TASKS[body["start"] : body["stop"]]})
        else:
            self.answer("no", 500)

    def log_message(self, *_):
        pass


@pytest.fixture
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_servers_tasks_come_page_by_page(address, monkeypatch):
    monkeypatch.setattr(served, "PAGE", 2)
    first, second, third = tasks(address)
    assert first == {"id": "a", "prompt": "1+1?", "answer": "2", "meta": {"index": 0}}
    assert second == {"id": "task:1", "prompt": "2+2?", "answer": None, "meta": {"index": 1, "level": 1}}
    assert third["prompt"] == "say hi"
    assert len(list(tasks(f"{address}/sums", split="train"))) == 3


def test_a_server_that_is_wrong_is_said_so(address, monkeypatch):
    with pytest.raises(UsageError, match="no environment 'other'"):
        list(tasks(f"{address}/other"))
    with pytest.raises(UsageError, match="no split 'dev'"):
        list(tasks(address, split="dev"))
    with pytest.raises(VerikitError, match="HTTP 500"):
        list(tasks(address, split="test"))
    with pytest.raises(VerikitError, match=r"http://127.0.0.1:9/list_environments: "):
        list(tasks("http://127.0.0.1:9"))
    monkeypatch.setattr(served, "MAX_BYTES", 3)
    with pytest.raises(VerikitError, match="larger than"):
        list(tasks(address))


@pytest.mark.parametrize(
    ("path", "reply", "told"),
    [
        ("/sums/splits", {"a": 1}, "splits: the reply must be in"),
        ("/sums/num_tasks", [], "num_tasks: the reply must be in"),
        ("/sums/num_tasks", {"num_tasks": "many"}, "num_tasks: the reply must be in"),
        ("/sums/task_range", {"tasks": None}, "task_range: the reply must be in"),
        ("/sums/task_range", {"tasks": []}, "none starting at 0"),
    ],
)
def test_a_reply_of_another_form_is_an_error_that_says_so(path, reply, told):
    class Wrong(Answers):
        def answer(self, value, status=200):
            super().answer(reply if self.path == path else value, status)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Wrong)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(VerikitError, match=told):
            list(tasks(f"http://127.0.0.1:{server.server_port}"))
    finally:
        server.shutdown()
        server.server_close()


def test_an_environment_that_is_not_installed_is_named():
    with pytest.raises(UsageError, match=r"verifiers|no_such_environment"):
        list(tasks("verifiers:no_such_environment"))


@pytest.mark.parametrize("reply", [[], {}, "sums", None, [{"name": "sums"}]])
def test_a_server_of_another_protocol_is_said_to_be_one(reply, address, monkeypatch):
    monkeypatch.setattr(Answers, "do_GET", lambda self: self.answer(reply))
    with pytest.raises(VerikitError, match=r"must be in OpenEnv's or ORS's|no environment"):
        list(tasks(address))
    with pytest.raises(VerikitError, match=r"must be in OpenEnv's or ORS's|no environment"):
        list(play_ors(address, [{"completion": "4", "index": 0}], tool="submit"))


def test_a_row_that_names_no_task_is_not_played_on_the_first(address, monkeypatch):
    monkeypatch.setattr(Answers, "do_POST", lambda self: self.answer({}))
    (told,) = play_ors(f"{address}/sums", [{"completion": "4"}], tool="submit")
    assert isinstance(told, SchemaError)
    assert told.field == "index"
