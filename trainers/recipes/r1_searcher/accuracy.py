"""Accuracy by a language model (the paper's ACC_L), and the metrics of a question-answering set.

The judge must reply only True or False. Any other reply is not a verdict: it is counted, and excluded from every mean.
The prediction is between marks derived from its own hash. So it cannot close them and continue as instructions to the
judge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from verikit.engines.types import Engine, Request
from verikit.trainers.recipes.r1_searcher.rewards import measure
from verikit.types import Message

PROMPT = Path(__file__).parent / "prompts" / "judge.txt"
VERDICTS = {"true": True, "true.": True, "false": False, "false.": False}


@dataclass(frozen=True, slots=True)
class PredictedAnswer:
    """A question with its gold answers and the predicted answer."""

    question: str
    golds: Sequence[str]
    answer: str


def verdict(reply: str) -> bool | None:
    """Read a judge's reply: True or False, optionally with a full stop; None for anything else."""
    return VERDICTS.get(reply.strip().lower())


def judged(engine: Engine, asked: Sequence[PredictedAnswer]) -> list[bool | None]:
    """Query a model whether each answer is right; None if it failed or gave no verdict."""
    template = PROMPT.read_text("utf-8")
    texts = [
        template.format(
            question=prediction.question,
            gold=" or ".join(prediction.golds),
            answer=prediction.answer,
            mark=_mark(prediction),
        )
        for prediction in asked
    ]
    requests = [Request([Message(role="user", content=text)], max_tokens=8) for text in texts]
    done = engine.generate(requests) if requests else []
    return [None if generation.error is not None else verdict(generation.text) for generation in done]


def report(asked: Sequence[PredictedAnswer], engine: Engine | None = None) -> dict[str, float]:
    """Return em, f1, cover-em (ACC_R) and, with a judge, ACC_L over its verdicts and the number of missing ones."""
    if not asked:
        return {}
    metrics = {
        "cover-em": fmean(measure(prediction.answer, prediction.golds, "cover-em") for prediction in asked),
        "em": fmean(measure(prediction.answer, prediction.golds, "em") for prediction in asked),
        "f1": fmean(measure(prediction.answer, prediction.golds, "f1") for prediction in asked),
    }
    if engine is None:
        return metrics
    verdicts = judged(engine, asked)
    known = [verdict for verdict in verdicts if verdict is not None]
    return metrics | ({"judged": fmean(known)} if known else {}) | {"unjudged": float(len(verdicts) - len(known))}


def _mark(asked: PredictedAnswer) -> str:
    return "=" * 4 + hashlib.sha256(repr((asked.question, asked.answer)).encode()).hexdigest()[:12]
