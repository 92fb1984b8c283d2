"""A reward of lengths in tokens is scored by the tokens that the trainer sampled."""

from types import SimpleNamespace

from verikit import load
from verikit.engines.types import Generation, Output
from verikit.trainers.recipe import Transcript
from verikit.trainers.recipes.single_turn import SingleTurn
from verikit.trainers.recipes.tools.recipe import as_sample
from verikit.trainers.recipes.tools.rollout import ToolRollout
from verikit.types import Group

PROBLEM = Group("?", (), "xy", "1", {"completion_tokens": 99})
"""With a count of its own data set, which is of another completion."""


def test_a_completion_has_as_many_tokens_as_were_sampled():
    recipe = SimpleNamespace(reward=load("exact + soft_overlong(4, 4)"))
    generation = Generation((Output("xy", (4, 5, 6)), Output("xy", (4,))))
    assert [score.value for score in SingleTurn.score(recipe, PROBLEM, generation)] == [0.25, 0.75]


def test_a_conversation_has_those_that_the_model_wrote_and_none_of_its_tools():
    transcript = Transcript([1, 2, 3])
    transcript.sampled(Output("x", (4, 5), logprobs=(0.0, 0.0)))
    transcript.foreign([6] * 9)
    transcript.sampled(Output("y", (7,), logprobs=(0.0,)))
    rollout = ToolRollout(transcript, [{"role": "assistant", "content": "xy"}])
    (score,) = load("soft_overlong(4, 4)").score([as_sample(PROBLEM, rollout)])
    assert score.value == -0.75
