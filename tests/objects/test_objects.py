"""`code` on tests that touch objects of the program: right programs pass, near misses and forgeries do not."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from importlib.util import find_spec

import pytest

import verikit
from tests.objects.corpus import FORMS, Problem, problems, recast
from tests.objects.forgeries import forged, sample
from tests.objects.main_guards import guarded

PROBLEMS = problems()
RECAST = [new for old in PROBLEMS for new in recast(old)]
GUARDED = [problem for form in FORMS for problem in guarded(form)]
CODE = verikit.code()
EVERY = os.environ.get("VERIKIT_HOSTILE") == "all"
"""Whether the slow part tries every forgery and every form: some hours."""


def score(problem: Problem, program: str) -> verikit.Score:
    """The score of a reply that is this program."""
    for package in problem.needs:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    return CODE(f"```python\n{program}```\n", **problem.meta)


def check_right(problem: Problem) -> None:
    """A right program is never 0.0, and unscored only if the tests inspect the interpreter."""
    for program in problem.right:
        found = score(problem, program)
        assert found.value == 1.0 or (problem.hard and found.status != "ok"), found


def check_wrong(problem: Problem, programs: list[tuple[str, str]]) -> None:
    """A wrong program is 0.0; where the row can't be scored, it is as unscored as a right one."""
    unscored = problem.hard and score(problem, problem.right[0]).status != "ok"
    for label, program in programs:
        found = score(problem, program)
        if unscored:
            assert found.value is None, (label, found)
        else:
            assert (found.value, found.status) == (0.0, "ok"), (label, found)


def _named(problem: Problem) -> str:
    return problem.name


@pytest.mark.parametrize("problem", PROBLEMS, ids=_named)
def test_a_right_program_passes_and_a_near_miss_and_a_forgery_do_not(problem):
    check_right(replace(problem, right=problem.right[:1]))
    near = random.Random(problem.name).choice(problem.wrong)
    check_wrong(problem, [near, *sample(problem, 1)])


@pytest.mark.parametrize("form", FORMS)
def test_main_parts_do_not_run(form):
    failed = []
    for problem in guarded(form)[::4]:
        values = [score(problem, problem.right[0]).value, *(score(problem, bad).value for _, bad in problem.wrong)]
        if values != [1.0, 0.0, 0.0]:
            failed.append((problem.name, values))
    assert failed == []


@pytest.mark.slow(seconds=400)
@pytest.mark.parametrize("problem", PROBLEMS, ids=_named)
def test_all_right_programs_near_misses_and_more_forgeries(problem):
    check_right(problem)
    own = [(f"own: {label}", program) for label, program in problem.forged]
    check_wrong(problem, [*problem.wrong, *own, *(forged(problem) if EVERY else sample(problem, 2))])


@pytest.mark.slow(seconds=100)
@pytest.mark.parametrize("problem", [*RECAST, *GUARDED][:: 1 if EVERY else 8], ids=_named)
def test_other_forms_score_alike(problem):
    check_right(problem)
    check_wrong(problem, list(problem.wrong))
