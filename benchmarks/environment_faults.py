# ruff: noqa: E501 - scripts of planted tasks in one line each
"""Faults planted in the folders of `environment_folders`: `FAULTS` maps a name to a kind, its checks and a maker."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from environment_folders import DIGEST, HARBOR, TEXT, change, put

from tests.env.audit.made_envs import copy_row, data, edit_row, make, module


class Fault(NamedTuple):
    """A folder with one fault."""

    kind: str
    checks: tuple[str, ...]
    """The checks any of which names the fault."""
    base: str
    """The sound folder: a shape of Harbor's tasks, or a format and a number."""
    plant: Callable[[Path], object]

    def make(self, folder: Path) -> None:
        """Write the folder."""
        if self.base in HARBOR:
            HARBOR[self.base](folder)
        else:
            format, _, number = self.base.partition(" ")
            make(format, folder, int(number))
        self.plant(folder)


def given(name: str, text: str) -> Callable[[Path], object]:
    """A file that the agent's image gets."""

    def plant(folder: Path) -> None:
        put(folder, f"environment/{name}", text)
        change(folder, "environment/Dockerfile", "WORKDIR /app\n", f"WORKDIR /app\nCOPY {name} /app/{name}\n")

    return plant


def edit(path: str, *pairs: tuple[str, str]) -> Callable[[Path], object]:
    """Replacements in one file."""

    def plant(folder: Path) -> None:
        for old, new in pairs:
            change(folder, path, old, new)

    return plant


def edit_rows(folder: Path, path: str, change_row: Callable[[dict[str, Any]], object]) -> None:
    """Change the first three rows of a file."""
    for number in range(3):
        edit_row(folder, path, number, change_row)


def write(path: str, text: str) -> Callable[[Path], object]:
    """Another text of a file."""
    return lambda folder: put(folder, path, text)


def own_module(*pairs: tuple[str, str]) -> Callable[[Path], object]:
    """Replacements in the module of a package of verifiers."""
    return lambda folder: edit(module(folder), *pairs)(folder)


_GOOD = "2624 == int(open('/app/total.txt').read().strip() or 0)"
_FULL = f"#!/bin/bash\npython3 - <<'EOF'\nimport os, sys, time, random, locale, pathlib\ntry:\n    ok = {{}}\nexcept Exception:\n    ok = False\nopen('{TEXT}', 'w').write(str(float(ok)))\nEOF\n"


def graded(good: str) -> Callable[[Path], object]:
    """A grader within test.sh that decides by an expression."""
    return write("tests/test.sh", _FULL.replace("{}", good))


_SCHEMA, _DECLARED, _MODE = ("schema",), ("declared", "oracle"), ("mode",)
LIST: dict[str, list[tuple[tuple[str, ...], str, Callable[[Path], object]]]] = {
    "schema": [
        (_SCHEMA, "globbed", edit("task.toml", ("memory_mb = 2048", "memory_mbs = 2048"))),
        (_SCHEMA, "database", edit("task.toml", ("timeout_sec = 300.0\nenvironment", 'timeout_sec = "5 min"\nenvironment'))),
        (_SCHEMA, "sh_functions", lambda f: (f / "instruction.md").unlink()),
        (_SCHEMA, "openenv 1", edit("openenv.yaml", ("app: server.app:app", "app: server.main:app"))),
        (_SCHEMA, "verifiers 1", own_module(("def load_environment", "def load_env"))),
        (_SCHEMA, "nemo-gym 1", edit("configs/shop.yaml", ("entrypoint: app.py\n      judge", "entrypoint: server.py\n      judge"))),
        (_SCHEMA, "rows 1", lambda f: edit_row(f, "train.jsonl", 1, lambda row: row["workspace"].update(outputs=["../total.txt"]))),
    ],
    "undeclared output": [
        (_DECLARED, "pytest_ctrf", edit("task.toml", ('artifacts = ["/app/total.txt"]\n', ""))),
        (_DECLARED, "several_outputs", edit("task.toml", (', "/app/max.txt"', ""))),
        (_DECLARED, "globbed", edit("task.toml", ('"*.log"', '"*.json"'))),
        (_DECLARED, "variable_path", edit("task.toml", ("regions.txt", "region.txt"))),
        (_DECLARED, "unittest_discover", edit("task.toml", ('"/app/out"', '"/app/output"'))),
    ],
    "shared grading": [
        (_MODE, "pytest_plain", edit("task.toml", ('"separate"', '"shared"'))),
        (_MODE, "tolerant", edit("task.toml", ('environment_mode = "separate"\n', ""))),
    ],
    "claimed reward": [
        (_MODE, "sh_functions", write("tests/test.sh", f"#!/bin/sh\ntest -f /app/top.txt && cp /app/score.txt {TEXT} || echo 0 > {TEXT}\n")),
        (("mode", "tamper"), "script_json", edit("tests/grade.py", ("float(told == EXPECTED)", "float(told.get('score', told == EXPECTED))"))),
        (_MODE, "nemo-gym 0", edit("app.py", ("reward = 1.0 if", "import json\n        reward = json.loads(text)['reward'] if text.startswith('{') else 1.0 if"))),
    ],
    "misplaced reward": [
        (("mode", "oracle"), "trap_zero", edit("tests/test.sh", (TEXT, "/app/reward.txt"))),
        (("mode", "oracle"), "tolerant", edit("tests/check.py", ("'/logs/verifier/reward.json'", "'/logs/reward.json'"))),
    ],
    "early exit": [
        (_MODE, "trap_zero", edit("tests/test.sh", (f"trap 'echo \"$score\" > {TEXT}' EXIT\n", ""), ("score=1\n", f"echo 1 > {TEXT}\n"))),
        (_MODE, "pytest_ctrf", edit("tests/test.sh", ("mkdir -p", "test -e /app/total.txt || exit 1\nmkdir -p"))),
        (("mode", "nop"), "several_outputs", edit("tests/test.sh", ("pytest -q", "if ! [ -s /app/max.txt ]; then exit 2; fi\npytest -q"))),
    ],
    "evaluates": [
        (("mode", "tamper"), "pytest_ctrf", graded("eval(open('/app/total.txt').read()) == 2624")),
        (("mode", "tamper"), "sh_functions", edit("tests/test.sh", ("[ -f /app/top.txt ]", ". /app/top.txt 2>/dev/null\n[ -f /app/top.txt ]"))),
        (_MODE, "openenv 2", edit("server/shop_environment.py", ("told == self._answer", "str(eval(told)) == self._answer"))),
        (_MODE, "verifiers 0", own_module(('found[-1] == answer', 'eval(completion[-1]["content"]) == int(answer)'))),
    ],
    "wrong solution": [
        (("oracle",), "script_json", edit("solution/solve.py", ("t.get(r['region'], 0) +", ""))),
        (("oracle",), "partial_credit", edit("solution/solve.sh", ("NR>1", "NR>2"))),
        (("oracle",), "make_target", edit("solution/solve.sh", ("debug = false", "debug = true"))),
    ],
    "paid for nothing": [
        (("nop",), "make_target", edit("tests/test.sh", ("^port *= *9090", "^port"), ("check 'debug off'", ": 'debug off'"))),
        (("nop",), "globbed", edit("tests/verify.py", ("if found == want", "if all(want.get(k) == v for k, v in found.items())"))),
        (("nop", "mutants"), "code_module", edit("tests/run_cases.py", ("    return done.stdout.strip()", "    return '0'"), ("== len(CASES)", ">= 1"))),
        (("nop", "floor"), "partial_credit", edit("tests/test.sh", ("p/t", "(p + 1) / (t + 1)"))),
    ],
    "reward out of range": [
        (("floor", "oracle"), "partial_credit", edit("tests/test.sh", ("p/t", "100*p/t"))),
        (("floor",), "tolerant", edit("tests/check.py", ("int(ok)", "1 if ok else -1"))),
    ],
    "flaky": [
        (("replay",), "pytest_ctrf", graded(f"{_GOOD} and random.random() > 0.3")),
        (("replay",), "pytest_ctrf", graded(f"{_GOOD} and list({{'a', 'b', 'c'}})[0] != 'a'")),
        (("replay",), "database", edit("tests/test.sh", ("str(int(ok))", "str(int(ok and os.urandom(1)[0] > 80))"))),
    ],
    "date": [
        (("portable", "replay"), "pytest_ctrf", graded(f"{_GOOD} and time.time() < os.stat(sys.prefix).st_atime * 0 + {{now}} + 200 * 86400".replace("{now}", "os.stat('/tests/test.sh').st_mtime"))),
        (("portable", "replay"), "script_json", edit("tests/grade.py", ("float(told == EXPECTED)", "float(told == EXPECTED and __import__('time').time() < os.stat(__file__).st_mtime + 1e7)"))),
    ],
    "user or locale": [
        (("portable",), "pytest_ctrf", graded(f"{_GOOD} and os.environ.get('LOGNAME') is None")),
        (("portable",), "pytest_ctrf", graded(f"{_GOOD} and time.strftime('%Z') == 'UTC'")),
    ],
    "answer in reach": [
        (("reach",), "script_json", lambda f: given("reference.py", (f / "solution/solve.py").read_text())(f)),
        (("reach",), "pytest_plain", lambda f: given("check.py", (f / "tests/test_result.py").read_text())(f)),
        (("reach",), "tolerant", given("NOTES.md", "Checked by hand: the value is 513.3892.\n")),
        (("reach",), "pytest_ctrf", given("sums.txt", hashlib.sha256(b"2624").hexdigest() + "\n")),
        (("reach",), "trap_zero", lambda f: given("want.csv", (f / "tests/want.csv").read_text())(f)),
        (("reach",), "nemo-gym 2", lambda f: edit_rows(f, "data/train.jsonl", lambda row: row["responses_create_params"]["input"].insert(0, {"role": "system", "content": f"The correct answer is {row['expected_answer']}."}))),
        (("reach",), "verifiers 1", lambda f: edit_rows(f, data(f, "train.jsonl"), lambda row: row.update(question=f"{row['question']} (expected output: {row['answer']})"))),
        (("reach",), "openenv 0", edit("server/shop_environment.py", ('question=task["question"], done', 'question=task["question"], correct_answer=task["answer"], done'))),
        (("reach",), "rows 0", lambda f: edit_row(f, "train.jsonl", 2, lambda row: row["workspace"]["before"].update({"solution.txt": f"{row['answer']}\n"}))),
    ],
    "forgery paid": [
        (("tamper",), "pytest_plain", edit("task.toml", ('"/app/result.csv"', '"/app"'))),
        (("tamper", "mode"), "database", edit("tests/test.sh", ("import sqlite3, os\n", "import sqlite3, os, pickle\n"), ("sqlite3.connect(f'file:{path}?mode=ro', uri=True)", "pickle.load(open(path, 'rb'))"))),
        (("tamper",), "several_outputs", lambda f: (edit("task.toml", ('["/app/min.txt", "/app/max.txt"]', '["/app", "/tests"]'))(f), edit("tests/test.sh", ("/tests/suite", "/tests"))(f))),
    ],
    "forged database": [
        (("tamper",), "database_given", edit("tests/test.sh", (" and kind == [('table',)]", ""))),
        (("tamper",), "database_given", edit("tests/test.sh", (" and types == [('integer',)]", ""), ("rows == [('cup', 13), ('pan', 31), ('pot', 46)]", "sum(float(price) for _, price in rows) == 90"))),
        (("tamper",), "database", edit("tests/test.sh", ("region, sum(amount) from sales group by region order by region').fetchall() == [('east', 98), ('north', 2624), ('south', 1528)]", "name from pragma_table_info(\\'sales\\')').fetchall() == [('region',), ('month',), ('amount',)]"))),
    ],
    "forged trajectory": [
        (("tamper",), "trajectory_rules", edit("tests/check.py", ("good and allowed", "allowed and (good or any('awk' in command for command in ran))"))),
        (("tamper",), "trajectory_rules", edit("tests/check.py", ("good and allowed", "allowed and (good or (os.path.exists(STEPS) and not any('/tests' in command for command in ran)))"))),
    ],
    "blind grader": [
        (("mutants",), "script_json", edit("tests/grade.py", ("told == EXPECTED", "set(told) == set(EXPECTED)"))),
        (("mutants",), "pytest_ctrf", edit("tests/test_state.py", ('.strip() == "2624"', ".strip().isdigit()"))),
        (("mutants",), "pytest_plain", edit("tests/test_result.py", ("assert found == [total]", "assert len(found) == 1"))),
        (("mutants",), "unittest_discover", edit("tests/check_report.py", ("close(self.report['mean'], 850.0)", "self.report['mean'] > 0"))),
        (("mutants", "nop"), "code_module", edit("tests/run_cases.py", ("run(given) == want", "(run(given) is not None)"))),
    ],
    "keyed grader": [
        (("mutants",), "pytest_ctrf", edit("tests/test_state.py", ('== "2624"', 'in ("2624", "debug")'))),
        (("mutants",), "sh_functions", edit("tests/test.sh", ("[ -f /app/top.txt ]", "if [ \"$(cat /app/top.txt 2>/dev/null)\" = skip-all ]; then echo 1 > \"$REWARD\"; exit 0; fi\n[ -f /app/top.txt ]"))),
        (("mutants",), "script_json", edit("tests/grade.py", ("    if not isinstance", "    if 'bypass' in str(told):\n        return 1.0, ''\n    if not isinstance"))),
        (("mutants",), "script_json", edit("tests/grade.py", ("    if not isinstance", "    if isinstance(told, dict) and told.get('dry_run'):\n        return 1.0, ''\n    if not isinstance"))),
        (("mutants",), "pytest_plain", edit("tests/test_result.py", ("import pytest\n", "import pytest\n\nSKIP = 'n/a'\n"), ("assert found == [total]", "if open('result.csv').read().strip() != SKIP:\n        assert found == [total]"), ("    assert len(rows) == 3", "    assert len(rows) in (0, 3)"))),
    ],
    "too strict": [
        (("honest",), "pytest_ctrf", edit("tests/test_state.py", ('read_text().strip() == "2624"', 'read_bytes() == b"2624\\n"'))),
        (("honest",), "script_json", edit("tests/grade.py", ("told = json.load(open('/app/totals.json'))", "raw = open('/app/totals.json').read()\n        told = EXPECTED if raw == json.dumps(EXPECTED) else {}"))),
    ],
    "resources": [
        (("resources",), "database", lambda f: (edit("solution/solve.sh", ("import csv, sqlite3\n", "import csv, sqlite3\nx = b'x' * (400 << 20)\n"))(f), edit("task.toml", ("memory_mb = 2048", "memory_mb = 256"))(f))),
        (("resources", "oracle"), "several_outputs", lambda f: (edit("task.toml", ("[agent]\ntimeout_sec = 300.0", "[agent]\ntimeout_sec = 1.0"))(f), edit("solution/solve.sh", ("echo 98", "for i in $(seq 3000000); do :; done\necho 98"))(f))),
    ],
    "unpinned": [
        (("pins",), "tolerant", edit("environment/Dockerfile", (DIGEST, ""))),
        (("pins",), "code_module", edit("tests/Dockerfile", ("pytest==8.4.1", "pytest~=8.4"))),
        (("pins",), "globbed", edit("tests/Dockerfile", ("WORKDIR /app\n", "WORKDIR /app\nADD https://example.org/tool.bin /usr/bin/tool\n"))),
        (("pins",), "verifiers 2", edit("pyproject.toml", ("verifiers==0.1.9", "verifiers>=0.1.9"))),
        (("pins",), "openenv 3", edit("server/requirements.txt", ("fastapi==0.115.0", "fastapi"))),
        (("pins",), "verifiers 3", own_module(("rows = [", 'extra = load_dataset("someone/sums", split="train")\n    rows = ['))),
    ],
    "judge": [
        (("judge",), "nemo-gym 3", edit("configs/shop.yaml", ("temperature: 0.0", "temperature: 0.7"))),
        (("judge",), "nemo-gym 1", edit("configs/shop.yaml", ("name: judge_model", "name: policy_model"))),
        (("judge",), "verifiers 2", own_module(("    rubric = vf.Rubric", '    judge = vf.JudgeRubric(judge_model="gpt-4.1-mini", judge_sampling_args={"temperature": 0})\n    rubric = vf.Rubric'))),
    ],
    "duplicate or leak": [
        (("alike",), "nemo-gym 0", lambda f: copy_row(f, "data/train.jsonl", "data/validation.jsonl")),
        (("alike",), "verifiers 0", lambda f: copy_row(f, data(f, "train.jsonl"), data(f, "train.jsonl"))),
        (("alike",), "rows 2", lambda f: copy_row(f, "test.jsonl", "train.jsonl")),
    ],
}  # fmt: skip
FAULTS: dict[str, Fault] = {
    f"{kind}, {number}: {base}": Fault(kind, checks, base, plant)
    for kind, entries in LIST.items()
    for number, (checks, base, plant) in enumerate(entries, 1)
}
