"""Verifiers that go wrong, each on completions that say so; they are scored like `exact` otherwise."""

import os
import signal
import time
from pathlib import Path

from verikit import Sample, Score, verifier
from verikit.base import Verifier


def right(sample: Sample) -> float:
    return float(sample.completion == sample.answer)


def raises(sample: Sample) -> float:
    if sample.completion == "bad":
        raise ValueError("no such thing")
    return right(sample)


def late(sample: Sample) -> float:
    if sample.completion == "bad":
        time.sleep(3)
    return right(sample)


def nan(sample: Sample) -> float:
    return float("nan") if sample.completion == "bad" else right(sample)


def huge(sample: Sample) -> float:
    return 1e200 if sample.completion == "bad" else right(sample)


def segfault(sample: Sample) -> float:
    if sample.completion == "bad":
        os.kill(os.getpid(), signal.SIGSEGV)
    return right(sample)


def leave(sample: Sample) -> float:
    if sample.completion == "bad":
        os._exit(0)
    return right(sample)


def noisy(sample: Sample) -> float:
    print("I print")
    return right(sample)


def long_reason(sample: Sample) -> Score:
    return Score.error("x" * 10**6)


def surrogate(sample: Sample) -> Score:
    if sample.completion == "bad":
        return Score.error("half of a pair: \ud800")
    return Score(1.0, answer="\udc00" + sample.completion)


def terminal(sample: Sample) -> Score:
    return Score.error("\x1b[2J\x1b[31mcleared\r")


def flaky(sample: Sample) -> Score:
    """An error while the file `down` is there."""
    if Path("down").exists() and sample.completion == "bad":
        return Score.error("the judge is down")
    return Score(right(sample), answer=sample.completion)


def slow(sample: Sample) -> float:
    with open("pids", "a") as stream:
        stream.write(f"{os.getpid()}\n")
    time.sleep(0.008)
    return right(sample)


def hangs(sample: Sample) -> float:
    with open("pids", "a") as stream:
        stream.write(f"{os.getpid()}\n")
    while sample.completion == "bad":
        time.sleep(60)
    return right(sample)


class Numpyish:
    """A number of another library."""

    def __float__(self) -> float:
        return 0.25


class Foreign(Verifier):
    name = "foreign"

    def score_batch(self, samples):
        return [Score(right(s), answer=7, usage={"cost": Numpyish()}) for s in samples]  # type: ignore[arg-type]


class OnlyHere(Verifier):
    """Can be made in one process only."""

    name = "only_here"

    def __init__(self) -> None:
        if Path("made").exists():
            os._exit(3)
        Path("made").touch()

    def score_batch(self, samples):
        return [Score(0.0) for _ in samples]


named = verifier(name="named")(right)
