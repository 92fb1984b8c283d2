"""A real server process, killed in the middle of a run and started again."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.waiting import until

SERVER = """
import hashlib, json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_GET(self): self.answer({"data": [{"id": "judge"}]})
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.05)
        verdict = "ABC"[hashlib.sha256(json.dumps(json.loads(body)["messages"]).encode()).digest()[0] % 3]
        message = {"role": "assistant", "content": f"I compared both. [[{verdict}]]"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.answer({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 5}})
    def answer(self, content):
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def serve(port):
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(port)], stderr=subprocess.DEVNULL)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    raise AssertionError("the server did not start")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def judge(pairs, out, port, *more):
    options = {"server": "openai", "retries": 1, "timeout_s": 5, "concurrency": 4}
    spec = f"pairwise('openai:http://127.0.0.1:{port}/v1#judge', options={options})"
    command = [sys.executable, "-m", "verikit", "judge", pairs, "-j", spec, "-o", out, "--batch", "8", "-q", *more]
    environment = {**os.environ, "OPENAI_API_KEY": "sk-secret-of-the-test", "VERIKIT_CACHE": f"{out}.sqlite"}
    return subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


@pytest.mark.skipif(sys.platform != "linux", reason="signals")
def test_a_server_killed_in_the_middle_and_started_again_changes_nothing(tmp_path):
    rows = [{"input": f"q {i}", "output_1": f"one {i}", "output_2": f"two {i}", "label": 1 + i % 2} for i in range(60)]
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    port = free_port()
    server = serve(port)
    try:
        whole = judge(pairs, tmp_path / "whole", port)
        _, errors = whole.communicate(timeout=60)
        assert whole.returncode == 0, errors
        cut = judge(pairs, tmp_path / "cut", port)
        verdicts = tmp_path / "cut" / "verdicts.jsonl"
        until(lambda: verdicts.exists() and verdicts.read_bytes().count(b"\n") > 10, "ten verdicts")
        server.send_signal(signal.SIGKILL)
        server.wait()
        _, errors = cut.communicate(timeout=60)
        assert cut.returncode == 1, errors
        assert b"resumes where it stopped" in errors
        assert 0 < verdicts.read_bytes().count(b"\n") < 60
        server = serve(port)
        again = judge(pairs, tmp_path / "cut", port)
        _, errors = again.communicate(timeout=60)
        assert again.returncode == 0, errors
    finally:
        server.kill()
        server.wait()
    cached = judge(pairs, tmp_path / "cut", port, "--restart")
    _, errors = cached.communicate(timeout=60)
    assert cached.returncode == 0, errors
    for name in ("verdicts.jsonl", "summary.json", "config.json"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    for path in (tmp_path / "cut").rglob("*"):
        assert b"sk-secret" not in (path.read_bytes() if path.is_file() else b"")
