"""Written environment packages: what stands in them, and each loaded and stepped by its stack's own code."""

import ast
import asyncio
import json
import os
import shlex
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module, util
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from verikit.adapters.env_rows import EnvironmentRows
from verikit.adapters.packages import PACKAGES, package_name, write_package
from verikit.cli import cli
from verikit.env import check, play, tasks
from verikit.errors import UsageError
from verikit.types import Group

NASTY = "\"\"\"'''\\\n@NAME@ </script> {0} %s \u2028 é \x00"
SUMS = [
    Group("6 * 7?", answer="42", id="a", meta={"level": 1, "reward": 1.0}),
    Group([{"role": "system", "content": "Be brief."}, {"role": "user", "content": NASTY}], answer=["2", NASTY]),
]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package under a name of its own, and let it be imported."""

    def write(stack, spec="answer", problems=SUMS, name=None):
        letters = "".join(chr(ord("a") + byte % 26) for byte in os.urandom(6))  # digits could read as the data's
        name = name or f"sums_{stack.replace('-', '_')}_{letters}"
        folder = tmp_path / name
        write_package(stack, spec, problems, folder, "", force=False)
        monkeypatch.syspath_prepend(folder)
        return folder, name

    return write


@pytest.mark.parametrize("stack", PACKAGES)
def test_code_holds_nothing_of_the_data_which_reads_back_as_it_was(stack, package):
    folder, name = package(stack, "regex('\"\"\"\\'\\n@NAME@')")
    for path in folder.rglob("*.py"):
        code = path.read_text().replace(name, "")
        ast.parse(path.read_text())
        assert not any(text in code for text in ("</script>", "@NAME@", "@CLASS@", "regex", "42"))
    inside = folder if stack == "nemo-gym" else folder / name
    assert json.loads((inside / "verifier.json").read_text())["spec"] == "regex('\"\"\"\\'\\n@NAME@')"
    if stack == "nemo-gym":
        rows = [json.loads(line) for line in (folder / "data" / "example.jsonl").read_text().splitlines()]
        assert rows[1]["responses_create_params"]["input"][1]["content"] == NASTY
        assert rows[0] == {
            "responses_create_params": {"input": [{"role": "user", "content": "6 * 7?"}]},
            "expected_answer": "42",
            "verifier_metadata": {"level": 1, "reward": 1.0},
        }
    else:
        rows = EnvironmentRows(inside).rows
        assert [row["answer"] for row in rows] == ["42", ["2", NASTY]]
        assert rows[1]["prompt"][1]["content"] == NASTY


@pytest.mark.parametrize("name", ["", "9a", "a b", "class", "json", "verifiers", "a/../b", 'x"', "é", "_", "a\nb"])
def test_a_name_that_is_no_packages_is_refused(name):
    with pytest.raises(UsageError, match="can't be a package's name"):
        package_name(name)
    assert package_name("My-Env") == "my_env"


def test_the_command_needs_tasks_and_a_folder_of_its_own(tmp_path):
    data = tmp_path / "sums.jsonl"
    data.write_text('{"question": "6 * 7?", "answer": "42"}\n')
    write = ["adapter", "write", "openenv", "answer"]
    run = CliRunner().invoke
    assert "is a package" in str(run(cli, write).exception)
    out = [*write, "--data", str(data), "-o", str(tmp_path / "sums")]
    assert run(cli, out).exit_code == 0
    assert "already exists" in str(run(cli, out).exception)
    assert run(cli, [*out, "--force"]).exit_code == 0
    assert "belong to a package" in str(run(cli, ["adapter", "write", "trl", "answer", "--data", str(data)]).exception)
    shown = run(cli, ["adapter", "show", "openenv"])
    assert PACKAGES["openenv"].tested in shown.output


def test_a_spec_in_a_file_is_found_from_the_package(package, tmp_path, monkeypatch):
    (tmp_path / "style.py").write_text("def brief(sample):\n    return float(len(sample.completion) < 9)\n")
    monkeypatch.chdir(tmp_path)
    folder, name = package("verifiers-env", "style.py:brief")
    monkeypatch.chdir("/")
    assert EnvironmentRows(folder / name).score(0, "42").value == 1.0


def test_a_packages_details_have_the_parts_and_their_reasons(package):
    folder, name = package("openenv", "0.9*answer + 0.1*boxed")
    rows = EnvironmentRows(folder / name)
    told = rows.reward.details(rows.score(0, "It is 42."))
    assert {part: one["value"] for part, one in told["parts"].items()} == {"answer": 1.0, "boxed": 0.0}
    assert all(one["reason"] for one in told["parts"].values())
    assert json.loads(json.dumps(told)) == told


def test_a_rollouts_messages_reach_the_verifier(package):
    folder, name = package("verifiers-env")
    turns = [*SUMS[1].prompt, {"role": "assistant", "content": "Two.", "reasoning_content": "1 + 1"}]
    found = EnvironmentRows(folder / name).trace_sample(1, SimpleNamespace(messages=turns, last_reply="Two."))
    assert (found.completion, found.thoughts, [*found.messages]) == ("Two.", "1 + 1", turns[2:])
    assert found.answer == ["2", NASTY]


def trace(task, reply):
    vf = import_module("verifiers.v1")
    agent = {"harness": {"id": "default"}}
    told = {"task": SimpleNamespace(data=task.data), "agent": agent, "rewards": {}, "metrics": {}, "nodes": []}
    return vf.Trace.model_construct(root_reply=reply, **told)


@pytest.mark.filterwarnings("ignore")
def test_verifiers_loads_the_taskset_and_scores_its_tasks(package):
    pytest.importorskip("verifiers.v1")
    from verifiers.v1.errors import TaskError
    from verifiers.v1.utils.loaders import taskset_class

    _, name = package("verifiers-env")
    first, second = tasks(f"verifiers:{name}")
    assert (first["id"], first["prompt"], first["answer"]) == ("a", "6 * 7?", None)
    assert second["meta"]["system_prompt"] == "Be brief."
    kind = taskset_class(name)
    task, _ = kind(SimpleNamespace(system_prompt=None, task=None)).load()
    rewards = []
    for reply in ("It is 42.", "It is 41."):
        made = trace(task, reply)
        asyncio.run(task.score(made))
        rewards.append(made.rewards["verikit"].value)
    assert rewards == [1.0, 0.0]
    _, name = package("verifiers-env", "column('rm')")
    task, _ = taskset_class(name)(SimpleNamespace(system_prompt=None, task=None)).load()
    made = trace(task, "42")
    with pytest.raises(TaskError, match="Unscored"):
        asyncio.run(task.score(made))
    assert made.rewards["verikit"] is None


def test_the_next_command_is_printed_with_the_folder_and_the_name(tmp_path):
    data = tmp_path / "sums.jsonl"
    data.write_text('{"question": "6 * 7?", "answer": "42"}\n')
    out = tmp_path / "my NAME" / "Sums-2"
    done = CliRunner().invoke(cli, ["adapter", "write", "verifiers-env", "answer", "--data", str(data), "-o", str(out)])
    install, run = done.stderr.splitlines()[1].split(" && ")
    assert shlex.split(install) == ["pip", "install", str(out)]
    options = ["--env.agent.runtime.type", "subprocess", "--env.agent.harness.id", "null"]
    assert shlex.split(run) == ["vf-eval", "sums_2", *options]


def test_pip_takes_the_printed_folder_for_no_package_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    step = write_package("openenv", "answer", SUMS, Path("sums"), "", force=False)
    assert step.startswith("pip install ./sums && server ")


class Model(BaseHTTPRequestHandler):
    """An endpoint of a model that always says 42, as a stream."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "It is \\boxed{42}."}
        choice = {"index": 0, "finish_reason": "stop", "delta": message}
        told = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        body = f"data: {json.dumps(told)}\n\ndata: [DONE]\n\n".encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *told):
        pass


@pytest.mark.filterwarnings("ignore")
def test_the_printed_vf_eval_command_runs_and_its_traces_hold_the_parts(tmp_path):
    pytest.importorskip("verifiers.v1")
    rows = [{"question": f"{a} * {b}?", "answer": str(a * b), "id": f"{a}x{b}"} for a, b in ((6, 7), (5, 8))]
    data = tmp_path / "sums.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in (*rows, {"question": "?", "answer": ""})))
    folder = tmp_path / "sums_run"
    spec = "0.9*answer + 0.1*boxed"
    write = ["adapter", "write", "verifiers-env", spec, "--data", str(data), "-o", str(folder)]
    printed = CliRunner().invoke(cli, write).stderr.splitlines()[1].split(" && ")[1]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    own = ["-m", "m", "--client.base-url", url, "--client.api-key-var", "MODEL_KEY", "-o", str(tmp_path / "outputs")]
    command = [sys.executable, "-c", "from verifiers.v1.cli.eval.main import main; main()"]
    path = os.pathsep.join((str(folder), str(ROOT)))
    env = {**os.environ, "PYTHONPATH": path, "MODEL_KEY": "x"}
    try:
        subprocess.run([*command, *shlex.split(printed)[1:], *own], env=env, cwd=tmp_path, check=True)
    finally:
        server.shutdown()
        server.server_close()
    (run,) = (tmp_path / "outputs").iterdir()
    traces = [json.loads(line)["traces"][0] for line in (run / "traces.jsonl").read_text().splitlines()]
    metrics = {trace["task"]["data"]["number"]: trace["metrics"] for trace in traces}
    assert all(trace["info"]["verikit"]["parts"]["answer"]["reason"] for trace in traces[:1])
    assert metrics[0] == {"part/answer": 1.0, "part/boxed": 1.0}
    assert metrics[1] == {"part/answer": 0.0, "part/boxed": 1.0}
    assert metrics[2] == {"part/answer": None, "part/boxed": 1.0}
    found = check(run, spec, tasks=data)
    assert (found.equal, found.compared, len(found.unrewarded)) == (2, 2, 1)


@pytest.fixture
def served(package):
    """A written OpenEnv environment, served by its own command."""
    processes = []

    def serve(*arguments):
        folder, name = package("openenv", *arguments)
        code = (
            "import socket, uvicorn; from importlib import import_module; import sys\n"
            "app = import_module(sys.argv[1] + '.server.app').app\n"
            "taken = socket.create_server(('127.0.0.1', 0)); print(taken.getsockname()[1], flush=True)\n"
            "uvicorn.Server(uvicorn.Config(app, log_level='error')).run(sockets=[taken])\n"
        )
        path = os.pathsep.join((str(folder), str(ROOT)))
        made = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code, name],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        processes.append(made)
        return f"http://127.0.0.1:{int(made.stdout.readline())}", name

    yield serve
    for made in processes:
        made.kill()
        made.wait()
        made.stdout.close()


@pytest.mark.filterwarnings("ignore")
def test_openenvs_own_clients_step_the_served_environment(served):
    pytest.importorskip("openenv.core.env_client")
    from openenv.core.generic_client import GenericEnvClient

    address, name = served()
    module = import_module(name)
    with module.__dict__[module.__all__[1]](base_url=address).sync() as client:
        begun = client.reset(index=0)
        assert (begun.done, begun.observation.messages) == (False, [{"role": "user", "content": "6 * 7?"}])
        action = module.__dict__[module.__all__[0]]
        ended = client.step(action(message="It is 42."))
        assert (ended.reward, ended.done, client.state().step_count) == (1.0, True, 1)
        with pytest.raises(Exception, match="one step ends it"):
            client.step(action(message="Again."))
        client.reset(seed=1)
        assert client.step(action(message="It is 41.")).reward == 0.0
    with GenericEnvClient(base_url=address).sync() as client, pytest.raises(Exception, match="no task 7"):
        client.reset(index=7)
    rows = [{"completion": text, "answer": "42", "index": 0} for text in ("It is 42.", "It is 41.")]
    assert check(list(play(address, rows)), "answer").equal == 2
    first, second = tasks(address)  # the task API tells no references
    assert first == {"id": "a", "prompt": [{"role": "user", "content": "6 * 7?"}], "answer": None, "meta": {"index": 0}}
    assert second["prompt"][1]["content"] == NASTY


@pytest.mark.filterwarnings("ignore")
def test_openenv_is_told_none_where_there_is_no_score(served):
    pytest.importorskip("openenv.core.env_client")
    from openenv.core.generic_client import GenericEnvClient

    address, name = served("column('rm')")
    with GenericEnvClient(base_url=address).sync() as client:
        client.reset()
        ended = client.step({"message": "42"})
    assert (ended.reward, ended.done) == (None, True)
    module = import_module(name)
    with module.__dict__[module.__all__[1]](base_url=address).sync() as client:
        client.reset()
        told = client.step(module.__dict__[module.__all__[0]](message="42")).observation.metadata["verikit"]
    assert (told["status"], told["parts"]) == ("error", {})
    [played] = play(address, [{"completion": "42", "index": 0}])
    assert (played.reward, played.why) == (None, f"error: {told['reason']}")
    assert "rm" in played.why


@pytest.mark.filterwarnings("ignore")
def test_nemo_gym_runs_the_written_resources_server(package):
    base = pytest.importorskip("nemo_gym.base_resources_server")
    from fastapi.testclient import TestClient
    from nemo_gym.episode_types import EpisodeId, TaskId
    from nemo_gym.server_utils import ServerClient
    from nemo_gym.testing.session_conformance import check_resources_session_contract

    def made(spec):
        folder, name = package("nemo-gym", spec)
        found = util.spec_from_file_location(f"app_of_{name}", folder / "app.py")
        module = util.module_from_spec(found)
        sys.modules[found.name] = module
        found.loader.exec_module(module)
        (kind,) = [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, base.SimpleResourcesServer)
            and value.__module__ == found.name
        ]
        config = kind.model_fields["config"].annotation(host="127.0.0.1", port=1, entrypoint="app.py", name=name)
        return kind(config=config, server_client=ServerClient.model_construct(global_config_dict={})).setup_webserver()

    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
    message["content"] = [{"type": "output_text", "text": "It is 42.", "annotations": []}]
    response = {"id": "r", "created_at": 1.0, "model": "m", "object": "response", "output": [message]}
    response |= {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    row = {"responses_create_params": {"input": "6 * 7?"}, "response": response, "expected_answer": "42"}
    app = made("answer")
    client = TestClient(app)
    right = client.post("/verify", json=row).json()
    assert (right["reward"], right["verikit"]["status"], right["verikit"]["parts"]) == (1.0, "ok", {})
    assert right["verikit"]["reason"]
    assert client.post("/verify", json=row | {"expected_answer": "41"}).json()["reward"] == 0.0
    assert client.get("/reverify_mode").json() == "stateless"
    seed = base.ResourcesSeedSessionRequest(
        resources_session_id="s",
        episode_id=EpisodeId(rollout_id="r"),
        task_id=TaskId(taskset="t", task_id="1"),
        task_data={},
    )
    check_resources_session_contract(app, seed, keeps_state=False)
    failed = TestClient(made("column('rm')")).post("/verify", json=row).json()
    assert (failed["mask_sample"], failed["_ng_failure_class"]) == (True, "judge_failed")
