"""The ablations in benchmarks/ do what they say, and nothing else changes."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.trainers.recipes import test_absolute_zero as zero  # noqa: E402
from tests.trainers.recipes import test_elo_evolve as elo  # noqa: E402
from tests.trainers.recipes import test_r1_searcher as r1  # noqa: E402
from tests.trainers.recipes.scripted import Scripted  # noqa: E402
from verikit.trainers.config import find_recipe  # noqa: E402
from verikit.trainers.recipes.absolute_zero.problem import IDENTITY  # noqa: E402
from verikit.trainers.recipes.elo_evolve.world import right  # noqa: E402

FILE = Path(__file__).parents[3] / "benchmarks" / "ablations.py"


def ablated(name, recipe):
    """The ablation of that name, with the options and setting of a recipe."""
    return find_recipe(f"{FILE}:{name}")(recipe.options, recipe.setting)


def test_without_validation_the_buffers_fill_with_what_the_model_says_its_programs_return():
    recipe = ablated("Unvalidated", zero.made(batch=64, seed_factor=4))
    assert {buffer.problems[0].program for buffer in recipe.buffers.values()} == {IDENTITY}
    assert recipe.buffers["deduction"].problems[0].output == "'Hello World'"
    assert len(recipe.buffers["induction"].problems[0].pairs) == 6
    recipe._seed(Scripted(zero.Honest()))  # no program runs: there would be 768
    assert {task: len(buffer.problems) for task, buffer in recipe.buffers.items()} == dict.fromkeys(recipe.buffers, 256)
    assert {problem.output for problem in recipe.buffers["deduction"].problems[1:]} == {"2"}
    assert {output for problem in recipe.buffers["induction"].problems[1:] for _, output in problem.pairs} == {"2"}


def test_dno_contrasts_the_best_of_a_group_with_its_worst():
    recipe = ablated("DNOWorld", elo.world(players={"p60": 0.6}, strangers={"p50": 0.5}, prompts=16))
    made = recipe.collect(elo.writer(recipe, 3, 0, 1, 2), 1)
    pairs = {}
    for trajectory in made:
        pairs.setdefault(trajectory.group, []).append(trajectory)
    assert made
    for winner, loser in pairs.values():
        assert (winner.reward, loser.reward) == (1.0, -1.0)
        assert sum(right(winner.prompt, winner.completion)) > sum(right(loser.prompt, loser.completion))


def test_a_dno_pair_is_the_best_and_the_worst_of_what_was_scored():
    best_and_worst = find_recipe(f"{FILE}:DNO").compared.__globals__["best_and_worst"]
    assert best_and_worst([0.5, None, 1.0, 0.0, 1.0, 0.0]) == (2, 3)
    assert best_and_worst([0.5, 0.5]) is None
    assert best_and_worst([None]) is best_and_worst([]) is None


def test_point_wise_rewards_the_output_alone():
    recipe = ablated("PointWiseWorld", elo.world())
    made = recipe.collect(elo.writer(recipe, 0, 1, 3), 1)
    assert {round(trajectory.reward, 2) for trajectory in made} == {1.0, 0.67, 0.0}
    assert recipe.pool.rating == 950.0
    assert recipe.metrics()["epoch"] > 0


def test_unmasked_learns_evidence_with_the_probabilities_the_policy_gives_it():
    recipe = ablated("UnmaskedWorld", r1.world())
    (trajectory,) = recipe.collect(r1.honest(recipe), 1)
    start = trajectory.mask.index(True)
    assert all(trajectory.mask[start:])
    words = recipe.setting.tokenizer.convert_ids_to_tokens(trajectory.ids)
    index = words.index("<|begin_of_documents|>")
    assert trajectory.logprobs[index] == -1.5
    assert trajectory.logprobs[start] == -0.5
    assert trajectory.logprobs[0] == 0.0
