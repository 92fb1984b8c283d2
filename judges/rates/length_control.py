"""Length-controlled win rates (Dubois et al. 2024): the win rate if both answers had the same length.

logit P(model wins) = a tanh(x) + b d + c g. Here x is the baseline's length minus the model's in characters, over its
sample deviation, and d is the instruction's difficulty. The term g is 1 for the model's rows and 0 for the rows of two
gamed baselines that regularise the fit (weight 0.1 each). The length-controlled win rate is the mean prediction over
the rows at x = 0.

The forms are alpaca_eval's: `v1` has all three terms, `noreg` no gamed rows, `minimal` neither those nor d. v1 and
noreg need the difficulties of AlpacaEval's 805 instructions. Other data uses `minimal`. Weights are fitted by Newton's
method, or exactly as in alpaca_eval (`exact=True`: L1, C by cross-validation), which is much slower.
"""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from verikit.errors import MissingExtra, UsageError, nearest
from verikit.judges.rates.winrate import win_rate

Form = Literal["v1", "noreg", "minimal"]
GAMED_WEIGHT = 0.1
"""alpaca_eval's lambda of 0.2, shared by its two gamed baselines."""
_RIDGE = 1e-6
"""Makes the weights finite if the model always wins. It is far too small to move a win rate."""
_STEPS = 100


class Weights(NamedTuple):
    """The fitted weights of one model, in the order of alpaca_eval's files."""

    length: float
    difficulty: float
    model: float


@dataclass(frozen=True)
class Gamed:
    """Rows of the gamed baselines, with the difficulty of each instruction (alpaca_eval's df_gamed.csv)."""

    preference: tuple[float, ...]
    length: tuple[float, ...]
    """x as above."""
    row_difficulty: tuple[float, ...]
    difficulty: Mapping[int, float] = field(repr=False)
    """Difficulty by number of the instruction."""

    @classmethod
    def read(cls, path: str | Path) -> Gamed:
        """Read df_gamed.csv.

        Raises:
            UsageError: It can't be read or lacks a column.
        """
        rows = _read_csv(path)
        try:
            return cls(
                tuple(float(row["preference"]) for row in rows),
                tuple(float(row["std_delta_len"]) for row in rows),
                tuple(float(row["instruction_difficulty"]) for row in rows),
                {int(row["index"]): float(row["instruction_difficulty"]) for row in reversed(rows)},
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path} is not alpaca_eval's df_gamed.csv: {error}") from None

    @cached_property
    def columns(self) -> tuple[Any, Any, Any]:
        """Features (n x 3), targets (n) and weights (n) of the gamed rows."""
        np = numpy()
        d = np.array(self.row_difficulty)
        features = np.column_stack([np.tanh(np.array(self.length)), d, np.zeros(len(d))])
        return features, np.array(self.preference), np.full(len(d), GAMED_WEIGHT)


@dataclass(frozen=True, slots=True)
class LengthControlled:
    """A length-controlled win rate. Rates are fractions, not percent."""

    value: float
    stderr: float
    """alpaca_eval's `lc_standard_error`: how much the predictions vary over instructions.

    It is not a sampling error.
    """
    weights: Weights
    form: Form
    extreme: bool
    """Whether it is so far from the raw win rate that the fit is in doubt (alpaca_eval's rule)."""


def length_controlled(
    preferences: Sequence[float | None],
    baseline_lengths: Sequence[int],
    model_lengths: Sequence[int],
    *,
    instructions: Sequence[int] | None = None,
    gamed: Gamed | None = None,
    form: Form | None = None,
    exact: bool = False,
    by_position: bool = False,
    weights: Sequence[float] | None = None,
) -> LengthControlled:
    """Fit one model against one baseline.

    Args:
        preferences: Preferences for the model, as in `win_rate`. Rows without one are used in the prediction, but not
            in the fit.
        baseline_lengths: Characters of the baseline's answers.
        model_lengths: Characters of the model's answers.
        instructions: Number of each row's instruction in AlpacaEval (0 to 804). Required for v1 and noreg.
        gamed: alpaca_eval's file. Without it the form is `minimal`.
        form: None is v1 if `gamed` is given.
        exact: Fit with scikit-learn as alpaca_eval does, to 1e-6 of its result.
        by_position: Look up difficulties by row, as alpaca_eval does when rows are missing. Its published values for
            such models come from that misalignment.
        weights: The weight of each row in the fit. Equal by default.

    Raises:
        UsageError: Lengths that differ, an unknown form, an instruction without difficulty, or no verdicts.
        MissingExtra: numpy (or, if `exact`, scikit-learn) is not installed.
    """
    counts: Sequence[float] = [1.0] * len(preferences) if weights is None else weights
    if not len(preferences) == len(baseline_lengths) == len(model_lengths) == len(counts):
        raise UsageError("preferences, lengths and weights are parallel: one of each per row")
    raw = win_rate(preferences).value if weights is None else _weighted_rate(preferences, weights)
    form = _form(form, gamed)
    difficulty = _difficulties(len(preferences), instructions, gamed, by_position) if form != "minimal" else None
    np = numpy()
    delta = np.array(baseline_lengths, float) - np.array(model_lengths, float)
    deviation = delta.std(ddof=1) if len(delta) > 1 else 0.0
    if not deviation:
        # Nothing to control for. The original divides by zero here.
        return LengthControlled(raw, 0.0, Weights(0.0, 0.0, _logit(raw)), form, False)
    d = np.zeros(len(delta)) if difficulty is None else np.array(difficulty)
    features = np.column_stack([np.tanh(delta / deviation), d, np.ones(len(delta))])
    judged = np.array([p is not None for p in preferences])
    rows = (features[judged], np.array([p for p in preferences if p is not None], float), np.array(counts)[judged])
    if form == "v1" and gamed is not None:
        rows = tuple(np.concatenate(pair) for pair in zip(gamed.columns, rows, strict=True))
    used = [0, 1, 2] if difficulty is not None else [0, 2]
    fitted = np.zeros(3)
    fitted[used] = _fit(rows[0][:, used], rows[1], None if form != "v1" and weights is None else rows[2], exact)
    predicted = _sigmoid(d * fitted[1] + fitted[2])
    value = float(predicted.mean())
    stderr = float(predicted.std(ddof=1)) / math.sqrt(len(predicted))
    return LengthControlled(value, stderr, Weights(*map(float, fitted)), form, is_extreme(raw, value))


def _weighted_rate(preferences: Sequence[float | None], weights: Sequence[float]) -> float:
    judged = [(p, weight) for p, weight in zip(preferences, weights, strict=True) if p is not None]
    return math.fsum(p * weight for p, weight in judged) / math.fsum(weight for _, weight in judged)


def predicted_win_rate(model: Weights, baseline: Weights, difficulty: Sequence[float]) -> float:
    """Win rate of one fitted model against another at equal lengths, over instructions of these difficulties."""
    a, b = model.model - baseline.model, model.difficulty - baseline.difficulty
    return math.fsum(_sigmoid_of(a + b * d) for d in difficulty) / len(difficulty)


def read_weights(path: str | Path) -> dict[str, Weights]:
    """Read alpaca_eval's published weights: one row per model.

    Raises:
        UsageError: The file can't be read, or is not a file of weights.
    """
    try:
        return {row[""]: Weights(*(float(value) for key, value in row.items() if key)) for row in _read_csv(path)}
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is not a file of alpaca_eval's weights: {error}") from None


def is_extreme(raw: float, controlled: float) -> bool:
    """Whether length control moved a win rate by more than 10 points and a quarter of the way to the end."""
    return controlled < min(raw - raw / 4, raw - 0.1) or controlled > max(raw + (1 - raw) / 4, raw + 0.1)


def _form(form: Form | None, gamed: Gamed | None) -> Form:
    if form is not None and form not in get_args(Form):
        raise UsageError(f"form {form!r} not found", hint=nearest(form, get_args(Form)))
    if gamed is not None or form == "minimal":
        return form or "v1"
    if form is not None:
        warnings.warn(f"{form} requires alpaca_eval's df_gamed.csv. Fitted the minimal form instead", stacklevel=3)
    return "minimal"


def _difficulties(n: int, instructions: Sequence[int] | None, gamed: Gamed | None, by_position: bool) -> list[float]:
    assert gamed is not None, "a form with difficulties is chosen only where there are some"
    numbers = range(n) if by_position else instructions
    if numbers is None or len(numbers) != n:
        raise UsageError(
            "which instruction each row is must be given, one number per row", hint="or use form='minimal'"
        )
    if unknown := [i for i in numbers if i not in gamed.difficulty]:
        raise UsageError(f"instruction {unknown[0]} has no difficulty", hint="other data than AlpacaEval's: 'minimal'")
    return [gamed.difficulty[i] for i in numbers]


def _fit(features: Any, targets: Any, weights: Any, exact: bool) -> Any:
    if exact:
        from verikit.judges.rates.exact import fit_exact

        return fit_exact(features, targets, weights)
    return _newton(features, targets, numpy().ones(len(targets)) if weights is None else weights)


def _newton(features: Any, targets: Any, weights: Any) -> Any:
    """Maximise the weighted log-likelihood of soft targets. The ridge makes the optimum unique and finite."""
    np = numpy()
    beta = np.zeros(features.shape[1])
    ridge = _RIDGE * np.eye(len(beta))

    def evaluate(candidate: Any) -> tuple[float, Any]:
        z = features @ candidate
        softplus = np.logaddexp(0, z)
        loss = weights @ (softplus - targets * z) + candidate @ ridge @ candidate / 2
        return float(loss), np.exp(z - softplus)

    current, p = evaluate(beta)
    for _ in range(_STEPS):
        gradient = features.T @ (weights * (p - targets)) + ridge @ beta
        curvature = features.T @ (features * (weights * p * (1 - p))[:, None]) + ridge
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        value, p = evaluate(beta - step)
        while value > current and size > 1e-6:
            size /= 2
            value, p = evaluate(beta - size * step)
        beta = beta - size * step
        if current - value <= 1e-12 * abs(current):
            break
        current = value
    return beta


def _sigmoid(z: Any) -> Any:
    np = numpy()
    return np.exp(-np.logaddexp(0, -z))


def _sigmoid_of(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


def _logit(p: float) -> float:
    return math.log(p / (1 - p)) if 0 < p < 1 else math.copysign(math.inf, p - 0.5)


def numpy() -> Any:
    """Import numpy, which only this part of the package needs.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        import numpy as np
    except ImportError:
        raise MissingExtra("length control", "judges") from None
    return np


def _read_csv(path: str | Path) -> list[dict[str, str]]:
    try:
        with open(path, newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"can't read {path}: {error}") from None
