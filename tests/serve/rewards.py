"""Verifiers that misbehave, for the server's tests."""

import os
import signal
import time

from verikit import Score, verifier


@verifier
def moody(sample):
    """1.0 for the gold; hangs, dies, waits or fails when told to."""
    match sample.completion.partition(" ")[0]:
        case "hang":
            time.sleep(600)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
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
