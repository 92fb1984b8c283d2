"""`code` on tests that touch objects of the program: right programs pass, near misses and forgeries do not."""

from __future__ import annotations

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
def test_right_programs_pass(problem):
    check_right(problem)


@pytest.mark.parametrize("problem", PROBLEMS, ids=_named)
def test_near_misses_are_zero(problem):
    check_wrong(problem, list(problem.wrong))


@pytest.mark.parametrize("problem", PROBLEMS, ids=_named)
def test_sampled_forgeries_are_zero(problem):
    own = [(f"own: {label}", program) for label, program in problem.forged]
    check_wrong(problem, own + sample(problem, 3))


@pytest.mark.parametrize("form", FORMS)
def test_main_parts_do_not_run(form):
    failed = []
    for problem in guarded(form)[:: 2 if form in ("pytest", "unittest") else 1]:
        values = [score(problem, problem.right[0]).value, *(score(problem, bad).value for _, bad in problem.wrong)]
        if values != [1.0, 0.0, 0.0]:
            failed.append((problem.name, values))
    assert failed == []


@pytest.mark.slow(seconds=200)
@pytest.mark.parametrize("problem", [*RECAST, *GUARDED], ids=_named)
def test_other_forms_score_alike(problem):
    check_right(problem)
    check_wrong(problem, list(problem.wrong))


@pytest.mark.slow(seconds=1800)
@pytest.mark.parametrize("problem", PROBLEMS, ids=_named)
def test_no_forgery_passes(problem):
    check_wrong(problem, forged(problem))
