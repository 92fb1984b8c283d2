"""The other backends: what they hold is what they say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from verikit.errors import SandboxUnavailable, UsageError
from verikit.sandbox import ISOLATION, Job, RunLimits
from verikit.sandbox.bwrap import BwrapSandbox
from verikit.sandbox.http import HttpSandbox
from verikit.sandbox.process import ProcessSandbox


def runs_programs(box: Any) -> None:
    assert box.run("print(input())", stdin="hi").stdout == "hi\n"
    assert box.run("def f(x): return [x, {2.5}]", call=("f", [1], {})).value == [1, {2.5}]
    assert box.run("while True: pass", limits=RunLimits(wall_s=0.5)).status == "timeout"
    assert box.run("while True: print('x' * 1000)").status == "output"
    assert box.run("x = bytearray(1 << 34)").status == "memory"
    assert box.run("raise KeyError(1)").error.type == "KeyError"
    assert box.run("print(open('d/a').read())", files={"d/a": b"in"}).stdout == "in\n"
    assert [r.stdout for r in box.map([Job("print(1)"), Job("print(2)")])] == ["1\n", "2\n"]


def test_the_process_backend_runs_programs_and_promises_nothing() -> None:
    with ProcessSandbox(workers=2) as box:
        runs_programs(box)
        assert "proved" not in box.report.properties.values()
    with pytest.raises(SandboxUnavailable):
        ProcessSandbox(require=ISOLATION)


def test_the_process_backend_ends_what_a_program_started() -> None:
    code = "import subprocess; p = subprocess.Popen(['sleep', '61'], stdout=-3, stderr=-3); print(p.pid)"
    with ProcessSandbox() as box:
        pid = int(box.run(code).stdout)
    deadline = time.monotonic() + 5
    while (state := _state(pid)) not in ("", "Z") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert state in ("", "Z")


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
        try:
            done = subprocess.run(
                [sys.executable, "-c", body["code"]],
                input=body["stdin"],
                capture_output=True,
                text=True,
                timeout=body["run_timeout"],
            )
        except subprocess.TimeoutExpired:
            return {
                "status": "Failed",
                "message": "",
                "run_result": {"status": "TimeLimitExceeded", "stdout": "", "stderr": ""},
            }
        run = {"status": "Finished", "return_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}
        return {"status": "Success" if done.returncode == 0 else "Failed", "message": "", "run_result": run}

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
        with pytest.raises(UsageError):
            box.run("", call=("f", [], {}))


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
