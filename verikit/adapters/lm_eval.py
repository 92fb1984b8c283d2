"""lm-eval: a task's `custom` filter that scores all its replies in one batch, and functions for metrics of the scores.

    filter_list:
      - {name: verikit, filter: [{function: custom, filter_fn: !function reward.filter_fn}]}
    process_results: !function reward.process_results
    metric_list:
      - {metric: verikit, aggregation: !function reward.mean_scored, higher_is_better: true}
      - {metric: unscored, aggregation: mean, higher_is_better: false}

(`reward.py` is next to the task's YAML: `verikit adapter write lm-eval SPEC -o reward.py`.) An unscored reply is None:
it is excluded from the mean and counted by the other metric. The interface is that of lm-eval 0.4.13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from verikit.adapters.reward import GOLD_KEYS, Reward, gold_of, prompt_of
from verikit.base import Verifier
from verikit.messages import CompletionMessage
from verikit.types import Sample

PROMPT_KEYS = ("prompt", "question", "problem", "input")
"""Keys of a document that may contain its question, in order of preference."""
Reply = str | Sequence[CompletionMessage]
Gold = str | Callable[[Mapping[str, Any]], Any] | None


class LmEvalFilter(Reward):
    """Called by lm-eval with all replies to all documents of a task."""

    def __init__(
        self, verifier: str | Verifier, name: str | None, unscored: float | None, prompt: str | None, answer: Gold
    ) -> None:
        super().__init__(verifier, name, unscored)
        self.prompt: str | None = prompt
        self.answer: Gold = answer

    def __call__(self, resps: Iterable[Sequence[Reply]], docs: Sequence[Mapping[str, Any]]) -> list[list[float | None]]:
        """Return each reply's score, in the replies' shape."""
        replies = [list(group) for group in resps]
        samples = [self.sample(doc, reply) for doc, group in zip(docs, replies, strict=True) for reply in group]
        values = iter(self.rewards(samples, self.score(samples)))
        return [[next(values) for _ in group] for group in replies]

    def sample(self, doc: Mapping[str, Any], reply: Reply) -> Sample:
        """A reply with its document's question and gold; the document is the sample's meta."""
        asked = self.prompt or next((key for key in PROMPT_KEYS if key in doc), "")
        if callable(self.answer):
            gold = self.answer(doc)
        else:
            gold = doc.get(self.answer or next((key for key in GOLD_KEYS if key in doc), ""))
        return Sample(prompt_of(doc.get(asked)), reply, gold_of(gold), meta=dict(doc))


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float | None]:
    """Convert a document's filtered replies to metrics: the mean score, and the fraction that is unscored."""
    values = [value for result in results for value in (result if isinstance(result, (list, tuple)) else [result])]
    scored = [value for value in values if value is not None]
    mean = sum(scored) / len(scored) if scored else None
    return {"verikit": mean, "unscored": 1 - len(scored) / len(values) if values else 1.0}


def mean_scored(values: Iterable[float | None]) -> float:
    """Mean over the documents that have a score. NaN if there are none."""
    scored = [value for value in values if value is not None]
    return sum(scored) / len(scored) if scored else float("nan")


def to_lm_eval(
    verifier: str | Verifier,
    *,
    prompt: str | None = None,
    answer: Gold = None,
    unscored: float | None = None,
    name: str | None = None,
) -> LmEvalFilter:
    """Make a `filter_fn` for lm-eval's `custom` filter: every reply becomes its score, or None if unscored.

    Args:
        verifier: A verifier or its spec.
        prompt: The document's key with the question. None uses the first of prompt, question, problem, input.
        answer: The document's key with the gold answer, or a function of the document. None uses the first of answer,
            ground_truth, solution, gold, target, label.
        unscored: The value of an unscored reply.
        name: The name in the log. None uses the verifier's.

    Raises:
        SpecError: The spec can't be parsed.
    """
    return LmEvalFilter(verifier, name, unscored, prompt, answer)
