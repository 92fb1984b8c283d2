"""How long `verikit --help` takes beside the smallest program that could print it: `import click, pydantic`.

Run: python benchmarks/startup.py [ROUNDS]. The two alternate, so that a busy machine slows both alike.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

BAR = 3.0
COMMANDS = {
    "verikit --help": [str(Path(sys.executable).with_name("verikit")), "--help"],
    "import verikit": [sys.executable, "-c", "import verikit"],
    "import click, pydantic": [sys.executable, "-c", "import click, pydantic"],
    "empty interpreter": [sys.executable, "-c", "pass"],
}


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(rounds + 2):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            if turn >= 2:  # the first rounds fill the caches
                seconds[name].append(time.perf_counter() - start)
    median = {name: statistics.median(taken) for name, taken in seconds.items()}
    for name, value in median.items():
        print(f"{name:<24} {1000 * value:7.1f} ms (fastest {1000 * min(seconds[name]):.1f})")
    ratio = median["verikit --help"] / median["import click, pydantic"]
    print(f"verikit --help / import click, pydantic = {ratio:.2f} (bar {BAR:g}), median of {rounds} rounds")
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
