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
