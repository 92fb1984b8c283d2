"""UltraFeedback: prompts to train on, and pairs of answers, one of which was preferred.

Sources: openbmb/UltraFeedback (`instruction`, four `completions` with `overall_score`), and its pairs as in
HuggingFaceH4/ultrafeedback_binarized and argilla's (`prompt`, `chosen`, `rejected`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verikit.convert.parts import LeftOut, made, need, text
from verikit.errors import SchemaError
from verikit.readers.parse import JsonRow

LEFT = ("instruction", "completions", "chosen", "rejected", "models", "score_chosen", "score_rejected")


def prompts(row: JsonRow) -> Iterator[JsonRow]:
    """Only the prompt."""
    yield made(row, text(row, "prompt", "instruction"), taken=LEFT)


def pairs(row: JsonRow) -> Iterator[JsonRow]:
    """The prompt with both answers, the preferred one first, as `labels` 1 and 0 indicate. Ties are skipped."""
    asked = text(row, "prompt", "instruction")
    if "chosen" in row or "rejected" in row:
        texts = [_reply(need(row, key), key) for key in ("chosen", "rejected")]
        scores = [row.get(f"score_{key}", row.get(f"{key}_score")) for key in ("chosen", "rejected")]
        if None not in scores and scores[0] == scores[1]:
            raise LeftOut("a tie")
    else:
        texts = _best_and_worst(need(row, "completions"))
    if texts[0] == texts[1]:
        raise LeftOut("both answers are the same")
    yield made(row, asked, taken=LEFT, completions=texts, labels=[1, 0])


def _reply(value: Any, field: str) -> str:
    """Return a string, or the last message of a conversation."""
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        return text({field: value[-1].get("content")}, field)
    return text({field: value}, field)


def _best_and_worst(completions: Any) -> list[str]:
    """The answers with the highest and the lowest overall score; the first of equals.

    Raises:
        SchemaError: An answer or its score is missing.
        LeftOut: All have the same score, or there is one only.
    """
    if not isinstance(completions, list) or not all(isinstance(item, dict) for item in completions):
        raise SchemaError("is not a list of objects", field="completions")
    scored = []
    for number, item in enumerate(completions):
        score = item.get("overall_score")
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise SchemaError("is not a number", field=f"completions[{number}].overall_score")
        scored.append((float(score), text({"response": item.get("response")}, "response")))
    if len({score for score, _ in scored}) < 2:
        raise LeftOut("a tie")
    return [max(scored, key=lambda pair: pair[0])[1], min(scored, key=lambda pair: pair[0])[1]]
