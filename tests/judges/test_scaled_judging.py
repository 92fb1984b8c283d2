"""Verdicts by their probabilities, several criteria, several askings."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judges.scripted import Scripted, asked, better, shown
from verikit.engines import Output, TopLogprob
from verikit.errors import ConfigError, EngineError
from verikit.judges import Pair, Pairwise, Pointwise, Rubric, load_prompt
from verikit.judges.asking.shares import verdict_shares
from verikit.judges.pairwise import leads
from verikit.types import Sample

GRADES = {"A>>B": 1.0, "A>B": 1.0, "A=B": 0.5, "B>A": 0.0, "B>>A": 0.0}
TENTHS = {str(n): float(n) for n in range(1, 11)}


def tops(**shares):
    return tuple(TopLogprob(text, math.log(share)) for text, share in sorted(shares.items(), key=lambda kv: -kv[1]))


def top(shares):
    return tops(**shares)


def spoken(*steps):
    """A reply of tokens, each with the likeliest ones at its place; the first of each is what was sampled."""
    found = [step if isinstance(step, dict) else {step: 1.0} for step in steps]
    tokens = tuple(next(iter(step)) for step in found)
    likeliest = tuple(top(step) for step in found)
    return Output("".join(tokens), tokens=tokens, logprobs=(0.0,) * len(tokens), top_logprobs=likeliest)


class Writer:
    """A made model that writes one of these verdicts, each in its own tokens, with probabilities at every step."""

    def __init__(self, verdicts, after, seed):
        self.rng = random.Random(seed)
        self.tokens = {name: self.cut(name + after) for name in verdicts}
        self.weights = {tokens: self.rng.random() ** 2 + 0.001 for tokens in self.tokens.values()}

    def cut(self, text):
        ends = [i for i in range(1, len(text)) if self.rng.random() < 0.5]
        return tuple(text[i:j] for i, j in zip([0, *ends], [*ends, len(text)], strict=True))

    def mass(self, path):
        return math.fsum(weight for tokens, weight in self.weights.items() if tokens[: len(path)] == path)

    def probability(self, name):
        return self.weights[self.tokens[name]] / self.mass(())

    def reply(self, before):
        """One of its replies, with the likeliest tokens at each place of the verdict."""
        (path,) = self.rng.choices([*self.weights], [*self.weights.values()])
        likeliest = []
        for i in range(len(path)):
            following = {tokens[i] for tokens in self.weights if tokens[:i] == path[:i]}
            likeliest.append(top({token: self.mass((*path[:i], token)) / self.mass(path[:i]) for token in following}))
        tokens = (*before, *path)
        return Output("".join(tokens), tokens=tokens, top_logprobs=(*[()] * len(before), *likeliest))


@pytest.mark.parametrize("values", [GRADES, TENTHS], ids=["grades", "numbers"])
@given(seed=st.integers(0, 10**6))
def test_shares_are_the_probabilities_of_a_model_whose_every_reply_is_known(values, seed):
    model = Writer(values, "]]", seed)
    shares = verdict_shares(model.reply(("So: ", "[[")), values, start=6, after="]]")
    worth, counted = {}, {}
    for name, value in values.items():
        worth[value] = worth.get(value, 0.0) + model.probability(name)
    for name, share in shares.items():
        counted[values[name]] = counted.get(values[name], 0.0) + share
    missing = 1.0 - math.fsum(counted.values())
    assert missing > -1e-9
    for value, probability in worth.items():
        assert counted.get(value, 0.0) <= probability + 1e-9
        assert counted.get(value, 0.0) >= probability - missing - 1e-9


def test_a_verdict_after_thoughts_is_weighed_where_it_stands():
    form = load_prompt("rating").reply
    judge = Pointwise(Scripted(lambda _: spoken("Good", " but", " [[", {"7": 0.5, "9": 0.3, "1": 0.2}, {"]]": 1.0})))
    plain = judge("a")
    assert plain.answer == "7"
    weighed = Pointwise(judge.engine, expected=True)("a")
    # "1" was not sampled, and may become 10: it counts for neither.
    assert float(weighed.answer) == pytest.approx((7 * 0.5 + 9 * 0.3) / 0.8, abs=1e-4)
    assert form.read == "text"


@pytest.mark.parametrize("fused", [True, False])
def test_a_token_that_holds_more_than_the_verdict_counts_for_it(fused):
    sampled = [{"[[A": 0.7, "[[B": 0.2, "[[C": 0.1}, "]]"] if fused else ["[[", {"A]]": 0.7, "B]]": 0.2, "C]]": 0.1}]
    judge = Pairwise(Scripted(lambda _: spoken("So ", *sampled)), order="fixed", expected=True)
    assert judge.compare([Pair("x", "y")])[0].preference == pytest.approx(0.75)


def test_the_last_of_equal_verdicts_is_the_one_that_counts():
    reply = spoken("[[", {"A": 0.9, "B": 0.1}, "]]", " yes ", "[[", {"A": 0.6, "B": 0.4}, "]]")
    judge = Pairwise(Scripted(lambda _: reply), order="fixed", expected=True)
    assert judge.compare([Pair("x", "y")])[0].preference == pytest.approx(0.6)


def test_graded_verdicts_of_several_tokens_are_told_apart():
    reply = spoken("[[", {"A": 0.6, "B": 0.4}, {">": 0.5, ">>": 0.25, "=": 0.25}, {"B": 1.0}, "]]")
    judge = Pairwise(Scripted(lambda _: reply), "pairwise-graded", order="fixed", expected=True)
    assert judge.compare([Pair("x", "y")])[0].preference == pytest.approx(0.6 * 0.75 + 0.6 * 0.25 * 0.5)


def test_without_log_probabilities_there_is_no_expected_verdict():
    judge = Pairwise(Scripted(lambda _: "So: [[A]]"), order="fixed", expected=True)
    (comparison,) = judge.compare([Pair("x", "y")])
    assert comparison.preference is None
    assert "no log-probabilities" in comparison.reason
    assert judge.engine.requests[0].logprobs == 20


def test_contradictory_verdicts_are_none_however_probable():
    reply = spoken("[[", {"A": 1.0}, "]]", "[[", {"B": 1.0}, "]]")
    judge = Pairwise(Scripted(lambda _: reply), order="fixed", expected=True, probe=0)
    assert judge.compare([Pair("x", "y")])[0].preference is None


def lines(request, probabilities):
    """A reply that gives each criterion of a rubric its verdict, met with these probabilities."""
    mark = request.meta["fence"]
    steps = ["Some words.\n"]
    for number, met in enumerate(probabilities, 1):
        shares = {" met": met, " not": 1 - met} if met >= 0.5 else {" not": 1 - met, " met": met}
        steps += [f"<{mark}", f" {number}:", shares]
        steps += [">\n"] if met >= 0.5 else [" met", ">\n"]
    return spoken(*steps)


def test_a_rubrics_criteria_count_by_the_probability_that_they_are_met():
    rubric = [{"criterion": "Right.", "points": 3}, {"criterion": "Rude.", "points": -1}]
    judge = Rubric(Scripted(lambda request: lines(request, [0.8, 0.25])), rubric=rubric, expected=True)
    score = judge("a")
    assert score.value == pytest.approx((3 * 0.8 - 0.25) / 3)
    assert "2 of 2 criteria" in score.reason
    assert [part.value for part in score.parts.values()] == pytest.approx([0.8, 0.25])


def test_a_criterion_that_gates_counts_by_its_likeliest_verdict():
    rubric = [{"criterion": "Right.", "points": 1}, {"criterion": "Safe.", "points": 1, "must": True}]
    for met, value in ((0.7, (0.9 + 1) / 2), (0.3, 0.0)):
        judge = Rubric(Scripted(lambda request, met=met: lines(request, [0.9, met])), rubric=rubric, expected=True)
        assert judge("a").value == pytest.approx(value)


def test_a_json_verdict_is_weighed_at_its_field():
    steps = ('{"explanation": "it is true",', ' "criteria_met":', {" true": 0.6, " false": 0.4}, "}")
    rubric = [{"criterion": "Right.", "points": 1}]
    judge = Rubric(Scripted(lambda _: spoken(*steps)), "rubric-healthbench", rubric=rubric, expected=True)
    assert judge("a").value == pytest.approx(0.6)


def test_repeated_ratings_differ_in_seed_and_their_mean_counts():
    engine = Scripted(lambda request: f"[[{(4, 6, 9)[request.seed]}]]")
    score = Pointwise(engine, asks=3)("a")
    assert float(score.answer) == pytest.approx(19 / 3, abs=1e-4)
    assert "mean of 3 askings" in score.reason
    assert engine.calls == [3]
    assert {request.temperature for request in engine.requests} == {1.0}
    assert score.usage["calls"] == 3


def test_asked_once_a_request_is_what_it_always_was():
    engine = Scripted(lambda _: "[[4]]")
    Pointwise(engine)("a")
    assert (engine.requests[0].temperature, engine.requests[0].seed) == (0.0, None)


def test_each_criterion_is_rated_by_itself_and_shown_last():
    engine = Scripted(lambda request: "[[9]]" if "Is it brief?" in asked(request) else "[[1]]")
    score = Pointwise(engine, criteria=["Is it right?", "Is it brief?"], asks=2)("a")
    assert score.value == pytest.approx((0 + 8 / 9) / 2)
    assert {name: part.answer for name, part in score.parts.items()} == {"Is it right?": "1", "Is it brief?": "9"}
    first, other = asked(engine.requests[0]), asked(engine.requests[2])
    assert first.split("Judge by this criterion alone")[0] == other.split("Judge by this criterion alone")[0]


def test_a_criterion_is_no_template():
    engine = Scripted(lambda _: "[[4]]")
    Pointwise(engine, criteria=["Does it use {answer} and {0}?"])("the text")
    assert "Does it use {answer} and {0}?" in asked(engine.requests[0])


def test_an_asking_without_a_verdict_is_left_out_and_a_failed_one_leaves_none():
    replies = ["[[4]]", "hard to say", "[[6]]"]
    assert Pointwise(Scripted(lambda request: replies[request.seed]), asks=3)("a").answer == "5"
    replies[1] = EngineError("down")
    lost = Pointwise(Scripted(lambda request: replies[request.seed]), asks=3)("a")
    assert (lost.value, lost.status) == (None, "error")
    nothing = Pointwise(Scripted(lambda _: "hard to say"), asks=2)("a")
    assert nothing.value is None


def test_a_criterion_without_a_verdict_leaves_the_whole_without():
    engine = Scripted(lambda request: "hm" if "brief" in asked(request) else "[[7]]")
    score = Pointwise(engine, criteria=["Is it right?", "Is it brief?"])("a")
    assert score.value is None
    assert [part.value for part in score.parts.values()] == [pytest.approx(6 / 9), None]
    assert Pairwise(engine, criteria=["Is it right?", "Is it brief?"]).compare([Pair("x", "y")])[0].preference is None


def test_a_pair_asked_about_often_is_worth_the_mean_of_its_askings():
    def rule(request):
        return better("good", "bad")(request) if request.seed < 3 else "[[A]]"

    (comparison,) = Pairwise(Scripted(rule), asks=4).compare([Pair("good", "bad")])
    assert comparison.preference == pytest.approx((3 + 0.5) / 4)
    assert len(comparison.orders) == 8
    assert comparison.usage["calls"] == 8
    assert " by 8 replies" in comparison.reason


def test_a_judge_that_prefers_a_place_gives_exactly_half_however_often_it_is_asked():
    judge = Pairwise(Scripted(lambda _: "[[A]]"), asks=5, criteria=["Is it right?", "Is it brief?"], confidence=0.9)
    assert [c.preference for c in judge.compare([Pair("x", "y"), Pair("y", "x")])] == [0.5, 0.5]


def test_a_decided_pair_is_not_asked_about_again():
    def rule(request):
        clear = "clear" in shown(request, "answer_1") + shown(request, "answer_2")
        return better("good", "bad")(request) if clear else "[[A]]"

    engine = Scripted(rule)
    pairs = [Pair("good clear", "bad clear"), Pair("good", "bad"), Pair("same", "same")]
    compared = Pairwise(engine, asks=6, confidence=0.9).compare(pairs)
    assert [comparison.preference for comparison in compared] == [1.0, 0.5, 0.5]
    # Four replies for one side are sure at 0.97, two at 0.875; the undecided pair is asked about to the end.
    assert engine.calls == [4, 4, 2, 2, 2, 2]
    assert [len(comparison.orders) for comparison in compared] == [4, 12, 0]


@pytest.mark.parametrize(
    ("preferences", "sure"), [([], 0.5), ([1.0], 0.75), ([0.0, 0.4], 0.875), ([0.9, 0.3], 0.5), ([0.5, 0.5], 0.5)]
)
def test_how_sure_a_lead_is_follows_from_a_flat_prior(preferences, sure):
    assert leads(preferences) == pytest.approx(sure)


@pytest.mark.parametrize(
    "options",
    [{"asks": 0}, {"asks": True}, {"criteria": "one text"}, {"criteria": [""]}, {"criteria": 3}],
)
def test_scaling_that_means_nothing_is_refused(options):
    for judge in (Pointwise, Pairwise):
        with pytest.raises(ConfigError):
            judge("replay:/dev/null", **options)


@pytest.mark.parametrize("confidence", [0.5, 1.1, "sure", 0])
def test_a_confidence_is_a_probability_above_one_half(confidence):
    with pytest.raises(ConfigError, match="confidence"):
        Pairwise("replay:/dev/null", confidence=confidence)


def test_scaled_judges_score_samples_like_others():
    engine = Scripted(better("good", "bad"))
    score = Pairwise(engine, asks=2).score([Sample("q", "good", meta={"opponent": "bad"})])[0]
    assert (score.value, score.answer) == (1.0, "win")
