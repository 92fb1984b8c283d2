"""Runs next to a repository under test: runs its commands and tests as processes, and records their results.

It never loads a line of the repository. Its final record is sealed with a key that only it has. Its standard input is
closed before anything else starts, there is no /proc, and no process may inspect another. So forged records of the
repository's processes are rejected. Test files are compared with their original state, by metadata that their owner
can't reset.
"""

import hashlib
import hmac
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

KEPT = os.path.dirname(os.path.abspath(__file__))
TREE = f"{KEPT}/tree"
MOST_OUTPUT = 4 << 20


def main() -> None:
    """Do the job on standard input; the process ends here."""
    key, _, text = sys.stdin.buffer.read().partition(b"\n")
    os.unlink(f"{KEPT}/.stdin")
    job = json.loads(text)
    begun, work = time.monotonic(), os.getcwd()
    job["env"] = {name: value.replace("{work}", work).replace("{kept}", KEPT) for name, value in job["env"].items()}
    said: dict[str, Any] = {"steps": [], "results": None, "spoiled": []}
    os.chdir(TREE)
    own = {name: read_bytes(f"{TREE}/{name}") for name in job["own"]}
    for command in job["before"]:
        step = shell(command, job, begun)
        said["steps"].append(step)
        if step["exit"]:
            break
    else:
        put_back(own, set(job["configures"]))
        hidden = job["tests"]["hidden"] if job["tests"] else []
        seals = {name: seal(f"{TREE}/{name}") for name in own if name not in hidden}
        if job["tests"]:
            said["results"] = python_tests(job, begun)
        for command in job["commands"]:
            said["steps"].append(shell(command, job, begun))
        end_others()
        said["spoiled"] = [name for name, before in seals.items() if seal(f"{TREE}/{name}") != before]
        said["reports"] = [read(f"{TREE}/{name}") for name in job["reports"]]
    end_others()
    line = json.dumps(said).encode()
    os.ftruncate(1, 0)
    os.write(1, b"\n")
    data = hmac.new(key, line, hashlib.sha256).hexdigest().encode() + b" " + line + b"\n"
    while data:
        data = data[os.write(1, data) :]


def put_back(own: dict[str, bytes], configures: set[str]) -> None:
    """Write the row's files again, and remove added files that would configure the tests."""
    for folder, _, names in os.walk(TREE):
        for name in configures.intersection(names):
            if os.path.relpath(f"{folder}/{name}", TREE) not in own:
                with suppress(OSError):
                    os.unlink(f"{folder}/{name}")
    for name, held in own.items():
        path = f"{TREE}/{name}"
        with suppress(OSError):
            if not os.path.islink(path) and read_bytes(path) == held:
                continue
            if os.path.lexists(path):
                os.unlink(path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb") as file:
                file.write(held)


def seal(path: str) -> list[int]:
    """What changes when a file is written or replaced."""
    try:
        state = os.lstat(path)
    except OSError:
        return []
    return [state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns, state.st_ctime_ns]


def read_bytes(path: str) -> bytes:
    """The start of a file."""
    with open(path, "rb") as file:
        return file.read(64 << 20)


def read(path: str) -> str:
    """A report that a command wrote; empty if it doesn't exist."""
    try:
        return read_bytes(path)[:MOST_OUTPUT].decode("utf-8", "replace")
    except OSError:
        return ""


def end_others() -> None:
    """Kill all processes that the repository left running."""
    with suppress(OSError):
        os.kill(-1, signal.SIGKILL)


def left(job: dict[str, Any], begun: float) -> float:
    """Seconds that remain."""
    return max(0.05, float(job["wall"]) - (time.monotonic() - begun))


def shell(command: str, job: dict[str, Any], begun: float) -> dict[str, Any]:
    """Run one command of the row. Returns how it ended and the end of its output."""
    code, out = process(["/bin/bash", "-c", command], job["env"], left(job, begun), b"", ())
    return {"exit": code, "output": out.decode("utf-8", "replace")}


def process(
    argv: Sequence[str], env: dict[str, str], wall: float, given: bytes, passed: Sequence[int]
) -> tuple[int, bytes]:
    """Run a process to its end. Returns its exit code (124: late, 125: too much output) and its output."""
    with open(f"{KEPT}/written", "w+b") as written:
        os.unlink(f"{KEPT}/written")
        child = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=written, stderr=written, pass_fds=passed)
        assert child.stdin is not None
        with suppress(OSError):
            child.stdin.write(given)
        with suppress(OSError):
            child.stdin.close()
        deadline, code = time.monotonic() + wall, 124
        while time.monotonic() < deadline:
            with suppress(subprocess.TimeoutExpired):
                code = child.wait(0.02 if time.monotonic() - deadline + wall < 1 else 0.1)
                break
            if os.fstat(written.fileno()).st_size > MOST_OUTPUT:
                code = 125
                break
        end_others()
        child.wait()
        return code, os.pread(written.fileno(), MOST_OUTPUT, 0)


def python_tests(job: dict[str, Any], begun: float) -> dict[str, Any]:
    """Run Python tests in a separate process. Returns its report on each, and how it ended."""
    nonce = os.urandom(16).hex()
    with open(f"{KEPT}/said", "xb"), open(f"{KEPT}/said", "rb") as heard:
        record = os.open(f"{KEPT}/said", os.O_WRONLY | os.O_APPEND)  # not readable: it contains the nonce
        os.unlink(f"{KEPT}/said")
        asked = {"record": record, "nonce": nonce, "tree": TREE, **job["tests"]}
        argv = [sys.executable, "-s", "-P", f"{KEPT}/witness.py"]
        code, out = process(argv, job["env"], left(job, begun), json.dumps(asked).encode(), [record])
        os.close(record)
        lines = heard.read(MOST_OUTPUT).decode("utf-8", "replace").split("\n")
    said = [line.partition(" ")[2] for line in lines if line.startswith(nonce + " ")]
    return {"exit": code, "output": out[-20_000:].decode("utf-8", "replace"), "said": said}


if __name__ == "__main__":
    main()
