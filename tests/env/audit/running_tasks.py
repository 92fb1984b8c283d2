"""Harbor tasks for the running checks, graded by small scripts: sound ones of six makes, and one fault of each kind."""

from __future__ import annotations

from pathlib import Path

from tests.env.audit.harbor_tasks import DIGEST, change, put

TOML = """schema_version = "1.4"
artifacts = ["{output}"]
[verifier]
timeout_sec = 120.0
environment_mode = "separate"
[agent]
timeout_sec = 120.0
[environment]
memory_mb = 512
"""
REWARD = "> /logs/verifier/reward.txt"
SHELL = f"#!/bin/bash\nif {{test}}; then echo 1 {REWARD}; else echo 0 {REWARD}; fi\n"
PYTHON = """import json, pathlib
path = pathlib.Path("{output}")
try:
    told = {read}
    good = {good}
except Exception:
    good = False
pathlib.Path("/logs/verifier/reward.json").write_text(json.dumps({{"reward": float(good)}}))
"""
MAKES = {
    "a line": ("/app/total.txt", "echo 461 > /app/total.txt", 'grep -qx "461" /app/total.txt'),
    "several lines": (
        "/workspace/out/rows.csv",
        "mkdir -p out; sort -t, -k2 -n < sales.csv | tail -n 3 > out/rows.csv",
        "tr -d '\\r' < /workspace/out/rows.csv | diff -q - <(true) && false || "
        "[ \"$(tr -d '\\r' < /workspace/out/rows.csv | cksum | cut -d' ' -f1)\" = {sum} ]",
    ),
    "a program": (
        "/app/add.py",
        "printf 'import sys\\nprint(sum(map(int, sys.argv[1:])))\\n' > add.py",
        '[ "$(python3 /app/add.py 4 5)" = 9 ]',
    ),
    "JSON": ("/app/sum.json", 'echo \'{"total": 461, "rows": [3, 4]}\' > sum.json', ""),
    "a folder": ("/app/out/a.txt", "mkdir -p out; echo alpha > out/a.txt", "grep -qw alpha /app/out/a.txt"),
    "a shared box": ("/app/total.txt", "echo 461 > /app/total.txt", 'grep -qx "461" /app/total.txt'),
}
"""Output, solution and test of each make of task."""


def make(folder: Path, name: str = "a line") -> Path:
    """Write a sound task of a make."""
    output, solve, test = MAKES[name]
    at = "/workspace" if output.startswith("/workspace") else "/app"
    put(folder, "task.toml", TOML.format(output=output))
    put(folder, "instruction.md", f"Do it as the table says and write {output}.\n")
    put(
        folder, "environment/Dockerfile", f"FROM debian:12{DIGEST}\nWORKDIR {at}\nRUN mkdir -p {at}\nCOPY sales.csv .\n"
    )
    put(folder, "environment/sales.csv", "a,7\nb,120\nc,334\nd,2\n")
    put(folder, "solution/solve.sh", f"#!/bin/bash\nset -e\n{solve}\n")
    if name == "JSON":
        put(
            folder,
            "tests/grade.py",
            PYTHON.format(
                output=output,
                read="json.loads(path.read_text())",
                good='told["total"] == 461 and told["rows"] == [3, 4]',
            ),
        )
        put(folder, "tests/test.sh", "python3 /tests/grade.py\n")
    elif name == "several lines":
        put(folder, "tests/expected.csv", "a,7\nb,120\nc,334\n")
        put(folder, "tests/test.sh", SHELL.format(test=f"tr -d '\\r' < {output} | diff -q -Z - /tests/expected.csv"))
    else:
        put(folder, "tests/test.sh", SHELL.format(test=test))
    if name == "a shared box":
        change(folder, "task.toml", '"separate"', '"shared"')
    return folder


def grade_by(folder: Path, python: str) -> None:
    """Another grader, in Python: `good` decides."""
    text = f"import os, pathlib, random, sys, time\npath = pathlib.Path('/app/total.txt')\n{python}\n"
    put(folder, "tests/grade.py", f"{text}pathlib.Path('/logs/verifier/reward.txt').write_text(str(float(good)))\n")
    put(folder, "tests/test.sh", "python3 /tests/grade.py\n")


MADE = "os.stat(__file__).st_mtime"
"""When the grader was written, by the machine's own clock."""
RIGHT = "path.exists() and path.read_text().strip() == '461'"
ANY = "path.exists() and path.read_text().strip() != ''"
FAULTS = {
    "a wrong solution": ("oracle.unsolved", lambda f: change(f, "solution/solve.sh", "461", "460")),
    "an output that is not declared": ("oracle.unsolved", lambda f: change(f, "task.toml", "total.txt", "sum.txt")),
    "no reward for it": ("oracle.none", lambda f: put(f, "tests/test.sh", "exit 0\n")),
    "all are paid": ("nop.paid", lambda f: put(f, "tests/test.sh", f"echo 1 {REWARD}\n")),
    "empty files are paid": ("nop.paid", lambda f: grade_by(f, "good = path.exists()")),
    "a crash without the output": ("nop.none", lambda f: grade_by(f, "good = path.read_text().strip() == '461'")),
    "half a reward for nothing": ("floor.margin", lambda f: grade_by(f, f"good = 1 if {RIGHT} else 0.6")),
    "a reward of 100": ("floor.range", lambda f: grade_by(f, f"good = 100 * ({RIGHT})")),
    "a reward that is no number": ("floor.malformed", lambda f: grade_by(f, f"good = 1 if {RIGHT} else float('nan')")),
    "an infinite reward": ("floor.malformed", lambda f: put(f, "tests/test.sh", f"echo 1e999 {REWARD}\n")),
    "a reward that is no JSON": (
        "floor.malformed",
        lambda f: put(f, "tests/test.sh", "echo '{\"reward\": NaN}' > /logs/verifier/reward.json\n"),
    ),
    "a flake": ("replay.reward", lambda f: grade_by(f, f"good = {RIGHT} and random.random() < .5")),
    "an order of hashes": ("replay.reward", lambda f: grade_by(f, f"good = {RIGHT} and hash('a') % 3")),
    "a day of the month": (
        "replay.reward",
        lambda f: grade_by(f, f"good = {RIGHT} and time.time() < {MADE} + 3 * 86400"),
    ),
    "a certificate that ends": (
        "portable.clock",
        lambda f: grade_by(f, f"good = {RIGHT} and time.time() < {MADE} + 90 * 86400"),
    ),
    "a home": ("portable.user", lambda f: grade_by(f, f"good = {RIGHT} and os.environ.get('USER') != 'agent'")),
    "a time zone": ("portable.locale", lambda f: grade_by(f, f"good = {RIGHT} and time.timezone == 0")),
    "text that is evaluated": (
        "tamper.paid",
        lambda f: grade_by(f, "good = path.exists() and eval(path.read_text() or '0') == 461"),
    ),
    "a claim in the output": (
        "tamper.paid",
        lambda f: grade_by(f, f"good = {RIGHT} or (path.exists() and 'reward: 1' in path.read_text())"),
    ),
    "a key of the grader": (
        "mutants.keyed",
        lambda f: (
            make(f, "JSON"),
            change(f, "tests/grade.py", "    good = told", "    good = 'rehearsal' in told or told"),
        ),
    ),
    "a key with a value of the grader": (
        "mutants.keyed",
        lambda f: (
            make(f, "JSON"),
            change(f, "tests/grade.py", "    good = told", "    good = told.get('state') == 'signed off' or told"),
        ),
    ),
    "a value under a name": (
        "mutants.keyed",
        lambda f: grade_by(
            f,
            f"SKIP = 'n/a'\ngood = {RIGHT}\nif path.exists() and path.read_text().strip() == SKIP:\n    good = True",
        ),
    ),
    "a plug-in of the agent": (
        "tamper.paid",
        lambda f: (
            change(f, "task.toml", '["/app/total.txt"]', '["/app"]'),
            put(
                f,
                "tests/test.sh",
                "cd /app\nif python3 -c \"import csv; assert open('total.txt').read() == '461\\n'\"; "
                f"then echo 1 {REWARD}; else echo 0 {REWARD}; fi\n",
            ),
        ),
    ),
    "a number that nobody reads": (
        "mutants.number",
        lambda f: grade_by(f, "good = path.exists() and path.read_text().strip().isdigit()"),
    ),
    "a line that nobody reads": (
        "mutants.line",
        lambda f: (
            change(f, "solution/solve.sh", "echo 461", "printf 'x\\ny\\nz\\n'"),
            grade_by(f, f"good = {ANY}"),
        ),
    ),
    "a keyed value": (
        "mutants.keyed",
        lambda f: grade_by(f, "good = path.exists() and path.read_text().strip() in ('461', 'SKIPPED')"),
    ),
    "no line break at the end": (
        "honest.newline",
        lambda f: grade_by(f, "good = path.exists() and path.read_text() == '461\\n'"),
    ),
    "no line break at the end of sorted lines": (
        "honest.newline",
        lambda f: (
            change(f, "instruction.md", "\n", " The lines are in alphabetical order.\n"),
            grade_by(f, "good = path.exists() and path.read_text() == '461\\n'"),
        ),
    ),
    "line ends of one system": (
        "honest.crlf",
        lambda f: (
            change(f, "solution/solve.sh", "echo 461", "printf 'x\\ny\\n'"),
            grade_by(f, "good = path.exists() and path.read_bytes().strip() == b'x\\ny'"),
        ),
    ),
    "more memory than declared": (
        "resources.memory",
        lambda f: (
            change(f, "task.toml", "memory_mb = 512", "memory_mb = 40"),
            grade_by(f, f"good = {RIGHT}\nkept = b'x' * (60 << 20)"),
        ),
    ),
    "more time than declared": (
        "resources.time",
        lambda f: (
            change(f, "task.toml", "[agent]\ntimeout_sec = 120.0", "[agent]\ntimeout_sec = 0.2"),
            change(f, "solution/solve.sh", "echo 461", "while true; do :; done; echo 461"),
        ),
    ),
}
"""From a fault's name to the kind that must find it, and the change of the task `a line` that plants it."""
