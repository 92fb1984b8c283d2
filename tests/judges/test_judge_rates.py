import math
import random
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judges.scripted import data, rows
from verikit.errors import UsageError
from verikit.judges.rates.agreement import both_orders, cohen_kappa
from verikit.judges.rates.bradley_terry import Game, bradley_terry
from verikit.judges.rates.elo import draw_opponent, expected_score, opponent_weights, updated
from verikit.judges.rates.length_control import (
    Gamed,
    Weights,
    is_extreme,
    length_controlled,
    predicted_win_rate,
    read_weights,
)
from verikit.judges.rates.noise import absolute_noise, noise_report, ranking_noise, thurstone_sigma
from verikit.judges.rates.winrate import alpaca_preference, win_rate


def test_draws_wins_and_missing_verdicts_are_counted_as_alpaca_eval_does():
    rate = win_rate([alpaca_preference(p) for p in (1, 1.5, 2, 0, float("nan"))])
    assert (rate.wins, rate.losses, rate.ties, rate.n, rate.unjudged) == (1, 1, 2, 4, 1)
    assert rate.value == rate.discrete == 0.5
    assert rate.stderr == pytest.approx(math.sqrt(0.5 / 3 / 4))
    assert math.isnan(win_rate([1.0]).stderr)


@pytest.mark.parametrize("wrong", [[], [None], [1.2], [math.nan]])
def test_no_win_rate_is_made_up(wrong):
    with pytest.raises(UsageError):
        win_rate(wrong)


def test_win_rates_of_real_models_are_those_of_the_leaderboard():
    for row in rows("alpaca/annotations.jsonl"):
        rate, expected = win_rate([alpaca_preference(p) for p in row["preference"]]), row["expected"]
        assert 100 * rate.value == pytest.approx(expected["win_rate"], abs=1e-9)
        assert 100 * rate.stderr == pytest.approx(expected["standard_error"], abs=1e-9)
        assert 100 * rate.discrete == pytest.approx(expected["discrete_win_rate"], abs=1e-9)
        assert (rate.wins, rate.losses, rate.ties) == tuple(expected[k] for k in ("n_wins", "n_wins_base", "n_draws"))


def fitted(row, **options):
    preferences = [alpaca_preference(p) for p in row["preference"]]
    gamed = Gamed.read(data("alpaca/df_gamed_recovered.csv"))
    return length_controlled(preferences, row["len_1"], row["len_2"], instructions=row["index"], gamed=gamed, **options)


def test_the_fast_fit_is_near_the_official_one_for_every_real_model():
    for row in rows("alpaca/annotations.jsonl"):
        official = row["expected"]["lc_official_code_recovered_gamed"]
        assert abs(100 * fitted(row).value - official) <= 0.15


@pytest.mark.slow
def test_the_exact_fit_is_the_official_one_for_every_real_model():
    pytest.importorskip("sklearn")
    for row in rows("alpaca/annotations.jsonl"):
        exact = fitted(row, exact=True)
        assert 100 * exact.value == pytest.approx(row["expected"]["lc_official_code_recovered_gamed"], abs=1e-6)
        assert 100 * exact.stderr == pytest.approx(row["expected"]["lcse_official_code_recovered_gamed"], abs=1e-6)


def test_the_exact_fit_is_the_official_one():
    pytest.importorskip("sklearn")
    row = min(rows("alpaca/annotations.jsonl"), key=lambda row: row["model"])
    exact = fitted(row, exact=True)
    assert 100 * exact.value == pytest.approx(row["expected"]["lc_official_code_recovered_gamed"], abs=1e-6)


def test_a_model_with_missing_rows_is_aligned_by_instruction_unless_asked_to_misalign():
    (row,) = (row for row in rows("alpaca/annotations.jsonl") if row["model"] == "text_davinci_001")
    published = row["expected"]["lc_leaderboard"]
    assert abs(100 * fitted(row).value - published) > 2
    assert abs(100 * fitted(row, by_position=True).value - published) < 0.2


def test_published_weights_give_the_published_win_rates():
    gamed = Gamed.read(data("alpaca/df_gamed_recovered.csv"))
    weights = read_weights(data("alpaca/lc_weights.csv"))
    difficulty = [gamed.difficulty[i] for i in range(805)]
    baseline, n = weights["gpt4_1106_preview"], 0
    import csv

    with open(data("alpaca/leaderboard.csv"), newline="") as stream:
        for row in csv.DictReader(stream):
            name, published = row[""], row["length_controlled_winrate"]
            if name in weights and published and name not in ("dbrx-instruct", "NullModel"):
                found = 100 * predicted_win_rate(weights[name], baseline, difficulty)
                assert abs(found - float(published)) <= 0.02, name
                n += 1
    assert n > 190


def invented(n=4000, seed=0, phi=-1.2, theta=0.3):
    rng = random.Random(seed)
    a = [rng.randint(100, 3000) for _ in range(n)]
    b = [rng.randint(100, 3000) for _ in range(n)]
    deltas = [x - y for x, y in zip(a, b, strict=True)]
    mean = sum(deltas) / n
    deviation = math.sqrt(sum((d - mean) ** 2 for d in deltas) / (n - 1))
    preferences = [1 / (1 + math.exp(-(phi * math.tanh(d / deviation) + theta))) for d in deltas]
    return preferences, a, b


def test_the_minimal_form_recovers_the_weights_that_made_the_data():
    found = length_controlled(*invented(), form="minimal")
    assert found.weights.length == pytest.approx(-1.2, abs=1e-6)
    assert found.weights.model == pytest.approx(0.3, abs=1e-6)
    assert found.value == pytest.approx(1 / (1 + math.exp(-0.3)), abs=1e-6)
    assert found.stderr == pytest.approx(0.0, abs=1e-12)


def test_swapping_model_and_baseline_mirrors_the_win_rate():
    preferences, a, b = invented()
    value = length_controlled(preferences, a, b, form="minimal").value
    other = length_controlled([1 - p for p in preferences], b, a, form="minimal").value
    assert value + other == pytest.approx(1, abs=1e-9)


def test_without_differences_in_length_the_raw_win_rate_stands():
    found = length_controlled([1.0, 0.0, 1.0], [5, 5, 5], [5, 5, 5], form="minimal")
    assert found.value == pytest.approx(2 / 3)


def test_a_model_that_always_wins_stays_finite():
    found = length_controlled([1.0] * 50, list(range(50)), list(range(0, 100, 2)), form="minimal")
    assert 0.99 < found.value <= 1
    assert all(math.isfinite(w) for w in found.weights)


def test_without_the_gamed_file_the_minimal_form_is_fitted_and_said():
    with pytest.warns(UserWarning, match="minimal"):
        assert length_controlled([1.0, 0.0, 0.5], [1, 2, 3], [3, 1, 1], form="v1").form == "minimal"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert length_controlled([1.0, 0.0, 0.5], [1, 2, 3], [3, 1, 1]).form == "minimal"


def test_a_row_without_a_verdict_is_predicted_but_not_fitted():
    preferences, a, b = invented(200)
    whole = length_controlled([*preferences, None], [*a, 10], [*b, 10], form="minimal")
    assert whole.value == pytest.approx(1 / (1 + math.exp(-0.3)), abs=1e-3)


def test_what_can_not_be_fitted_is_refused(tmp_path):
    gamed = Gamed((0.5, 0.4), (1.0, -1.0), (0.1, 0.2), {0: 0.1, 1: 0.2})
    with pytest.raises(UsageError, match="instruction 7"):
        length_controlled([1.0, 0.0], [1, 2], [2, 1], instructions=[0, 7], gamed=gamed)
    with pytest.raises(UsageError, match="one number per row"):
        length_controlled([1.0, 0.0], [1, 2], [2, 1], gamed=gamed)
    with pytest.raises(UsageError):
        length_controlled([1.0], [1, 2], [2, 1])
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    for read in (Gamed.read, read_weights):
        with pytest.raises(UsageError):
            read(tmp_path / "x.csv")
        with pytest.raises(UsageError):
            read(tmp_path / "absent.csv")


def test_an_extreme_change_is_noticed_at_alpaca_evals_thresholds():
    assert not is_extreme(0.2, 0.101)
    assert is_extreme(0.2, 0.099)
    assert not is_extreme(0.2, 0.399)
    assert is_extreme(0.2, 0.401)


def test_a_model_predicted_against_itself_is_at_half():
    weights = Weights(-1.0, 0.5, 0.7)
    assert predicted_win_rate(weights, weights, [0.1, -2.0]) == 0.5


@pytest.mark.parametrize(("opponent", "expected"), [(1400, 0.4285), (1700, 0.1177), (2000, 0.0232)])
def test_the_expected_score_is_elos(opponent, expected):
    assert expected_score(1350, opponent) == pytest.approx(expected, abs=5e-5)


def test_expected_scores_are_fair_and_never_overflow():
    for a, b in ((0, 0), (1e6, -1e6), (-1e308, 1e308), (1350, 1400)):
        assert expected_score(a, b) + expected_score(b, a) == pytest.approx(1)


def test_a_win_and_a_loss_move_a_rating_as_the_paper_says():
    assert updated(1350, [(1400, 1.0)]) - 1350 == pytest.approx(18.29, abs=0.005)
    assert updated(1350, [(1400, 0.0)]) - 1350 == pytest.approx(-13.71, abs=0.005)
    for reduction in ("mean", "sum", "sequential"):
        assert updated(1350, [], reduction=reduction) == 1350
        assert updated(1350, [(1400, 1.0)], reduction=reduction) == pytest.approx(1368.29, abs=0.005)
    with pytest.raises(UsageError):
        updated(1350, [(1400, 1.1)])
    with pytest.raises(UsageError):
        updated(1350, [(1400, 1.0)], reduction="median")


def test_the_mean_settles_where_the_papers_sum_swings():
    rng = random.Random(0)
    seen = {"mean": [], "sequential": [], "sum": []}
    for reduction, ratings in seen.items():
        rating = 1350.0
        for _ in range(400):
            games = [(1400.0, float(rng.random() < expected_score(1600, 1400))) for _ in range(128)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rating = updated(rating, games, reduction=reduction)
            ratings.append(rating)
    late = {name: ratings[200:] for name, ratings in seen.items()}
    assert max(late["mean"]) - min(late["mean"]) < 60
    assert abs(sum(late["mean"]) / 200 - 1600) < 30
    assert max(late["sequential"]) - min(late["sequential"]) < 300
    assert max(late["sum"]) - min(late["sum"]) > 1000
    with pytest.warns(UserWarning, match="swing"):
        updated(1350, [(1400, 1.0)] * 128, reduction="sum")


@pytest.mark.parametrize(
    ("rating", "temperature", "expected"),
    [
        (1350, 20, (1, 0, 0)),
        (1700, 20, (0, 1, 0)),
        (2300, 20, (0, 0, 1)),
        (1350, 200, (0.786, 0.175, 0.039)),
        (1700, 200, (0.154, 0.691, 0.154)),
        (2300, 200, (0.039, 0.175, 0.786)),
        (1350, 2000, (0.384, 0.331, 0.285)),
        (1700, 2000, (0.316, 0.367, 0.316)),
        (2300, 2000, (0.285, 0.331, 0.384)),
    ],
)
def test_opponents_are_weighed_as_in_the_paper(rating, temperature, expected):
    assert opponent_weights(rating, [1400, 1700, 2000], temperature) == pytest.approx(expected, abs=5e-4)


def test_large_gaps_give_no_nan():
    assert opponent_weights(0, [5000, 1e300], 1) == [1.0, 0.0]
    with pytest.raises(UsageError):
        opponent_weights(0, [], 1)
    with pytest.raises(UsageError):
        opponent_weights(0, [1], 0)


def test_opponents_are_drawn_at_those_rates_and_by_their_key():
    pool = {"14B": 1400.0, "32B": 1700.0, "8B": 2000.0}
    drawn = [draw_opponent(1350, pool, 200, f"0:{i}") for i in range(4000)]
    for name, weight in zip(pool, opponent_weights(1350, list(pool.values()), 200), strict=True):
        assert abs(drawn.count(name) - 4000 * weight) < 3 * math.sqrt(4000 * weight * (1 - weight))
    assert draw_opponent(1350, pool, 200, "0:7") == drawn[7]


def games_of(strengths, n, seed=0):
    rng = random.Random(seed)
    names = list(strengths)
    found = []
    for prompt in range(n):
        a, b = rng.sample(names, 2)
        score = float(rng.random() < 1 / (1 + math.exp(strengths[b] - strengths[a])))
        found.append(Game(a, b, score, str(prompt)))
    return found


def test_ratings_recover_the_strengths_and_their_intervals_cover_them():
    strengths = {"a": 0.8, "b": 0.1, "c": -0.9}
    inside = total = 0
    for seed in range(60):
        for row in bradley_terry(games_of(strengths, 300, seed), prior=0):
            truth = 1000 + 400 / math.log(10) * strengths[row.name]
            inside += row.low <= truth <= row.high
            total += 1
    assert 0.89 < inside / total <= 1.0
    assert [row.name for row in bradley_terry(games_of(strengths, 3000))] == ["a", "b", "c"]


@pytest.mark.parametrize("prompts", [20, 60])
def test_intervals_of_models_far_apart_cover_their_ratings_from_few_games(prompts):
    strengths = {"a": 1.5, "b": 0.5, "c": 0.0, "d": -2.0}
    inside = dict.fromkeys(strengths, 0)
    games = [games_of(strengths, prompts, seed) for seed in range(110)]
    tables = [table for some in games if len(table := bradley_terry(some)) == 4][:100]
    for row in (row for table in tables for row in table):
        inside[row.name] += row.low <= 1000 + 400 / math.log(10) * strengths[row.name] <= row.high
    assert min(inside.values()) >= 0.88 * len(tables), inside
    assert sum(inside.values()) >= 0.93 * 4 * len(tables)


def test_who_always_wins_may_be_much_better_and_is_not_much_worse():
    top, last = bradley_terry([Game("a", "b", 1.0, str(i)) for i in range(30)])
    assert top.high > top.rating + 200
    assert last.high < 1000 < top.low < top.rating


def test_two_models_have_the_closed_form():
    games = [Game("a", "b", 1.0)] * 3 + [Game("a", "b", 0.0)]
    top, last = bradley_terry(games, prior=0)
    assert top.rating - last.rating == pytest.approx(400 * math.log10(3), abs=1e-6)
    top, last = bradley_terry(games)
    assert top.rating - last.rating == pytest.approx(400 * math.log10(3.5 / 1.5), abs=1e-6)


def test_games_of_one_prompt_are_not_counted_as_independent():
    single = [Game("a", "b", float(i % 3 > 0), str(i)) for i in range(60)]
    doubled = [game for game in single for _ in range(2)]
    assert bradley_terry(doubled, prior=0)[0].stderr == pytest.approx(bradley_terry(single, prior=0)[0].stderr)


def test_who_always_wins_has_a_finite_rating_and_no_games_have_none():
    assert bradley_terry([Game("a", "b", 1.0)] * 50)[0].rating < 2000
    with pytest.raises(UsageError, match="finite"):
        bradley_terry([Game("a", "b", 1.0)] * 50, prior=0)
    for wrong in ([], [Game("a", "a", 1.0)], [Game("a", "b", 2.0)], [Game("a", "b", 1.0), Game("c", "d", 1.0)]):
        with pytest.raises(UsageError):
            bradley_terry(wrong)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.sampled_from([0, 0.5, 1])), min_size=1))
def test_ratings_are_centred_whatever_the_games(raw):
    games = [Game(a, b, s) for a, b, s in raw if a != b] + [Game("a", "b", 0.5), Game("b", "c", 0.5)]
    table = bradley_terry(games)
    assert sum(row.rating for row in table) / len(table) == pytest.approx(1000, abs=1e-6)
    assert all(row.low <= row.rating <= row.high for row in table)


@pytest.mark.parametrize(
    ("gap", "accuracy", "sigma"), [(1, 0.551, 7.85), (2, 0.635, 5.80), (3, 0.644, 8.13), (4, 0.562, 25.53)]
)
def test_thurstones_sigma_is_the_papers(gap, accuracy, sigma):
    assert thurstone_sigma(gap, accuracy) == pytest.approx(sigma, rel=0.01)


def test_at_chance_sigma_is_infinite():
    assert thurstone_sigma(1, 0.5) == thurstone_sigma(1, 0.2) == math.inf
    assert thurstone_sigma(1, 1.0) == 0.0
    with pytest.raises(UsageError):
        thurstone_sigma(0, 0.6)


def test_the_ranking_noise_is_the_papers():
    assert ranking_noise(0.707, 0.028) == pytest.approx(35.71, abs=0.005)
    assert ranking_noise(0.707, 0.0) == math.inf


def test_the_noise_report_puts_both_ways_of_judging_in_one_unit():
    rng = random.Random(0)
    expert = [rng.randint(1, 5) for _ in range(3000)]
    judged = [[2.85 + 0.2 * q + rng.gauss(0, 0.7) for _ in range(5)] for q in expert]
    noise = absolute_noise(expert, judged)
    assert noise.slope == pytest.approx(0.2, abs=0.01)
    assert noise.intercept == pytest.approx(2.85, abs=0.04)
    assert noise.residual == pytest.approx(0.7, abs=0.02)
    assert noise.within == pytest.approx(0.49, abs=0.02)
    assert 0 < noise.r2 < 1
    report = noise_report(expert, judged, {2: 0.635, 1: 0.551})
    assert list(report.sigma) == [1, 2]
    assert report.ratio == pytest.approx(noise.ranking / thurstone_sigma(1, 0.551))
    assert noise_report(expert, judged, {1: 0.4}).ratio == 0.0
    for wrong in (([1, 1], [[1], [2]]), ([1], [[1, 2, 3]]), ([1, 2], [[1]])):
        with pytest.raises(UsageError):
            absolute_noise(*wrong)


def test_kappa_is_one_for_twins_and_zero_at_chance():
    assert cohen_kappa([1, 2, 1, 2], [1, 2, 1, 2]) == 1.0
    assert cohen_kappa([1, 1, 2, 2], [1, 2, 1, 2]) == 0.0
    assert math.isnan(cohen_kappa([1, 1], [1, 1]))
    with pytest.raises(UsageError):
        cohen_kappa([], [])


def test_a_missing_verdict_is_right_in_no_order():
    found = both_orders([(1.0, None), (None, None), (1.0, 1.0), (1.0, 0.5), (0.5, 0.0)], [1.0] * 5)
    assert (found.first, found.second, found.both) == (0.6, 0.2, 0.2)
    assert found.majority == 0.6
    assert found.consistent == 0.4
