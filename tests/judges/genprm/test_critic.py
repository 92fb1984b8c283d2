import pytest

from tests.judges.genprm.reviewer import Reviewer, careful
from verikit.engines import Engine, Generation, Output
from verikit.errors import ConfigError, EngineError
from verikit.judges.genprm import Critic, GenPRM, StepColumn
from verikit.types import Sample
from verikit.verifiers.answer import Answer

WRONG, RIGHT = "Step 1: take 2\nStep 2: so 2 + 2 = 5\n\nthe answer is \\boxed{5}", "Step 1: 2 + 2 = 4, \\boxed{4}"


class ScriptedPolicy(Engine):
    name = "policy"

    def __init__(self, *replies):
        self.replies, self.requests = iter(replies), []

    def generate(self, requests):
        self.requests += requests
        replies = [next(self.replies) for _ in requests]
        return [Generation(error=r) if isinstance(r, Exception) else Generation((Output(r),)) for r in replies]


def doubts_five(paragraph, request):
    return 0.1 if "= 5" in next(m["content"] for m in reversed(request.prompt) if m["role"] == "user") else 0.9


def critic(*replies, **options):
    policy = ScriptedPolicy(*replies)
    return Critic(policy, GenPRM(Reviewer(careful(doubts_five)), paths=2), truth=Answer(), **options), policy


def test_the_first_doubtful_step_is_quoted_with_its_analysis_and_thought_over():
    loop, policy = critic(RIGHT)
    found = loop.refine([Sample("What is 2 + 2?", WRONG, "4")])[0]
    assert [turn.completion for turn in found.turns] == [WRONG, RIGHT]
    assert [turn.answer for turn in found.turns] == ["5", "4"]
    assert [turn.truth.value for turn in found.turns] == [0.0, 1.0]
    assert [turn.doubtful for turn in found.turns] == [1, -1]
    assert [turn.score.value for turn in found.turns] == [pytest.approx(0.1), pytest.approx(0.9)]
    assert list(policy.requests[0].prompt) == [
        {"role": "user", "content": "What is 2 + 2?"},
        {"role": "assistant", "content": WRONG},
        {
            "role": "user",
            "content": "There might be some problem in this paragraph of your reasoning, please rethink and refine "
            "your answer:\n>Step 2: so 2 + 2 = 5\n>\n>the answer is \\boxed{5}\n\nParagraph 2 it is.",
        },
    ]


def test_a_solution_without_a_doubtful_step_is_left_as_it_is():
    loop, policy = critic()
    found = loop.refine([Sample("What is 2 + 2?", RIGHT, "4")])[0]
    assert [turn.completion for turn in found.turns] == [RIGHT]
    assert policy.requests == []


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_the_loop_ends_at_its_turns(turns):
    loop, policy = critic(*[WRONG] * 9, turns=turns)
    found = loop.refine([Sample("P", WRONG, "4")])[0]
    assert len(found.turns) == turns + 1
    assert len(policy.requests) == turns
    with pytest.raises(ConfigError):
        critic(turns=-1)


def test_solutions_are_refined_together_and_the_policy_writes_the_first_one_where_there_is_none():
    loop, policy = critic(WRONG, RIGHT, RIGHT)
    found = loop.refine([Sample("A", WRONG), Sample("B"), Sample("C", RIGHT)])
    assert [[turn.completion for turn in refinement.turns] for refinement in found] == [
        [WRONG, RIGHT],
        [WRONG, RIGHT],
        [RIGHT],
    ]
    assert len({request.seed for request in policy.requests}) == 3
    assert policy.requests[0].prompt == ({"role": "user", "content": "B"},)


def test_a_policy_that_fails_ends_its_own_solutions_only():
    loop, _ = critic(EngineError("down"), RIGHT)
    found = loop.refine([Sample("A", WRONG), Sample("B", WRONG)])
    assert [refinement.last.completion for refinement in found] == [WRONG, RIGHT]
    assert str(found[0].error) == "down"
    assert found[1].error is None


def test_a_review_that_fails_changes_nothing():
    policy = ScriptedPolicy()
    found = Critic(policy, GenPRM(Reviewer(lambda *_: EngineError("down")))).refine([Sample("A", WRONG)])[0]
    assert [turn.score.status for turn in found.turns] == ["error"]
    assert policy.requests == []


def test_stored_scores_cannot_guide_the_loop():
    with pytest.raises(ConfigError, match="stored"):
        Critic(ScriptedPolicy(), StepColumn())


def test_a_rows_own_steps_are_quoted_and_forgotten_with_its_solution():
    loop, policy = critic(RIGHT)
    found = loop.refine([Sample("A", "text", meta={"steps": ["fine", "2 + 2 = 5"]})])[0]
    assert policy.requests[0].prompt[-1]["content"].partition("answer:\n")[2] == ">2 + 2 = 5\n\nParagraph 2 it is."
    assert [len(turn.score.steps) for turn in found.turns] == [2, 1]
