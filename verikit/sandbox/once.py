"""Run a single program in a fresh interpreter: the inside of the `process` and `bwrap` backends."""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import NoReturn

from verikit.sandbox import isolate, runner


def main() -> NoReturn:
    """Take the descriptors and limits named on the command line, restrict oneself, run."""
    record, commands, order = int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
    high = [os.dup(record), os.dup(commands)]
    for target, descriptor in zip((runner.RECORD, runner.COMMANDS), high, strict=True):
        os.dup2(descriptor, target)
    os.closerange(runner.COMMANDS + 1, 256)
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            base = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        base = 64 << 20
    for kind, pair in isolate.resource_limits(order, base, order["tasks"]):
        if kind not in order["skip"]:
            resource.setrlimit(kind, pair)
    sys.argv = [""]
    if order["filter"]:  # under bwrap, which has dropped the capabilities
        from verikit.sandbox import seccomp

        seccomp.install(seccomp.program(os.getpid()))
    runner.main(session=False)
