"""`verikit sample`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from verikit.cli.command import GroupedCommand, next_note, next_step, stdout_as_none
from verikit.cli.options import (
    fail_over_option,
    limit_option,
    map_option,
    quiet_option,
    read_options,
    resume_option,
    unscored_code,
)
from verikit.engines import Cache, load_engine
from verikit.engines.cache import default_path
from verikit.errors import SchemaError, UsageError, with_hint
from verikit.guided import guided_search, load_strategy
from verikit.guided.files import SearchFile
from verikit.platform.secrets import strike
from verikit.platform.terminal import Watch, pace, printable
from verikit.readers.problems import iter_problems
from verikit.sampling.prices import ModelPrices, read_prices
from verikit.sampling.run import RowSampler, SampleFile, SamplingRun
from verikit.sampling.settings import SamplingSettings
from verikit.scoring.size import InputSize
from verikit.types import Group
from verikit.until import load_rule

PRICES = "VERIKIT_PRICES"
SHOWN = 3
"""Bad rows that are printed."""


@click.command(
    cls=GroupedCommand,
    usual="-n --out --max-tokens --temperature --system --limit",
    purposes={
        "Decoding": "--top-p --top-k --stop --chat --seed --no-seed --logprobs",
        "Search and early stopping": "--until --ahead --search --budget",
    },
)
@click.argument("model")
@click.argument("file")
@click.option("-n", "n", type=click.IntRange(1), default=8, show_default=True, help="Samples per prompt.")
@click.option(
    "-o", "--out", metavar="FILE", callback=stdout_as_none, help="Output file, needed to resume a run. Default: stdout."
)
@click.option(
    "--temperature", type=click.FloatRange(0), default=1.0, show_default=True, help="Sampling temperature. 0 is greedy."
)
@click.option("--top-p", type=float, default=1.0, show_default=True, help="Sample within this probability mass.")
@click.option("--top-k", type=click.IntRange(0), default=0, help="Sample among the K likeliest tokens. 0: all.")
@click.option(
    "--max-tokens", type=click.IntRange(1), default=1024, show_default=True, help="Maximum tokens per sample."
)
@click.option(
    "--stop", multiple=True, metavar="TEXT", help="End a sample at this string, which is removed. Repeatable."
)
@click.option("--system", default="", metavar="TEXT", help="System message. @FILE reads it from a file.")
@click.option("--chat/--text", default=None, help="Send prompts as user messages, or let the model continue them.")
@click.option("--seed", type=int, default=0, show_default=True, help="Base seed for the seeds of samples.")
@click.option("--no-seed", is_flag=True, help="Send no seeds, for servers that reject them.")
@click.option(
    "--logprobs", type=click.IntRange(0), metavar="K", help="Store log-probabilities and the K likeliest tokens."
)
@click.option("--until", metavar="SPEC", help="Stop a prompt's sampling early: majority(0.95), first(answer), …")
@click.option("--search", metavar="SPEC", help="Search step by step with a verifier: beam(4, 4, prm=…), dvts(…), ….")
@click.option("--budget", type=click.IntRange(1), metavar="TOKENS", help="Maximum tokens per prompt, with --search.")
@click.option(
    "--ahead",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Samples in parallel per prompt, with --until.",
)
@click.option("--model-args", multiple=True, metavar="KEY=VALUE", help="Options of the engine.")
@partial(limit_option, told="Sample only the first N rows.")
@map_option
@click.option("--prices", metavar="FILE", help=f"TOML or JSON table of prices by model. Default: the path in {PRICES}.")
@click.option("--cache/--no-cache", default=False, help="Use the user's cache of generations.")
@fail_over_option
@resume_option
@quiet_option
def sample(model: str, file: str, **options: Any) -> int:
    """Sample candidates for the prompts of FILE (- is stdin) from MODEL: openai:URL#NAME, hf:PATH, vllm:PATH, ….

    FILE has one row per prompt, with its answer and any other fields, in any format that `verikit score` reads. Output
    rows add the completions, ready for `verikit score`. With -o, run the command again to resume an interrupted run
    and retry failed requests. The rows are the same as in an uninterrupted run.

    \b
    verikit sample hf:Qwen/Qwen2.5-0.5B-Instruct problems.jsonl -n 16 -o candidates.jsonl
    verikit sample openai:http://localhost:8000/v1#m problems.jsonl | verikit score - --select best
    verikit sample hf:DIR problems.jsonl --search "beam(4, 4, prm=prm('PRM'))" --budget 8000 -o found.jsonl
    """  # noqa: D301 - click reads \b as "don't wrap"
    settings = _settings(options)
    out = options["out"]
    prices = _prices(options["prices"], model)
    rule = load_rule(options["until"]) if options["until"] else None
    sampler = _searching(options)
    settings = settings if sampler is None else replace(settings, n=1)
    cache = Cache(default_path()) if options["cache"] else None
    engine_options = read_options(options["model_args"])
    with ExitStack() as stack:
        watch = stack.enter_context(Watch(quiet=options["quiet"]))
        with redirect_stdout(sys.stderr):  # the engine's own output is not a row
            engine = stack.enter_context(load_engine(model, cache=cache, **engine_options))
        if rule is not None and engine.batched:
            raise UsageError("with --until, each sample would be a separate batch", hint="leave --until out")
        run = SamplingRun(engine, settings, rule, ahead=options["ahead"], sampler=sampler)
        plan = {"n": settings.n, "engine": strike(model), **_told(settings, options, engine_options)}
        make = SampleFile if sampler is None else SearchFile
        kept = stack.enter_context(make(Path(out), plan, restart=not options["resume"])) if out else None
        size = InputSize(file, options["limit"])
        watch.start(lambda seconds: describe(run, seconds, prices, engine.batched, size.rows))
        try:
            _write(run, islice(iter_problems(file, options["mapping"]), options["limit"]), kept)
        except KeyboardInterrupt:
            kept_there = f"run the command again to resume from {out}" if out else "use -o FILE to save the samples"
            click.echo(f"Interrupted: {kept_there}", err=True)
            return 1
    return _tell(run, prices, out, options, batch=engine.batched)


def _searching(options: dict[str, Any]) -> RowSampler | None:
    """What `--search` does instead of sampling.

    Raises:
        UsageError: An option that only sampling has is given as well, or one of a search without it.
    """
    given = click.get_current_context().get_parameter_source
    alone = {"n": "-n", "until": "--until", "ahead": "--ahead", "logprobs": "--logprobs", "cache": "--cache"}
    if not options["search"]:
        if options["budget"]:
            raise UsageError("--budget goes with --search")
        return None
    for name, option in alone.items():
        if given(name) is ParameterSource.COMMANDLINE:
            hint = "best_of(N, prm=…) is a search as well" if name == "n" else f"leave {option} out"
            raise UsageError(f"{option} does not go with --search", hint=hint)
    return partial(guided_search, strategy=load_strategy(options["search"]), budget=options["budget"])


def _settings(options: dict[str, Any]) -> SamplingSettings:
    names = ("n", "temperature", "top_p", "top_k", "max_tokens", "logprobs", "chat")
    system = options["system"]
    if system.startswith("@"):
        try:
            system = Path(system[1:]).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"can't read the system message: {error}") from None
    return SamplingSettings(
        **{name: options[name] for name in names},
        stop=tuple(options["stop"]),
        seed=None if options["no_seed"] else options["seed"],
        system=system,
    )


def _prices(path: str | None, model: str) -> ModelPrices | None:
    path = path or os.environ.get(PRICES)
    return read_prices(path, model) if path else None


def _told(settings: SamplingSettings, options: dict[str, Any], engine_options: dict[str, Any]) -> dict[str, Any]:
    """Return the other settings that affect the samples, for the run's file. API keys are excluded."""
    told = {name: value for name, value in asdict(settings).items() if name != "n"}
    shown = {name: value for name, value in engine_options.items() if name != "api_key"}
    how = {name: options[name] for name in ("until", "search", "budget") if name == "until" or options[name]}
    found: dict[str, Any] = json.loads(json.dumps({**told, **how, "engine_options": shown}))
    return found


def _write(run: SamplingRun, prompts: Iterator[tuple[int, Group | SchemaError]], kept: SampleFile | None) -> None:
    """Write the rows: to their file, or to stdout as they come."""
    for row in run.rows(prompts, kept):
        if kept is None:
            line = json.dumps(row.to_json(), ensure_ascii=False, default=str).encode("utf-8", "replace")
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()


def describe(run: SamplingRun, seconds: float, prices: ModelPrices | None, batch: bool, of: int | None = None) -> str:
    """One line: `12 of 50 prompts (24%), 0:38 left, 96 samples, 8.1/s, 24,011 tokens (2,031/s), 0.031 spent, 2 failed`.

    The remaining time is estimated from the samples of this session. With a search, whose number of steps varies, it is
    estimated from prompts. Without a total, only finished work is shown.
    """
    seconds = max(seconds, 0.1)
    new = run.done - run.earlier if run.searches else round(run.asked / max(1, run.settings.n))
    text = pace(run.done, of, "prompts", seconds, new=new, rate=False)
    text += f", {run.asked:,} samples, {run.asked / seconds:,.1f}/s"
    text += f", {run.completion_tokens:,} tokens ({run.completion_tokens / seconds:,.0f}/s)"
    text += f", {run.judged_tokens:,} judged" if run.judged_tokens else ""
    text += _spent(run, prices, batch)
    return text + (f", {run.failed:,} failed" if run.failed else "")


def _spent(run: SamplingRun, prices: ModelPrices | None, batch: bool) -> str:
    if prices is None:
        return ""
    cost = prices.cost(run.prompt_tokens, run.completion_tokens, batch=batch)
    whole = prices.cost(run.prompt_tokens, run.completion_tokens)
    return f", {cost:.4g} spent" + (f" ({whole:.4g} without the batch's discount)" if batch else "")


def _tell(
    run: SamplingRun, prices: ModelPrices | None, out: str | None, options: dict[str, Any], *, batch: bool
) -> int:
    for error in run.bad_rows[:SHOWN]:
        click.echo(printable(with_hint(str(error), error.hint)), err=True)
    if len(run.bad_rows) > SHOWN:
        click.echo(f"and {len(run.bad_rows) - SHOWN:,} more bad rows", err=True)
    if not options["quiet"]:
        tokens = f"{run.prompt_tokens:,} prompt and {run.completion_tokens:,} reply tokens"
        tokens += f", {run.judged_tokens:,} for judging" if run.judged_tokens else ""
        found = f"{run.samples:,} samples, {run.asked:,} of them new"
        if options["search"]:
            found = f"{run.samples:,} solutions, {run.asked:,} replies in this run"
        text = f"{run.done:,} prompts, {found}: {tokens}"
        text += _spent(run, prices, batch) + (f"; written to {out}" if out else "")
        click.secho(text, dim=True, err=True)
    if run.failed:
        again = "run the command again to retry them" if out else "with -o FILE, another run retries only these"
        click.echo(f"{run.failed:,} requests failed: {again}", err=True)
    lost = run.failed + run.settings.n * len(run.bad_rows)
    code = unscored_code(lost, run.samples + lost, options["fail_over"], "sample")
    if out and run.samples:
        next_step("verikit", "score", out, quiet=options["quiet"])
    elif out:
        next_note("fix the errors above, then run the command again", quiet=options["quiet"])
    else:
        next_note("write the samples to a file with -o FILE, then run `verikit score FILE`", quiet=options["quiet"])
    return code
