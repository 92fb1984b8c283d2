"""Changes of the recipes' code are noticed: some of `python -m tests.mutants`, the same ones each time."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.mutants import changes, drawn, named

for needed in ("torch", "transformers"):
    pytest.importorskip(needed)


def test_a_sample_of_mutants_is_the_same_each_time_and_each_is_another_code():
    first, again, other = ([mutant.told for mutant in drawn(["spice"], 5, seed)] for seed in (1, 1, 2))
    assert first == again
    assert first != other
    for mutant in drawn(["spice"], 5, 1):
        assert mutant.code != mutant.path.read_text("utf-8")
        compile(mutant.code, str(mutant.path), "exec")


def test_every_named_change_still_has_a_text_to_change():
    assert len(list(named())) == len({mutant.code for mutant in named()})


def test_annotations_defaults_and_messages_are_no_mutants():
    import ast

    code = """
def f(x: Literal[1] = 2) -> Tuple[3]:
    "Doc 4."
    if x < 5:
        raise ValueError(6)
    return zip(x, strict=True)
"""
    told = [what for _, what in changes(ast.parse(code))]
    assert told == ["the condition turned round", "Lt -> LtE", "5 -> 6", "returns None"]


@pytest.mark.slow(seconds=50)
def test_nine_in_ten_changes_of_the_recipes_are_noticed():
    command = [sys.executable, "-m", "tests.mutants", "--sample", "10", "--seed", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
