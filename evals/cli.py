"""`verikit eval`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

from verikit.cli.command import GroupedCommand, next_step
from verikit.cli.gates import GateResult, floor_gate, gate_code, gate_options
from verikit.cli.options import limit_option, map_option, prices_option, run_options, spent, track_option, unscored_code
from verikit.errors import MissingExtra, UsageError
from verikit.platform.terminal import Watch, pace
from verikit.report.floors import check_floors
from verikit.report.kinds import runs_in
from verikit.tracking import track_run

PASSED = ("repeats", "fewshot", "limit", "since", "until", "chat", "system", "seed", "judge", "by", "columns")
"""Options that are settings of the same name."""


def _files(values: tuple[str, ...]) -> str | dict[str, str] | None:
    """Read `--data FILE` and `--data TASK=FILE`; the file for all tasks is under the name ''."""
    found: dict[str, str] = {}
    for value in values:
        task, sign, file = value.partition("=")
        named = bool(sign) and not Path(value).exists()
        name, path = (task, file) if named else ("", value)
        if not Path(path).exists():
            raise UsageError(f"{path}: the file does not exist", hint="--data FILE, or --data TASK=FILE")
        found[name] = str(Path(path).resolve())
    return found.get("") if set(found) <= {""} else found


@click.command(
    name="eval",
    cls=GroupedCommand,
    usual="--model --limit --repeats --data --gen --out",
    purposes={
        "Prompts": "--fewshot --shots --chat --system",
        "Rows": "--since --until --map",
        "Grading": "--judge --by --retriever",
    },
)
@click.argument("tasks", nargs=-1, required=True, metavar="SUITE|TASK...")
@click.option("--model", "spec", metavar="SPEC", help="An engine, replay:FILE with stored outputs, or lm-eval's name.")
@click.option("--model-args", multiple=True, metavar="KEY=VALUE", help="Options of the engine or of lm-eval's model.")
@click.option("--data", multiple=True, metavar="[TASK=]FILE", help="Local rows, instead of the Hugging Face dataset.")
@click.option("--shots", multiple=True, metavar="[TASK=]FILE", help="Local rows for few-shot examples.")
@click.option("--fewshot", type=click.IntRange(0), metavar="N", help="Examples in each prompt.")
@click.option("--repeats", type=click.IntRange(1), metavar="N", help="Replies to each question.")
@partial(limit_option, told="Read only the first N rows of each task.")
@click.option("--since", metavar="DATE", help="Only rows of this date or a later one (LiveCodeBench).")
@click.option("--until", metavar="DATE", help="Only rows of this date or an earlier one.")
@click.option("--chat/--no-chat", default=False, help="Send conversations, with the model's chat template.")
@click.option("--system", metavar="TEXT", help="The system message.")
@click.option("--gen", multiple=True, metavar="KEY=VALUE", help="temperature, top_p, top_k, max_gen_toks, until.")
@partial(map_option, name="columns", told="The columns of your task: question=…, answer=…, id=….")
@click.option("--judge", metavar="SPEC", help="An engine that judges, or a whole judge.")
@click.option("--retriever", metavar="SPEC", help="Retriever for tasks that search: bm25:DIR, http://…")
@click.option("--by", metavar="SPEC", help="A verifier that ranks the repeats, for BoN.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Random seed of sampled replies and few-shot examples."
)
@click.option(
    "-o", "--out", metavar="DIR", type=click.Path(path_type=Path), help="Output folder. Default: runs/eval-MODEL-TASKS."
)
@click.option("--cache/--no-cache", default=True, help="Keep generations and look there first (default).")
@prices_option
@track_option
@gate_options
@run_options
def eval_(tasks: tuple[str, ...], spec: str | None, **options: Any) -> int:
    """Run benchmark tasks or groups on a model, or a SUITE.toml of tasks and models.

    Tasks read Hugging Face datasets. With --data they read a local file, recognize its columns by name, and need no
    network. The folder contains results.json, report.md and samples_TASK.jsonl, which `verikit score` reads. Run the
    command again to resume an interrupted run.

    \b
    verikit eval verikit_math500 --model hf:Qwen/Qwen2.5-0.5B-Instruct --chat --data math500.jsonl
    verikit eval verikit_aime24 --model openai:http://localhost:8000/v1#m --repeats 32 --gen temperature=0.6
    verikit eval verikit_mmlu_pro --model replay:outputs.jsonl --data rows.jsonl
    """  # noqa: D301 - click reads \b as "don't wrap"
    need_lm_eval("verikit eval")
    tasks = _separated(tasks)
    if suite := [name for name in tasks if name.endswith(".toml")]:
        if len(tasks) > 1 or spec:
            raise click.UsageError(f"{suite[0]} names tasks and models. Remove the other tasks and --model")
        return _run_suite(Path(suite[0]), options)
    if spec is None:
        raise click.UsageError("--model is needed, unless a SUITE.toml names the models")
    return _run(tasks, spec, options)


def _separated(tasks: Sequence[str]) -> tuple[str, ...]:
    """Split names at commas, as lm-eval does. The name of a file that exists is not split."""
    parts = chain.from_iterable([text] if os.path.exists(text) else text.split(",") for text in tasks)
    names = tuple(filter(None, map(str.strip, parts)))
    if not names:
        raise click.UsageError("pass at least one task or a SUITE.toml")
    return names


def _run(names: tuple[str, ...], spec: str, options: dict[str, Any]) -> int:
    from verikit.evals.loading import Settings
    from verikit.evals.models import default_folder, read_options
    from verikit.evals.report import show
    from verikit.evals.session import run_model

    settings = Settings(
        data=_files(options["data"]),
        shots=_files(options["shots"]),
        generation=read_options(options["gen"]),
        **{key: options[key] for key in PASSED},
    )
    out = options["out"] or Path("runs") / default_folder(spec, names)
    state: dict[str, Any] = {"task": "loading", "done": 0, "of": 0}
    usage: dict[str, float] = {}
    with Watch(quiet=options["quiet"]) as watch:
        watch.start(lambda seconds: _line(state, seconds))
        try:
            results = run_model(
                names,
                spec,
                settings,
                out,
                options=read_options(options["model_args"]),
                retriever=options["retriever"],
                cached=options["cache"],
                restart=not options["resume"],
                note=watch.note,
                warn=watch.warn,
                begun=lambda task: state.update(task=task, done=0, of=0),
                told=lambda done, of: state.update(done=done, of=of),
                spent=usage.update,
            )
        except KeyboardInterrupt:
            click.echo(f"Interrupted. Run the command again to resume from {out}", err=True)
            return 1
        if told := spent(usage, options["prices"], spec):
            watch.note(f"this session: {told}")
        track_run(out, options["track"], restart=not options["resume"], warn=watch.warn)
        watch.note(f"written to {out}")
    click.echo(json.dumps(results, indent=2, ensure_ascii=False) if options["as_json"] else "\n".join(show(results)))
    return _gated(out, {spec: results}, options)


def _run_suite(path: Path, options: dict[str, Any]) -> int:
    from verikit.evals.suite import read_suite, run_suite, show_suite

    suite = read_suite(path)
    out = options["out"] or Path("runs") / f"eval-{path.stem}"
    state: dict[str, Any] = {"task": "loading", "done": 0, "of": 0}
    with Watch(quiet=options["quiet"]) as watch:
        watch.start(lambda seconds: _line(state, seconds))
        try:
            found = run_suite(
                suite,
                out,
                cached=options["cache"],
                restart=not options["resume"],
                note=watch.note,
                warn=watch.warn,
                begun=lambda task: state.update(task=task, done=0, of=0),
                told=lambda done, of: state.update(done=done, of=of),
            )
        except KeyboardInterrupt:
            click.echo(f"Interrupted. Run the command again to resume from {out}", err=True)
            return 1
        for run in runs_in(out):
            track_run(run, options["track"], restart=not options["resume"], warn=watch.warn)
        watch.note(f"written to {out}")
    click.echo(json.dumps(found, indent=2, ensure_ascii=False) if options["as_json"] else "\n".join(show_suite(found)))
    return _gated(out, found["models"], options)


def _gated(out: Path, models: Mapping[str, dict[str, Any]], options: dict[str, Any]) -> int:
    """Return the exit code of a run, or of a suite's runs, given the requirements in `options`. Suggests the report."""
    code, gates = 0, []
    for model, results in models.items():
        lost, total = _lost(results)
        found = unscored_code(lost, total, options["fail_over"])
        name = f"{model}: scored" if len(models) > 1 else "scored"
        gates.append(GateResult(name, f"{lost:,} of {total:,} replies have no score", found == 0, said=True))
        code = max(code, found)
    runs = runs_in(out) if options["floors"] else []
    for run in runs:
        for metric, least in options["floors"]:
            named = run.name if len(runs) > 1 else ""
            gates += [floor_gate(check, named) for check in check_floors(run, least, metric)]
    code = gate_code(gates, options["junit"], "eval", code)
    page = f"{out.resolve().name}.html"
    next_step("verikit", "report", out, "--html", page, quiet=options["quiet"] or options["as_json"])
    return code


def _line(state: dict[str, Any], seconds: float) -> str:
    """Describe the current task's progress. Its time starts when it is first shown."""
    if state.get("timed") != state["task"]:
        state.update(timed=state["task"], since=seconds, before=state["done"])
    new = state["done"] - state["before"]
    return f"{state['task']}: " + pace(state["done"], state["of"], "replies", seconds - state["since"], new=new)


def _lost(results: dict[str, Any]) -> tuple[int, int]:
    """Return the number of unscored replies of a run, and the total."""
    lost = sum(max(task["unscored"].values(), default=0) for task in results["tasks"].values())
    total = sum(task["replies"] for task in results["tasks"].values())
    return lost, total


def need_lm_eval(feature: str) -> None:
    """Import lm-eval without its progress bars: verikit shows its own progress.

    Raises:
        MissingExtra: lm-eval is not installed.
    """
    os.environ.setdefault("TQDM_DISABLE", "1")
    try:
        import lm_eval.api.task  # noqa: F401
    except ImportError:
        raise MissingExtra(feature, "eval") from None
