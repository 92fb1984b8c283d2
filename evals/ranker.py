"""A verifier as an lm-eval model, for tasks whose documents have the texts to score (RewardBench 2, ProcessBench)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice

from lm_eval.api.instance import Instance

from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.evals.lm import Told
from verikit.evals.replies import Failed
from verikit.evals.steps import Threshold, check_threshold, step_replies
from verikit.evals.typed import LM
from verikit.types import PASS_MARK, Sample, Score

AT_ONCE = 64
"""Documents of one batch."""


class Ranker(LM):
    """Answers a document with the scores of its candidates, a JSON list in their order; of steps, with the error."""

    tokenizer_name = "verifier"

    def __init__(
        self, verifier: Verifier, *, threshold: Threshold = PASS_MARK, told: Told = lambda done, of: None
    ) -> None:
        """Wrap a verifier.

        Args:
            verifier: Scores whole replies, or steps.
            threshold: Score below which a step is wrong. `split` chooses it for each half of a task on the other half.
            told: Receives the number of finished documents and the total.
        """
        super().__init__()
        self.threshold: Threshold = check_threshold(threshold)
        self.verifier: Verifier = verifier
        self.told: Told = told

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """The last turn: a reward model has its own template."""
        return chat_history[-1]["content"]

    def generate_until(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[str]:
        """Score the candidates of each document. If a candidate is unscored, its document has no reply.

        Raises:
            UsageError: A document has no candidates.
        """
        docs = [request.doc for request in requests]
        if docs and all("steps" in doc for doc in docs):
            found = step_replies(self.verifier, docs, self.threshold)
            self.told(len(found), len(requests))
            return found
        replies: list[str] = []
        for start in range(0, len(requests), AT_ONCE):
            some = docs[start : start + AT_ONCE]
            if any("candidates" not in doc for doc in some):
                raise UsageError(f"{self.verifier.name} scores replies, but this task generates them")
            samples = [Sample(doc["question"], text, id=doc["id"]) for doc in some for text in doc["candidates"]]
            scores = iter(self.verifier.score(samples))
            replies += [_reply(list(islice(scores, len(doc["candidates"])))) for doc in some]
            self.told(len(replies), len(requests))
        return replies

    def loglikelihood(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """Raise, since a verifier has no log-likelihoods.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{self.verifier.name} scores replies, but this task needs log-likelihoods")

    def loglikelihood_rolling(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[float]:
        """Raise, since a verifier has no log-likelihoods.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{self.verifier.name} scores replies, but this task needs log-likelihoods")


def _reply(scores: Sequence[Score]) -> str:
    """Return a document's reply: the values of its candidates, or a failure if one is unscored."""
    lost = next((score for score in scores if not score.scored), None)
    return json.dumps([score.value for score in scores]) if lost is None else Failed(f"{lost.status}: {lost.reason}")
