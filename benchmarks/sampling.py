"""What `verikit sample` costs beside the bare engine: the same 2,000 requests, to a file that a run can go on with.

python -m benchmarks.sampling      both in turns against one local server, 50 ms a reply, 64 in flight, no faults
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path

import benchmarks.engines as engines
from verikit.engines import load_engine
from verikit.sampling import SamplingSettings
from verikit.sampling.run import SampleFile, SamplingRun
from verikit.types import Group

PROMPTS, N, TURNS = 250, 8, 3


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
    server.kill()


if __name__ == "__main__":
    sys.exit(main())
