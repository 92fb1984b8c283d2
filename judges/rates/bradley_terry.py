"""Bradley-Terry ratings with intervals: one table from all games of several models.

P(i beats j) = 1 / (1 + exp(s_j - s_i)). A tie is half a win for each. Strengths are shown on Elo's scale, centred at
1000. Games on one prompt are not independent (two orders, several opponents), so standard errors are clustered by
prompt. They use the sandwich estimator H^-1 (sum of g g') H^-1, with g a prompt's score vector.

With few prompts, or models that nearly always win, these errors are too small: games with the expected result hardly
vary. So each end of an interval is computed with `UNSEEN` of an additional prompt, as in `verikit.stats.beta`. There
the model loses (lower end) or wins (upper end) all its games. The fit is repeated with it, and with a prior of only
`END_PRIOR`, which pulls the ends less towards 1000. Its standard error is the sandwich's or the one for independent
games, whichever is larger.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from verikit.errors import UsageError
from verikit.stats.beta import UNSEEN

SCALE = 400 / math.log(10)
"""Elo points per unit of strength."""
CENTRE = 1000.0
END_PRIOR = 0.25
"""Tied games added to each pair for the ends of intervals. A whole game pulls distant models to 1000."""
Matrix = list[list[float]]
Totals = dict[tuple[int, int], tuple[float, float]]
"""Points of the first of a pair of models, and number of games."""


class Game(NamedTuple):
    """One comparison."""

    first: str
    second: str
    score: float
    """The score of `first`: 1 win, 0.5 tie, 0 loss."""
    prompt: str = ""
    """Games of one prompt form one cluster. With "", the game is a separate cluster."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One row of the table, with numbers on Elo's scale."""

    name: str
    rating: float
    low: float
    high: float
    stderr: float
    games: int


def bradley_terry(games: Sequence[Game], *, prior: float = 1.0, level: float = 0.95) -> list[Rating]:
    """Rate models, best first.

    Args:
        games: At least one game.
        prior: Tied games added to each pair that played, to keep the ratings of models that always win finite (1:
            Haldane-Anscombe correction, 0: plain maximum likelihood). They don't count in the standard errors'
            clusters.
        level: Confidence of the intervals.

    Raises:
        UsageError: There are no games, a score is outside [0, 1], or a model plays itself. Also if no chain of games
            links some models, or with prior=0 if one always won or always lost.
    """
    _check(games)
    names = list(dict.fromkeys(name for game in games for name in game[:2]))
    index = {name: i for i, name in enumerate(names)}
    totals = _totals(games, index)
    strengths, inverse = _maximum(len(names), _with_draws(totals, prior))
    clusters = _clusters(games, index, strengths)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    table = []
    for name, i in index.items():
        unseen = [_end(games, index, totals, i, wins, min(prior, END_PRIOR)) for wins in (False, True)]
        low, high = (centre + sign * z * stderr for sign, (centre, stderr) in zip((-1, 1), unseen, strict=True))
        low, high = min(low, strengths[i]), max(high, strengths[i])
        rating, stderr = CENTRE + SCALE * strengths[i], SCALE * math.sqrt(_variance(inverse[i], clusters))
        played = sum(name in game[:2] for game in games)
        table.append(Rating(name, rating, CENTRE + SCALE * low, CENTRE + SCALE * high, stderr, played))
    return sorted(table, key=lambda row: -row.rating)


def _totals(games: Sequence[Game], index: dict[str, int]) -> Totals:
    found: Totals = {}
    for game in games:
        i, j = index[game.first], index[game.second]
        pair, score = ((i, j), game.score) if i < j else ((j, i), 1 - game.score)
        won, played = found.get(pair, (0.0, 0.0))
        found[pair] = won + score, played + 1
    return found


def _with_draws(totals: Totals, prior: float) -> Totals:
    return {pair: (won + prior / 2, played + prior) for pair, (won, played) in totals.items()}


def _end(
    games: Sequence[Game], index: dict[str, int], totals: Totals, model: int, wins: bool, prior: float
) -> tuple[float, float]:
    """A model's strength and its standard error, if it also wins or loses all games of the unseen prompt."""
    prompts = len({game.prompt or number for number, game in enumerate(games)})
    unseen: Totals = {}
    for (i, j), (_, played) in totals.items():
        if model in (i, j):
            more = UNSEEN * played / prompts
            unseen[i, j] = more * (wins == (model == i)), more
    drawn = _with_draws(totals, prior)
    whole = drawn | {pair: (drawn[pair][0] + won, drawn[pair][1] + played) for pair, (won, played) in unseen.items()}
    strengths, inverse = _maximum(len(index), whole)
    draws = [{pair: (prior / 2, prior)} for pair in totals]
    added = [_gradient(some, strengths) for some in (unseen, *draws)]
    clustered = _variance(inverse[model], [*_clusters(games, index, strengths), *added])
    independent = inverse[model][model] - 1 / len(index)  # the other part pins the mean
    return strengths[model], math.sqrt(max(clustered, independent))


def _check(games: Sequence[Game]) -> None:
    if not games:
        raise UsageError("ratings need games")
    for game in games:
        if not 0 <= game.score <= 1 or game.first == game.second:
            raise UsageError(f"a game must be between two models, with a score in [0, 1], got {game}")
    if apart := {name for game in games for name in game[:2]} - _linked(games):
        raise UsageError(
            f"{', '.join(sorted(apart))} can't be compared with {games[0].first}: they are not linked by any games"
        )


def _linked(games: Sequence[Game]) -> set[str]:
    """The models that games link to the first one, directly or through others."""
    linked = {games[0].first}
    while grown := {name for game in games if linked & {*game[:2]} for name in game[:2]} - linked:
        linked |= grown
    return linked


def _derivatives(strengths: list[float], totals: Totals) -> tuple[list[float], Matrix]:
    """The gradient and the curvature of the log-likelihood."""
    n = len(strengths)
    gradient = [0.0] * n
    # Adding 1/n everywhere pins the mean, the one direction that the games do not determine.
    curvature = [[1.0 / n] * n for _ in range(n)]
    for (i, j), (won, played) in totals.items():
        p = _expected(strengths, i, j)
        gradient[i] += won - played * p
        gradient[j] -= won - played * p
        for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            curvature[a][b] += sign * played * p * (1 - p)
    return gradient, curvature


def _maximum(n: int, totals: Totals) -> tuple[list[float], Matrix]:
    """Newton's method. Also returns the inverse of the curvature on the centred strengths."""
    strengths = [0.0] * n
    for _ in range(100):
        gradient, curvature = _derivatives(strengths, totals)
        inverse = _inverse(curvature)
        step = [math.fsum(row[k] * gradient[k] for k in range(n)) for row in inverse]
        largest = max(map(abs, step))
        # Far from the optimum a full step can overshoot to where the curvature vanishes.
        strengths = [s + d * min(1.0, 2.0 / largest if largest else 1.0) for s, d in zip(strengths, step, strict=True)]
        if max(map(abs, strengths)) > 30:
            break
        if largest < 1e-10:
            return strengths, inverse
    raise UsageError("a model that always won or always lost has no finite rating", hint="prior=1 keeps it finite")


def _clusters(games: Sequence[Game], index: dict[str, int], strengths: list[float]) -> list[dict[int, float]]:
    """The score vector of each prompt, by model."""
    clusters: dict[object, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for number, game in enumerate(games):
        i, j = index[game.first], index[game.second]
        rest = game.score - _expected(strengths, i, j)
        cluster = clusters[game.prompt or number]
        cluster[i] += rest
        cluster[j] -= rest
    return list(clusters.values())


def _gradient(totals: Totals, strengths: list[float]) -> dict[int, float]:
    """The score vector of games that form one cluster."""
    found: dict[int, float] = defaultdict(float)
    for (i, j), (won, played) in totals.items():
        rest = won - played * _expected(strengths, i, j)
        found[i] += rest
        found[j] -= rest
    return found


def _expected(strengths: list[float], i: int, j: int) -> float:
    return 1 / (1 + math.exp(strengths[j] - strengths[i]))


def _variance(row: list[float], clusters: Sequence[dict[int, float]]) -> float:
    """The sandwich variance of one model, by its row of the inverse curvature."""
    return math.fsum(math.fsum(row[k] * value for k, value in cluster.items()) ** 2 for cluster in clusters)


def _inverse(matrix: Matrix) -> Matrix:
    """Gauss-Jordan elimination of a symmetric positive matrix."""
    n = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        head = rows[i][i]
        if abs(head) < 1e-14:
            raise UsageError(
                "a model that always won or always lost has no finite rating", hint="prior=1 keeps it finite"
            )
        rows[i] = [value / head for value in rows[i]]
        for r in range(n):
            factor = rows[r][i]
            if r != i and factor:
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[n:] for row in rows]
