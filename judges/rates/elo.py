"""Elo ratings, and opponents sampled near a model's own strength (Elo-Evolve, arXiv 2602.13575, section 3).

The paper adds up all games of a batch against one rating (`sum`). With 128 games at K = 32 that map overshoots and
never settles. So `mean` is the default. With `sequential`, each game uses the rating after the previous one.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from verikit.errors import UsageError, nearest

Reduction = Literal["mean", "sequential", "sum"]
K = 32.0
STABLE_SUM = 2 * 1600 / math.log(10)
"""K times games from which `sum` overshoots: the slope of the expected score at parity is ln(10)/1600."""


def expected_score(rating: float, opponent: float) -> float:
    """Probability of winning, with a tie as half: 1 / (1 + 10^((opponent - rating) / 400))."""
    exponent = (opponent - rating) / 400
    if exponent > 0:
        return 10**-exponent / (1 + 10**-exponent)
    return 1 / (1 + 10**exponent)


def _check(games: Sequence[tuple[float, float]], reduction: str) -> None:
    if reduction not in get_args(Reduction):
        raise UsageError(f"reduction {reduction!r} not found", hint=nearest(reduction, get_args(Reduction)))
    if bad := [score for _, score in games if not 0 <= score <= 1]:
        raise UsageError(f"the score of a game must be between 0 and 1, got {bad[0]!r}")


def updated(
    rating: float, games: Sequence[tuple[float, float]], *, k: float = K, reduction: Reduction = "mean"
) -> float:
    """The rating after a batch of games, each (the opponent's rating, own score in [0, 1]). No games change nothing.

    Raises:
        UsageError: A score outside [0, 1], or an unknown reduction.
    """
    _check(games, reduction)
    if reduction == "sequential":
        for opponent, score in games:
            rating += k * (score - expected_score(rating, opponent))
        return rating
    if reduction == "sum" and k * len(games) > STABLE_SUM:
        warnings.warn(f"summing {len(games)} games at k={k:g} makes the rating swing. Use mean", stacklevel=2)
    gain = k * math.fsum(score - expected_score(rating, opponent) for opponent, score in games)
    return rating + (gain / len(games) if reduction == "mean" and games else gain)


def performance(games: Sequence[tuple[float, float]], within: float = 800.0) -> float:
    """The rating whose expected scores sum to the games' scores, each game (the opponent's rating, own score).

    A model that won or lost every game is rated `within` points beyond the strongest or weakest opponent.

    Raises:
        UsageError: No games.
    """
    if not games:
        raise UsageError("a performance rating needs games")
    low, high = min(rating for rating, _ in games) - within, max(rating for rating, _ in games) + within
    total = math.fsum(score for _, score in games)
    while high - low > 1e-6:
        middle = (low + high) / 2
        too_low = math.fsum(expected_score(middle, opponent) for opponent, _ in games) < total
        low, high = (middle, high) if too_low else (low, middle)
    return (low + high) / 2


def opponent_weights(rating: float, opponents: Sequence[float], temperature: float) -> list[float]:
    """Probability of sampling each opponent: softmax of -|rating - opponent| / temperature.

    Raises:
        UsageError: No opponents, or a temperature that is not positive.
    """
    if not opponents or not temperature > 0:
        raise UsageError("drawing an opponent needs opponents and a positive temperature")
    gaps = [abs(rating - opponent) for opponent in opponents]
    nearest = min(gaps)
    weights = [math.exp((nearest - gap) / temperature) for gap in gaps]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def draw_opponent(rating: float, pool: Mapping[str, float], temperature: float, key: str) -> str:
    """Sample a name from a pool of ratings. Equal keys (such as "seed:step:prompt id") give the same name."""
    weights = opponent_weights(rating, list(pool.values()), temperature)
    return random.Random(key).choices(list(pool), weights)[0]
