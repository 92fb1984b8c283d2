"""The other backends: what they hold is what they say."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.waiting import until
from verikit.errors import SandboxUnavailable
from verikit.sandbox import ISOLATION, Job, RunLimits, RunResult
from verikit.sandbox.bwrap import BwrapSandbox
from verikit.sandbox.http import HttpSandbox
from verikit.sandbox.process import ProcessSandbox
from verikit.sandbox.whole import WholeRuns


def runs_programs(box: Any) -> None:
    assert box.run("print(input())", stdin="hi").stdout == "hi\n"
    assert box.run("def f(x): return [x, {2.5}]", call=("f", [1], {})).value == [1, {2.5}]
    assert box.run("while True: pass", limits=RunLimits(wall_s=0.5)).status == "timeout"
    assert box.run("while True: print('x' * 1000)").status == "output"
    assert box.run("x = bytearray(1 << 34)").status == "memory"
    assert box.run("raise KeyError(1)").error.type == "KeyError"
    assert box.run("print(open('d/a').read())", files={"d/a": b"in"}).stdout == "in\n"
    assert [r.stdout for r in box.map([Job("print(1)"), Job("print(2)")])] == ["1\n", "2\n"]


def calls_functions(box: Any) -> None:
    """Calls, several calls, and test code that asks."""
    assert box.run("def f(x): return {x: (2.5, None)}", call=("f", [1], {})).value == {1: (2.5, None)}
    assert box.run_calls("n = []\ndef f():\n    n.append(0)\n    return len(n)", [("f", [], {})] * 3).value == [1, 2, 3]
    assert box.run("def f(): raise KeyError(1)", call=("f", [], {})).error.type == "KeyError"
    forged = 'import os\ndef f():\n    os.write(3, b\'{"status":"call","value":null}\\n\')\n    os._exit(0)'
    assert box.run(forged, call=("f", [], {})).status == "no_result"
    program = "def double(x): return x * 2\nclass Bag:\n    def __init__(self): self.items = []"

    def beside(tests: str) -> RunResult:
        with box.session(loaded=["talking"]) as home, box.session(loaded=["talking"]) as steps:
            home.begin(program, "program")

            def relay(line: str) -> str:
                found = home.exchange(line)
                assert isinstance(found, str), found
                return found

            return steps.run(tests, role="tests", relay=relay)

    done = beside(
        "import random\nassert all(double(x) == 2 * x for x in (1, 'a', [random.random()]))\n"
        "b = Bag()\nb.items.append(1)\nassert b.items == [1] and isinstance(b, Bag)\nprint('done')"
    )
    assert (done.status, done.stdout) == ("ok", "done\n"), done
    failed = beside("try:\n    double(1)\nexcept: pass\nassert double(1) == 3")
    assert (failed.status, failed.error and failed.error.type) == ("error", "AssertionError")
    if isinstance(box, WholeRuns):
        lost = beside("import os\ndouble(os.urandom(4).hex())\ndouble(1)")
        assert lost.status == "infra_error"
    assert box.programs.problem("cpp")


def test_the_process_backend_calls_functions() -> None:
    with ProcessSandbox() as box:
        calls_functions(box)


def test_the_process_backend_runs_programs_and_promises_nothing() -> None:
    with ProcessSandbox(workers=2) as box:
        runs_programs(box)
        assert "proved" not in box.report.properties.values()
    with pytest.raises(SandboxUnavailable):
        ProcessSandbox(require=ISOLATION)


def test_the_process_backend_ends_what_a_program_started() -> None:
    code = "import subprocess; p = subprocess.Popen(['sleep', '600'], stdout=-3, stderr=-3); print(p.pid)"
    with ProcessSandbox() as box:
        pid = int(box.run(code).stdout)
    until(lambda: _state(pid) in ("", "Z"), "the end of what the program started")


def _state(pid: int) -> str:
    return subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()[:1]


def test_bwrap_holds_everything() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed")
    try:
        box = BwrapSandbox(workers=2, strict=True)
    except SandboxUnavailable as problem:
        pytest.skip(str(problem))
    with box:
        runs_programs(box)
        calls_functions(box)
        leaked = "print(open('/proc/1/environ').read())"
        assert box.run(leaked).status == "error"


def test_without_bwrap_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxUnavailable) as caught:
        BwrapSandbox()
    assert "bubblewrap" in caught.value.hint


# ---- http ------------------------------------------------------------------------------------------------------------


class Fusion(BaseHTTPRequestHandler):
    """A small SandboxFusion: runs trusted test programs; `trouble` is what it does before it works."""

    trouble: ClassVar[list[str]] = []
    gives_files: ClassVar[bool] = True

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        trouble = self.trouble.pop(0) if self.trouble else ""
        if trouble == "cut":
            self.connection.close()
            return
        reply: Any = {"status": "SandboxError", "message": "no worker", "run_result": None}
        if trouble == "odd":
            reply = ["what"]
        elif trouble != "sandbox":
            reply = self.run_code(body)
        data = json.dumps(reply).encode()
        self.send_response(503 if trouble == "busy" else 200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def run_code(self, body: dict[str, Any]) -> dict[str, Any]:
        assert self.path == "/run_code"
        assert body["language"] == "python"
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            for name, content in body["files"].items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(base64.b64decode(content))
            (folder / "program.py").write_text(body["code"])
            reply: dict[str, Any] = {"status": "Failed", "message": "", "files": {}}
            try:
                done = subprocess.run(
                    [sys.executable, "program.py"],
                    input=body["stdin"],
                    capture_output=True,
                    text=True,
                    timeout=body["run_timeout"],
                    cwd=work,
                )
            except subprocess.TimeoutExpired:
                return reply | {"run_result": {"status": "TimeLimitExceeded", "stdout": "", "stderr": ""}}
            for name in body["fetch_files"] if self.gives_files else ():
                if (folder / name).is_file():
                    reply["files"][name] = base64.b64encode((folder / name).read_bytes()).decode()
        run = {"status": "Finished", "return_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}
        return reply | {"status": "Success" if done.returncode == 0 else "Failed", "run_result": run}

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Fusion) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()


def test_http_speaks_run_code(server: str) -> None:
    with HttpSandbox(server) as box:
        assert box.run("print(input() * 2)", stdin="ab").stdout == "abab\n"
        failed = box.run("raise ValueError('no')")
        assert (failed.status, str(failed.error)) == ("error", "ValueError: no")
        assert box.run("while True: pass", limits=RunLimits(wall_s=0.3)).status == "timeout"
        assert [r.stdout for r in box.map([Job(f"print({n})") for n in range(5)])] == [f"{n}\n" for n in range(5)]
        assert box.run("print(open('d/a').read())", files={"d/a": b"in"}).stdout == "in\n"


def test_http_calls_functions_where_only_whole_programs_run(server: str) -> None:
    with HttpSandbox(server) as box:
        calls_functions(box)
        assert box.run("import os; os.remove('verikit.record'); f = print", call=("f", [], {})).status == "no_result"


def test_a_server_that_gives_no_files_back_is_never_the_programs_fault(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fusion, "gives_files", False)
    with HttpSandbox(server) as box:
        assert box.run("print(1)").stdout == "1\n"
        assert box.run("def f(): return 1", call=("f", [], {})).status == "infra_error"


@pytest.mark.parametrize("trouble", ["busy", "sandbox", "odd", "cut"])
def test_a_server_in_trouble_is_asked_again_and_never_a_verdict(
    server: str, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verikit.sandbox.http._PAUSES", (0.01, 0.01, 0.01))
    with HttpSandbox(server, retries=2) as box:
        Fusion.trouble = [trouble, trouble]
        assert box.run("print(1)").stdout == "1\n"
        Fusion.trouble = [trouble] * 9
        result = box.run("print(1)")
        Fusion.trouble = []
        assert result.status == "infra_error"
        assert result.error is not None


def test_no_server_is_an_infrastructure_error() -> None:
    with HttpSandbox("http://127.0.0.1:9", retries=0) as box:
        assert box.run("print(1)").status == "infra_error"
    with pytest.raises(SandboxUnavailable):
        HttpSandbox("http://127.0.0.1:9", require={"network"})
