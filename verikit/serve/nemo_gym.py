"""NeMo-Gym's resources server: the requests of its agents and environment servers, as nemo-gym 0.7.0 sends them.

    POST /seed_session, /close_session   a rollout starts and ends (stateless: sessions may come at any time)
    POST /verify                         the rollout; the reply is the same with its reward
    POST /aggregate_metrics              the rewards of many rollouts, aggregated per task and overall
    GET  /reverify_mode                  "stateless": stored rollouts may be verified again

A rollout that could not be scored is an HTTP error, as when a server of NeMo-Gym raises. No version treats that as a
reward. `gym eval run ++route_failures_to_sidecar=true` stores it in `…_failures.jsonl` and retries it on resuming, and
NeMo-RL retries the rollout. The protocol `nemo-gym-mask` returns the row that NeMo-Gym's own failed judges return
(`mask_sample`, and the marker that excludes it from the rollouts). It requires 0.7.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from verikit.adapters.nemo_gym import rollout_sample
from verikit.errors import SchemaError, UsageError, VerikitError
from verikit.platform.numbers import number
from verikit.types import Sample

TASK, ROLLOUT = "_ng_task_index", "_ng_rollout_index"
"""Keys of NeMo-Gym's task numbers and repeat numbers."""
STATUS = {"abstained": 422, "timeout": 504, "error": 500}
"""HTTP status of an unscored sample: a bad row, a timeout, or a server error."""


class UnscoredRollout(VerikitError):
    """A rollout is unscored, which NeMo-Gym receives as an HTTP error."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        super().__init__(f"{row['status']}: {row.get('reason') or 'no reason given'}")
        self.status: int = STATUS.get(row["status"], 500)


def read(body: Mapping[str, Any]) -> list[Sample]:
    """Return the sample of a `/verify` request. Fields other than NeMo-Gym's own belong to the task.

    Raises:
        SchemaError: The request is not a rollout.
    """
    try:
        return [rollout_sample(body)]
    except SchemaError:
        raise
    except UsageError as error:
        raise SchemaError(f"can't be read: {error}", field="response") from None


def reply(body: Mapping[str, Any], rows: Sequence[bytes], unscored: float | None) -> bytes:
    """Return the request with its reward.

    Raises:
        UnscoredRollout: The rollout is unscored.
    """
    row = json.loads(rows[0])
    if row["value"] is None:
        raise UnscoredRollout(row)
    return encoded({**body, **_found(row)})


def masked_reply(body: Mapping[str, Any], rows: Sequence[bytes], unscored: float | None) -> bytes:
    """Return the request with its reward, or with the marks that exclude it from NeMo-Gym's (0.7) metrics.

    NeMo-Gym requires a number as `reward`, so the server must be started with an `unscored` number.
    """
    row = json.loads(rows[0])
    if row["value"] is not None:
        return encoded({**body, **_found(row)})
    reason = str(row.get("reason") or "")[:2000]
    config = body.get("instance_config")
    failed = {
        "reward": unscored,
        "mask_sample": True,
        "failure_kind": f"verikit:{row['status']}",
        "failure_reason": reason,
        "instance_config": {**(config if isinstance(config, Mapping) else {}), "mask_sample": True},
        "_ng_failure_class": "judge_failed",
        "_ng_failure_judge_error": reason,
    }
    return encoded({**body, **failed})


def _found(row: Mapping[str, Any]) -> dict[str, Any]:
    found = {"reward": row["value"], "extracted_answer": row.get("answer")}
    parts = {name: part["value"] for name, part in (row.get("parts") or {}).items() if part["value"] is not None}
    return found | ({"reward_components": parts} if parts else {})


def aggregated(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return NeMo-Gym's `AggregateMetrics` of verify responses: `mean/reward` and others, per task, repeat and overall.

    Every top-level number is aggregated, as in NeMo-Gym. Masked rows only count in `coverage/…`.
    """
    scored = [row for row in rows if not row.get("mask_sample")]
    coverage = _coverage(rows, scored)
    if not scored:
        return {"group_level_metrics": [], "agent_metrics": coverage, "key_metrics": coverage}
    tasks, repeats = _by(TASK, scored), _by(ROLLOUT, scored)
    overall = _statistics(scored) | coverage | {"num_repeats": len({_number(row, ROLLOUT) for row in rows})}
    return {
        "group_level_metrics": [
            _statistics(group) | {TASK: task, "num_rollouts": len(group)} for task, group in tasks.items()
        ],
        "agent_metrics": overall,
        "key_metrics": {name: value for name, value in overall.items() if name.startswith("mean/")} | coverage,
        "repeat_level_metrics": [
            {ROLLOUT: repeat} | {name: statistics.fmean(values) for name, values in _columns(group).items()}
            for repeat, group in repeats.items()
        ],
    }


def _coverage(rows: Sequence[Mapping[str, Any]], scored: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if len(rows) == len(scored):
        return {}
    measured = {_number(row, TASK) for row in scored}
    return {
        "coverage/measured_rollouts": len(scored),
        "coverage/masked_rollouts": len(rows) - len(scored),
        "coverage/measured_tasks": len(measured),
        "coverage/fully_masked_tasks": len({_number(row, TASK) for row in rows} - measured),
    }


def _by(key: str, rows: Iterable[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(_number(row, key), []).append(row)
    return dict(sorted(groups.items()))


def _number(row: Mapping[str, Any], key: str) -> int:
    found = row.get(key, 0)
    return found if isinstance(found, int) else 0


def _columns(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Return the finite numbers of the rows by name. Names that start with "_" are NeMo-Gym's own and are skipped."""
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            if not name.startswith("_") and (found := number(value)) is not None:
                columns.setdefault(name, []).append(found)
    return columns


def _statistics(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, values in _columns(rows).items():
        found[f"mean/{name}"] = statistics.fmean(values)
        found[f"max/{name}"], found[f"min/{name}"] = max(values), min(values)
        found[f"median/{name}"] = statistics.median(values)
        found[f"std/{name}"] = statistics.stdev(values) if len(values) > 1 else 0.0
    return found


def encoded(value: Any) -> bytes:
    """Encode as JSON bytes. Invalid Unicode becomes "?"."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
