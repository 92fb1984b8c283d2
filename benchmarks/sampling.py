"""What sampling costs beside the bare engine, against one local server, 50 ms a reply, 64 in flight, no faults.

python benchmarks/sampling.py

The same 2,000 requests by the engine alone and by `verikit sample`, to a file that a run can go on with, in turns; then
a chat request to the server itself and to `verikit serve answer --best-of 8 --select majority` before it, in turns.
"""

from __future__ import annotations

import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import engines
import httpx

from verikit.engines import load_engine
from verikit.sampling import SamplingSettings
from verikit.sampling.run import SampleFile, SamplingRun
from verikit.types import Group

PROMPTS, N, TURNS, REQUESTS = 250, 8, 3, 30


def bare_seconds(url: str, prompts: list[tuple[int, Group]], settings: SamplingSettings) -> float:
    with load_engine(url, api_key="k") as engine:
        requests = [settings.request(engine, group, index) for _, group in prompts for index in range(N)]
        begun = time.perf_counter()
        assert all(generation.error is None for generation in engine.generate(requests))
        return time.perf_counter() - begun


def run_seconds(url: str, prompts: list[tuple[int, Group]], settings: SamplingSettings, folder: Path) -> float:
    with load_engine(url, api_key="k") as engine, SampleFile(folder / "out", {"n": N}, restart=True) as out:
        run = SamplingRun(engine, settings)
        begun = time.perf_counter()
        assert sum(len(row.candidates) for row in run.rows(prompts, out)) == PROMPTS * N
        return time.perf_counter() - begun


def best_of(url: str) -> None:
    """Print the median seconds of a request to the server, and to best of n in front of it."""
    command = [sys.executable, "-m", "verikit", "serve", "answer", "--best-of", str(N), "--select", "majority"]
    command += ["--model", url, "--model-args", "api_key=k", "--port", "0"]
    took: dict[str, list[float]] = {"direct": [], "best": []}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process, httpx.Client(timeout=30) as client:
        assert process.stderr is not None
        own = process.stderr.readline().rpartition(" on ")[2].strip() + "/v1"
        direct = url.removeprefix("openai:").removesuffix("#m")
        for turn in range(3 + REQUESTS):
            body = {"model": "m", "messages": [{"role": "user", "content": f"question {turn}"}]}
            for name, address in (("direct", direct), ("best", own)):
                begun = time.perf_counter()
                client.post(f"{address}/chat/completions", json=body).raise_for_status()
                took[name].append(time.perf_counter() - begun)
        process.terminate()
    one_reply, best = (1000 * statistics.median(took[name][3:]) for name in ("direct", "best"))
    print(f"a request to the server {one_reply:.0f} ms, to best of {N} in front of it {best:.0f} ms")


def main() -> None:
    engines.FAULTS = 0.0
    receive, send = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.Process(target=engines.serve, args=(send,), daemon=True)
    server.start()
    url = f"openai:http://127.0.0.1:{receive.recv()}/v1#m"
    prompts: list[tuple[int, Group]] = [(i, Group(f"question {i}", id=str(i))) for i in range(PROMPTS)]
    settings, ratios = SamplingSettings(n=N), []
    bare_seconds(url, prompts[:16], settings)  # imports and connections are neither's
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(TURNS):
            bare, whole = bare_seconds(url, prompts, settings), run_seconds(url, prompts, settings, Path(folder))
            ratios.append(whole / bare)
            print(f"bare {bare:.2f} s, verikit sample {whole:.2f} s: {whole / bare:.2f}x", flush=True)
    ideal = PROMPTS * N / engines.IN_FLIGHT * engines.LATENCY_S
    print(f"median {statistics.median(ratios):.2f}x; a client that costs nothing takes {ideal:.2f} s")
    best_of(url)
    server.kill()


if __name__ == "__main__":
    main()
