"""A judged bout as a JSON row, and back.

The same bout with the same verdict gives a byte-identical row. So rows omit usage, which is lower after a cache hit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verikit.errors import EngineError, JudgeError
from verikit.judges.asking.reply import JudgeVerdict
from verikit.judges.bias import Judged
from verikit.judges.match.entrants import Bout
from verikit.judges.pairwise import Comparison, OrderVerdict
from verikit.platform.raised import describe


def to_row(line: int, bout: Bout, comparison: Comparison) -> dict[str, Any]:
    """The run's bout number `line` (from 1) with its verdicts in each order. `preference` is for model `a`."""
    row: dict[str, Any] = {"line": line, "id": bout.id, "a": bout.a, "b": bout.b}
    row |= {"preference": comparison.preference, "reason": comparison.reason}
    if comparison.preference is None:
        row["error"] = "unread" if comparison.unread else "failed"
    if bout.label is not None:
        row["label"] = bout.label
    row["lengths"] = [len(bout.pair.first), len(bout.pair.second)]
    row["orders"] = [_order(order) for order in comparison.orders]
    return row | {"digest": bout.digest}


def from_row(row: Mapping[str, Any]) -> Judged:
    """The comparison that `to_row` wrote, with the answers' lengths.

    Raises:
        KeyError, TypeError: It is not such a row.
    """
    orders = tuple(
        OrderVerdict(order["first"] == "b", _verdict(order, order["first"] == "b")) for order in row["orders"]
    )
    kinds = {None: None, "unread": JudgeError(row["reason"]), "failed": EngineError(row["reason"])}
    comparison = Comparison(row["preference"], row["reason"], orders, kinds[row.get("error")])
    return Judged(comparison, *row["lengths"])


def _order(order: OrderVerdict) -> dict[str, Any]:
    verdict = order.verdict
    row: dict[str, Any] = {"first": "b" if order.swapped else "a", "preference": order.preference}
    if verdict.label:
        row["label"] = verdict.label
    if verdict.error is not None:
        row["error"] = describe(verdict.error)
        row["kind"] = "unread" if isinstance(verdict.error, JudgeError) else "failed"
    return row | {"reply": verdict.reply}


def _verdict(row: Mapping[str, Any], swapped: bool) -> JudgeVerdict:
    value = row["preference"]
    error = None
    if value is None:
        error = (JudgeError if row["kind"] == "unread" else EngineError)(row["error"])
    elif swapped:
        value = 1 - value
    return JudgeVerdict(value, row.get("label", ""), row["reply"], error)
