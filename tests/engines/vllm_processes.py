"""Engines in processes of their own: vLLM takes threads, memory and signal handlers for itself."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from verikit.engines import Generation, Replay, Request
from verikit.engines.records import request_to_json

ENVIRONMENT = {
    **os.environ,
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "OMP_NUM_THREADS": "1",
}
ASK = """
import json, sys
from verikit.engines import Recorder, load_engine
from verikit.engines.records import request_from_json
if __name__ == "__main__":
    spec, options, requests, out = sys.argv[1:]
    with Recorder(load_engine(spec, **json.loads(options)), out) as engine:
        engine.generate([request_from_json(asked) for asked in json.loads(open(requests).read())])
"""


def ask(folder: Path, spec: str, options: dict[str, Any], requests: list[Request]) -> list[Generation]:
    """Let a process of its own ask an engine; its recording is what comes back."""
    out, questions = folder / "out.jsonl", folder / "requests.json"
    out.unlink(missing_ok=True)
    questions.write_text(json.dumps([request_to_json(request) for request in requests]))
    command = [sys.executable, "-c", ASK, spec, json.dumps(options), str(questions), str(out)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return Replay(out).generate(requests)


@contextmanager
def served(model: str, name: str, max_model_len: int, log: Path, *, trains: bool = False) -> Iterator[str]:
    """Serve a folder in fp32 by vLLM's OpenAI server; yields its address up to /v1 once it answers.

    With `trains` it takes new weights, and gives the log-probabilities of its samples, as the trainer needs.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = f"-m vllm.entrypoints.openai.api_server --served-model-name {name} --host 127.0.0.1 --port {port}".split()
    command += ["--dtype", "float32", "--max-model-len", str(max_model_len), "--enforce-eager", "--model", model]
    environment = {key: value for key, value in ENVIRONMENT.items() if key != "VLLM_ENABLE_V1_MULTIPROCESSING"}
    if trains:
        command += ["--logprobs-mode", "processed_logprobs"]
        environment["VLLM_SERVER_DEV_MODE"] = "1"
    with open(log, "w") as file:
        process = subprocess.Popen([sys.executable, *command], env=environment, stdout=file, stderr=file)
    try:
        for _ in range(300):
            assert process.poll() is None, log.read_text()[-3000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
                break
            except OSError:
                time.sleep(1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(60)
