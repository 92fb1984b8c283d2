"""The page about custom recipes shows the example as it is, and the example trains as the page says."""

import json
import os
from pathlib import Path

import pytest

from tests.trainers.conftest import same, train
from tests.trainers.recipes.scripted import Scripted
from verikit.trainers.config import find_recipe, load_config
from verikit.trainers.recipe import Setting

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/train"
PAGE = ROOT / "docs/recipes-custom.md"
SMALL = {"options.numbers": 2, "options.games": 4, "warmup.steps": 1, "run.steps": 1}


@pytest.fixture
def config(monkeypatch):
    """The example's config, made small. Its recipe is relative to the repository."""
    monkeypatch.chdir(ROOT)
    return load_config(str(EXAMPLE / "guess.toml"), [f"{key}={json.dumps(value)}" for key, value in SMALL.items()])


def test_the_page_shows_the_recipe_and_its_config_as_they_are():
    page = PAGE.read_text("utf-8")
    for name, language in (("guess.py", "python"), ("guess.toml", "toml")):
        start, end = f"```{language}\n", "```\n"
        before, _, rest = page.partition(start)
        shown, _, after = rest.partition(end)
        written = (EXAMPLE / name).read_text("utf-8")
        if os.environ.get("UPDATE"):
            page = before + start + written + end + after
            PAGE.write_text(page, "utf-8")
        else:
            assert shown == written


@pytest.fixture
def play(config):
    """Returns the trajectory of a game about 10 against a policy that makes these guesses."""
    recipe = find_recipe(config.recipe)
    made = recipe(recipe.Options(), Setting(tokenizer=None, seed=0, folder=EXAMPLE))

    def played(*guesses, **policy):
        left = iter(guesses)
        sampler = Scripted(lambda prompt, number: next(left), **policy)
        return sampler.roll_out([made.play(sampler, 10, 0, 0)])[0]

    return played


def test_the_guesses_are_learnt_the_answers_are_not_and_each_guess_costs(play):
    game = play("08", "12", "10")
    assert bytes(game.ids).decode() == "?08>12<10="
    assert bytes(token for token, learnt in zip(game.ids, game.mask, strict=True) if learnt) == b"081210"
    assert game.reward == 1 - 3 / 8
    assert play(*["03"] * 8).reward == -1.0


def test_a_game_that_an_engine_failed_has_no_reward(play):
    assert play("08", "12", "10", failing=3).reward is None


@pytest.mark.slow(seconds=8)
def test_the_example_gives_the_same_weights_twice(tmp_path, config):
    first, second = train(tmp_path / "first", config), train(tmp_path / "second", config)
    assert same(first, second)
