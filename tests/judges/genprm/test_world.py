"""The example world of a tiny GenPRM: its teacher is truthful, and a short run shows what executing code is worth."""

import itertools
import random
import sys

import pytest

from tests.conftest import ROOT
from verikit import Sample, Score
from verikit.judges.genprm import GenPRM
from verikit.sandbox import LocalSandbox

EXAMPLE = ROOT / "examples/genprm"
sys.path.insert(0, str(EXAMPLE))
world = pytest.importorskip("world")
policy = pytest.importorskip("policy")


def test_the_teachers_code_prints_what_it_says_and_its_verdicts_follow_the_slips():
    draw = random.Random(0)
    with LocalSandbox() as box:
        for _ in range(12):
            asked = world.problem(draw)
            steps, wrong = world.solution(asked, draw, slip=0.4)
            steps = world.written(steps) if draw.random() < 0.5 else steps
            said = [
                message["content"] for message in world.review(asked, steps, wrong) if message["role"] == "assistant"
            ]
            for text, label in zip(said, world.labels(wrong), strict=True):
                code, _, rest = text.partition("\n```python\n")[2].partition("\n```\n")
                assert rest[1:].startswith(box.run(code).stdout.strip() + "]")
                assert ("{Yes}" in rest) is label


def test_a_solution_without_slips_ends_in_the_answer():
    draw = random.Random(1)
    for _ in range(50):
        asked = world.problem(draw)
        steps, wrong = world.solution(asked, draw, slip=0.3)
        if not any(wrong):
            assert steps[-1].endswith(f"={asked.answer}")


def test_its_protocol_is_one_that_genprm_reads():
    assert GenPRM("replay:none.jsonl", protocol=str(EXAMPLE / "tiny.toml")).file.code_end == "\n```\n"


def test_the_truth_about_a_policys_steps_is_lost_from_the_first_that_is_not_the_right_one():
    draw = random.Random(2)
    for _ in range(50):
        asked = world.problem(draw)
        assert world.Problem.read(asked.text).steps == asked.steps
        steps, wrong = world.solution(asked, draw, slip=0.3)
        text = "\n\n".join(world.written(steps))
        assert policy.truth(asked, text) == world.labels(wrong)
    assert policy.truth(asked, "Step 1:" + text) == [False] * 4
    assert policy.truth(asked, "\n\n".join([*world.written(asked.steps), "Step 5:1+1=2"])) == [True] * 4 + [False]


def test_the_policy_learns_to_mend_what_a_critic_quotes_and_never_a_wrong_solution():
    problems = policy.Problems(0, policy.SHORT)
    rows = list(itertools.islice(problems.lessons(), 400))
    doubted = [row for row in rows if policy.DOUBT in row["prompt"]]
    assert 40 < len(doubted) < 120
    first = 0
    for row in rows:
        asked = world.Problem.read(row["prompt"][3:].partition("<a>")[0])
        assert policy.truth(asked, row["completion"]) == [True] * 2
    for row in doubted:
        asked = world.Problem.read(row["prompt"][3:].partition("<a>")[0])
        before, _, doubt = row["prompt"].partition("<eos><u>" + policy.DOUBT)
        right = policy.truth(asked, before.partition("<a>")[2])
        assert False in right
        quoted = doubt.removeprefix(">").removesuffix("<a>").partition("\n\n")[0]
        first += before.partition("<a>")[2].split("\n\n").index(quoted) == right.index(False)
    assert first > 0.7 * len(doubted)


def test_a_misled_critic_doubts_one_step_and_none_where_its_reviewer_doubts_none():
    right, wrong = Score(0.9), Score(0.2)
    sample = Sample("1+1", "Step 1:a\n\nStep 2:b\n\nStep 3:c")

    class Reviewer:
        def __init__(self, *steps):
            self.steps = list(steps)

        def score_steps(self, solutions, samples):
            return [self.steps for _ in samples]

    assert policy.Misled(Reviewer(right, right, right), 0).score([sample])[0].value == 0.9
    places = set()
    for seed in range(20):
        score = policy.Misled(Reviewer(right, right, wrong), seed).score([sample])[0]
        assert [step.value for step in score.steps].count(0.0) == 1
        places.add([step.value for step in score.steps].index(0.0))
    assert places == {0, 1, 2}
    assert policy.Misled(None, 0).score([sample])[0].value == 0.0
