"""open-instruct: a `VerifierFunction`, which is found as a subclass. Rows choose it by their `dataset` column.

`open_instruct.ground_truth_utils.build_all_verifiers` creates one instance of each subclass and awaits its
`async_call`. The arguments are the prediction's tokens, the prediction, the row's `ground_truth` as its label, the
query and the rollout's state. The score is a number in a weighted sum.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

from verikit.adapters.reward import NumberReward, gold_of, tokens_in
from verikit.base import Verifier
from verikit.types import Sample, Score


def to_open_instruct(
    verifier: str | Verifier,
    *,
    name: str = "verikit",
    weight: float = 1.0,
    unscored: float | Literal["mean", "raise"] = "mean",
    tries: int = 1,
    echoes: bool = False,
) -> type[Any]:
    """Make a subclass of open-instruct's `VerifierFunction`.

    Args:
        verifier: A verifier or its spec.
        name: The value of the rows' `dataset` column, in lower case.
        weight: Weight of its score in a row's sum.
        unscored: The score of an unscored prediction: `mean` of the query's latest predictions, a number, or `raise`,
            which ends the run.
        tries: Maximum attempts to score a sample whose score is a timeout or an error.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.

    Raises:
        ImportError: open-instruct is not installed.
        SpecError: The spec can't be parsed.
    """
    stack = import_module("open_instruct.ground_truth_utils")
    reward = NumberReward(verifier, name, unscored, echoes=echoes, tries=tries)

    def result(sample: Sample, score: Score) -> Any:
        return stack.VerificationResult(score=reward.number(sample, score), reasoning=score.reason)

    class Verified(stack.VerifierFunction):  # type: ignore[misc, name-defined]
        verikit = reward

        def __init__(self, verifier_config: Any = None) -> None:
            super().__init__(name, weight=weight, verifier_config=verifier_config)

        def __call__(
            self,
            tokenized_prediction: Any,
            prediction: str,
            label: Any,
            query: str | None = None,
            rollout_state: Any = None,
        ) -> Any:
            sample = Sample(query or "", prediction, gold_of(label), meta=tokens_in(tokenized_prediction))
            return result(sample, reward.score_waiting(sample))

        async def async_call(
            self,
            tokenized_prediction: Any,
            prediction: str,
            label: Any,
            query: str | None = None,
            rollout_state: Any = None,
        ) -> Any:
            sample = Sample(query or "", prediction, gold_of(label), meta=tokens_in(tokenized_prediction))
            return result(sample, await reward.score_sample(sample))

    return Verified
