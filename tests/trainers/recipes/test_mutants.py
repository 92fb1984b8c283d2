"""Changes of the recipes' code are noticed: some of `python -m tests.mutants`, the same ones each time."""

import re
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
def test_every_named_change_of_the_recipes_is_noticed_and_most_of_ten_that_were_drawn():
    """The ten are others after each change of the code, so up to four may survive; nine in ten of all are killed."""
    command = [sys.executable, "-m", "tests.mutants", "--sample", "10", "--seed", "3", "--killed", "0.8"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    survived = [line for line in done.stdout.splitlines() if line.startswith("SURVIVED")]
    assert not [line for line in survived if not re.search(r"\.py:\d+ ", line)], "a named one survived"
