"""lm-eval: a filter that scores all replies of a task in one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from verikit.adapters.reward import GOLD_KEYS, Reward, gold_of, prompt_of
from verikit.errors import MissingExtra
from verikit.types import Sample
from verikit.verifier import Verifier


def to_lm_eval(
    verifier: str | Verifier,
    *,
    prompt: str | None = None,
    answer: str | Callable[[Mapping[str, Any]], Any] | None = None,
    unscored: float | None = None,
    name: str | None = None,
) -> Any:
    """Make an lm-eval filter: every reply of every document becomes its score, None where it has none.

    Register it and name it in a task: `register_filter("verikit")(type(to_lm_eval("answer")))`, or pass the instance in
    a `FilterEnsemble`.

    Args:
        verifier: A verifier or its spec.
        prompt: The document's key with the question; None: the first of prompt, question, problem, input.
        answer: The document's key with the gold, or a function of the document; None: the first of answer,
            ground_truth, solution, gold, target, label.
        unscored: What stands for a reply without a score.
        name: The filter's name; None: the verifier's.

    Raises:
        MissingExtra: lm_eval is not installed.
        SpecError: the spec can't be read.
    """
    try:
        from lm_eval.api.filter import Filter
    except ImportError:
        raise MissingExtra("eval", "lm_eval") from None
    reward = Reward(verifier, name, unscored)

    class Verified(Filter):  # type: ignore[misc]
        """Scores replies; see `verikit.adapters.lm_eval`."""

        def apply(self, resps: Iterable[Sequence[str]], docs: Sequence[Mapping[str, Any]]) -> list[list[float | None]]:
            replies = [list(group) for group in resps]
            scores = iter(
                reward.score(
                    [
                        _sample(doc, text, prompt, answer)
                        for doc, group in zip(docs, replies, strict=True)
                        for text in group
                    ]
                )
            )
            return [[reward.value(next(scores)) for _ in group] for group in replies]

    Verified.__name__ = reward.__name__
    return Verified()


def _sample(
    doc: Mapping[str, Any], text: str, prompt: str | None, answer: str | Callable[[Mapping[str, Any]], Any] | None
) -> Sample:
    asked = prompt or next((key for key in ("prompt", "question", "problem", "input") if key in doc), None)
    if callable(answer):
        gold = answer(doc)
    else:
        key = answer or next((one for one in GOLD_KEYS if one in doc), None)
        gold = doc.get(key) if key else None
    return Sample(prompt_of(doc.get(asked)) if asked else "", text, gold_of(gold), meta=dict(doc))
