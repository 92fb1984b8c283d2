"""The tasks of a run as logs of inspect, JSON or `.eval` archives that its viewer and `read_eval_log` load.

A repeat is an epoch. A reply that failed is a sample with an error. An unscored reply has no score: its reason is in
the sample's metadata.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from verikit.evals.grade import BY, NOTES
from verikit.evals.run_folder import CONFIG, RESULTS, read_results, samples_name
from verikit.evals.samples import FINISHED, read_samples

FORM = 2
"""Version of inspect's format."""
SCORER = "verikit"
STOPS = ("stop", "max_tokens", "content_filter", "tool_calls")
"""Reasons to stop that inspect has. `length` is its max_tokens."""
_PLAIN_ID = re.compile(r"[\w .,:=+@-]{1,200}")
"""An id that can be part of a file's name."""
Row = Mapping[str, Any]


def inspect_logs(run: Path, archives: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield the file name and the content of a log for each task of a run: a JSON file, or an `.eval` archive.

    Raises:
        UsageError: The folder is not a finished run of `verikit eval`, or is damaged.
    """
    results = read_results(run)
    settings = json.loads((run / CONFIG).read_bytes()).get("settings", {})
    created = datetime.fromtimestamp((run / RESULTS).stat().st_mtime, UTC).isoformat(timespec="seconds")
    for task, told in results["tasks"].items():
        samples = list(chain.from_iterable(map(_samples, read_samples(run / samples_name(task)))))
        log = {
            "version": FORM,
            "status": "success",
            "eval": {
                "created": created,
                "task": task,
                "dataset": {"name": task, "samples": told["docs"]},
                "model": results["model"],
                "config": {"epochs": told["repeats"], "limit": settings.get("limit")},
            },
            "results": {
                "total_samples": len(samples),
                "completed_samples": sum("error" not in sample for sample in samples),
                "scores": [_metric(name, estimate) for name, estimate in told["metrics"].items()],
            },
            "samples": samples,
        }
        name = task.replace("/", "_")
        yield (f"{name}.eval", _archive(log)) if archives else (f"{name}.json", json.dumps(log, indent=1).encode())


def _archive(log: Mapping[str, Any]) -> bytes:
    """Return a log as a zip archive with a member per sample."""
    head = {key: value for key, value in log.items() if key != "samples"}
    samples = _with_names(log["samples"])
    summary = ("id", "epoch", "input", "target", "scores", "metadata")
    members = {
        "_journal/start.json": {"version": FORM, "eval": log["eval"], "plan": {}},
        **{f"samples/{sample['id']}_epoch_{sample['epoch']}.json": sample for sample in samples},
        "summaries.json": [
            {key: sample[key] for key in summary if key in sample}
            | {"completed": True, "error": sample.get("error", {}).get("message")}
            for sample in samples
        ],
        "header.json": head,
    }
    written = io.BytesIO()
    with ZipFile(written, "w") as archive:
        for name, content in members.items():
            archive.writestr(ZipInfo(name), json.dumps(content), ZIP_DEFLATED)  # without a time: same run, same bytes
    return written.getvalue()


def _with_names(samples: Sequence[Row]) -> list[Row]:
    """Return the samples with ids that name a member of an archive.

    An id that is long or has separators or controls becomes a number, and a repeated one gets a number.
    """
    names: dict[str, str] = {}
    used: set[tuple[str, int]] = set()
    found: list[Row] = []
    for sample in samples:
        told, epoch = str(sample["id"]), sample["epoch"]
        name = names.setdefault(told, told if _PLAIN_ID.fullmatch(told) else f"sample-{len(names) + 1}")
        tried = chain([name], (f"{name}-{number}" for number in count(len(used) + 1)))
        copy = next(one for one in tried if (one, epoch) not in used)
        used.add((copy, epoch))
        found.append(sample if copy == told else {**sample, "id": copy})
    return found


def _metric(name: str, estimate: Row) -> dict[str, Any]:
    values = {"mean": estimate["value"], "stderr": estimate["stderr"]}
    metrics = {key: {"name": key, "value": value} for key, value in values.items() if value is not None}
    return {"name": name, "scorer": SCORER, "metrics": metrics}


def _samples(row: Row) -> Iterator[dict[str, Any]]:
    """Yield a sample per reply, in the order of the repeats."""
    given = row["arguments"]["gen_args_0"]["arg_0"]  # lm-eval stores a conversation as a list of one JSON text
    asked = given if isinstance(given, str) else [_message(turn) for turn in json.loads(given[0])]
    turns = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    answers = [str(answer) for answer in row["target"]] if isinstance(row["target"], list) else str(row["target"] or "")
    replies = iter(list(chain.from_iterable(row["resps"])))
    stops, failed = iter(row.get(FINISHED, ())), list(row.get("failed", ()))
    for epoch, grade in enumerate(_grades(row), 1):
        sample: dict[str, Any] = {"id": str(row["doc"].get("id", row["doc_id"])), "epoch": epoch, "input": asked}
        sample |= {"target": answers, "messages": turns}
        if failed and failed[0] in _reasons(grade).values():
            yield sample | {"error": {"message": failed.pop(0), "traceback": "", "traceback_ansi": ""}}
            continue
        said = {"role": "assistant", "content": str(next(replies, "")), "source": "generate"}
        stop = next(stops, None)
        stop = "max_tokens" if stop == "length" else stop
        choice = {"message": said, "stop_reason": stop if stop in STOPS else "unknown"}
        scored = {name: part for name, part in grade.items() if part["value"] is not None}
        yield sample | {
            "messages": [*turns, said],
            "output": {"choices": [choice]},
            "scores": {name: _score(part) for name, part in scored.items()},
            "metadata": {"unscored": _reasons(grade)} if len(scored) < len(grade) else {},
        }


def _grades(row: Row) -> list[dict[str, Any]]:
    """Return the scores of each reply by metric. Metrics of lm-eval's own tasks are of the whole row."""
    found = row["filtered_resps"][0] if row["filtered_resps"] else None
    if isinstance(found, list) and all(isinstance(grade, dict) for grade in found):
        return [{name: part for name, part in grade.items() if name not in (*NOTES, BY)} for grade in found]
    if row.get("failed"):
        return [{name: {"value": None, "reason": row["failed"][0]} for name in row["metrics"]}]
    return [{name: {"value": row[name]} for name in row["metrics"] if isinstance(row.get(name), (int, float))}]


def _reasons(grade: Row) -> dict[str, str]:
    return {name: str(part.get("reason", "")) for name, part in grade.items() if part["value"] is None}


def _score(part: Row) -> dict[str, Any]:
    answer = part.get("answer")
    return {
        "value": part["value"],
        "answer": None if answer is None else str(answer),
        "explanation": part.get("reason") or None,
    }


def _message(turn: Row) -> dict[str, Any]:
    role = turn.get("role")
    return {"role": role if role in ("system", "user", "assistant") else "user", "content": str(turn.get("content"))}
