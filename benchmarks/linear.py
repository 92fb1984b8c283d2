"""Does any rule take more than linear time on a repeated text? Processor time at two lengths, the best of three runs.

    python -m benchmarks.linear [CHARACTERS]

It prints every rule and text whose time grows more than twice as fast as its length, and the slowest of each rule. The
standing search that counts calls, in the tests, does not see what a pattern does within one call; this does.
"""

from __future__ import annotations

import sys
import time

from tests.contracts.test_linear_work import FACTOR, RULES, sample, units
from verikit.names.spec import load

LEAST_S = 0.05
"""Less is noise."""


def seconds(rule: str, text: str, tries: int) -> float:
    """Processor time of one score, the least of so many tries."""
    verifier, best = load(rule), float("inf")
    for _ in range(tries):
        begun = time.thread_time()
        verifier.score([sample(rule, text)])
        best = min(best, time.thread_time() - begun)
    return best


def main(characters: int) -> None:
    """Print what grows too fast, and the slowest text of each rule."""
    for rule in RULES:
        slowest, of = 0.0, ""
        for unit in units():
            small, large = ((unit * (size // len(unit) + 1))[:size] for size in (characters // FACTOR, characters))
            took = seconds(rule, large, 1)
            if took > LEAST_S and took > 2 * FACTOR * seconds(rule, small, 3):
                took, before = seconds(rule, large, 2), seconds(rule, small, 3)
                if took > 2 * FACTOR * before:
                    print(f"{rule}: {unit!r}: {took:.2f} s, {took / before:.1f} times that of a quarter", flush=True)
            if took > slowest:
                slowest, of = took, unit
        print(f"{rule}: slowest {slowest:.3f} s at {characters:,} characters: {of!r}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
