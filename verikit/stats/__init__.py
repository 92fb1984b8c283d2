"""Estimators: the expected score of a policy, a selector or a vote at k candidates, from one set of n >= k.

Every `…_at_k` is the expectation over all size-k subsets of a group's candidates, with ties averaged. So one n gives
results for several k, and nothing depends on the order of candidates. `Summary` averages groups (prompts) and gives
intervals over prompts, in constant memory. docs/estimators.md has each definition and its source.
"""

from verikit.stats.beta import beta_interval
from verikit.stats.intervals import Estimate, Interval, Mean, bootstrap, mean_interval
from verikit.stats.subsets import all_at_k, best_at_k, best_of_ranked, mean_at_k, pass_at_k, ranked_truth
from verikit.stats.summary import Summary, at_k
from verikit.stats.votes import Weighting, vote_at_k, vote_weights

__all__ = [
    "Estimate",
    "Interval",
    "Mean",
    "Summary",
    "Weighting",
    "all_at_k",
    "at_k",
    "best_at_k",
    "best_of_ranked",
    "beta_interval",
    "bootstrap",
    "mean_at_k",
    "mean_interval",
    "pass_at_k",
    "ranked_truth",
    "vote_at_k",
    "vote_weights",
]
