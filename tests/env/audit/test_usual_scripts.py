"""Test scripts as people write them: Harbor's template with installers, plugins, `/dev/fd`, and outputs by pattern."""

import shutil

import pytest

from tests.env.audit.harbor_tasks import change, put
from tests.env.audit.running_tasks import REWARD, grade_by, make
from verikit.env.audit.running.grader_mutants import mutated_texts
from verikit.env.audit.running.programs import shell_needs
from verikit.env.audit.running.run import RunningChecks
from verikit.env.audit.task import AuditedTask

TEMPLATE = """#!/bin/bash
apt-get update
apt-get install -y curl
curl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh
source $HOME/.local/bin/env
uvx -p 3.13 --with pytest==8.4.1 --with pytest-json-ctrf==0.3.5 pytest --ctrf /logs/verifier/ctrf.json /tests -rA
python3 -c "
import json
told = json.load(open('/logs/verifier/ctrf.json'))['results']['summary']
print(float(told['passed'] / told['tests']))
" > /logs/verifier/reward.txt
"""
TWO = """from pathlib import Path


def test_exists():
    assert True


def test_sum():
    assert Path("/app/total.txt").read_text() == "461\\n"
"""


@pytest.fixture(scope="module")
def checks():
    with RunningChecks() as running:
        yield running


def looked(checks, folder, *names):
    return dict(checks.check(AuditedTask.open(str(folder), ()), names))


def test_harbor_s_template_runs_with_the_packages_of_this_machine(tmp_path, checks):
    put(make(tmp_path), "tests/test.sh", TEMPLATE)
    put(tmp_path, "tests/test_sum.py", TWO)
    found = looked(checks, tmp_path, "oracle", "nop")
    assert found["oracle"].status == "pass", found["oracle"]
    assert {one.what for one in found["nop"].findings} >= {"no files: the reward is 0.5"}


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        ("uvx --with nosuchpackage==1.0 pytest /tests", ["the Python package nosuchpackage"]),
        ("uv run --with pytest==8.4.1 pytest /tests", []),
        ("apt-get install -y nosuchprogram", ["the program nosuchprogram"]),
        ("curl https://example.org/data.csv", ["the network, for curl"]),
        ("uv pip install numpy", ["the network, for uv"]),
    ],
)
def test_installers_need_what_this_machine_lacks(line, needs):
    assert list(shell_needs(line)) == needs


@pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="no C compiler")
def test_process_substitution_works_without_proc(tmp_path, checks):
    lines = f"if diff <(sort /app/total.txt) <(echo 461); then echo 1 {REWARD}; else echo 0 {REWARD}; fi\n"
    put(make(tmp_path), "tests/test.sh", f"exec > >(cat)\n{lines}")
    assert {name: one.status for name, one in looked(checks, tmp_path, "oracle", "nop").items()} == {
        "oracle": "pass",
        "nop": "pass",
    }


def test_tests_that_cannot_work_here_decide_nothing(tmp_path, checks):
    grade_by(make(tmp_path), "good = False\nprint('/bin/sh: frobnicate: command not found')")
    found = looked(checks, tmp_path, "oracle", "nop", "floor")
    assert {name: (one.status, "frobnicate" in one.needs) for name, one in found.items()} == dict.fromkeys(
        ("oracle", "nop", "floor"), ("not_run", True)
    )


def test_a_further_file_that_matches_the_outputs_pattern_is_no_broken_reward(tmp_path, checks):
    make(tmp_path, "JSON")
    change(tmp_path, "task.toml", "/app/sum.json", "/app")
    change(tmp_path, "tests/grade.py", "import json", "import glob, json")
    change(tmp_path, "tests/grade.py", "    good = told", "    good = len(glob.glob('/app/*.json')) == 1 and told")
    found = looked(checks, tmp_path, "tamper")["tamper"]
    assert "broken" not in {one.kind for one in found.findings}, found


def test_memory_beyond_the_declared_is_found(tmp_path, checks):
    change(make(tmp_path), "task.toml", "memory_mb = 512", "memory_mb = 64")
    change(tmp_path, "solution/solve.sh", "echo 461", "python3 -c \"x = b'x' * (128 << 20)\"\necho 461")
    assert [one.kind for one in looked(checks, tmp_path, "resources")["resources"].findings] == ["memory"]


def test_each_branch_and_assert_of_a_grader_has_a_mutant():
    text = "NAME = 'é'\nif (a ==\n        NAME): pass\nassert b, 'no'; c = 1 if d else 2\n"
    found = list(mutated_texts(text))
    assert [(line, change, strings) for line, change, _, strings in found] == [
        (2, "flipped", ("é",)),
        (4, "removed", ()),
        (4, "flipped", ()),
    ]
    assert "if ((not (a ==\n        NAME))): pass" in found[0][2]
    assert "pass; c = 1 if d" in found[1][2]
    assert found[2][2].endswith("c = 1 if (not (d)) else 2\n")
    for _, _, mutant, _ in found:
        compile(mutant, "mutant", "exec")
    assert list(mutated_texts("if (:")) == []


BOOK = """
import zipfile
with zipfile.ZipFile("total.xlsx", "w") as book:
    book.writestr("xl/worksheets/sheet1.xml", '<c r="A1"><f>SUM(B1:B4)</f><v>461</v></c>')
"""


def test_cached_values_over_other_formulas_are_a_forgery(tmp_path, checks):
    make(tmp_path)
    for name in ("task.toml", "instruction.md"):
        change(tmp_path, name, "total.txt", "total.xlsx")
    put(tmp_path, "solution/make.py", BOOK)
    put(tmp_path, "solution/solve.sh", "python3 /solution/make.py\n")
    read = "__import__('zipfile').ZipFile('/app/total.xlsx').read('xl/worksheets/sheet1.xml')"
    grade_by(tmp_path, f"good = 0\ntry:\n    good = b'<v>461</v>' in {read}\nexcept Exception:\n    pass")
    (finding,) = looked(checks, tmp_path, "tamper")["tamper"].findings
    assert finding.what.startswith("22: cached values over other formulas")
    change(tmp_path, "tests/grade.py", "b'<v>461</v>'", "b'<f>SUM(B1:B4)</f><v>461</v>'")
    assert looked(checks, tmp_path, "tamper")["tamper"].status == "pass"
