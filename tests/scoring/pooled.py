"""A verifier for tests of the pool: slow, it notes the process that loads it, and one completion kills that process."""

import os
import time
from pathlib import Path

from verikit import Sample, Score, verifier

if "POOLED_LOADS" in os.environ:
    with open(os.environ["POOLED_LOADS"], "a") as stream:
        stream.write(f"{os.getpid()}\n")


@verifier
def slow(sample: Sample) -> Score:
    if sample.completion == "die" and Path("/proc/self/comm").read_text().startswith("ray::"):
        os._exit(7)
    if sample.completion == "hang":
        time.sleep(60)
    time.sleep(0.004)
    number = int(sample.completion)
    return Score.abstained("not this one") if number % 10 == 9 else Score(number % 7 / 7, reason=f"{number} of seven")
