"""The tiny worlds: what they demonstrate is right, a resumed run is the run, and (slow) they learn."""

import json
import random
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from tests.trainers.conftest import same, train
from verikit.trainers.config import find_recipe, load_config
from verikit.trainers.recipe import Setting
from verikit.trainers.recipes.absolute_zero import tiny as zero
from verikit.trainers.recipes.spice import tiny as spice
from verikit.trainers.recipes.spice.formats import QuestionKind
from verikit.trainers.run import read_log

SHORT = {
    "absolute-zero-tiny": {
        "options.batch": 2, "options.seed_factor": 1, "options.seed_tries": 1, "options.estimates": 2,
        "options.rollouts": 1, "options.held_out_size": 1,
    },
    "spice-tiny": {"options.documents": 2, "options.attempts": 2, "options.group": 2, "options.held_out_size": 4},
}  # fmt: skip


def made(name, **options):
    config = load_config(name, [f"options.{key}={json.dumps(value)}" for key, value in options.items()])
    kind = find_recipe(config.recipe)
    given = kind.Options.model_validate(config.options)
    _, tokenizer = kind.make_model(given, 0)
    return kind(given, Setting(tokenizer, 0, Path()))


def short(name, **changes):
    common = {"warmup.steps": 3, "warmup.gate": 0, "run.steps": 3, "run.save_every": 1, "run.evaluate_every": 0}
    wanted = common | SHORT[name] | {key.replace("__", "."): value for key, value in changes.items()}
    return load_config(name, [f"{key}={json.dumps(value)}" for key, value in wanted.items()])


def metrics(folder):
    return [
        {key: value for key, value in row.items() if "second" not in key and key != "memory_mb"}
        for row in read_log(folder / "metrics.jsonl")
    ]


@pytest.mark.parametrize("name", SHORT)
def test_a_resumed_run_is_the_run_that_was_never_interrupted(tmp_path, name):
    whole = train(tmp_path / "whole", short(name))
    train(tmp_path / "parts", short(name, run__steps=2))
    parts = train(tmp_path / "parts", short(name), resume=True)
    assert same(whole, parts)
    a, b = ([row for row in metrics(tmp_path / part) if row["step"] == 3] for part in ("whole", "parts"))
    assert a == b


@pytest.mark.parametrize("name", SHORT)
def test_every_demonstration_is_made_of_known_tokens(name):
    for options in ({}, {"formats": "alternate"}) if name == "spice-tiny" else ({},):
        recipe = made(name, **options)
        for step in (1, 900):
            for demonstration in recipe.demonstrations(step):
                assert 0 not in demonstration.ids[:-1]
                assert recipe.setting.tokenizer.decode(demonstration.ids[:-1]).endswith(demonstration.completion)


def test_absolute_zero_s_demonstrations_are_right_unless_spoilt():
    recipe, draw = made("absolute-zero-tiny"), random.Random(0)
    for task in recipe.options.tasks:
        for length in (1, 2, 3):
            program = zero.random_program(draw, length)
            problem = recipe._random_problem(task, program, draw)
            said = [zero.solve(problem, program, draw, spoilt=spoilt) for spoilt in (False, True)]
            right, wrong = recipe.environment.solutions(problem, said)
            assert right.fault == ""
            if task != "abduction":  # a multiplication by 0 takes any input
                assert wrong.fault == "wrong"
            proposed = recipe.environment.proposal(task, zero.propose(problem, program), problem.program).problem
            assert proposed == problem


def test_absolute_zero_keeps_held_out_programs_out_of_everything():
    recipe = made("absolute-zero-tiny")
    apart = {problem.program for problem in recipe.held_out}
    draw = random.Random(1)
    assert all(recipe.admit(problem, draw) is None for problem in recipe.held_out)
    # An induction's answer is the one form every function of this world has, so functions are not held out there.
    rows = [
        demonstration
        for step in range(20)
        for demonstration in recipe.demonstrations(step)
        if not demonstration.prompt.startswith("induce")
    ]
    shown = "".join(row.prompt + row.completion for row in rows)
    assert not any(program in shown for program in apart)


def test_absolute_zero_s_proposals_and_weak_lengths_are_demonstrated_as_told():
    options = {"tasks": ["deduction"], "lengths": [1, 2, 3], "proposed": [0.9, 0.1], "spoilt_by_lines": [0.0, 1.0]}
    recipe = made("absolute-zero-tiny", **options)
    rows = [demonstration for step in range(30) for demonstration in recipe.demonstrations(step)]
    proposals = [row.completion.count(" = ") for row in rows if row.prompt.startswith("propose")]
    assert set(proposals) == {1, 2}
    assert 0.05 < proposals.count(2) / len(proposals) < 0.15
    wrong = {1: 0, 2: 0, 3: 0}
    solutions = [row for row in rows if row.prompt.startswith("deduce")]
    for row in solutions:
        program = row.prompt[row.prompt.index("def f") : row.prompt.index("\n```")]
        value = int(row.prompt.partition("input\n")[2][0])
        lines = [(line[-4:-1], int(line[-1])) for line in program.splitlines()[1:-1]]
        wrong[len(lines)] += f"output\n{zero.run(lines, value)[-1]}\n" not in row.completion
    asked = Counter(row.prompt.count(" = ") for row in solutions)
    assert wrong == {1: 0, 2: asked[2], 3: asked[3]}
    assert min(asked.values()) > 300


def test_absolute_zero_s_random_rival_keeps_the_length():
    recipe, draw = made("absolute-zero-tiny", source="random"), random.Random(2)
    for task in recipe.options.tasks:
        own = recipe._random_problem(task, zero.random_program(draw, 3), draw)
        other = recipe.admit(own, draw)
        assert recipe.stratum(other) == recipe.stratum(own)
        assert other.program != own.program


@pytest.mark.parametrize("formats", ["free_form", "mcq"])
def test_spice_s_demonstrations_are_valid_and_right(formats):
    recipe, draw = made("spice-tiny", formats=formats), random.Random(0)
    for members, document in zip(recipe._documents, recipe.corpus, strict=True):
        facts = [(spice.ENTITIES[index], recipe.values[index]) for index in members]
        kind = recipe._kind(draw)
        question = recipe.parse(kind, spice.challenge(facts[:3], kind.answer_type, draw), document)
        assert recipe.score(question, spice.solution(facts[:3], question)).value == 1.0
        other = [(entity, value + 1) for entity, value in facts[:3]]
        with pytest.raises(ValueError, match="quotes"):
            recipe.parse(kind, spice.challenge(other, kind.answer_type, draw), document)


def test_spice_s_held_out_questions_share_no_document():
    recipe = made("spice-tiny")
    together = {pair for document in recipe._documents for pair in combinations(sorted(document), 2)}
    for question in recipe.held_out:
        members = sorted(spice.ENTITIES.index(f" {name}") for name in question.text.split())
        assert not together & set(combinations(members, 2))
    assert Counter(recipe.stratum(question) for question in recipe.held_out) == {"2_facts": 100, "3_facts": 100}


def test_spice_s_challenger_can_t_claim_what_its_quotes_don_t_say():
    recipe, draw = made("spice-tiny"), random.Random(0)
    document = recipe.corpus[0]
    facts = [(spice.ENTITIES[index], recipe.values[index]) for index in recipe._documents[0]]
    good = spice.challenge(facts[:2], "Integer", draw)
    answer = sum(value for _, value in facts[:2]) % spice.MODULUS
    kind = QuestionKind("free_form", "Integer")
    recipe.parse(kind, good, document)
    for bad in (
        good.replace(f'"answer":{answer}', f'"answer":{(answer + 1) % 6}'),
        good.replace(f'"question":"{facts[0][0]}', f'"question":"{facts[2][0]}'),
        good.replace(f'"question":"{facts[0][0]}{facts[1][0]}', f'"question":"{facts[0][0]}{facts[0][0]}'),
    ):
        with pytest.raises(ValueError, match=r"quotes|twice"):
            recipe.parse(kind, bad, document)


def test_spice_without_its_oracle_holds_a_question_to_the_papers_guards_alone():
    config = load_config("spice-tiny-guards")
    assert config.options["checks"] == load_config("spice-paper").options["checks"]
    recipe, draw = made("spice-tiny", oracle=False, checks=config.options["checks"]), random.Random(0)
    document, kind = recipe.corpus[0], QuestionKind("free_form", "Integer")
    facts = [(spice.ENTITIES[index], recipe.values[index]) for index in recipe._documents[0]]
    good = spice.challenge(facts[:2], "Integer", draw)
    answer = sum(value for _, value in facts[:2]) % spice.MODULUS
    lie = good.replace(f'"answer":{answer}', f'"answer":{(answer + 1) % 6}')
    assert recipe.parse(kind, good, document).answer == str(answer)
    assert recipe.parse(kind, lie, document).answer == str((answer + 1) % 6)
    with pytest.raises(ValueError, match="quotes"):
        recipe.parse(kind, good, recipe.corpus[1])
    old = load_config("spice-tiny").model_dump()
    new = config.model_dump()
    changed = {key for key in old["options"] if old["options"][key] != new["options"][key]}
    assert changed == {"oracle", "checks"}
    assert {key for key in old if old[key] != new[key]} == {"name", "options"}
