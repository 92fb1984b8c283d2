"""CPU seconds and memory of a large workspace: `python benchmarks/workspace_size.py` scores 10,000 files of 500 MB.

A `files` check compares all of them with what the agent was given. Both sides are collected and hashed twice.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import verikit
from verikit.types import Sample
from verikit.workspaces import Workspace


def main() -> None:
    """Print the score, the CPU seconds and the peak memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--mb", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        size = (given.mb << 20) // given.files
        for number in range(given.files):
            Path(name, f"{number}.bin").write_bytes(os.urandom(64) + bytes(size - 64))
        began = time.process_time()
        sample = Sample("", "", workspace=Workspace(name, name))
        [score] = verikit.files(exist=["0.bin"], only=[]).score([sample])
        spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{score.value}: {spent:.1f} CPU seconds, at most {peak:.0f} MiB. {score.reason}")


if __name__ == "__main__":
    main()
