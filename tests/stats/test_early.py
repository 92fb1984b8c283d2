"""Figures over samples that a rule could end early: what they are on average, and what is left out."""

import math
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from verikit import Sample, Score, verifier
from verikit.select import clusters
from verikit.stats import Summary
from verikit.stats.early import EarlyStop, proven_all, proven_majority, proven_pass
from verikit.until import MajorityRule, ScoreRule

N = 5
POLICIES = ({"a": 0.7, "b": 0.3}, {"a": 0.45, "b": 0.35, "c": 0.2}, {"a": 0.1, "b": 0.9})
"""What a model answers to three prompts, and how often; `a` is right."""
LETTER = verifier(lambda sample: Score(float(sample.completion == "a"), answer=sample.completion), name="letter")


def draws(policy):
    """Every sequence of n answers with its probability."""
    for answers in product(policy, repeat=N):
        yield answers, math.prod(policy[answer] for answer in answers)


def stopped(answers, rule):
    """What the rule lets come, and how a row tells it."""
    samples = [Sample("?", answer) for answer in answers]
    end = next((m for m in range(1, N) if rule.stop(samples[:m], N)), N)
    why = rule.why(samples[:end], N) if end < N else None
    return answers[:end], EarlyStop(rule.name, N, rule.least(N), rule.least(N), why)


def figures(answers, ks, early=None):
    summary = Summary(ks)
    truth = [Score(float(answer == "a"), answer=answer) for answer in answers]
    summary.add(truth, clusters=clusters(answers), early=early)
    return {name: estimate.value for name, estimate in summary.estimates().items()}


def average(rule=None, ks=(1, 2, 3, 5)):
    """Each figure's mean over all that can be drawn, of prompts that weigh the same; NaN where one has none."""
    found, seen = Counter(), Counter()
    for policy in POLICIES:
        for answers, chance in draws(policy):
            early = None
            if rule is not None:
                answers, early = stopped(answers, rule)
            for name, value in figures(answers, ks, early).items():
                found[name] += chance * value / len(POLICIES)
                seen[name] += chance / len(POLICIES)
    return {name: value if seen[name] == pytest.approx(1) else math.nan for name, value in found.items()}


@pytest.mark.parametrize(
    ("rule", "ks"),
    [
        (MajorityRule(by=LETTER), (1, 2, 3)),
        (MajorityRule(0.8, by=LETTER), (1, 2)),
        (ScoreRule(LETTER), (1,)),
    ],
)
def test_figures_of_stopped_samples_are_on_average_those_of_all_n(rule, ks):
    assert rule.least(N) == max(ks)
    full, early = average(), average(rule, ks)
    assert set(early) >= {"mean", *(f"{kind}@{k}" for k in ks for kind in ("pass", "maj"))}
    for name, value in early.items():
        assert value == pytest.approx(full[name], abs=1e-12), name


def test_the_means_of_what_a_rule_let_come_are_not_those_of_all_n():
    full = average()["mean"]
    biased = average(NoNote(ScoreRule(LETTER)))["mean"]
    assert abs(biased - full) > 0.05


class NoNote:
    """A rule whose rows say nothing of it, as rows of other programs do."""

    name = "unknown"

    def __init__(self, rule):
        self.rule = rule

    def stop(self, samples, n):
        return self.rule.stop(samples, n)

    def why(self, samples, n):
        return None

    def least(self, n):
        return n


def test_an_exact_majority_rule_settles_the_vote_of_all_n_and_confidence_does_not():
    full, exact = average(), average(MajorityRule(by=LETTER))
    assert exact["maj@5"] == pytest.approx(full["maj@5"], abs=1e-12)
    likely = MajorityRule(0.8, by=LETTER)
    assert figures(*stopped_row("aa", likely)).get("maj@5") is None


def stopped_row(answers, rule):
    answers, early = stopped([*answers, *"b" * (N - len(answers))], rule)
    return answers, (1, 2, 3, 4, 5), early


def test_the_first_right_sample_settles_pass_at_n_and_one_wrong_one_that_not_all_are_right():
    rule = ScoreRule(LETTER)
    full, early = average(), average(rule)
    assert early["pass@5"] == pytest.approx(full["pass@5"], abs=1e-12)
    found = figures(*stopped_row("ba", rule))
    assert found["pass@5"] == 1
    assert found["pass^5"] == 0
    assert "pass@3" not in found


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_value_is_proven_exactly_where_no_continuation_changes_it(n):
    for m in range(1, n):
        for values in product((0.0, 1.0), repeat=m):
            rests = list(product((0.0, 1.0), repeat=n - m))
            for k in range(1, n + 1):
                for kind, proven in (("pass@", proven_pass), ("pass^", proven_all)):
                    found = set()
                    for rest in rests:
                        summary = Summary([k])
                        summary.add([Score(value) for value in (*values, *rest)])
                        found.add(round(summary.estimates()[f"{kind}{k}"].value, 9))
                    value = proven(values, n, k)
                    assert (value is not None) == (len(found) == 1), (values, n, k, kind)
                    assert value is None or value == pytest.approx(found.pop())


def test_one_open_prompt_leaves_a_metric_out_and_says_how_many_do():
    truth, votes = [Score(0.0)] * 3, [0, 0, 0]
    early = EarlyStop("majority", 5, 3, 3, "settled")
    summary, other = Summary([3, 5]), Summary([3, 5])
    summary.add([Score(1.0)] * 5, clusters=[0] * 5, early=replace(early, why=None))
    other.add(truth, clusters=votes, early=early)
    summary.merge(other)
    assert summary.unproven() == {"pass@5": 1}
    found = {name: (estimate.value, estimate.n) for name, estimate in summary.estimates().items()}
    assert found["maj@5"] == found["pass@3"] == (0.5, 2)
    assert "pass@5" not in found


def test_votes_for_one_answer_with_unlike_truth_settle_nothing():
    assert proven_majority([1.0, 1.0, 1.0], [0, 0, 0], 5) == 1.0
    assert proven_majority([1.0, 0.5, 1.0], [0, 0, 0], 5) is None
    assert proven_majority([1.0, 1.0, 1.0], [0, None, 0], 6) is None


def test_a_failed_request_among_the_first_samples_leaves_the_prompt_out_of_their_k_alone():
    early = EarlyStop("majority", 4, 2, 1, None)  # of the first two, one request failed
    summary = Summary([1, 2])
    summary.add([Score(1.0), Score(0.0), Score(0.0)], early=early)
    found = summary.estimates()
    assert found["mean"].value == found["pass@1"].value == 1.0
    assert "pass@2" not in found
    assert not summary.unproven()


def test_a_row_tells_how_its_samples_came_and_other_objects_of_that_key_are_not_read():
    early = EarlyStop("majority", 5, 3, 3, "settled")
    assert EarlyStop.of({"early_stop": early.as_row()}) == early
    assert (
        EarlyStop.of({"early_stop": "yes"}) is EarlyStop.of({"early_stop": {"n": "five"}}) is EarlyStop.of({}) is None
    )
