"""A step of Elo-Evolve by exact numbers: games, ratings, draws, snapshots, probes and evaluation, without a model."""

import json
from collections import Counter

import pytest

from tests.judges.scripted import Scripted as ScriptedEngine
from tests.trainers.recipes.scripted import Scripted
from verikit.base import FunctionVerifier
from verikit.errors import EngineError, VerikitError
from verikit.judges.opponents import Opponents, prompt_key
from verikit.judges.rates.elo import draw_opponent, performance, updated
from verikit.trainers.recipe import Setting
from verikit.trainers.recipes.elo_evolve import recipe as recipes
from verikit.trainers.recipes.elo_evolve.games import OpponentBout, bouts, same_lesson
from verikit.trainers.recipes.elo_evolve.pool import OpponentPool
from verikit.trainers.recipes.elo_evolve.recipe import EloEvolve, EloEvolveOptions
from verikit.types import Group, Score

LADDER = {"weak": 1000.0, "middle": 1200.0, "strong": 1600.0}
VERDICTS = {
    "win": Score(1.0, answer="win"),
    "tie": Score(0.5, answer="tie"),
    "loss": Score(0.0, answer="loss"),
    "none": Score.error("no verdict"),
}


def by_text(sample):
    """A completion says how it fares."""
    return VERDICTS[sample.completion]


@pytest.fixture
def made(tmp_path):
    """Makes a recipe on prompts q0, q1, …; every opponent has answered all, and `recipe.judged` are the comparisons."""

    def make(rule=by_text, problems=8, answered=None, **options):
        rows = [{"prompt": f"q{number}", "topic": "sums"} for number in range(problems)]
        (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        small = {"data": "prompts.jsonl", "held_out_size": 4, "chat": False, "prompts": 2, "samples": 4, "probes": 0}
        small |= {"pool": LADDER, "rating": 1200.0, "judge": "pairwise('openai:http://127.0.0.1:9/v1#m')"}
        recipe = EloEvolve(EloEvolveOptions(**(small | options)), Setting(None, 0, tmp_path))
        recipe.judged = []
        recipe.judge = FunctionVerifier(lambda sample: recipe.judged.append(sample) or rule(sample), "rule")
        for name in recipe.options.pool | recipe.options.unseen if answered is None else answered:
            recipe.pool.answers.add(name, {prompt_key(row["prompt"]): f"{name} on {row['prompt']}" for row in rows})
        return recipe

    return make


def says(*texts):
    return Scripted(lambda prompt, number: texts[number % len(texts)])


def test_a_prompt_is_a_game_and_its_score_the_mean_outcome_of_the_outputs_that_have_one(made):
    recipe = made(pool={"middle": 1200.0}, rating=1000.0)
    rows = recipe.collect(says("win", "tie", "win", "none"), 1)
    assert [row.reward for row in rows] == [1.0, 0.0, 1.0, None] * 2
    assert [row.answer for row in rows[:4]] == ["middle: win", "middle: tie", "middle: win", "middle: no verdict"]
    assert len({row.group for row in rows}) == 2
    assert recipe.pool.rating == pytest.approx(1000 + 32 * (2.5 / 3 - 1 / (1 + 10**0.5)))
    metrics = recipe.metrics()
    assert metrics.pop("judge_seconds") > 0
    assert metrics == {
        "epoch": 0.5,
        "prompts_left_out": 0.0,
        "rating": recipe.pool.rating,
        "opponent_rating": 1200.0,
        "won": pytest.approx(2.5 / 3),
        "tied": pytest.approx(1 / 3),
        "unjudged": 0.25,
        "too_long": 0.0,
        "opponent/middle": 1.0,
    }


def test_a_step_without_a_verdict_moves_nothing(made):
    recipe = made()
    assert {row.reward for row in recipe.collect(says("none"), 1)} == {None}
    metrics = recipe.metrics()
    assert (recipe.pool.rating, metrics["won"], metrics["tied"], metrics["unjudged"]) == (1200.0, 0.0, 0.0, 1.0)


def test_k_and_the_reduction_are_the_options(made):
    recipe = made(pool={"middle": 1200.0}, k=8.0, reduction="sum")
    recipe.collect(says("win"), 1)
    assert recipe.pool.rating == 1200 + 2 * 8 * 0.5


def test_opponents_are_drawn_by_the_rating_and_the_seed_and_dealt_out_in_turn(made):
    recipe = made(prompts=4, samples=4, opponents_per_group=2, draw_temperature=400.0)
    recipe.collect(says("win"), 1)
    wanted = []
    for number in range(1, 5):
        first, second = (draw_opponent(1200.0, LADDER, 400.0, f"0:{number}:{index}") for index in range(2))
        wanted += [first, second] * 2
    assert [sample.meta["opponent"].split()[0] for sample in recipe.judged] == wanted
    assert [sample.meta["opponent"].split()[2] for sample in recipe.judged] == [str(s.prompt) for s in recipe.judged]
    met, metrics = Counter(wanted), recipe.metrics()
    assert len(met) == 3
    assert {name: metrics[f"opponent/{name}"] for name in LADDER} == {name: met[name] / 16 for name in LADDER}
    assert metrics["opponent_rating"] == pytest.approx(sum(LADDER[name] for name in wanted) / 16)
    # Two opponents of a prompt are two games of it.
    games = [(LADDER[name], 1.0) for at in range(4) for name in dict.fromkeys(wanted[4 * at : 4 * at + 4])]
    assert recipe.pool.rating == pytest.approx(updated(1200.0, games))
    moved, before = recipe.pool.rating, len(recipe.judged)
    recipe.collect(says("win"), 2)
    first = [sample.meta["opponent"].split()[0] for sample in recipe.judged[before : before + 2]]
    assert first == [draw_opponent(moved, LADDER, 400.0, f"0:5:{index}") for index in range(2)]


def test_the_judge_is_shown_the_problem_with_all_that_belongs_to_it(made):
    recipe = made(prompts=1, samples=1)
    (row,) = recipe.collect(says("win"), 1)
    (sample,) = recipe.judged
    assert (sample.completion, sample.prompt, sample.meta["topic"]) == ("win", row.prompt, "sums")


def test_a_snapshot_answers_the_next_prompts_greedily_and_joins_once(made):
    recipe = made(problems=24, snapshot_every=3, snapshot_prompts=3, max_tokens=77)
    sampler = says("win")
    for step in (1, 2, 3):
        recipe.collect(sampler, step)
        assert recipe.pool.joined == {}
    before, rating = len(sampler.requests), recipe.pool.rating
    ahead = [recipe.problems[recipe._epochs.index(recipe.position + offset)].prompt for offset in range(3)]
    recipe.collect(sampler, 4)
    assert recipe.pool.joined == {"policy@4": rating}
    asked = sampler.requests[before : before + 3]
    assert [sampler.decode(request.prompt) for request in asked] == ahead
    assert {(request.temperature, request.n, request.max_tokens) for request in asked} == {(0.0, 1, 77)}
    others = {problem.prompt for problem in recipe.problems} - set(ahead)
    assert all("policy@4" in recipe.pool.eligible(prompt) for prompt in ahead)
    assert not any("policy@4" in recipe.pool.eligible(prompt) for prompt in others)
    recipe.collect(sampler, 4)  # after a resume the snapshot is in the state
    assert recipe.pool.joined == {"policy@4": rating}
    for step in (5, 6, 7):
        recipe.collect(sampler, step)
    assert list(recipe.pool.joined) == ["policy@4", "policy@7"]
    assert recipe.metrics()["opponent/policy@4"] >= 0


def test_a_snapshot_of_more_prompts_than_there_are_answers_each_once_and_what_is_lost_is_not_there(made):
    recipe = made(snapshot_every=1)
    sampler = Scripted(lambda prompt, number: "win", failing=4)
    recipe.collect(sampler, 2)
    answered = [problem for problem in recipe.problems if "policy@2" in recipe.pool.eligible(problem.prompt)]
    assert len(answered) == 3
    fresh = made(snapshot_every=0)
    fresh.collect(says("win"), 2)
    assert fresh.pool.joined == {}


def test_the_state_keeps_rating_snapshots_and_probes(made):
    first = made(snapshot_every=1, probes=2, draw_temperature=1.0)
    for step in (1, 2):
        first.collect(says("win", "loss"), step)
    again = made(snapshot_every=1, probes=2, draw_temperature=1.0)
    again.restore(json.loads(json.dumps(first.state())))
    assert again.state() == first.state()
    assert again.probed.total() > 0
    assert again.collect(says("win", "loss"), 3) == first.collect(says("win", "loss"), 3)


def test_a_probe_meets_the_opponent_farthest_in_rating_from_the_one_drawn(made):
    recipe = made(probes=1, prompts=3, samples=2, draw_temperature=1.0)
    recipe.collect(says("win", "loss"), 1)
    met = Counter(sample.meta["opponent"].split()[0] for sample in recipe.judged)
    assert met == {"middle": 6, "strong": 2}
    assert recipe.probed == {"same": 1}
    assert recipe.metrics()["opponent_matters"] == 0.0
    pool = OpponentPool(LADDER, recipe.pool.answers, 0.0)
    assert [pool.farthest("q0", name) for name in LADDER] == ["strong", "strong", "weak"]
    assert OpponentPool({"weak": 1000.0}, recipe.pool.answers, 0.0).farthest("q0", "weak") is None
    assert OpponentPool(LADDER | {"silent": 9000.0}, recipe.pool.answers, 0.0).farthest("q0", "weak") == "strong"


def test_what_probes_say_is_the_share_of_those_in_which_the_opponent_mattered(made):
    def rule(sample):  # the strong one is beaten by no output, but on q0
        strong = sample.meta["opponent"].startswith("strong") and sample.prompt != "q0"
        return VERDICTS["loss" if strong else sample.completion]

    recipe = made(rule, probes=4, prompts=4, samples=2, draw_temperature=1.0)
    recipe.collect(says("win", "loss"), 1)
    assert recipe.metrics()["opponent_matters"] == 0.75
    untold = made(probes=4, prompts=4, samples=2, draw_temperature=1.0)
    untold.collect(says("win"), 1)
    assert "opponent_matters" not in untold.metrics()


@pytest.mark.parametrize("change", [{"opponents_per_group": 2}, {"pool": {"middle": 1200.0}}, {"probes": 0}])
def test_no_group_is_probed_where_there_is_no_second_opponent_or_several_share_it(made, change):
    recipe = made(**{"probes": 2} | change)
    recipe.collect(says("win", "loss"), 1)
    assert len(recipe.judged) == 8
    assert recipe.probed == {}


def test_the_warning_comes_once_and_only_where_no_probe_found_a_difference(made, monkeypatch, recwarn):
    monkeypatch.setattr(recipes, "PROBES", 4)
    recipe = made(probes=2, draw_temperature=1.0)
    counts = []
    for step in range(1, 5):
        recipe.collect(says("win", "loss"), step)
        counts.append(len(recwarn))
    assert counts == [0, 1, 1, 1]
    recipe = made(probes=2, draw_temperature=1.0)
    recipe.probed["other"] = 1
    for step in range(1, 5):
        recipe.collect(says("win", "loss"), step)
    assert len(recwarn) == 1


def test_evaluation_meets_the_unseen_in_turn_and_counts_each_opponent_alike(made):
    def rule(sample):
        return VERDICTS["none" if sample.prompt == "q7" else "win" if "easy" in sample.meta["opponent"] else "tie"]

    unseen = {"easy": 1000.0, "hard": 1500.0, "other": 1800.0}
    recipe = made(rule, unseen=unseen, evaluate_samples=2, temperature=0.7)
    sampler = says("any")
    found = recipe.evaluate(sampler, 1)
    met = [(sample.prompt, sample.meta["opponent"]) for sample in recipe.judged]
    wanted = [("q4", "easy on q4"), ("q5", "hard on q5"), ("q6", "other on q6"), ("q7", "easy on q7")]
    assert met == [pair for pair in wanted for _ in range(2)]
    assert {(request.n, request.temperature) for request in sampler.requests} == {(2, 0.7)}
    games = [(1000.0, 1.0)] * 2 + [(1500.0, 0.5)] * 2 + [(1800.0, 0.5)] * 2
    assert found == {
        "win_rate": pytest.approx(2 / 3),
        "performance": performance(games),
        "rating": 1200.0,
        "unjudged": 2.0,
        "win_rate/easy": 1.0,
        "win_rate/hard": 0.5,
        "win_rate/other": 0.5,
    }
    assert recipe.pool.rating == 1200.0  # evaluation is no training


def test_evaluation_may_be_greedy_against_the_pool_and_have_no_verdict_at_all(made):
    recipe = made(evaluate_samples=0, temperature=0.7)
    sampler = says("none")
    assert recipe.evaluate(sampler, 1) == {"rating": 1200.0, "unjudged": 4.0}
    assert {sample.meta["opponent"].split()[0] for sample in recipe.judged} == set(LADDER)
    assert {(request.n, request.temperature) for request in sampler.requests} == {(1, 0.0)}


def test_engines_answer_what_is_missing_once_and_a_failure_names_the_opponent(made, monkeypatch):
    def answers(request):
        content = request.prompt[0]["content"]
        return EngineError("it is gone") if content == failing else f"made for {content}"

    engine, failing = ScriptedEngine(answers), ""
    monkeypatch.setattr(recipes, "load_engine", lambda spec: engine)
    recipe = made(engines={"weak": "any"}, answered=["middle", "strong"], draw_temperature=1.0, rating=1000.0)
    recipe.collect(says("win"), 1)
    asked = [request.prompt[0]["content"] for request in engine.requests]
    assert sorted(asked) == sorted({str(sample.prompt) for sample in recipe.judged})
    assert {sample.meta["opponent"] for sample in recipe.judged} == {f"made for {prompt}" for prompt in asked}
    recipe.evaluate(says("win"), 1)
    assert sorted(request.prompt[0]["content"] for request in engine.requests) == sorted([*asked, "q4", "q7"])
    failing = "q4"
    fresh = made(engines={"weak": "any"}, answered=["middle", "strong"])
    with pytest.raises(VerikitError, match="opponent 'weak' can't answer: it is gone"):
        fresh.evaluate(says("win"), 1)


def test_an_outcome_lies_between_a_loss_and_a_win_and_only_more_than_a_tie_is_paid():
    found = [OpponentBout("x", Score(value)) for value in (-0.5, 0.0, 0.5, 0.51, 1.0, 1.5)]
    assert [bout.outcome for bout in found] == [0.0, 0.0, 0.5, 0.51, 1.0, 1.0]
    assert [bout.reward("binary") for bout in found] == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert [bout.reward("graded") for bout in found] == [-0.5, 0.0, 0.5, 0.51, 1.0, 1.5]
    # A judge's verdict in a word counts for the game, whatever its confidence.
    sure = [OpponentBout("x", Score(value, answer=said)) for value, said in ((0.7, "win"), (0.4, "tie"), (0.3, "loss"))]
    assert [bout.outcome for bout in sure] == [1.0, 0.5, 0.0]
    assert [bout.reward("graded") for bout in sure] == [0.7, 0.4, 0.3]


def test_the_length_guard_counts_neither_sides_thoughts():
    judge = FunctionVerifier(lambda sample: VERDICTS["win"], "rule")
    thoughts = f"<think>{'word ' * 50}</think>"
    texts = [f"{thoughts}short", "word " * 20, "short"]
    played = bouts(judge, Group("p"), texts, [("x", "a b"), ("x", f"{thoughts}a b"), ("x", "a b")], 10)
    assert [bout.guarded for bout in played] == [False, True, False]
    assert [bout.outcome for bout in played] == [1.0, 0.0, 1.0]
    assert "more than 10 words" in played[1].score.reason


def test_two_rewards_that_differ_by_scale_or_level_teach_the_same_and_fewer_than_two_teach_nothing():
    assert same_lesson([0.0, 0.5, 1.0], [0.2, 0.3, 0.4]) is True
    assert same_lesson([0.0, 0.5, 1.0], [0.0, 0.6, 1.0]) is False
    assert same_lesson([0.0, 0.0, 0.0], [0.0, 0.5, 1.0]) is False
    assert same_lesson([0.0, 0.5, 1.0], [0.0, 0.0, 0.0]) is False
    assert same_lesson([1.0, None], [0.0, 1.0]) is None
    assert same_lesson([], []) is None


def test_a_pool_plays_against_the_ratings_that_opponents_came_with():
    pool = OpponentPool(LADDER, Opponents(), 1200.0)
    pool.join("policy@2", {})
    pool.play([("strong", 1.0), ("policy@2", 0.5)], 32.0, "mean")
    assert pool.rating == pytest.approx(updated(1200.0, [(1600.0, 1.0), (1200.0, 0.5)]))
    assert pool.ratings == LADDER | {"policy@2": 1200.0}
