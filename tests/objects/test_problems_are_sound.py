"""Each right program passes its tests in one plain process, and each near miss fails, by Python's own runners."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.objects import oracle
from tests.objects.corpus import FORMS, Problem, edited, problems, recast
from tests.objects.forgeries import sample
from tests.objects.main_guards import guarded

PROBLEMS = problems()
OTHERS = [new for old in PROBLEMS for new in recast(old)] + [problem for form in FORMS for problem in guarded(form)]


def _reasons(problem: Problem, programs: list[str], folder: Path) -> list[str]:
    for package in problem.needs:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    row = folder / "row.json"
    held = {"form": problem.form, "meta": problem.meta, "needs": problem.needs, "programs": programs}
    row.write_text(json.dumps(held), "utf-8")
    command = [sys.executable, oracle.__file__, str(row)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def _check(problem: Problem, folder: Path) -> None:
    programs = [*problem.right, *(program for _, program in problem.wrong)]
    reasons = _reasons(problem, programs, folder)
    for reason in reasons[: len(problem.right)]:
        assert not reason, reason
    for (label, _), reason in zip(problem.wrong, reasons[len(problem.right) :], strict=True):
        assert reason, f"the near miss {label!r} passes"


@pytest.mark.slow(seconds=120)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_right_programs_pass_and_near_misses_fail(problem, tmp_path):
    _check(problem, tmp_path)


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("problem", OTHERS[::8], ids=lambda problem: problem.name)
def test_other_forms_and_main_parts_are_sound_too(problem, tmp_path):
    _check(problem, tmp_path)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_each_problem_has_near_misses_that_differ(problem):
    programs = [*problem.right, *(program for _, program in problem.wrong), *(program for _, program in problem.forged)]
    assert len(set(programs)) == len(programs)
    assert problem.right
    assert len(problem.wrong) >= 2
    for program in [*programs, *(program for _, program in sample(problem, 5))]:
        compile(program, "program", "exec")


def test_all_forms_have_several_problems():
    count = Counter(problem.form for problem in PROBLEMS)
    assert set(count) == set(FORMS)
    assert min(count.values()) >= 4
    assert len(PROBLEMS) >= 70


def test_a_change_that_fits_nowhere_is_an_error():
    with pytest.raises(ValueError, match="once"):
        edited("a = 1\n", "b\n=>\nc\n")
    with pytest.raises(ValueError, match="once"):
        edited("a = 1\na = 1\n", "a = 1\n=>\na = 2\n")
