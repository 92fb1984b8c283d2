"""GenPRM: all paths of a batch together against one solution after another, and how the sandbox's time is spent.

    python -m benchmarks.genprm [--engine hf|vllm] [--solutions 64] [--alone 8]

A tiny Llama is taught the protocol on the spot (some 30 CPU seconds), so its code is real and is really run. The batch
is timed between two halves of the solutions done alone, whose time is scaled to the batch's number (the bar is 4x); the
authors' loop does one path after another. `cpu` is this process's time; the sandbox's children are not in it.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Any

import torch

from tests.judges.genprm import tiny_reviewer as tiny
from verikit.engines import Engine, Generation, Request, load_engine
from verikit.judges.genprm import GenPRM, Solution
from verikit.sandbox import RunLimits, Session, default_sandbox

STEPS, PATHS, OVERLAP = 6, 8, 0.8
Interval = tuple[float, float]


class TimedEngine(Engine):
    """Notes when the engine is at work, and how many requests each call has."""

    name = "timed"

    def __init__(self, engine: Engine) -> None:
        self.engine, self.busy, self.calls = engine, list[Interval](), list[int]()

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """The engine's own."""
        return self.engine.generate(requests)

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """The engine's own, timed."""
        self.calls.append(len(requests))
        start = time.monotonic()
        yield from self.engine.stream(requests)
        self.busy.append((start, time.monotonic()))


class TimedSandbox:
    """Notes when code is run."""

    def __init__(self) -> None:
        self.box = default_sandbox()
        self.workers, self.busy = self.box.workers, list[Interval]()

    def session(self, limits: RunLimits | None = None, *, science: bool = True) -> Session:
        """The sandbox's own, timed."""
        return _TimedSession(self.box.session(limits, science=science), self.busy)  # type: ignore[return-value]


class _TimedSession:
    def __init__(self, session: Session, busy: list[Interval]) -> None:
        self._session, self._busy = session, busy

    def __enter__(self) -> Session:
        self._start = time.monotonic()
        return self._session.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._session.__exit__(*exception)
        self._busy.append((self._start, time.monotonic()))


def union(intervals: list[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def length(intervals: list[Interval]) -> float:
    return sum(end - start for start, end in union(intervals))


def shared(a: list[Interval], b: list[Interval]) -> float:
    return length(a) + length(b) - length(a + b)


def timed(prm: GenPRM, solutions: Sequence[Solution]) -> dict[str, Any]:
    wall, cpu = time.monotonic(), time.process_time()
    reviews = prm.review(solutions)
    found = {"wall": time.monotonic() - wall, "cpu": time.process_time() - cpu}
    steps = [step for review in reviews for path in review.paths for step in path.steps]
    return found | {"verified": sum(step.how == "verified" for step in steps), "steps": len(steps)}


def taught(kind: str) -> Engine:
    model = tiny.model(steps=STEPS, rows=4, updates=220)
    with TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tiny.tokenizer().save_pretrained(folder)
        if kind == "hf":
            return load_engine(f"hf:{folder}")
        # On a CPU, vLLM 0.32 dies of a seeded request whose prompt it runs in two chunks.
        options: dict[str, Any] = {
            "enable_chunked_prefill": False,
            "max_num_batched_tokens": 16384,
            "enforce_eager": True,
        }
        return load_engine(f"vllm:{folder}", dtype="float32", max_model_len=512, max_num_seqs=512, **options)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=("hf", "vllm"), default="hf")
    parser.add_argument("--solutions", type=int, default=64)
    parser.add_argument("--alone", type=int, default=8, help="How many are also done one after another.")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    engine, sandbox = TimedEngine(taught(asked.engine)), TimedSandbox()
    prm = GenPRM(engine, paths=PATHS, protocol=tiny.PROTOCOL, temperature=0.3, sandbox=sandbox)
    rng = random.Random(1)
    solutions = [tiny.solution(rng, STEPS) for _ in range(asked.solutions)]
    prm.review([tiny.solution(rng, 1)])

    alone = [timed(prm, [solution]) for solution in solutions[: asked.alone // 2]]
    engine.busy.clear(), engine.calls.clear(), sandbox.busy.clear()  # type: ignore[func-returns-value]
    batch = timed(prm, solutions)
    running, generating, calls = list(sandbox.busy), list(engine.busy), list(engine.calls)
    alone += [timed(prm, [solution]) for solution in solutions[asked.alone // 2 : asked.alone]]
    single = [timed(replace(prm, paths=1), [solution]) for solution in solutions[: asked.alone]]

    print(f"{asked.solutions} solutions x {STEPS} steps x {PATHS} paths; {batch['verified']} of {batch['steps']} step "
          f"reviews judged after code; {len(calls)} calls of the engine, {sum(calls)} requests")  # fmt: skip
    for clock in ("wall", "cpu"):
        print(f"{clock}: batch {batch[clock]:.1f} s")
        for what, runs, times in (("solution", alone, 1), ("path", single, PATHS)):
            scaled = sum(run[clock] for run in runs) * times * asked.solutions / len(runs)
            print(f"  one {what} after another {scaled:.1f} s ({len(runs)} measured): {scaled / batch[clock]:.2f}x")
    share, overlap = length(running) / batch["wall"], shared(running, generating) / length(running)
    print(f"sandbox: {len(running)} runs, {share:.0%} of the wall time; {overlap:.0%} of that while the engine "
          f"generates (bar {OVERLAP:.0%})")  # fmt: skip


if __name__ == "__main__":
    main()
