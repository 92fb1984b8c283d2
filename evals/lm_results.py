"""A run's results in the format of lm-eval's `results_*.json`, which its tables and its loggers read.

The samples are in its format already. lm-eval puts the time into the file's name. Here the name is fixed, so that a
resumed run has the same files. A metric that no row has is left out, since lm-eval has no value for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from lm_eval.api.task import ConfigurableTask
from lm_eval.utils import hash_string

from verikit.evals.loading import Settings

LM_RESULTS = "results_lm_eval.json"
GRADED = "verikit"
"""The filter of the shipped tasks, under which groups have their metrics."""
HASHES = ("doc_hash", "prompt_hash", "target_hash")
Rows = Sequence[Mapping[str, Any]]


def lm_results(
    results: Mapping[str, Any],
    tasks: Sequence[ConfigurableTask],
    settings: Settings,
    rows_of: Callable[[str], Rows],
) -> dict[str, Any]:
    """Return results.json's content as lm-eval writes it.

    Args:
        results: The content of results.json.
        tasks: The tasks that were run.
        settings: The settings of the run.
        rows_of: Returns the sample rows of a task.
    """
    groups, model = results["groups"], results["model"]
    found: dict[str, Any] = {name: {} for name in ("results", "configs", "versions", "n-shot", "higher_is_better")}
    found |= {"n-samples": {}, "task_hashes": {}}
    for task in tasks:
        _add_task(found, task, results["tasks"][task.task_name], rows_of(task.task_name))
    found["results"] |= {name: _metrics(name, group, GRADED) for name, group in groups.items()}
    if groups:
        found["groups"] = {name: found["results"][name] for name in groups}
    found["group_subtasks"] = {name: group["members"] for name, group in groups.items()}
    return found | {
        "config": {
            "model": model,
            "limit": settings.limit,
            "gen_kwargs": settings.generation,
            "random_seed": settings.seed,
            "bootstrap_iters": 0,
        },
        "model_source": "verikit",
        "model_name": model,
        "model_name_sanitized": "".join(char if char.isalnum() or char in "-._" else "__" for char in model),
        "system_instruction": settings.system,
        "fewshot_as_multiturn": settings.multiturn,
        "lm_eval_version": version("lm_eval"),
    }


def _metrics(name: str, told: Mapping[str, Any], filter_: str) -> dict[str, Any]:
    """Return the metrics of a task or a group under `metric,filter`, each with its standard error."""
    found: dict[str, Any] = {"name": name, "alias": name}
    for metric, estimate in told["metrics"].items():
        found[f"{metric},{filter_}"] = estimate["value"]
        found[f"{metric}_stderr,{filter_}"] = "N/A" if estimate["stderr"] is None else estimate["stderr"]
    return found


def _plain(value: Any) -> Any:
    """Return a setting as JSON. Functions have their names, since an address would differ in each run."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _add_task(found: dict[str, Any], task: ConfigurableTask, told: Mapping[str, Any], rows: Rows) -> None:
    """Add a task's entry to each of the seven tables in `found`, under the task's name."""
    name = task.task_name
    found["results"][name] = _metrics(name, told, str(rows[0]["filter"])) | {"sample_len": told["docs"]}
    found["configs"][name] = {key: _plain(value) for key, value in task.dump_config().items()}
    found["versions"][name] = task.VERSION
    found["n-shot"][name] = told["fewshot"]
    found["higher_is_better"][name] = task.higher_is_better()
    found["n-samples"][name] = {"original": len(task.eval_docs), "effective": told["docs"]}
    found["task_hashes"][name] = hash_string("".join(str(row.get(key, "")) for row in rows for key in HASHES))
