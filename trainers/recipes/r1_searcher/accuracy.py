"""Accuracy by a language model (the paper's ACC_L), and the figures of a question-answering set.

The judge replies True or False and nothing else; any other reply is no verdict: counted, and in no mean. The prediction
stands between marks drawn from its own hash, so that it cannot close them and go on as the judge's instructions.
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
class Asked:
    """A question with its golds and what was answered."""

    question: str
    golds: Sequence[str]
    answer: str


def verdict(reply: str) -> bool | None:
    """Read a judge's reply: True or False, a full stop allowed; None for anything else."""
    return VERDICTS.get(reply.strip().lower())


def judged(engine: Engine, asked: Sequence[Asked]) -> list[bool | None]:
    """Ask a model whether each answer is right; None where it failed or gave no verdict."""
    template = PROMPT.read_text("utf-8")
    texts = [
        template.format(question=one.question, gold=" or ".join(one.golds), answer=one.answer, mark=_mark(one))
        for one in asked
    ]
    requests = [Request([Message(role="user", content=text)], max_tokens=8) for text in texts]
    done = engine.generate(requests) if requests else []
    return [None if one.error is not None else verdict(one.text) for one in done]


def report(asked: Sequence[Asked], engine: Engine | None = None) -> dict[str, float]:
    """Return em, f1, cover-em (ACC_R) and, with a judge, ACC_L over its verdicts with the count of missing ones."""
    if not asked:
        return {}
    figures = {
        "cover-em": fmean(measure(one.answer, one.golds, "cover-em") for one in asked),
        "em": fmean(measure(one.answer, one.golds, "em") for one in asked),
        "f1": fmean(measure(one.answer, one.golds, "f1") for one in asked),
    }
    if engine is None:
        return figures
    verdicts = judged(engine, asked)
    known = [verdict for verdict in verdicts if verdict is not None]
    return figures | ({"judged": fmean(known)} if known else {}) | {"unjudged": float(len(verdicts) - len(known))}


def _mark(asked: Asked) -> str:
    return "=" * 4 + hashlib.sha256(repr((asked.question, asked.answer)).encode()).hexdigest()[:12]
