"""Selectors: always a permutation, always the same one, unscored candidates last."""

from importlib.metadata import entry_points

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import count_calls
from verikit import load
from verikit.errors import UsageError
from verikit.select import Best, First, Majority, Random, Selector, Weighted, clusters, equality
from verikit.stats import best_at_k, vote_at_k, vote_weights
from verikit.types import Group, Sample, Score

SELECTORS = [
    Best(),
    First(),
    Majority(),
    Random(),
    Random(7),
    Weighted(),
    Weighted(weights="raw"),
    Weighted(weights="softmax"),
]


@st.composite
def scored(draw):
    value = draw(st.none() | st.sampled_from([-2.0, 0.0, 0.5, 3.0]) | st.floats(allow_nan=False, allow_infinity=False))
    answer = draw(st.none() | st.sampled_from(["1", "2", "3"]))
    return Score.error("down", answer=answer) if value is None else Score(value, answer=answer)


def group(n, id="q1"):
    return Group("what?", ["text"] * n, id=id)


@pytest.mark.parametrize("selector", SELECTORS, ids=repr)
@given(scores=st.lists(scored(), max_size=9))
def test_a_ranking_is_a_permutation_of_all_candidates_and_always_the_same(selector, scores):
    ranking = selector.select(group(len(scores)), scores)
    assert sorted(ranking) == list(range(len(scores)))
    assert ranking == selector.select(group(len(scores)), scores)


@pytest.mark.parametrize("selector", [Best(), Weighted(), Weighted(weights="raw")], ids=repr)
@given(scores=st.lists(scored(), max_size=9))
def test_an_unscored_candidate_ranks_below_every_scored_one_that_answers(selector, scores):
    ranking = selector.select(group(len(scores)), scores)
    unscored = [rank for rank, i in enumerate(ranking) if not scores[i].scored]
    answering = [rank for rank, i in enumerate(ranking) if scores[i].scored and scores[i].answer is not None]
    if unscored and answering:
        assert min(unscored) > max(answering)


def test_best_ranks_by_score_and_keeps_order_in_ties():
    assert Best().select(group(4), [Score(1.0), Score(3.0), Score.error("x"), Score(1.0)]) == [1, 0, 3, 2]


def answers(*pairs):
    return [Score(value, answer=answer) for answer, value in pairs]


def test_majority_puts_the_most_frequent_answer_first_and_no_answer_last():
    scores = answers((None, 9.0), ("7", 0.0), ("8", 0.0), ("8", 0.0))
    assert Majority().select(group(4), scores) == [2, 3, 1, 0]


def test_majority_clusters_by_the_equality_it_is_given():
    scores = answers(("1/2", 0.0), ("3", 0.0), ("3", 0.0), ("0.5", 0.0), ("2/4", 0.0))
    halves = {"1/2", "0.5", "2/4"}
    assert Majority(equal=lambda a, b: {a, b} <= halves).select(group(5), scores) == [0, 3, 4, 1, 2]
    assert Majority().select(group(5), scores)[0] == 1


def test_votes_are_counted_by_the_same_equality_and_without_scores():
    scores = [Score.abstained("no gold answer", answer=answer) for answer in ("1/2", "3", None, "0.5")]
    assert Majority(equal=lambda a, b: {a, b} == {"1/2", "0.5"}).votes(scores) == [2, 1, 0, 2]
    assert Best().votes(scores) is None


def test_weighted_majority_lets_one_sure_answer_beat_two_doubtful_ones():
    scores = answers(("a", -3.0), ("a", -2.0), ("b", 4.0), ("b", 5.0))
    assert Weighted().select(group(4), scores) == [3, 2, 1, 0]
    assert Majority().select(group(4), scores)[0] == 0


def test_random_depends_on_seed_and_group_but_not_on_the_order_of_rows():
    scores = [Score(0.0)] * 20
    forth = {id: Random(1).select(group(20, id), scores) for id in ("a", "b")}
    back = {id: Random(1).select(group(20, id), scores) for id in ("b", "a")}
    assert forth == back
    assert forth["a"] != forth["b"]
    assert Random(2).select(group(20, "a"), scores) != forth["a"]


def test_groups_without_ids_are_shuffled_by_their_prompts():
    scores = [Score(0.0)] * 20
    first, second = (Random().select(Group(prompt, ["x"] * 20), scores) for prompt in ("p", "q"))
    assert first != second


@given(
    st.lists(
        st.tuples(st.sampled_from([-2.0, 0.25, 1.0, 3.0]), st.sampled_from(["1", "2", "3"])), min_size=1, max_size=7
    )
)
def test_the_estimate_at_k_equal_n_is_what_the_selector_picks_unless_tied(rows):
    scores = [Score(value, answer=answer) for value, answer in rows]
    truth = [float(answer == "1") for _, answer in rows]
    values, names = [value for value, _ in rows], clusters([answer for _, answer in rows])
    n = len(rows)
    for selector, estimate in (
        (Best(), best_at_k(truth, values, n)),
        (Majority(), vote_at_k(truth, names, n).value),
        (Weighted(), vote_at_k(truth, names, n, vote_weights(values, "sigmoid")).value),
        (Weighted(weights="raw"), vote_at_k(truth, names, n, vote_weights(values, "raw")).value),
    ):
        if estimate in (0.0, 1.0):
            assert truth[selector.select(group(n), scores)[0]] == estimate


# Clusters


def test_clusters_number_answers_by_first_appearance_and_leave_no_answer_out():
    assert clusters(["b", None, "a", "b", "a", ""]) == [0, None, 1, 0, 1, 2]


def test_an_undecided_comparison_merges_nothing():
    assert clusters(["a", "b"], lambda a, b: None) == [0, 1]


def test_answers_that_a_chain_of_equal_ones_joins_vote_together():
    near = lambda a, b: abs(float(a) - float(b)) <= 1  # noqa: E731
    assert clusters(["0", "3", "9", "1", "2"], near) == [0, 0, 1, 0, 0]


def test_clusters_compare_a_string_once_and_never_two_of_one_cluster():
    asked = []

    def equal(a, b):
        asked.append((a, b))
        return a.lower() == b.lower()

    assert clusters(["x", "X", "xx", "y"] * 1000, equal) == [0, 0, 1, 2] * 1000
    assert asked == [("X", "x"), ("X", "y"), ("x", "y"), ("X", "xx"), ("x", "xx"), ("y", "xx")]


def test_answers_that_match_the_gold_vote_together_though_they_differ_from_each_other():
    verifier, texts = load("answer"), ["18-13", "7", "14-9", "7", "5", "14-9"]
    truth = [verifier(text, "5") for text in texts]
    answers = [score.answer for score in truth]
    assert verifier.equal("18-13", "14-9") is False
    assert clusters(answers, *equality(verifier, truth)) == [0, 1, 0, 1, 0, 0]
    shuffled = [5, 3, 1, 4, 2, 0]
    turned = clusters([answers[i] for i in shuffled], *equality(verifier, [truth[i] for i in shuffled]))
    assert turned == [0, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    "spec",
    [
        "0.9*answer + 0.1*boxed",
        "first_of(answer, boxed)",
        "length_guard(answer, 100)",
        "gate(answer, answer)",
        "echo_guard(answer)",
        "mean(answer, soft_overlong(10, 5))",
    ],
)
def test_combinations_ask_their_parts_what_matches_the_gold(spec):
    verifier = load(spec)
    truth = verifier.score([Sample(completion=text, answer="5") for text in ("18-13", "14-9", "6-2")])
    answers = [score.answer for score in truth]
    assert clusters(answers, *equality(verifier, truth)) == [0, 0, 1]


def test_what_is_right_without_being_the_golds_answer_votes_by_its_own_words():
    verifier = load("regex('[a-z]+')")
    truth = verifier.score([Sample(completion=text) for text in ("ab", "cd", "ab")])
    assert [score.value for score in truth] == [1.0, 1.0, 1.0]
    assert clusters([score.answer for score in truth], *equality(verifier, truth)) == [0, 1, 0]


# Registration


def test_the_selectors_are_registered_under_their_names():
    found = {point.name: point.load() for point in entry_points(group="verikit.selectors")}
    assert {"best", "first", "majority", "random", "weighted"} <= set(found)
    for name in ("best", "first", "majority", "random", "weighted"):
        assert issubclass(found[name], Selector)
        assert found[name]().name == name


def test_a_selector_that_can_not_weigh_says_so():
    with pytest.raises(UsageError, match="weighting "):
        Weighted(weights="cubed").select(group(1), [Score(1.0, answer="a")])


def test_five_thousand_different_numbers_are_counted_without_a_comparison():
    verifier, numbers = load("answer"), [str(i) for i in range(5_000)]
    asked = []
    voted = clusters(numbers, lambda *pair: asked.append(pair), verifier.keys)
    assert (len(set(voted)), asked) == (5_000, [])
    values = []
    truth = [1.0] + [0.0] * 4_999
    count_calls(lambda: values.extend(vote_at_k(truth, voted, k).value for k in (1, 2, 4, 8)), most=1_000_000)
    assert values == pytest.approx([1 / 5_000] * 4)
