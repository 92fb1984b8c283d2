"""Verifiers that misbehave, for the server's tests."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from verikit import Score, verifier
from verikit.base import TextVerifier
from verikit.sandbox import RunLimits, RunResult
from verikit.sandbox.budget import Budget, row_seconds


@verifier
def moody(sample):
    """1.0 for the gold; hangs, dies, holds, waits or fails when told to."""
    match sample.completion.partition(" ")[0]:
        case "hang":
            time.sleep(600)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hold":  # until the file NAME.go is there; NAME.begun tells that it began
            name = sample.completion.partition(" ")[2]
            Path(f"{name}.begun").touch()
            while not Path(f"{name}.go").exists():
                time.sleep(0.01)
        case "wait":
            time.sleep(float(sample.completion.partition(" ")[2]))
        case "fail":
            return Score.error("the judge is away")
        case "shout":
            print(sample.completion)
    return float(sample.completion == sample.answer)


@verifier
def adds(sample):
    """1.0 for the sum that the last message asks for, in a box; fails for a completion that says so."""
    if "unscorable" in sample.completion:
        return Score.error("the judge is away")
    a, b = sample.prompt[-1]["content"].removesuffix("=").split("+")
    return Score(float(f"boxed{{{int(a) + int(b)}}}" in sample.completion), reason="added up – ✓")


@dataclass(frozen=True)
class Declared(TextVerifier):
    """1.0 for a program that ends within its row's seconds. A completion says how many it takes; none pass here."""

    name = "declared"

    def score_batch(self, samples):
        return [self._score(float(sample.completion)) for sample in samples]

    @property
    def slowest_s(self):
        return row_seconds(100.0, None)

    def _score(self, wanted):
        def run(limits):
            late = wanted > limits.wall_s
            return RunResult("timeout" if late else "ok", seconds=min(wanted, limits.wall_s))

        result = Budget(RunLimits(wall_s=600.0), row_seconds(100.0, None)).run(run)
        return Score(float(result.status == "ok"), reason=str(result.error or ""))


declared = Declared()
