"""Measure what the check of an appended test program costs: a right program beside a wrong one, which is not checked.

    python benchmarks/appended.py [c|cpp|java|rust|go|javascript|bash ...]

A wrong program is compiled and run once. A right one is compiled again, with something false in its tests, and run five
more times. Each round scores one of each, which nobody has compiled before; the figures are medians over the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time

from verikit.sandbox import default_sandbox
from verikit.types import Sample
from verikit.verifiers.code.verifier import Code

ROUNDS = 7
_MAIN = "int main() {{\n    assert(twice(3) == 6);\n    assert(twice(0) == 0);\n}}\n"
ROWS = {
    "c": ("#include <stdio.h>\nlong twice(long n) {\n", "return {} * n; // {}\n", "}\n" + _MAIN.format()),
    "cpp": ("#include <bits/stdc++.h>\nlong twice(long n) {\n", "return {} * n; // {}\n", "}\n" + _MAIN.format()),
    "java": (
        "import java.util.*;\nclass Problem {\n    public static long twice(long n) {\n", "return {} * n; // {}\n",
        "    }\n    public static void main(String[] args) {\n"
        "    assert(twice(3) == 6);\n    assert(twice(0) == 0);\n    }\n}\n",
    ),
    "rust": (
        "fn twice(n: isize) -> isize {\n", "{} * n // {}\n",
        "}\n\nfn main() {\n    assert_eq!(twice(3), 6);\n    assert_eq!(twice(0), 0);\n}\n",
    ),
    "go": (
        'import "testing"\n\nfunc twice(n int) int {\n', "return {} * n // {}\n}}\n",
        "func TestTwice(t *testing.T) {\n    assert := assert.New(t)\n"
        "    assert.Equal(6, twice(3))\n    assert.Equal(0, twice(0))\n}\n",
    ),
    "javascript": (
        "function twice(n){\n", "return {} * n // {}\n}}\n",
        "const assert = require('node:assert')\nassert.deepEqual(twice(3),6);\nassert.deepEqual(twice(0),0);\n",
    ),
    "bash": (
        "twice() {\n", "echo $(({} * $1)) # {}\n",
        '}\ncandidate() {\n    twice "$@"\n}\nset -e\n[[ $(candidate "3") = "6" ]]\n[[ $(candidate "0") = "0" ]]\n',
    ),
}  # fmt: skip
"""Of each language the prompt, the completion (a factor and a number of its own), and the tests."""


def seconds(language: str, factor: int, number: int) -> float:
    """What it takes to score one program."""
    prompt, completion, tests = ROWS[language]
    meta = {"language": language, "prompt": prompt, "tests": tests}
    sample = Sample(completion=completion.format(factor, number), meta=meta)
    begun = time.perf_counter()
    score = Code().score([sample])[0]
    took = time.perf_counter() - begun
    assert score.value == float(factor == 2), score
    return took


def main() -> None:
    """Measure some languages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("language", nargs="*", help=", ".join(ROWS))
    for language in parser.parse_args().language or ROWS:
        if problem := default_sandbox().programs.problem(language):
            print(f"{language}: {problem}")
            continue
        rounds = [(seconds(language, 3, number), seconds(language, 2, number)) for number in range(ROUNDS)]
        wrong, right = (statistics.median(column) for column in zip(*rounds, strict=True))
        ratio = statistics.median(right / wrong for wrong, right in rounds)
        print(f"{language}: right {right:.2f} s, wrong {wrong:.2f} s, {ratio:.1f}x", flush=True)


if __name__ == "__main__":
    main()
