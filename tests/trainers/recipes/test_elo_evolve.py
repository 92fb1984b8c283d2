import json
from functools import cache

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from pathlib import Path  # noqa: E402

from click.testing import CliRunner  # noqa: E402

from tests.judges.scripted import Scripted  # noqa: E402
from tests.trainers.conftest import make, train  # noqa: E402
from tests.trainers.recipes.writer import Writer  # noqa: E402
from verikit.errors import ConfigError, EngineError, TrainerError, VerikitError  # noqa: E402
from verikit.judges import Pairwise  # noqa: E402
from verikit.judges.opponents import Opponents  # noqa: E402
from verikit.trainers.config import load_config, shipped  # noqa: E402
from verikit.trainers.recipe import Setting  # noqa: E402
from verikit.trainers.recipes.arithmetic import BOX, CHARACTERS, working  # noqa: E402
from verikit.trainers.recipes.elo_evolve import cli  # noqa: E402
from verikit.trainers.recipes.elo_evolve import recipe as recipes  # noqa: E402
from verikit.trainers.recipes.elo_evolve import world as worlds  # noqa: E402
from verikit.trainers.recipes.elo_evolve.recipe import EloEvolve, EloEvolveOptions  # noqa: E402
from verikit.trainers.recipes.elo_evolve.world import (  # noqa: E402
    EloEvolveWorld,
    EloWorldOptions,
    all_results,
    last_result,
    right,
    terms,
)
from verikit.trainers.recipes.tiny_model import make_tokenizer  # noqa: E402

WORLD = "verikit.trainers.recipes.elo_evolve.world"
SMALL = {"options.prompts": 4, "options.samples": 4, "options.held_out_size": 8, "warmup.steps": 2, "warmup.gate": 0}


def tiny(**changes):
    """The tiny config, made smaller still; changes by dotted keys with dots as double underscores."""
    wanted = SMALL | {"run.steps": 3, "run.save_every": 1, "run.samples_every": 1}
    wanted |= {key.replace("__", "."): value for key, value in changes.items()}
    return load_config("elo-evolve-tiny", [f"{key}={json.dumps(value)}" for key, value in wanted.items()])


@pytest.fixture(scope="module", autouse=True)
def what_players_answer_is_worked_out_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worlds, "played", cache(worlds.played))
        yield


def world(**options):
    """The recipe of the tiny world."""
    small = {"prompts": 8, "samples": 4, "held_out_size": 16, "rating": 950.0, "players": {"p10": 0.1, "p98": 0.98}}
    return EloEvolveWorld(EloWorldOptions(**(small | options)), Setting(make_tokenizer([BOX, *CHARACTERS]), 0, Path()))


def writer(recipe, *mistakes):
    """A policy whose outputs in turn have so many wrong results, the last ones first."""
    turn = iter(range(10**9))

    def write(prompt):
        text = working(*terms(prompt))
        parts = text.split(";")
        for at in range(mistakes[next(turn) % len(mistakes)]):
            parts[-1 - at] = parts[-1 - at].replace("=", "=9").replace("{", "{9")
        return ";".join(parts)

    return Writer(recipe.setting.tokenizer, write)


def test_each_result_of_a_working_counts_by_itself():
    assert right("47+85=", working(47, 85)) == [True] * 3
    assert right("47+85=", working(47, 85).replace("{132}", "{133}")) == [True, True, False]
    assert working(4785, 8917) == "5+7+0=12;8+1+1=10;7+9+1=17;4+8+1=13;\\boxed{13702}"
    assert right("4785+8917=", working(4785, 8917).replace("=10", "=11")) == [True, False, True, True, True]
    assert right("47+85=", "132") == right("47+85=", working(47, 85) * 9) == [False] * 3


def test_wins_are_rewarded_and_the_games_move_the_rating_and_the_draws():
    recipe = world(prompts=16)
    made = recipe.collect(writer(recipe, 0, 1, 2, 3), 1)
    metrics = recipe.metrics()
    assert len(made) == 64
    assert {trajectory.reward for trajectory in made} == {0.0, 1.0}
    assert metrics["rating"] == recipe.pool.rating != 950.0
    for step in range(2, 40):
        recipe.collect(writer(recipe, 0), step)
    strong = recipe.metrics()
    assert strong["rating"] > 1200
    assert strong["opponent_rating"] > metrics["opponent_rating"]
    assert strong["opponent/p98"] > 0.8


def test_binary_rewards_nothing_but_a_win_and_graded_the_judges_value():
    tie = {"players": {"p100": 1.0}, "strangers": {"p50": 0.5}}
    assert {trajectory.reward for trajectory in world(**tie).collect(writer(world(), 0), 1)} == {0.0}
    recipe = world(objective="graded", **tie)
    assert {trajectory.reward for trajectory in recipe.collect(writer(recipe, 0), 1)} == {0.5}
    assert recipe.metrics()["tied"] == 1.0


def test_the_judge_down_for_a_fifth_of_its_calls_costs_those_comparisons_and_nothing_else():
    calls = []

    def rule(request):
        calls.append(1)
        return EngineError("down") if len(calls) % 5 == 0 else "[[A]]" if len(calls) % 2 else "[[B]]"

    recipe = world()
    recipe.judge = Pairwise(Scripted(rule), order="fixed", probe=0)
    recipe.options.probes = 0
    made = recipe.collect(writer(recipe, 1), 1)
    lost = [trajectory for trajectory in made if trajectory.reward is None]
    assert 0 < len(lost) <= len(calls) / 5
    assert all("down" in trajectory.answer for trajectory in lost)
    assert recipe.metrics()["unjudged"] == len(lost) / len(made)
    calls.clear()
    found = recipe.evaluate(writer(recipe, 1), 1)
    assert 0 < found["unjudged"] <= len(calls) / 5


def test_a_run_whose_judge_stays_down_stops_by_name(tmp_path):
    trainer = make(tmp_path, tiny(run__max_unscored_steps=2))
    trainer.recipe.judge = Pairwise(Scripted(lambda request: EngineError("the judge is down")), probe=0)
    try:
        with pytest.raises(TrainerError, match="the judge is down"):
            trainer.run()
        assert trainer.recipe.pool.rating == 950.0
    finally:
        trainer.close()
        trainer.folder.close()


def collect_until_probed(recipe, *mistakes):
    sampler = writer(recipe, *mistakes)
    for step in range(1, recipes.PROBES + 1):
        recipe.collect(sampler, step)
    return recipe.metrics().get("opponent_matters")


TRAP = {"objective": "graded", "judge": f"{WORLD}:last_result", "players": {"p10": 0.1, "p50": 0.5, "p98": 0.98}}


def test_the_recipe_warns_where_the_opponent_cancels_out():
    recipe = world(prompts=2, **TRAP)
    with pytest.warns(UserWarning, match="the opponent cancels out"):
        assert collect_until_probed(recipe, 0, 1) == 0.0


@pytest.mark.parametrize(
    "change", [{"judge": f"{WORLD}:all_results"}, {"opponents_per_group": 4}, {"objective": "binary"}]
)
def test_what_the_warning_offers_avoids_it(change):
    matters = collect_until_probed(world(prompts=2, **(TRAP | change)), 0, 1, 2, 3)
    assert matters is None if "opponents_per_group" in change else matters > 0


def test_several_opponents_share_a_group():
    recipe = world(prompts=16, opponents_per_group=4, draw_temperature=1e6)
    drawn = [recipe._draw(number, recipe.problems[number]) for number in range(200)]
    assert {len(set(names)) for names in drawn} == {1, 2}
    assert len(recipe.collect(writer(recipe, 0), 1)) == 64


CHEATS = {
    "an answer without working": lambda prompt: f"\\boxed{{{sum(terms(prompt))}}}",
    "the prompt copied": lambda prompt: prompt,
    "the right working twice": lambda prompt: working(*terms(prompt)) + ";" + working(*terms(prompt)),
    "every answer": lambda prompt: ";".join(f"\\boxed{{{n}}}" for n in range(4)),
    "nothing": lambda prompt: "",
}


@pytest.mark.parametrize("name", CHEATS)
def test_cheats_win_nothing(name):
    recipe = world(prompts=16)
    made = recipe.collect(Writer(recipe.setting.tokenizer, CHEATS[name]), 1)
    assert {trajectory.reward for trajectory in made} == {0.0}


def test_length_creep_loses_to_the_guard_even_where_the_judge_likes_it():
    recipe = world(max_longer=5, max_tokens=64)
    asked = []
    recipe.judge = Pairwise(Scripted(lambda request: asked.append(1) or "[[A]]"), order="fixed", probe=0)
    # The tokenizer drops spaces, so the world's texts are one word: lengthen what the policy said by hand.
    recipe.options.probes = 0
    sampler = writer(recipe, 0)
    generate = sampler.generate

    def longer(requests):
        from dataclasses import replace

        return [
            replace(reply, outputs=tuple(replace(output, text=output.text + " and" * 9) for output in reply.outputs))
            for reply in generate(requests)
        ]

    sampler.generate = longer
    made = recipe.collect(sampler, 1)
    assert {trajectory.reward for trajectory in made} == {0.0}
    assert not asked
    assert recipe.metrics()["too_long"] == 1.0


def test_evaluation_meets_strangers_on_prompts_not_trained_on():
    recipe = world(strangers={"s20": 0.2, "s95": 0.95})
    assert not {problem.prompt for problem in recipe.held_out} & {problem.prompt for problem in recipe.problems}
    metrics = recipe.evaluate(writer(recipe, 0), 0)
    assert metrics["win_rate"] == pytest.approx((metrics["win_rate/s20"] + metrics["win_rate/s95"]) / 2)
    assert metrics["win_rate"] > 0.6
    assert metrics["right"] == 1.0
    assert metrics["performance"] > recipe.evaluate(writer(recipe, 2), 0)["performance"]


def problems_file(folder, n=6):
    (folder / "prompts.jsonl").write_text("".join(json.dumps({"prompt": f"q{i}"}) + "\n" for i in range(n)))
    return folder / "prompts.jsonl"


def replay_file(folder, n=6):
    """A recorded engine that answers q0, q1, ..."""
    from verikit.engines import Recorder
    from verikit.engines.types import Request

    path = folder / "replay.jsonl"
    engine = Scripted(lambda request: "the answer to " + request.prompt[0]["content"])
    with Recorder(engine, path) as recorder:
        recorder.generate([Request([{"role": "user", "content": f"q{i}"}], max_tokens=64) for i in range(n)])
    return path


def test_synth_opponents_answers_what_is_missing_and_goes_on(tmp_path):
    prompts, replay, out = problems_file(tmp_path), replay_file(tmp_path, 4), tmp_path / "answers.jsonl"
    command = [str(prompts), "-m", f"replay:{replay}", "-n", "14b", "-o", str(out), "--max-tokens", "64", "-q"]
    first = CliRunner().invoke(cli.opponents, [*command, "--limit", "2"], standalone_mode=False)
    assert first.return_value == 0
    assert len(out.read_text().splitlines()) == 2
    missing = CliRunner().invoke(cli.opponents, command, standalone_mode=False)
    assert missing.return_value == 1
    assert "2 prompts are still unanswered" in missing.output
    assert len(out.read_text().splitlines()) == 4
    assert Opponents(out).answer("14b", "q3") == "the answer to q3"


def test_a_missing_answer_is_an_error_unless_an_engine_is_named_for_it(tmp_path):
    problems_file(tmp_path)

    def made(**more):
        options: dict = {
            "data": "prompts.jsonl",
            "held_out_size": 2,
            "judge": f"{WORLD}:all_results",
            "pool": {"14b": 1400},
            "answers": "o.jsonl",
            "max_tokens": 64,
        }
        return EloEvolve(
            EloEvolveOptions(**(options | {"chat": False, "prompts": 2, "samples": 2} | more)),
            Setting(make_tokenizer([BOX, *CHARACTERS]), 0, tmp_path),
        )

    write = Writer(make_tokenizer([BOX, *CHARACTERS]), lambda prompt: "1+1")
    with pytest.raises(VerikitError, match="no answer of '14b'"):
        made().collect(write, 1)
    recipe = made(engines={"14b": f"replay:{replay_file(tmp_path)}"})
    recipe.judge = Pairwise(Scripted(lambda request: "[[A]]"), order="fixed")
    assert [trajectory.reward for trajectory in recipe.collect(write, 1)] == [1.0] * 4
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == 2
    with pytest.raises(ConfigError, match=r"options.judge names what compares"):
        made(pool={})


@pytest.mark.parametrize("name", [name for name in shipped() if name.startswith("elo-evolve")])
def test_shipped_configs_are_whole(name):
    assert load_config(name).recipe.startswith("elo-evolve")


def test_the_correctness_judge_looks_at_the_last_result_alone():
    wrong_start = working(47, 85).replace("=12", "=19")
    assert last_result(wrong_start, prompt="47+85=", opponent=working(47, 85)).answer == "tie"
    assert all_results(wrong_start, prompt="47+85=", opponent=working(47, 85)).answer == "loss"


def test_snapshots_join_the_pool_and_a_resumed_run_equals_an_unbroken_run(tmp_path):
    config = tiny(options__snapshot_every=1, options__snapshot_prompts=64, run__steps=4)
    whole = train(tmp_path / "whole", config)
    trainer = make(tmp_path / "broken", config)
    try:
        steps = trainer._train_step

        def stop(step):
            if step == 4:
                raise KeyboardInterrupt
            steps(step)

        trainer._train_step = stop
        with pytest.raises(KeyboardInterrupt):
            trainer.run()
        assert list(trainer.recipe.pool.joined) == ["policy@2", "policy@3"]
    finally:
        trainer.close()
        trainer.folder.close()
    again = train(tmp_path / "broken", config, resume=True)
    assert all(torch.equal(again[name], tensor) for name, tensor in whole.items())
    metrics = [
        {
            k: v
            for k, v in json.loads(line).items()
            if "seconds" not in k and k not in ("tokens_per_second", "memory_mb")
        }
        for name in ("whole", "broken")
        for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()[-2:]
    ]
    assert metrics[:2] == metrics[2:]
    assert metrics[0]["opponent/policy@3"] > 0
