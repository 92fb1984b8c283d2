"""The tasks that ship with verikit, and the code that applies a run's settings to them.

Each is a YAML file that plain lm-eval can also load (`--include_path`). Here they are loaded without lm-eval's index,
which takes half a minute to read its own 14,000 names.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import yaml
from datasets.exceptions import DatasetsError
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks._yaml_loader import load_yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

from verikit.errors import SchemaError, UsageError, nearest
from verikit.evals import TASKS
from verikit.evals.data import missing, of_task, window
from verikit.evals.grade import Graded
from verikit.evals.nearby import find_files, replace_rows
from verikit.evals.sources import RowSplit, instructions
from verikit.platform.network import unreachable
from verikit.readers.files import BAD_ROWS, check_rows, placed

PREFIX = "verikit_"
COLUMNS = {
    "math": "question, answer",
    "choice": "question, options, answer",
    "redux": "question, choices, answer, error_type",
    "open": "question, answer",
    "qa": "question, answer",
    "pair": "instruction, output",
    "turns": "turns",
    "process": "problem, steps, label",
    "rubric": "prompt, rubrics",
    "code": "prompt, test, entry_point",
    "contest": "question_content, public_test_cases, private_test_cases, metadata, contest_date",
    "sql": "question, SQL, db_id",
    "calls": "question, function",
    "ranking": "prompt, chosen, rejected",
    "instructions": "prompt, instruction_id_list, kwargs",
}
"""Columns of a row of `--data` by kind, for `verikit list`. `verikit.evals.docs` also reads their other usual names."""


class Settings(BaseModel):
    """Settings other than tasks and model that affect a run's results."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    data: str | dict[str, str] | None = None
    """A file for all tasks, or files by task. None loads from the Hugging Face Hub."""
    shots: str | dict[str, str] | None = None
    """Likewise for the examples of few-shot prompts."""
    repeats: PositiveInt | dict[str, PositiveInt] | None = None
    """Replies to each question, of all tasks or by task; the task's own number otherwise."""
    fewshot: int | None = Field(default=None, ge=0)
    limit: int | None = Field(default=None, ge=1)
    """Use only the first `limit` rows of each task."""
    since: str | None = None
    """Only the rows of this date or a later one, of tasks whose rows have dates."""
    until: str | None = None
    """Only the rows of this date or an earlier one."""
    chat: bool = False
    """Send conversations, formatted with the model's chat template."""
    multiturn: bool = True
    """In conversations, make each few-shot example a separate turn."""
    system: str | None = None
    seed: int = 0
    judge: str | None = None
    by: str | None = None
    """A verifier that ranks the repeats, for BoN."""
    columns: dict[str, str] = Field(default_factory=dict)
    """The columns of `question`, `answer` and `id` in custom tasks' documents, which override the task's own."""
    generation: dict[str, Any] = Field(default_factory=dict)
    """lm-eval's generation settings, over the tasks' own: temperature, top_p, top_k, max_gen_toks, until."""

    @model_validator(mode="after")
    def _dates(self) -> Settings:
        window(self.since, self.until)
        return self


def task_names() -> list[str]:
    """The names of all tasks and groups."""
    return sorted(PREFIX + file.stem for file in TASKS.glob("[!_]*.yaml"))


def table() -> dict[str, str]:
    """Return each task or group with its description, for `verikit list`."""
    return {name: _described(read_task(name)) for name in task_names()}


def _described(config: Mapping[str, Any]) -> str:
    if "group" in config:
        return f"the group of {', '.join(config['task'])}"
    options = config["dataset_kwargs"]
    hub = options.get("hub") or {}
    source = " ".join(str(hub[key]) for key in ("path", "name", "split") if key in hub) or "from your own rows"
    columns = COLUMNS.get(options.get("kind", ""))
    return f"{source} (columns: {columns})" if columns else source


def expand(names: Iterable[str]) -> list[str]:
    """Return the tasks of the given names, with groups expanded and duplicates removed.

    Raises:
        UsageError: A task or group does not exist.
    """
    found: dict[str, None] = {}
    for name in names:
        config = read_task(name)
        members = config.get("task") if "group" in config else None
        found |= dict.fromkeys(expand(members) if members else [name])
    return list(found)


def check_data(names: Iterable[str], settings: Settings) -> None:
    """Check that the published rows of tasks are on this machine or can be downloaded, before a model is loaded.

    Raises:
        UsageError: They are neither. The error says which files to get, and where to put them.
    """
    left: list[RowSplit] = []
    for name in expand(names):
        options = read_task(name).get("dataset_kwargs") or {}
        data = settings.data if isinstance(settings.data, str) else of_task(settings.data or {}, name)
        if (hub := options.get("hub")) and not data:
            left += missing(hub)
    problem = unreachable(left[0].host) if left else ""
    if problem:
        hint = f"--data FILE, or {instructions(left)}"
        raise UsageError(f"the rows of {left[0].dataset} are not on this machine: {problem}", hint=hint)


def benchmarks(name: str) -> list[str]:
    """Return the innermost groups and single tasks of a name."""
    config = read_task(name)
    members = config.get("task") if "group" in config else None
    if not members or expand(members) == members:
        return [name]
    return [part for member in members for part in benchmarks(member)]


def build(name: str, settings: Settings) -> ConfigurableTask:
    """Build a task from a verikit name, or from the path of a YAML file in lm-eval's format.

    Raises:
        UsageError: The task does not exist, its data can't be read, or it lacks examples or a judge that it needs.
    """
    config = read_task(name, functions=True)
    if not name.startswith(PREFIX):
        find_files(config, task_file(name).parent)
        data = settings.data
        replace_rows(config, data if isinstance(data, str) else of_task(data or {}, str(config.get("task", name))))
    config["metadata"] = {**(config.get("metadata") or {}), "data": settings.data, "shots": settings.shots}
    config["metadata"] |= {key: date for key in ("since", "until") if (date := getattr(settings, key))}
    repeats = of_task(settings.repeats, name) if isinstance(settings.repeats, dict) else settings.repeats
    config["repeats"] = repeats or config.get("repeats", 1)
    if generation := {**(config.get("generation_kwargs") or {}), **settings.generation}:
        config["generation_kwargs"] = generation
    graders = _graders(config, settings, None if name.startswith(PREFIX) else settings.columns)
    try:
        task = ConfigurableTask(config=config)
    except (ValueError, TypeError, OSError, DatasetsError) as error:
        raise UsageError(f"{name} can't be made under these settings: {error}") from None
    for grader in graders:
        _check_columns(task, grader)
    shots = settings.fewshot if settings.fewshot is not None else config.get("num_fewshot") or 0
    if shots and len(task.fewshot_docs() or ()) < shots:
        raise UsageError(f"{name} has no {shots} examples to show", hint=f"--shots FILE, or --shots {name}=FILE")
    task.set_config("num_fewshot", shots)
    task.set_fewshot_seed(settings.seed)
    return task


def _graders(config: Mapping[str, Any], settings: Settings, columns: Mapping[str, str] | None) -> list[Graded]:
    """Pass the settings to verikit's filters and build them, so that an invalid spec fails immediately.

    Raises:
        UsageError: A spec can't be parsed.
    """
    stages = [stage for pipeline in config.get("filter_list") or () for stage in pipeline["filter"]]
    ours = [stage for stage in stages if stage["function"] is Graded]
    for stage in ours:
        stage |= {"judge": settings.judge, "by": settings.by}
        if columns is not None:
            stage["columns"] = {**(stage.get("columns") or {}), **columns}
    return [_grader(stage) for stage in ours]


def _grader(stage: Mapping[str, Any]) -> Graded:
    return Graded(**{key: value for key, value in stage.items() if key != "function"})


def _check_columns(task: ConfigurableTask, grader: Graded) -> None:
    """Read all documents as they will be graded, before any request is sent."""
    bad: list[SchemaError] = []
    for position, doc in enumerate(task.eval_docs):
        try:
            grader.columns.read(doc, position)
        except SchemaError as error:
            bad.append(placed(error, task.task_name, position + 1))
            if not error.field or len(bad) == BAD_ROWS:  # without a field, a column is missing in every row
                break
    check_rows(bad)


def graded(config: Mapping[str, Any]) -> bool:
    """Whether a task's replies are graded by verikit's verifiers."""
    pipelines = config.get("filter_list") or ()
    return any(stage["function"] is Graded for pipeline in pipelines for stage in pipeline["filter"])


def read_task(name: str, *, functions: bool = False) -> dict[str, Any]:
    """Return the configuration of a task or group, with the files that it includes.

    Args:
        name: A verikit name, or the path of a YAML file.
        functions: Import the functions that it names. Otherwise they are strings.

    Raises:
        UsageError: The task does not exist, its file can't be read, or it lacks a key that every task needs.
    """
    file = task_file(name)
    try:
        config: dict[str, Any] = load_yaml(file, resolve_func=functions)
    except (yaml.YAMLError, ValueError, TypeError, OSError, ImportError, AttributeError, RecursionError) as error:
        raise UsageError(f"can't read the task file {file}: {' '.join(str(error).split())}") from None
    if problem := _missing_part(config):
        raise UsageError(f"{file} {problem}", hint="docs/eval.md shows how to add a task")
    return config


def _missing_part(config: Mapping[str, Any]) -> str:
    """What a task's configuration lacks, "" if nothing."""
    if "group" in config:
        members = config.get("task")
        named = isinstance(members, list) and all(isinstance(member, str) for member in members)
        return "" if named else "lacks the key 'task', a list of the names of tasks"
    data = "custom_dataset" if config.get("custom_dataset") is not None else "dataset_path"
    for key in (data, "doc_to_text", "doc_to_target"):
        if config.get(key) is None:
            return f"lacks the key {key!r}"
    for key in ("dataset_kwargs", "generation_kwargs", "metadata"):
        if not isinstance(config.get(key) or {}, Mapping):
            return f"has no table of settings in {key!r}"
    if config.get("dataset_path") in ("json", "csv", "parquet", "text") and not config.get("dataset_kwargs"):
        return "lacks the key 'dataset_kwargs' with 'data_files'"
    pipelines = config.get("filter_list") or []
    if not isinstance(pipelines, list) or not all(map(_is_pipeline, pipelines)):
        return "has an invalid 'filter_list': each item needs the key 'filter', a list of tables with 'function'"
    return ""


def _is_pipeline(item: Any) -> bool:
    stages = item.get("filter") if isinstance(item, Mapping) else None
    return isinstance(stages, list) and all(isinstance(stage, Mapping) and "function" in stage for stage in stages)


def task_file(name: str) -> Path:
    """Return the YAML file of a task or group.

    Raises:
        UsageError: It does not exist.
    """
    own = TASKS / f"{name.removeprefix(PREFIX)}.yaml"
    if name.startswith(PREFIX) and os.path.isfile(own):  # unlike Path.is_file, False for a name that is too long
        return own
    there = os.path.isfile(name)
    if name.endswith((".yaml", ".yml")):
        if there:
            return Path(name)
        raise UsageError(f"task file {name!r} not found", hint="check the path")
    if there:
        hint = f"a task's file ends in .yaml. If this is a file of rows, name a task and add --data {shlex.quote(name)}"
        raise UsageError(f"{name!r} is a file, but not a task's", hint=hint)
    otherwise = "`verikit list tasks` shows all. Or give a YAML file"
    hint = nearest(f"{PREFIX}{name.removeprefix(PREFIX)}", task_names(), otherwise)
    raise UsageError(f"task {name!r} not found", hint=hint)
