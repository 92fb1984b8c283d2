"""Tournaments: who plays whom, and who comes out on top."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judges.scripted import Scripted, better, shown
from verikit.errors import ConfigError, JudgeError, UsageError
from verikit.judges import Comparer, Comparison, Halving, Knockout, Pairwise, Pivot, RoundRobin, Swiss
from verikit.names.spec import load_selector
from verikit.types import Group, Score
from verikit.verifiers.overlap.exact import Exact

ALL = [Halving, Knockout, Pivot, RoundRobin, Swiss]


class Played(Comparer):
    """Prefers by a rule over the candidates' numbers, and knows who played."""

    def __init__(self, rule):
        self.rule, self.rounds = rule, []

    def compare(self, pairs):
        games = [(int(pair.first), int(pair.second)) for pair in pairs]
        self.rounds.append(games)
        return [Comparison(self.rule(*game)) for game in games]

    @property
    def games(self):
        return [tuple(sorted(game)) for games in self.rounds for game in games]


def played(tournament, rule, numbers):
    """The ranking of these candidates, as their numbers, and who played."""
    found = tournament(Exact())
    judge = Played(rule)
    object.__setattr__(found, "_comparer", judge)
    group = Group("q", [str(number) for number in numbers])
    return [numbers[i] for i in found.select(group, [Score(0.0)] * len(numbers))], judge


def larger(a, b):
    return float(a > b)


@pytest.mark.parametrize("tournament", ALL)
@given(numbers=st.integers(0, 17).flatmap(lambda n: st.permutations(range(n))))
def test_the_best_comes_first_where_every_comparison_is_right(tournament, numbers):
    ranking, judge = played(tournament, larger, numbers)
    assert ranking[:1] == ([max(numbers)] if numbers else [])
    assert sorted(ranking) == sorted(numbers)
    assert len(judge.games) == len({*judge.games})
    assert all(a != b for a, b in judge.games)


@pytest.mark.parametrize("tournament", ALL)
@given(n=st.integers(1, 12), seed=st.integers(0, 999))
def test_a_judge_of_any_mind_gives_a_ranking_of_all_and_plays_no_pair_twice(tournament, n, seed):
    rng = random.Random(seed)
    ranking, judge = played(tournament, lambda a, b: rng.choice([0.0, 0.3, 0.5, 0.9, 1.0]), list(range(n)))
    assert sorted(ranking) == list(range(n))
    assert len(judge.games) == len({*judge.games})


@pytest.mark.parametrize("n", range(2, 20))
def test_a_tournament_costs_what_it_says(n):
    k, numbers = 2, random.Random(n).sample(range(n), n)
    costs = {tournament: len(played(tournament, larger, numbers)[1].games) for tournament in ALL}
    assert costs[Knockout] == n - 1
    assert costs[Halving] <= 2 * n + 1
    assert costs[Swiss] <= n // 2 * math.ceil(math.log2(n))
    assert costs[Pivot] <= n + k * (n - k) + math.comb(k, 2) + n // 2
    assert costs[RoundRobin] == math.comb(n, 2)


@pytest.mark.parametrize(
    ("tournament", "most"),
    [(Halving, [8, 4, 1]), (Knockout, [4, 2, 1]), (Pivot, [8, 12, 1]), (RoundRobin, [28]), (Swiss, [4, 4, 4])],
)
def test_a_round_is_one_call_of_the_judge(tournament, most):
    _, judge = played(tournament, larger, [3, 1, 4, 0, 5, 7, 2, 6])
    assert len(judge.rounds) <= len(most)
    assert all(len(games) <= n for games, n in zip(judge.rounds, most, strict=False))


def test_halving_leaves_the_worse_half_behind_and_ranks_it_last():
    ranking, judge = played(Halving, larger, [0, 7, 1, 6, 2, 5, 3, 4])
    assert {*ranking[:4]} == {4, 5, 6, 7}
    assert all(number in {4, 5, 6, 7} for games in judge.rounds[1:] for game in games for number in game)


def test_swiss_pairs_those_that_did_alike():
    _, judge = played(Swiss, larger, [0, 1, 2, 3])
    assert [{*map(frozenset, games)} for games in judge.rounds] == [
        {frozenset({0, 1}), frozenset({2, 3})},
        {frozenset({1, 3}), frozenset({0, 2})},
    ]
    assert len(played(lambda judge: Swiss(judge, rounds=3), larger, [0, 1, 2, 3])[1].games) == 6


def test_pivots_are_the_best_of_the_ring_and_play_everyone():
    _, judge = played(lambda judge: Pivot(judge, pivots=1), larger, [5, 0, 4, 1, 3, 2])
    met = {number for game in judge.games if 5 in game for number in game}
    assert met == {0, 1, 2, 3, 4, 5}
    assert len(judge.games) == 6 + 3


def test_ratings_tell_each_candidates_strength_with_its_interval():
    group = Group("q", ["0", "1", "2", "3"])
    found = RoundRobin(Exact())
    object.__setattr__(found, "_comparer", Played(larger))
    ratings = found.ratings(group)
    assert [rating.name for rating in ratings] == ["3", "2", "1", "0"]
    assert all(rating.low < rating.rating < rating.high for rating in ratings)
    assert [rating.games for rating in ratings] == [3, 3, 3, 3]
    with pytest.raises(UsageError):
        found.ratings(Group("q", ["0"]))


@pytest.mark.parametrize("tournament", [Halving, Pivot, Swiss])
def test_a_comparison_without_a_verdict_leaves_no_ranking(tournament):
    with pytest.raises(JudgeError, match="the ranking failed"):
        played(tournament, lambda a, b: None, [1, 2, 3])


def test_decided_pairs_cost_a_tournament_fewer_requests():
    def rule(request):
        texts = shown(request, "answer_1") + shown(request, "answer_2")
        return better("best", "other")(request) if "best" in texts else "[[A]]"

    texts = ["best"] + [f"other {i}" for i in range(7)]
    costs = []
    for confidence in (1.0, 0.9):
        engine = Scripted(rule)
        ranking = Halving(Pairwise(engine, asks=6, confidence=confidence)).select(Group("q", texts), [])
        assert ranking[0] == 0
        costs.append(len(engine.requests))
    assert costs[1] < costs[0]


def test_tournaments_have_specs():
    for spec in ("halving({})", "swiss({}, rounds=3)", "pivot({}, pivots=3)"):
        assert load_selector(spec.format("\"pairwise('replay:/dev/null', asks=4, confidence=0.9)\"")).judge
    for wrong in (lambda: Swiss(Exact(), rounds=-1), lambda: Pivot(Exact(), pivots=0), lambda: Pivot(Exact(), True)):
        with pytest.raises(ConfigError):
            wrong()
