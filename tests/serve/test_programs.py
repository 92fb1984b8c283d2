"""`verikit serve --sandbox`: SandboxFusion's forms, our client's verdicts, tokens, quotas, turns and deadlines."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.sandbox.test_choice import samples
from tests.serve.conftest import address_of
from tests.verifiers.test_compile_bombs import sums_of_constants
from tests.waiting import until
from verikit.errors import SandboxUnavailable, UsageError
from verikit.sandbox import ISOLATION, RunLimits, backends
from verikit.sandbox.http import HttpSandbox
from verikit.types import Sample
from verikit.verifiers.code.verifier import Code

for extra in ("uvicorn", "httptools", "starlette", "prometheus_client"):
    pytest.importorskip(extra)

SLEEP = "import time; time.sleep(0.4)"


@contextmanager
def serving(log: Path, *options: object, token: str = "") -> Iterator[str]:
    """A server; its address."""
    command = [sys.executable, "-m", "verikit", "serve", "--sandbox", "--port", "0", *map(str, options)]
    environment = {**os.environ, **({"VERIKIT_TOKEN": token} if token else {})}
    with open(log, "wb") as stream, subprocess.Popen(command, stderr=stream, env=environment) as process:
        try:
            yield address_of(process, log)
        finally:
            process.terminate()
            assert process.wait(120) == 0, log.read_text()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("serve") / "log", "--workers", 2) as found:
        yield found


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    for box in backends._started.values():
        box.close()
    backends._started.clear()


def post(address: str, path: str = "/run_code", **body: Any) -> Any:
    given = {"language": "python", "run_timeout": 3, **body} if path == "/run_code" else body
    return httpx.post(address + path, json=given, timeout=60)


@pytest.mark.parametrize(
    ("code", "status", "run", "exit_code"),
    [
        ("print(input())", "Success", "Finished", 0),
        ("raise ValueError('no')", "Failed", "Finished", 1),
        ("raise SystemExit(3)", "Failed", "Finished", 3),
        ("raise SystemExit('text')", "Failed", "Finished", 1),
        ("import os; os._exit(7)", "Failed", "Finished", 7),
        ("import os; print(1, flush=True); os._exit(0)", "Success", "Finished", 0),
        ("import os; os.kill(os.getpid(), 11)", "Failed", "Finished", -11),
        ("while True: pass", "Failed", "TimeLimitExceeded", None),
        ("while True: print('x' * 1000)", "Failed", "Finished", -9),
        ("x = bytearray(1 << 36)", "Failed", "Finished", 1),
        ("def f(:", "Failed", "Finished", 1),
    ],
)
def test_run_code_replies_as_sandbox_fusion_does(
    code: str, status: str, run: str, exit_code: int | None, address: str
) -> None:
    reply = post(address, code=code, stdin="hi\n", run_timeout=1).json()
    assert set(reply) == {"status", "message", "compile_result", "run_result", "executor_pod_name", "files"}
    found = reply["run_result"]
    assert (reply["status"], found["status"], found["return_code"]) == (status, run, exit_code)
    assert found["execution_time"] < 3
    assert found["stderr"] if status == "Failed" and run == "Finished" and "_exit" not in code else True


def test_files_go_in_and_come_out(address: str) -> None:
    code = "import os; os.mkdir('o'); os.symlink('/etc/passwd', 'p')\n"
    code += "open('o/b', 'wb').write(open('d/a', 'rb').read() * 2)"
    files = {"d/a": base64.b64encode(b"\0in").decode(), "none": None}
    reply = post(address, code=code, files=files, fetch_files=["o/b", "p", "absent"]).json()
    assert {name: base64.b64decode(text) for name, text in reply["files"].items()} == {"o/b": b"\0in\0in"}
    assert post(address, code="1", files={"../a": ""}).status_code == 422
    assert post(address, code="1", fetch_files=["/etc/passwd"]).status_code == 422


def test_other_languages_are_compiled_and_run(address: str) -> None:
    reply = post(address, code='read x; echo "$x$x"', language="bash", stdin="ab\n").json()
    assert reply["run_result"]["stdout"] == "abab\n"
    languages = httpx.get(f"{address}/sandbox").json()["languages"]
    if "cpp" not in languages:
        pytest.skip("no g++")
    good = "#include <iostream>\nint main(){int n; std::cin >> n; std::cout << 2 * n;}"
    reply = post(address, code=good, language="cpp", stdin="21").json()
    assert (reply["compile_result"]["return_code"], reply["run_result"]["stdout"]) == (0, "42")
    broken = post(address, code="int main( {", language="cpp").json()
    assert (broken["status"], broken["compile_result"]["return_code"], broken["run_result"]) == ("Failed", 1, None)
    assert "error" in broken["compile_result"]["stderr"]


def test_a_language_that_can_t_be_run_is_the_sandboxes_error_and_an_unknown_one_the_clients(address: str) -> None:
    if "lean" not in httpx.get(f"{address}/sandbox").json()["languages"]:
        reply = post(address, code="1", language="lean").json()
        assert reply["status"] == "SandboxError"
        assert "lean" in reply["message"]
    assert post(address, code="1", language="cobol").status_code == 422


@pytest.mark.parametrize(
    "body",
    [{}, {"code": 1}, {"code": "1", "run_timeout": "x"}, {"code": "1", "run_timeout": -1}, {"code": "1", "files": [1]},
     {"code": "1", "files": {"a": "%%"}}, {"code": "1", "stdin": 3}, {"code": "1", "run_timeout": 1000}],
)  # fmt: skip
def test_a_request_that_can_t_be_used_is_refused_by_name(body: dict[str, Any], address: str) -> None:
    reply = post(address, **body)
    assert reply.status_code == 422
    assert reply.json()["error"]


RUN: dict[str, Any] = {"payload": json.dumps({"code": "print(1)", "calls": [], "ask": []}), "calls": 0, "limits": {}}
LIMITS = ["wall_s", "cpu_s", "memory_mb", "output_kb", "value_kb", "disk_mb", "files", "threads"]


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", ["9", None, True, [], {}, -1, 0, 1e12, "x" * 1000])
def test_a_limit_that_is_no_number_is_refused_by_name(name: str, value: Any, address: str) -> None:
    reply = post(address, "/run", **RUN | {"limits": {name: value}})
    if (name, value) == ("cpu_s", None):  # as our own client sends it
        assert reply.status_code == 200
        return
    assert reply.status_code == 422, reply.text
    assert name in reply.json()["error"]
    assert len(reply.text) < 500
    usual = {"wall_s": 5, "cpu_s": 2.5}.get(name, 64)
    assert post(address, "/run", **RUN | {"limits": {name: usual}}).status_code == 200


@pytest.mark.parametrize(
    "change",
    [{"calls": "1"}, {"calls": True}, {"calls": None}, {"limits": None}, {"limits": []}, {"payload": 1}, {"stdin": 5},
     {"payload": "[]"}, {"payload": "{"}, {"payload": '{"code": 1}'}, {"stdin": "%"}, {"stdin": ["a"]},
     {"payload": "[" * 100_000}, {"limits": {"memory_mb": 0.5}}],
)  # fmt: skip
def test_a_run_that_can_t_be_read_is_refused_and_the_server_goes_on(change: dict[str, Any], address: str) -> None:
    assert post(address, "/run", **RUN | change).status_code == 422
    assert post(address, "/run", **RUN).status_code == 200


def submission(completion: str, **config: Any) -> dict[str, Any]:
    tests = [{"input": {"stdin": f"{n}\n"}, "output": {"stdout": f"{2 * n}\n"}} for n in (1, 20, 300)]
    given = {"language": "python", "run_timeout": 2, "provided_data": {"id": 5, "test": tests}, **config}
    return {"dataset": "own", "id": 5, "completion": completion, "config": given}


def test_submit_judges_a_completion(address: str) -> None:
    fence = "Here:\n```python\n{}\n```"
    good = post(address, "/submit", **submission(fence.format("print(2 * int(input()))"))).json()
    assert (good["accepted"], len(good["tests"]), good["id"]) == (True, 3, 5)
    assert good["extracted_code"].strip() == "print(2 * int(input()))"
    wrong = post(address, "/submit", **submission(fence.format("print(2)"))).json()
    assert [case["passed"] for case in wrong["tests"]] == [True, False]
    every = post(address, "/submit", **submission(fence.format("print(2)"), extra={"run_all_cases": True})).json()
    assert (every["accepted"], [case["passed"] for case in every["tests"]]) == (False, [True, False, False])
    packed = submission(fence.format("while True: pass"), run_timeout=0.5)
    packed["config"]["provided_data"] = [
        {"id": 4},
        {"id": 5, "test": json.dumps(packed["config"]["provided_data"]["test"])},
    ]
    slow = post(address, "/submit", **packed).json()
    assert slow["tests"][0]["exec_info"]["run_result"]["status"] == "TimeLimitExceeded"
    for refused in ({"dataset_type": "HumanEval"}, {"provided_data": None}, {"custom_extract_logic": "1"}):
        assert post(address, "/submit", **submission("print(1)", **refused)).status_code == 422


@pytest.mark.parametrize(
    ("got", "wanted", "same"),
    [("4", "4", True), ("4\n", " 4 \n\n", True), ("YES", "yes", True), ("0.3333333", "0.33333334", True),
     ("4", "5", False), ("4\n4", "4", False), ("nan", "nan ", True), ("nan", "1", False), ("inf", "1e999", False),
     ("a", "b", False), ("1" * 500, "2" * 500, False)],
)  # fmt: skip
def test_outputs_are_compared_line_by_line(got: str, wanted: str, same: bool) -> None:
    from verikit.serve.fusion import same_lines

    assert same_lines(got, wanted) == same


def test_verdicts_over_http_are_the_local_ones(address: str) -> None:
    foreign = {"language": "bash", "tests": [{"input": "2\n", "output": "4\n"}]}
    shells = (
        "read x; echo $((x * 2))",
        "read x; echo $((x + 3))",
        "while true; do :; done",
        "exit 3",
        "if",
        "kill -9 $$",
    )
    both = [*samples(), *(Sample(completion=code, meta=foreign) for code in shells)]
    here, there = (Code(wall_s=1.5, sandbox=name).score(both) for name in ("local", address))
    assert [(score.value, score.status) for score in there] == [(score.value, score.status) for score in here]
    assert [score.value for score in there].count(1.0) == 7


def test_the_client_proves_what_the_server_holds(address: str) -> None:
    with HttpSandbox(f"{address}/run_code", require=ISOLATION) as box:
        assert box.report.layers == {"server": "verikit"}
        assert not set(box.report.unproved()) - {"disk_total"}


# ---- clients of others -----------------------------------------------------------------------------------------------


def source_of(package: str, *inside: str) -> Path:
    """A file of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        if (path := Path(folder, *inside)).is_file():
            return path
    pytest.skip(f"{package} is not installed")


def test_verls_own_client_gets_its_results(address: str) -> None:
    pytest.importorskip("requests")
    path = source_of("verl", "utils", "reward_score", "sandbox_fusion", "utils.py")
    spec = importlib.util.spec_from_file_location("verl_sandbox_fusion", path)
    assert spec is not None
    assert spec.loader is not None
    verl = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(verl)
    piped = {"inputs": ["1\n", "2\n"], "outputs": ["2\n", "4\n"]}
    called = {"inputs": ["1\n2", "3\n4"], "outputs": ["3", "7"], "fn_name": "plus"}
    for cases, program, want in (
        (piped, "print(2 * int(input()))", [True, True]),
        (piped, "print(2)", [True, False]),
        (piped, "raise ValueError", [-2, -2]),
        (piped, "while True: pass", [-3, -3]),
        (called, "def plus(a, b):\n    return a + b", [True, True]),
        (called, "class Solution:\n    def plus(self, a, b):\n        return a - b", [False, False]),
    ):
        found, _ = verl.check_correctness(f"{address}/run_code", cases, program, timeout=2)
        assert found == want, program
    broken, told = verl.check_correctness(f"{address}/run_code", piped, "int main( {", timeout=5, language="cpp")
    assert set(broken) <= {-4, -1}, told


def test_sandbox_fusions_own_client_reads_the_replies(address: str) -> None:
    pytest.importorskip("sandbox_fusion")
    import sandbox_fusion as sf

    reply = sf.run_code(sf.RunCodeRequest(code="print(1)", language="python", stdin=None), endpoint=address)
    assert (reply.status, reply.run_result.stdout) == (sf.RunStatus.Success, "1\n")
    asked = submission("```python\nprint(2 * int(input()))\n```")
    assert sf.submit(sf.SubmitRequest(**asked), endpoint=address).accepted


# ---- who, and how much -----------------------------------------------------------------------------------------------


def test_only_a_token_runs_programs_and_it_may_stand_in_the_address(tmp_path: Path) -> None:
    table = {"a": {"token": "alpha-1", "per_minute": 3}, "b": {"token": "beta-2", "cpu_s": 0.05}}
    (tmp_path / "tokens.json").write_text(json.dumps(table))
    with serving(tmp_path / "log", "--tokens", tmp_path / "tokens.json", "--workers", 1) as address:
        assert post(address, code="print(1)").status_code == 401
        assert httpx.get(f"{address}/sandbox").status_code == 401
        assert httpx.get(f"{address}/health").status_code == 200
        with pytest.raises(SandboxUnavailable, match="401"):
            backends.chosen_sandbox(address)
        mine = address.replace("://", "://any:alpha-1@")
        assert [post(mine, code="print(1)").status_code for _ in range(4)] == [200, 200, 200, 429]
        refused = post(mine, code="print(1)")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert "3 programs a minute" in refused.json()["error"]
        others = address.replace("://", "://x:beta-2@")
        assert post(others, code="while True: pass", run_timeout=1).status_code == 200
        assert "processor" in post(others, code="print(1)").json()["error"]
        assert "alpha" not in (tmp_path / "log").read_text()


def test_a_compiler_s_time_is_its_tokens_and_a_kept_program_is_paid_for_once(tmp_path: Path) -> None:
    heavy = "#include <regex>\n#include <iostream>\nint main(){std::regex r(\"a*\"); std::cout << %d << '\\n';}"
    with serving(tmp_path / "log", "--workers", 2, "--quota", "cpu_s=0.6") as address:
        if "cpp" not in httpx.get(f"{address}/sandbox").json()["languages"]:
            pytest.skip("no g++")
        bodies = [{"code": heavy % i, "language": "cpp", "compile_timeout": 20} for i in range(6)]
        replies = [post(address, **body) for body in bodies]
        assert replies[0].json()["run_result"]["stdout"] == "0\n"
        assert replies[0].json()["compile_result"]["cpu_time"] > 0.1
        assert replies[-1].status_code == 429
        assert "processor" in replies[-1].json()["error"]
    with serving(tmp_path / "log", "--workers", 2, "--quota", "cpu_s=30") as address:
        replies = [post(address, **bodies[0]).status_code for _ in range(40)]
        assert replies == [200] * 40


def test_the_tests_of_a_submission_are_compiled_for_once_and_share_what_the_compiler_left(address: str) -> None:
    if "cpp" not in httpx.get(f"{address}/sandbox").json()["languages"]:
        pytest.skip("no g++")
    code = "#include <iostream>\nint main(){int n; std::cin >> n; std::cout << 2 * n;}"
    tests = [{"input": {"stdin": str(n)}, "output": {"stdout": str(2 * n)}} for n in range(12)]
    config = {"language": "cpp", "provided_data": {"test": tests}, "extra": {"run_all_cases": True}}
    body = {"id": 1, "completion": f"```cpp\n{code}\n```", "config": config}
    assert post(address, "/submit", **body).json()["accepted"]
    config["compile_timeout"] = 1
    bomb = sums_of_constants(random.Random(0))
    reply = post(address, "/submit", **body | {"completion": f"```cpp\n{bomb}\n```"}).json()
    assert not reply["accepted"]
    assert len(reply["tests"]) == 12
    assert len({test["exec_info"]["compile_result"]["cpu_time"] for test in reply["tests"]}) == 1


def test_a_token_at_its_quota_waits_and_holds_nobody_else_up(tmp_path: Path) -> None:
    table = {"a": {"token": "alpha-1", "at_once": 1}, "b": {"token": "beta-2"}}
    (tmp_path / "tokens.json").write_text(json.dumps(table))
    ends = []
    with serving(tmp_path / "log", "--tokens", tmp_path / "tokens.json", "--workers", 2) as address:

        def ask(token: str) -> None:
            assert post(address.replace("://", f"://x:{token}@"), code=SLEEP).status_code == 200
            ends.append(token)

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(ask, ["alpha-1"] * 6 + ["beta-2"]))
    assert ends[-2:] == ["alpha-1"] * 2  # one after the other; without a quota beta's would be the last


def test_what_is_too_much_is_refused_or_late_and_our_client_comes_back(tmp_path: Path) -> None:
    options = ("--workers", 1, "--max-waiting", 2, "--deadline", 6)
    with serving(tmp_path / "log", *options) as address, ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda _: post(address, code=SLEEP, run_timeout=1), range(8)))
        assert {reply.status_code for reply in replies} == {200, 429}
        assert all(reply.headers["retry-after"] for reply in replies if reply.status_code == 429)
        held = [threads.submit(post, address, code="while True: pass", run_timeout=3.5) for _ in range(2)]
        time.sleep(0.3)
        late = post(address, code="print(1)", run_timeout=3)
        assert late.status_code == 504
        long = post(address, code="print(1)", run_timeout=600)
        foreign = submission("print(1)") | {"config": {"dataset_type": "MBPPDataset"}}
        other = httpx.post(f"{address}/submit", json=foreign)
        assert (long.status_code, other.status_code) == (422, 422)
        for refused in (late, long, other):
            assert refused.json()["hint"]
            assert "--" not in refused.text  # no client can set the server's options
            assert "verikit serve" not in refused.text
        assert [job.result().status_code for job in held].count(200) == 1
        with HttpSandbox(address, workers=6) as box:
            results = list(threads.map(lambda _: box.run(SLEEP, limits=RunLimits(wall_s=1)).status, range(6)))
        assert results == ["ok"] * 6


def test_programs_of_a_client_that_went_away_are_not_run(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--workers", 1) as address:

        def gauge(name: str) -> float:
            [line] = re.findall(rf"^verikit_{name}_programs (.*)$", httpx.get(f"{address}/metrics").text, re.M)
            return float(line)

        body = json.dumps({"code": SLEEP, "language": "python"}).encode()
        head = b"POST /run_code HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        blocker = threading.Thread(target=post, args=(address,), kwargs={"code": "while True: pass", "run_timeout": 5})
        blocker.start()
        until(lambda: gauge("running") == 1, "the program before them")
        clients = [socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) for _ in range(20)]
        for client in clients:
            client.sendall(head % len(body) + body)
        until(lambda: gauge("waiting") == 20, "the programs to wait")
        for client in clients:
            client.close()
        until(lambda: gauge("waiting") == 0, "the programs to be dropped")
        assert blocker.is_alive()  # none has had its turn
        blocker.join()
        assert post(address, code="print(1)").json()["run_result"]["stdout"] == "1\n"


def test_quotas_are_read_or_refused(tmp_path: Path) -> None:
    from verikit.serve.quotas import Quota, read_clients, read_quota

    assert read_quota("at_once=4, per_minute=600,cpu_s=1.5") == Quota(4, 600, 1.5)
    for wrong in ("x=1", "at_once", "at_once=-1", "cpu_s=1e9999"):
        with pytest.raises(UsageError):
            read_quota(wrong)
    file = tmp_path / "tokens.json"
    for content in (
        "",
        "[]",
        '{"a": {}}',
        '{"a": {"token": "x", "most": 1}}',
        '{"a": {"token": "x"}, "b": {"token": "x"}}',
    ):
        file.write_text(content)
        with pytest.raises(UsageError):
            read_clients(str(file), Quota())


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["answer", "--sandbox"],
        ["answer", "--quota", "at_once=1"],
        ["--sandbox", "--protocol", "slime"],
        ["--sandbox", "--host", "0.0.0.0"],
    ],
)
def test_options_that_don_t_go_together_are_refused(options: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "VERIKIT_TOKEN"}
    done = subprocess.run(
        [sys.executable, "-m", "verikit", "serve", *options],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert done.returncode == 2, done.stderr
