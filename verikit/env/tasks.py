"""The tasks of an environment as rows: `id`, `prompt`, `answer` if it is available, and other fields as `meta`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from verikit.adapters.reward import GOLD_KEYS
from verikit.env.harbor import is_task, task_rows
from verikit.env.served import served_tasks
from verikit.errors import SchemaError, UsageError, VerikitError
from verikit.readers.files import rows

INSTALLED = "verifiers:"
"""Before the name of an environment package of verifiers."""
PROMPTS = ("prompt", "question", "problem", "instruction")


def tasks(source: str | Path, *, split: str | None = None) -> Iterator[dict[str, Any] | SchemaError]:
    """Read tasks; one that can't be used is yielded as its error.

    Args:
        source: A Harbor task folder or a folder of them, a file of NeMo-Gym's tasks, the address of an OpenEnv or ORS
            server, or `verifiers:NAME` for an installed environment (whose code runs).
        split: Of a server's tasks; None: the first.

    Raises:
        UsageError: There is no such source.
        VerikitError: A server doesn't answer.
    """
    text = str(source)
    if text.startswith(("http://", "https://")):
        for number, task in enumerate(served_tasks(text, split)):
            found = _row(task, f"task:{number}")
            named = {"index": number} | ({"split": split} if split else {})
            yield found | {"meta": named | found["meta"]}  # `play` requests the task by these
    elif text.startswith(INSTALLED):
        yield from _installed(text.removeprefix(INSTALLED))
    elif Path(text).is_dir() and is_task(Path(text)):
        yield from task_rows(Path(text))
    elif Path(text).is_dir():
        raise UsageError(f"{text} is not a Harbor task: it has no task.toml", hint="pass a task's folder or a file")
    else:
        for file, line, row in rows([text]):
            yield row if isinstance(row, SchemaError) else _of_file(row, file, line)


def _of_file(row: Mapping[str, Any], file: str, line: int) -> dict[str, Any] | SchemaError:
    asked = row.get("responses_create_params")
    if not isinstance(asked, Mapping):
        return SchemaError("must be a NeMo-Gym task", file=file, line=line, field="responses_create_params")
    rest = {key: value for key, value in row.items() if key not in ("responses_create_params", "response", "reward")}
    if isinstance(more := rest.get("verifier_metadata"), Mapping):
        rest = {**more, **rest}
    if asked.get("tools"):
        rest.setdefault("tools", asked["tools"])
    return _row({"prompt": asked.get("input") or "", **rest}, f"line:{line}")


def _row(task: Any, name: str) -> dict[str, Any]:
    """A task's fields as a row: the prompt and the gold answer from their usual fields."""
    if not isinstance(task, Mapping):
        return {"id": name, "prompt": task if isinstance(task, str) else "", "meta": {}}
    rest = dict(task)
    prompt_key = next((key for key in PROMPTS if rest.get(key)), None)
    gold_key = next((key for key in ("expected_answer", *GOLD_KEYS) if rest.get(key) is not None), None)
    found = {
        "id": str(rest.pop("id", None) or name),
        "prompt": rest.pop(prompt_key) if prompt_key else "",
        "answer": rest.pop(gold_key) if gold_key else None,
    }
    return found | {"meta": rest}


def _installed(name: str) -> Iterator[dict[str, Any]]:
    """Tasks of an installed environment, by verifiers' own loader."""
    try:
        loaders: Any = import_module("verifiers.v1.utils.loaders")
        configs: Any = import_module("verifiers.v1.configs.taskset")
    except ImportError:
        raise UsageError("an environment of verifiers needs verifiers", hint="pip install verifiers") from None
    try:
        kind: Any = loaders.taskset_class(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"can't load the environment {name!r}: {error}") from None
    config = _config_of(kind, configs.TasksetConfig)
    taskset = kind(config(id=name))
    if not taskset.bounded:
        raise VerikitError(f"the tasks of {name!r} never end", hint="take some of them in Python: taskset.take(100)")
    for task in taskset:
        data = task.data.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        yield _row(data, f"task:{data.get('idx', 0)}")


def _config_of(kind: Any, base: type[Any]) -> type[Any]:
    """The configuration class that a taskset was declared with."""
    generic: Any = import_module("verifiers.v1.utils.generic")
    return generic.concrete_type(kind, base) or base
