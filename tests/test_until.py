"""Rules that end sampling: what they say of every order of votes, and how they are written."""

import random
from collections import Counter
from itertools import product

import pytest

from verikit import Sample, Score, verifier
from verikit.errors import SpecError, UsageError
from verikit.select import Majority
from verikit.stats.early import is_settled
from verikit.types import Group
from verikit.until import MajorityRule, ScoreRule, leads_with, load_rule


def samples(answers):
    return [Sample("?", text if text is None or len(text) > 300 else f"\\boxed{{{text}}}") for text in answers]


def winner(answers):
    scores = [Score(0.0, answer=answer) for answer in answers]
    return answers[Majority().select(Group(completions=answers), scores)[0]]


def firsts(n):
    """Sequences of n votes up to renaming: each new answer gets the next letter."""
    if not n:
        return [""]
    return [seen + letter for seen in firsts(n - 1) for letter in "abcdefgh"[: len(set(seen)) + 1]]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_exact_rule_stops_at_the_first_moment_at_which_no_continuation_changes_the_majority(n):
    for m in range(1, n):
        for seen in firsts(m):
            rests = product([*sorted(set(seen)), "y", "z"], repeat=n - m)
            outcomes = {winner([*seen, *rest]) for rest in rests}
            numbers = {name: i for i, name in enumerate(dict.fromkeys(seen))}
            votes = Counter(numbers[name] for name in seen)
            assert is_settled(votes, n - m) == (len(outcomes) == 1), (seen, n)


def test_the_rule_reads_answers_out_of_replies_and_compares_them_by_what_they_mean():
    rule = load_rule("majority")
    replies = [
        "The answer is 0.5.",
        "So \\boxed{\\frac12}",
        "<think>Or 7? \\boxed{7}</think> The answer is $1/2$.",
        "#### 0.50",
    ]
    told = [Sample("Half?", reply) for reply in replies]
    assert [rule.stop(told[:m], 6) for m in (1, 2, 3, 4)] == [False, False, True, True]
    undecided = [Sample("Half?", "I think so. " * 100)] * 5
    assert not rule.stop(undecided, 6)


def test_a_verifier_can_read_the_answers():
    last = verifier(lambda s: Score(0.0, answer=s.completion[-1]), name="last")
    assert MajorityRule(by=last).stop([Sample("?", "x1"), Sample("?", "y1")], 4)
    assert not MajorityRule(by=last).stop([Sample("?", "x1"), Sample("?", "y2")], 4)


def test_the_posterior_of_two_answers_is_that_of_the_beta_distribution():
    assert leads_with([1]) == pytest.approx(0.75)
    assert leads_with([4]) == pytest.approx(1 - 0.5**5)
    assert leads_with([3, 3]) == pytest.approx(0.5)
    assert leads_with([5, 1]) == pytest.approx(1 - sum(1 * c for c in (1, 7)) / 2**7)  # Beta(6, 2) above a half
    assert leads_with([5, 1, 1, 1]) == leads_with([5, 1])


@pytest.mark.parametrize("counts", [[4, 2, 1], [3, 3, 3], [6, 1, 1, 1], [2, 1, 1, 1, 1]])
def test_the_posterior_of_several_answers_is_that_of_the_dirichlet_distribution(counts):
    draw, hits, n = random.Random(0), 0, 40_000
    for _ in range(n):
        first, *others = [draw.gammavariate(count + 1, 1) for count in counts]
        hits += first > max(others)
    assert leads_with(counts, "dirichlet") == pytest.approx(hits / n, abs=0.01)


def test_confidence_stops_earlier_than_certainty_and_never_later():
    exact, likely = load_rule("majority"), load_rule("majority(0.9)")
    draw, earlier = random.Random(1), 0
    for _ in range(200):
        told = samples(draw.choices(["1", "2", "3"], [6, 2, 1], k=16))
        stops = [next((m for m in range(1, 16) if rule.stop(told[:m], 16)), 16) for rule in (exact, likely)]
        assert stops[1] <= stops[0]
        earlier += stops[1] < stops[0]
    assert earlier > 100


def test_the_first_that_passes_ends_it_and_errors_do_not():
    rule = load_rule("first(answer)")
    told = [Sample("?", "\\boxed{3}", "4"), Sample("?", "\\boxed{4}", "4")]
    assert [rule.stop(told[:m], 8) for m in (1, 2)] == [False, True]
    assert not rule.stop([Sample("?", "\\boxed{4}")], 8)  # no gold, no score
    broken = ScoreRule(verifier(lambda sample: 1 / 0, name="broken"))
    assert not broken.stop(told, 8)


@pytest.mark.parametrize(("spec", "least"), [("majority", 8), ("majority(0.95)", 4), ("first(answer)", 1)])
def test_a_rule_says_how_many_samples_come_before_it_can_stop_and_why_it_does(spec, least):
    rule, told = load_rule(spec), [Sample("?", "\\boxed{4}", "4")] * 16
    stop = next(m for m in range(1, 17) if rule.stop(told[:m], 16))
    assert (rule.name, rule.least(16), stop) == (spec, least, least)
    reason = {"majority": "settled", "majority(0.95)": "likely", "first(answer)": "passed"}[spec]
    assert rule.why(told[:stop], 16) == reason
    assert rule.least(1) == 1


def test_a_confident_score_ends_it():
    rule = load_rule("confident(length(max=10), 0.9)")
    assert rule == ScoreRule(rule.by, 0.9)
    assert rule.stop([Sample("?", "short")], 8)
    assert not rule.stop([Sample("?", "much too long for this")], 8)


def test_specs_within_rules_may_hold_commas_quotes_and_brackets():
    rule = load_rule(
        "confident(0.5*regex('a,(b') + 0.5*mean(boxed, answer(policy='lenient')), level=0.75)".replace(
            "'a,(b'", r"'a,\\(b'"
        )
    )
    assert rule.level == 0.75
    assert load_rule("majority(0.95, by=choice(last='D'), form='dirichlet')").form == "dirichlet"
    assert load_rule(" majority ( 0.95 ) ") == MajorityRule(0.95)
    assert load_rule("majority()") == load_rule("majority(1.0)") == MajorityRule()


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("", "is not a stopping rule"),
        ("most(0.9)", "is not a stopping rule"),
        ("majority(0.9", "is not a stopping rule"),
        ("majority(often)", "could not convert"),
        ("majority(0.9, 0.8, 0.7, 0.6)", "it takes"),
        ("majority(0.9, confidence=0.8)", "twice"),
        ("majority(0.9, colour=1)", "colour"),
        ("majority(form=gamma)", "form must be one of"),
        ("majority(0.9,)", "empty"),
        ("first()", "needs a verifier"),
        ("first(nonsense)", "nonsense"),
        ("first(answer('x)", "missing"),
    ],
)
def test_a_rule_that_cannot_be_read_is_told(spec, told):
    with pytest.raises(SpecError, match=told):
        load_rule(spec)


@pytest.mark.parametrize("confidence", [0.2, 1.5, -1])
def test_a_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(UsageError, match="between"):
        load_rule(f"majority({confidence})")
