"""A suite: tasks and models in a TOML file, a table of models by tasks, and the significant differences.

tasks = ["verikit_math500", "verikit_mmlu_pro"]

[settings]                      # of every model; see `verikit.evals.loading.Settings`
judge = "openai:http://localhost:8000/v1#judge"
data = { verikit_math500 = "math500.jsonl", verikit_mmlu_pro = "mmlu_pro.jsonl" }
repeats = 4                     # or by task, as data

[[models]]
name = "small"
model = "hf:Qwen/Qwen2.5-0.5B-Instruct"
chat = true
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from verikit.errors import ConfigError
from verikit.evals.loading import Settings, check_data, expand
from verikit.evals.models import opened_model
from verikit.evals.report import cut_line, interval, percent
from verikit.evals.run import Note, run_tasks
from verikit.evals.run_folder import units
from verikit.names.settings import checked
from verikit.platform.terminal import markdown_table, spending, table
from verikit.report.difference_text import markdown_differences, verdict
from verikit.report.differences import as_json, compare_all, read_outcomes
from verikit.scoring.folder import Folder

SUITE_JSON, SUITE_MD = "suite.json", "suite.md"


class Entry(BaseModel):
    """A model of a suite."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: str = Field(pattern=r"^[\w.+-]+$")
    """Also its folder's."""
    model: str
    args: dict[str, Any] = Field(default_factory=dict)
    retriever: str | None = None
    chat: bool | None = None
    system: str | None = None


class Suite(BaseModel):
    """Content of a suite's file."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    tasks: list[str] = Field(min_length=1)
    models: list[Entry] = Field(min_length=1)
    settings: Settings = Settings()


def read_suite(path: Path) -> Suite:
    """Read a suite's file.

    Raises:
        ConfigError: The file can't be read, or has an unknown field, which the error names.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"can't read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    suite = checked(Suite, table, where=f"{path}: ")
    names = [entry.name for entry in suite.models]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"{path}: two models are named {twice.pop()}")
    return suite


def run_suite(
    suite: Suite,
    out: Path,
    *,
    cached: bool = True,
    restart: bool = False,
    note: Note = lambda text: None,
    warn: Note = lambda text: None,
    begun: Note = lambda task: None,
    told: Callable[[int, int], None] = lambda done, of: None,
) -> dict[str, Any]:
    """Run all models on all tasks into a folder and return the content of suite.json. Each run is resumable.

    Raises:
        UsageError: A model or a task can't be run. Earlier results are kept.
    """
    expand(suite.tasks)
    check_data(suite.tasks, suite.settings)
    results: dict[str, Any] = {}
    for entry in suite.models:
        own = {key: value for key in ("chat", "system") if (value := getattr(entry, key)) is not None}
        settings = suite.settings.model_copy(update=own)
        with opened_model(
            entry.model, entry.args, seed=settings.seed, retriever=entry.retriever, cached=cached, told=told
        ) as lm:
            results[entry.name] = run_tasks(
                suite.tasks,
                entry.model,
                lm,
                settings,
                out / entry.name,
                restart=restart,
                note=note,
                warn=warn,
                begun=partial(_begun, begun, entry.name),
            )
            if spent := spending(getattr(lm, "usage", {})):
                note(f"{entry.name}: this session: {spent}")
    pairs = compare_all({name: read_outcomes(out / name) for name in results}) if len(results) > 1 else []
    found: dict[str, Any] = {
        "models": results,
        "differences": [{"first": a, "second": b, **as_json(difference)} for a, b, difference in pairs],
    }
    real = verdict(pairs)
    found["verdict"] = real
    found["cut"] = cut_line(results)
    lines = ["# Models by tasks", "", *markdown_table(*by_task(results)), ""]
    if pairs:
        lines += ["## Differences", "", *markdown_differences(pairs), "", real]
    lines += ["", found["cut"]] if found["cut"] else []
    with Folder(out, ()) as folder:
        folder.write_json(SUITE_JSON, found)
        folder.replace(SUITE_MD, ("\n".join(lines) + "\n").encode())
    return found


def by_task(results: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a table of models by tasks and groups: the own metric with its interval, and unscored counts."""
    names = list(dict.fromkeys(name for result in results.values() for name in (*units(result), *result["groups"])))
    rows = [(model, *(_cell(result, name) for name in names)) for model, result in results.items()]
    return ("model", *names), rows


def show_suite(found: Mapping[str, Any]) -> list[str]:
    """Return lines that show a suite's results."""
    lines = [*table(*by_task(found["models"])), *(["", found["verdict"]] if found["differences"] else [])]
    return lines + (["", found["cut"]] if found["cut"] else [])


def _begun(begun: Note, model: str, task: str) -> None:
    begun(f"{model}, {task}")


def _cell(results: Mapping[str, Any], name: str) -> str:
    found = results["tasks"].get(name) or results["groups"].get(name)
    if found is None or found["own"] not in found["metrics"]:
        return "none"
    estimate = found["metrics"][found["own"]]
    members = [results["tasks"][member] for member in units(results).get(name, ())]
    lost = sum(max(member["unscored"].values(), default=0) for member in members)
    cut = sum(member.get("cut", 0) for member in members)
    told = f"{percent(estimate)} ({interval(estimate)})" + (f", {lost} unscored" if lost else "")
    return told + (f", {cut} cut off" if cut else "")
