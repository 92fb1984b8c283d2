"""The fit of length-controlled win rates step for step as in alpaca_eval 0.6.6, on scikit-learn.

Each row with soft target p becomes two: y = 1 with weight p, y = 0 with weight 1 - p, both in one fold. The fit uses
L1, liblinear, no intercept, and C among ten values by five folds on the log loss against p. The solver stops at a
tolerance of 1e-4, so the result depends on the order of rows and on the seed. Both are the same as in alpaca_eval.
"""

from __future__ import annotations

from typing import Any

from verikit.errors import MissingExtra
from verikit.judges.rates.length_control import numpy

_FOLDS = 5
_SEED = 123


def fit_exact(features: Any, targets: Any, weights: Any | None) -> Any:
    """Fit weights (k) to features (n x k) and soft targets (n) in [0, 1]. `weights` (n) of rows, None for none.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    np = numpy()
    try:
        from sklearn import config_context
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.metrics import make_scorer
        from sklearn.model_selection import GroupKFold
    except ImportError:
        raise MissingExtra("the exact fit", "judges") from None
    n = len(targets)
    shares = np.concatenate([targets, 1 - targets])
    twice = None if weights is None else np.concatenate([weights, weights])
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(_log_loss, response_method="predict_proba", greater_is_better=False)
        regression: Any = LogisticRegressionCV  # its annotations are those of its deprecated defaults
        model = regression(
            cv=GroupKFold(n_splits=_FOLDS),
            scoring=scorer.set_score_request(shares=True, row_weights=True),
            l1_ratios=(1.0,),
            solver="liblinear",
            fit_intercept=False,
            random_state=_SEED,
            use_legacy_attributes=False,
        ).set_fit_request(sample_weight=True)
        model.fit(
            np.concatenate([features, features]),
            np.concatenate([np.ones(n, int), np.zeros(n, int)]),
            sample_weight=shares if twice is None else shares * twice,
            groups=np.concatenate([np.arange(n), np.arange(n)]),
            shares=shares,
            row_weights=twice,
        )
    return model.coef_[0]


def _log_loss(y: Any, predicted: Any, shares: Any, row_weights: Any | None = None) -> float:
    np = numpy()
    target = np.where(y == 1, shares, 1 - shares)
    p = np.clip(predicted, 1e-15, 1 - 1e-15)
    loss = target * np.log(p) + (1 - target) * np.log(1 - p)
    return -float(np.mean(loss if row_weights is None else loss * row_weights))
