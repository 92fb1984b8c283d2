"""What each recipe promises of its draws and prompts, and its tests once did not notice when it was broken."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.trainers.recipes.scripted import Scripted
from tests.trainers.recipes.test_spice import CHOICE, FREE, MCQ, made, reply
from verikit.trainers.config import load_config
from verikit.trainers.recipe import Setting
from verikit.trainers.recipes.absolute_zero.options import AbsoluteZeroOptions
from verikit.trainers.recipes.absolute_zero.problem import Problem
from verikit.trainers.recipes.absolute_zero.recipe import AbsoluteZero
from verikit.trainers.recipes.spice.checks import TypedEquality
from verikit.trainers.recipes.spice.formats import CorpusQuestion, QuestionKind, parse_mcq
from verikit.trainers.recipes.spice.options import SpiceOptions
from verikit.trainers.recipes.spice.rounds import Challenge, DocumentRound, round_metrics

STRING = CorpusQuestion("Who?", "Maria Vant", "String")


def test_spice_draws_every_document_alike(tmp_path):
    recipe = made(tmp_path)
    recipe.corpus = [f"d{number}" for number in range(10)]
    draw = random.Random(0)
    counts = Counter(recipe.draw_document(draw) for _ in range(2000))
    assert len(counts) == 10
    assert all(140 < count < 260 for count in counts.values())


def test_spice_shows_the_reasoner_the_question_and_neither_quotes_nor_the_answer(tmp_path):
    secrets = {
        "relevant_quotes": ["built in 1874"],
        "identified_information": "seen",
        "step_by_step_solution": "12 arches",
    }
    row = FREE | secrets | {"question": "How many has it?"}

    def policy(prompt, number):
        return reply(row) if "BEGINNING OF THE DOCUMENT" in prompt else r"\boxed{12}"

    sampler = Scripted(policy)
    recipe = made(tmp_path)
    rows = recipe.collect(sampler, 1)
    asked = [text for r in sampler.requests if "BEGINNING OF" not in (text := sampler.decode(r.prompt))]
    whole = recipe.prompts.reason(CorpusQuestion("How many has it?", "", "Integer"))
    assert asked
    assert set(asked) == {f"user: {whole}\n"}
    assert {row.prompt for row in rows if row.role == "reasoner"} == {whole}


def test_a_choice_is_asked_for_its_letter_and_a_free_question_for_its_answer(tmp_path):
    prompts, question = made(tmp_path).prompts, parse_mcq(reply(CHOICE))
    assert "the letter of the right option" in prompts.reason(question)
    assert "the letter" not in prompts.reason(STRING)
    assert "your final answer" in prompts.reason(STRING)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        (r"\boxed{Anna Berg} no: \boxed{Maria Vant}", 1.0),
        (r"\boxed{Maria Vant} no: \boxed{Anna Berg}", 0.0),
        (r"<think>\boxed{Maria Vant}</think>", 0.0),
    ],
)
def test_the_last_box_counts_for_strings(said, value):
    assert TypedEquality().score(STRING, said).value == value


def test_the_last_box_counts_for_options_texts():
    question = parse_mcq(reply(CHOICE))
    assert TypedEquality().score(question, r"\boxed{Anna Berg} no: \boxed{Maria Vant}").value == 1.0
    assert TypedEquality().score(question, r"\boxed{Maria Vant} no: \boxed{Anna Berg}").value == 0.0


@pytest.mark.parametrize(("attempts", "asked"), [(8, [4, 4]), (6, [4, 2]), (3, [3]), (13, [4, 4, 4, 1])])
def test_attempts_come_by_groups_and_never_more_than_wanted(tmp_path, attempts, asked):
    recipe = made(tmp_path, documents=1, attempts=attempts, group=4)
    sampler = Scripted(lambda prompt, number: "nothing")
    recipe.collect(sampler, 1)
    assert [request.n for request in sampler.requests] == asked


class Waves(Scripted):
    """Counts how often it is waited for."""

    waves = 0

    def stream(self, requests):
        self.waves += 1
        yield from super().stream(requests)


def test_a_document_that_stays_invalid_is_waited_for_eight_times(tmp_path):
    recipe = made(tmp_path, documents=1, attempts=1024, group=8)
    sampler = Waves(lambda prompt, number: "nothing")
    recipe.collect(sampler, 1)
    assert sampler.waves == 8
    assert [request.n for request in sampler.requests] == [8] * 128
    assert len({request.seed for request in sampler.requests}) == 128


def test_a_document_whose_requests_are_all_lost_is_given_up_after_two_rounds(tmp_path):
    recipe = made(tmp_path, documents=1, attempts=1024, group=8)
    sampler = Waves(lambda prompt, number: "nothing", failing=1)
    assert recipe.collect(sampler, 1) == []
    assert (sampler.waves, len(sampler.requests)) == (2, 3)


def test_a_valid_question_is_answered_while_another_document_is_still_asked(tmp_path):
    def policy(prompt, number):
        if "BEGINNING OF" not in prompt:
            return r"\boxed{12}"
        return reply(FREE | {"relevant_quotes": ["first"]}) if "first" in prompt else "no"

    recipe = made(tmp_path, group=4, attempts=12, checks=["quotes"])
    sampler, free = Waves(policy), QuestionKind("free_form", "Integer")
    rounds = [recipe.play(sampler, at, text, free, random.Random(0)) for at, text in enumerate(("first", "second"))]
    first, second = sampler.roll_out(rounds)
    assert (first.valid, second.valid, second.attempts) == (4, 0, 12)
    asked = ["BEGINNING OF" in sampler.decode(request.prompt) for request in sampler.requests]
    # Both are challenged, then the first one's four questions are answered beside the second one's two groups.
    assert (asked, sampler.waves) == ([True, True, *[False] * 4, True, True], 2)


def test_a_document_with_a_question_is_asked_no_more_while_others_are(tmp_path):
    seen = Counter()

    def policy(prompt, number):
        if "BEGINNING OF" not in prompt:
            return r"\boxed{12}"
        name = "first" if "first" in prompt else "second"
        seen[name] += 1
        return reply(FREE | {"relevant_quotes": [name]}) if name == "first" or seen[name] > 4 else "no"

    recipe = made(tmp_path, group=4, attempts=20, checks=["quotes"])
    sampler, free = Scripted(policy), QuestionKind("free_form", "Integer")
    done = sampler.roll_out(
        [recipe.challenge(sampler, at, Challenge(text, free)) for at, text in enumerate(("first", "second"))]
    )
    assert [len(challenge.attempts) for challenge in done] == [4, 12]


def test_a_step_s_metrics_are_shares_of_attempts_documents_and_answers():
    free = QuestionKind("free_form", "Integer")

    class Answered:
        def __init__(self, rate):
            self.rate = rate

    def documents(*rates):
        answers = [[None if rate is None else Answered(rate) for rate in rates], [], [Answered(None)]]
        counts = zip((free, free, MCQ), (2, 1, 1), (1, 0, 1), answers, strict=True)
        return [DocumentRound(kind, made, valid, (), (), found, None) for kind, made, valid, found in counts]

    found = round_metrics(documents(0.25, 1.0, None))
    assert found == {
        "attempts": 4 / 3,
        "challenger/valid": 0.5,
        "challenger/without": pytest.approx(1 / 3),
        "format/mcq": pytest.approx(1 / 3),
        "reasoner/solve_rate": 0.625,
        "reasoner/between": 0.5,
    }
    assert "reasoner/solve_rate" not in round_metrics(documents())


def test_formats_may_be_fixed_or_take_turns(tmp_path):
    def kinds(**options):
        recipe = made(tmp_path, **options)
        return [kind.format for kind in recipe.drawn_kinds(["d"] * 4, random.Random(0))]

    assert kinds(formats="mcq") == ["mcq"] * 4
    assert kinds(formats="free_form") == ["free_form"] * 4
    assert kinds(formats="alternate") == ["mcq", "free_form"] * 2
    assert kinds(formats="model", use_documents=False) == ["mcq", "free_form"] * 2


def test_a_challenger_that_names_no_format_has_one_drawn(tmp_path):
    recipe = made(tmp_path, formats="model")
    sampler = Scripted(lambda prompt, number: "any")
    drawn = recipe.drawn_kinds(["d"] * 200, random.Random(0))
    found = sampler.roll_out([recipe.choose_kind(sampler, number, "d", kind) for number, kind in enumerate(drawn)])
    assert found == drawn
    counts = Counter(kind.format for kind in found)
    assert 70 < counts["mcq"] < 130


def test_held_out_accuracy_is_sampled_and_greedy(tmp_path):
    rows = [{"prompt": "How many?", "answer": "12", "meta": {}}]
    (tmp_path / "held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = made(tmp_path, held_out=str(tmp_path / "held.jsonl"), evaluate_samples=4, temperature=0.7)
    sampler = Scripted(lambda prompt, number: rf"\boxed{{{12 + number}}}")
    found = recipe.evaluate(sampler, 1)
    assert (found["accuracy"], found["greedy"]) == (0.25, 1.0)
    assert [(request.n, request.temperature) for request in sampler.requests] == [(4, 0.7), (1, 0.0)]
    assert made(tmp_path).evaluate(sampler, 1) == {}


def test_options_are_the_papers_by_default():
    told = load_config("spice-paper").options
    default = SpiceOptions().model_dump(mode="json")
    assert {key: (told[key], value) for key, value in default.items() if told[key] != value} == {}
    told, default = load_config("absolute-zero-paper").options, AbsoluteZeroOptions().model_dump(mode="json")
    assert {key: (told[key], value) for key, value in default.items() if told[key] != value} == {}


@pytest.mark.parametrize("references", [0, 1, 6])
def test_a_proposer_sees_as_many_references_as_the_option_says(references):
    recipe = AbsoluteZero(AbsoluteZeroOptions(references=references), Setting(None, 0, Path()))
    problems = [Problem("deduction", f"def f(x):\n    return x + {n}", "1", str(n + 1)) for n in range(20)]
    recipe.buffers["deduction"].add(problems, random.Random(0))
    asked = recipe.ask(Scripted(None), "deduction", 1, random.Random(0))
    assert len(asked.references) == references
    assert bytes(asked.ids).decode().count("return x + ") == references
