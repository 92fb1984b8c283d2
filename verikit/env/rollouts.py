"""Stored rollouts with the reward that their environment gave them, or why it gave none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from verikit.adapters.nemo_gym import rollout_sample
from verikit.adapters.reward import GOLD_KEYS, gold_of, prompt_of
from verikit.env.gym_fields import TaskIndex, prepared
from verikit.env.harbor import trials
from verikit.env.own_rows import OwnRows
from verikit.errors import SchemaError, UsageError
from verikit.messages import continuation, thoughts_of
from verikit.platform.numbers import number
from verikit.readers.files import placed, rows
from verikit.readers.trials import is_trials
from verikit.types import Sample

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Rollout:
    """One completion of a task, as its environment judged it."""

    sample: Sample
    reward: float | None
    """The environment's reward; None if it could not judge the rollout."""
    why: str = ""
    """Why there is no reward."""
    where: str = ""
    """File and line."""
    rewards: Mapping[str, float] = field(default_factory=dict)
    """The named parts of the reward."""

    def row(self) -> dict[str, Any]:
        """The row in the format of `verikit score`, with the reward next to the completion."""
        sample = self.sample
        meta = {key: value for key, value in sample.meta.items() if key not in ("reward", "rewards")}
        found = {
            "id": sample.id or self.where,
            "prompt": sample.prompt,
            "completion": list(sample.messages) or sample.completion,
            "answer": sample.answer,
            "reward": self.reward,
            "meta": meta,
        }
        if self.why:
            found["why"] = self.why
        return found | ({"rewards": dict(self.rewards)} if self.rewards else {})


def read(
    source: Paths,
    *,
    gold: str | None = None,
    tasks: Paths | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Iterator[Rollout | SchemaError]:
    """Read stored rollouts. An invalid row is yielded as its error.

    Args:
        source: Files of rollouts (NeMo-Gym's `rollouts.jsonl`, verifiers' `traces.jsonl` or `results.jsonl`), a folder
            of verifiers' run, or a folder of Harbor's trials.
        gold: The field with the gold answer; None: the usual ones.
        tasks: The data file of the rollouts, with the fields that they lack: your own rows, or NeMo-Gym's tasks.
            They are matched by the prompt.
        mapping: From prompt, answer and id to the keys of your rows; None: the usual ones, with `gold` for answer.

    Raises:
        UsageError: A file can't be read, none of your rows matches the prompt of a rollout, or `mapping` is given for
            NeMo-Gym's tasks.
        SchemaError: One of your rows has no prompt.
    """
    if tasks is None:
        return _read(source, gold, None)
    found = [row for _, _, row in rows(_listed(tasks)) if not isinstance(row, SchemaError)]
    if any("responses_create_params" in row for row in found):
        if mapping:
            raise UsageError("NeMo-Gym's tasks have fixed keys", hint="leave the mapping (--map) out")
        return _read(source, gold, TaskIndex(found))
    own = OwnRows(_listed(tasks), ({"answer": gold} if gold else {}) | dict(mapping or {}))
    return _joined(_read(source, gold, None), own, ", ".join(_listed(tasks)))


def _joined(rollouts: Iterator[Rollout | SchemaError], own: OwnRows, file: str) -> Iterator[Rollout | SchemaError]:
    """Rollouts with the fields of their rows. A rollout without a row is returned unchanged.

    Raises:
        UsageError: There are rollouts, but not one has a row.
    """
    alone = matched = 0
    for item in rollouts:
        if isinstance(item, SchemaError):
            yield item
            continue
        try:
            sample = own.completed(item.sample)
        except UsageError as error:
            matched += 1
            yield SchemaError(f"{item.where}: {error} in {file}", hint=error.hint)
            continue
        matched += sample is not None
        alone += sample is None
        yield item if sample is None else replace(item, sample=sample)
    if alone and not matched:
        hint = "give the file that the rollouts were made from; --map prompt=KEY names the field with the prompt"
        raise UsageError(f"the prompts of the rollouts are not in {file}", hint=hint)


def _read(source: Paths, gold: str | None, index: TaskIndex | None) -> Iterator[Rollout | SchemaError]:
    if isinstance(source, (str, Path)) and Path(source).is_dir():
        # files of the folder come before the trials below it
        has_trials = is_trials(str(source))
        names = ("traces.jsonl", "results.jsonl", *(["rollouts.jsonl"] if has_trials else []))
        traces = [path for name in names if (path := Path(source) / name).is_file()]
        if has_trials and not traces:
            for where, made in trials(Path(source)):
                yield made if isinstance(made, SchemaError) else Rollout(*made, where=where)
            return
        source = traces[0] if traces else source
    for file, line, row in rows(_listed(source)):
        if isinstance(row, SchemaError):
            yield row
            continue
        try:
            yield from _of_row(index.joined(row) if index else row, f"{file}:{line}", gold)
        except SchemaError as error:
            yield placed(error, file, line)
        except UsageError as error:
            yield SchemaError(str(error), file=file, line=line)


def _listed(paths: Paths) -> list[str]:
    return [str(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]


def _of_row(row: Mapping[str, Any], where: str, gold: str | None) -> Iterator[Rollout]:
    for _, known, read_row in FORMS:
        if all(key in row for key in known):
            yield from read_row(row, where, gold)
            return
    forms = ", ".join(f"{name} has {', '.join(known)}" for name, known, _ in FORMS)
    raise SchemaError("must be a rollout", hint=f"{forms}. The row has {', '.join(map(str, list(row)[:12]))}")


def _nemo_gym(row: Mapping[str, Any], where: str, gold: str | None) -> Iterator[Rollout]:
    config = row.get("instance_config")
    masked = row.get("mask_sample") or (isinstance(config, Mapping) and config.get("mask_sample"))
    failed = row.get("_ng_failure_class") or (row.get("failure_kind") or "masked" if masked else "")
    told = {key: value for key, value in prepared(row).items() if key not in ("reward", "reward_components")}
    sample = rollout_sample(told, gold)
    name = str(row.get("_ng_task_index", row.get("uuid", where)))
    sample = Sample(sample.prompt, sample.messages or sample.completion, sample.answer, name, sample.meta)
    parts = _numbers(row.get("reward_components"))
    if failed:
        yield Rollout(sample, None, f"{failed}: {row.get('failure_reason') or 'no reason given'}", where, parts)
    else:
        yield _rewarded(sample, row.get("reward"), where, parts)


def _results(row: Mapping[str, Any], where: str, gold: str | None) -> Iterator[Rollout]:
    """A row of `results.jsonl`, as saved by verifiers before 1.0 (`info`), or by verikit (`meta`, `why`)."""
    nested = [more for key in ("info", "meta") if isinstance(more := row.get(key), Mapping)]
    meta = {key: value for more in (*nested, row) for key, value in more.items()}
    for key in ("prompt", "completion", "reward", "info", "meta", "id", "why", "rewards"):
        meta.pop(key, None)
    completion = row["completion"]
    answer = gold_of(_gold(meta, gold))
    name = str(row.get("example_id", row.get("id", where)))
    sample = Sample(prompt_of(row.get("prompt")), completion, answer, name, meta)
    if error := row.get("error") or (row.get("why") if row["reward"] is None else None):
        yield Rollout(sample, None, str(error)[:500], where)
    else:
        yield _rewarded(sample, row["reward"], where, _numbers(row.get("rewards")))


def _episode(row: Mapping[str, Any], where: str, gold: str | None) -> Iterator[Rollout]:
    """A line of verifiers' `traces.jsonl`: an episode with the traces of its agents."""
    traces = _list(row, "traces")
    if not all(isinstance(trace, Mapping) for trace in traces):
        raise SchemaError("must be a list of objects", field="traces")
    for trace in traces:
        sample = _trace_sample(trace, gold)
        rewards = trace.get("rewards") or {}
        if not isinstance(rewards, Mapping):
            raise SchemaError("must be an object", field="rewards")
        parts = {name: score for name, part in rewards.items() if (score := _part(part, "score")) is not None}
        lost = [name for name in rewards if name not in parts]
        if not trace.get("ok", True) or lost:
            errors = [error.get("message") for error in _list(trace, "errors") if isinstance(error, Mapping)]
            if errors:
                why = str(errors[-1])[:500]
            else:
                why = f"no reward {lost[0]!r}" if lost else "the rollout failed"
            yield Rollout(sample, None, why, where, parts)
        elif not parts:
            yield Rollout(sample, None, "nothing rewards it", where)
        else:
            weights = {name: _part(rewards[name], "weight", 1.0) for name in parts}
            total = sum(score * (weights[name] or 0.0) for name, score in parts.items())
            yield _rewarded(sample, total, where, parts)


def _trace_sample(trace: Mapping[str, Any], gold: str | None) -> Sample:
    """The sample of a trace: the messages from its last leaf up are the conversation, the task's fields its meta."""
    task = trace.get("task")
    data = dict(task["data"]) if isinstance(task, Mapping) and isinstance(task.get("data"), Mapping) else {}
    prompt = prompt_of(data.pop("prompt", None))
    answer = gold_of(_gold(data, gold))
    turns = continuation(_branch(_list(trace, "nodes")), prompt)
    reply = trace.get("root_reply")
    name = str(data.get("id") or data.get("name") or data.get("idx", ""))
    if isinstance(reply, str) and reply:
        return Sample(prompt, reply, answer, name, data, thoughts=thoughts_of(turns), messages=turns)
    return Sample(prompt, list(turns), answer, name, data)


def _branch(nodes: Sequence[Any]) -> list[Any]:
    """The messages from a trace's root to its last node."""
    path: list[Any] = []
    index: Any = len(nodes) - 1
    while isinstance(index, int) and 0 <= index < len(nodes) and len(path) < len(nodes):
        node = nodes[index]
        if not isinstance(node, Mapping) or not isinstance(node.get("message"), Mapping):
            raise SchemaError("a node has a message", field="nodes")
        path.append(_message(node["message"]))
        index = node.get("parent")
    return path[::-1]


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message with its calls as OpenAI writes them."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return dict(message)
    made = [
        {"id": call.get("id"), "type": "function", "function": {key: call.get(key) for key in ("name", "arguments")}}
        if isinstance(call, Mapping) and "function" not in call
        else call
        for call in calls
    ]
    return {**message, "tool_calls": made}


def _part(part: Any, key: str, default: float | None = None) -> float | None:
    return number(part.get(key, default)) if isinstance(part, Mapping) else None


def _list(row: Mapping[str, Any], key: str) -> list[Any]:
    found = row.get(key) or []
    if not isinstance(found, list):
        raise SchemaError("must be a list", field=key)
    return found


def _rewarded(sample: Sample, reward: Any, where: str, parts: Mapping[str, float]) -> Rollout:
    value = number(reward)
    return Rollout(sample, value, "" if value is not None else f"its reward is {reward!r}"[:200], where, parts)


def _gold(meta: dict[str, Any], key: str | None) -> Any:
    """The gold, taken out of the fields."""
    found = key or next((name for name in GOLD_KEYS if meta.get(name) is not None), None)
    return meta.pop(found, None) if found else None


def _numbers(value: Any) -> dict[str, float]:
    items = value.items() if isinstance(value, Mapping) else ()
    return {str(key): found for key, item in items if (found := number(item)) is not None}


ReadRow = Callable[[Mapping[str, Any], str, "str | None"], Iterator[Rollout]]
FORMS: tuple[tuple[str, tuple[str, ...], ReadRow], ...] = (
    ("NeMo-Gym's", ("responses_create_params", "response"), _nemo_gym),
    ("verifiers' traces", ("traces", "task"), _episode),
    ("verifiers' results, or ours,", ("prompt", "completion", "reward"), _results),
)
"""Forms of rollouts, by the keys that all their rows have."""
