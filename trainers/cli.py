"""`verikit train` and `verikit export`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import click

from verikit.cli.command import GroupedCommand, next_note, next_step
from verikit.engines.hf.load import import_transformers
from verikit.platform.folders import code_only_from
from verikit.platform.terminal import pass_or_fail, printable
from verikit.trainers.config import Config, load_config, shipped
from verikit.trainers.run import METRICS, is_begun, read_log, read_settings
from verikit.trainers.session import changed_settings, option_in, run_training
from verikit.trainers.view import summary

VLLM_RANKS = (8, 16, 32, 64, 128, 256)
"""Values of vLLM's --max-lora-rank, whose default refuses adapters above 16."""


@click.command(cls=GroupedCommand)
@click.argument("config", required=False, metavar="CONFIG|NAME")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a setting: run.steps=20, …")
@click.option(
    "-o", "--out", metavar="DIR", type=click.Path(path_type=Path), help="Folder for the run. Default: runs/NAME."
)
@click.option("--resume", metavar="RUN", type=click.Path(path_type=Path), help="Go on with a run, by its folder.")
@click.option("--track", multiple=True, metavar="TRACKER", help="The setting run.track: wandb:PROJECT, tensorboard, …")
@click.option("--dry-run", is_flag=True, help="Print the resolved settings and stop.")
@click.option(
    "--check",
    is_flag=True,
    help="Check data, judge, retriever, engine and memory, estimate the cost of a step, and stop.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def train(
    config: str | None,
    changes: tuple[str, ...],
    out: Path | None,
    resume: Path | None,
    track: tuple[str, ...],
    dry_run: bool,
    check: bool,
    quiet: bool,
) -> int:
    """Train with CONFIG.toml or a built-in config: `arithmetic` is self-contained. `math`, `sft`, `tools` need data.

    The folder contains the resolved settings, metrics.jsonl, samples.jsonl and checkpoints. Use --resume to continue a
    run that stopped, for any reason. The result is the same.

    \b
    verikit train arithmetic
    verikit train math --set model.path=Qwen/Qwen2.5-0.5B --set options.data=problems.jsonl
    torchrun --nproc-per-node 8 -m verikit train my.toml
    verikit train --resume runs/math
    """  # noqa: D301 - click reads \b as "don't wrap"
    if (config is None) == (resume is None):
        raise click.UsageError(f"pass a config or --resume. Configs: {', '.join(shipped())}, or a FILE.toml")
    changes += (f"run.track={json.dumps(track)}",) if track else ()
    with nullcontext() if resume is None else code_only_from(_values(changes), option_in(read_settings(resume))):
        settings = load_config(config, changes) if config is not None else _changed(resume or Path(), changes, quiet)
        if dry_run:
            click.echo(json.dumps(settings.model_dump(mode="json"), indent=2, ensure_ascii=False))
            return 0
        if check:
            return _check(settings, config or "")
        path = resume or out or Path("runs") / (settings.name or settings.recipe)
        try:
            _train(settings, path, resume is not None, quiet)
        except KeyboardInterrupt:
            on = f"`verikit train --resume {path}` resumes from the last checkpoint"
            click.echo(f"Interrupted: {on if is_begun(path) else 'the run has no checkpoint yet'}", err=True)
            return 1
    return 0


def _check(settings: Config, config: str) -> int:
    """Report whether each dependency of a run is available. Return exit code 2 if one is missing."""
    import_transformers("training", "train")
    from verikit.trainers.check import check

    found = []
    for fine, line in check(settings, int(os.environ.get("WORLD_SIZE", "1"))):
        found.append(fine)
        click.echo(f"{pass_or_fail('ok  ' if fine else 'FAIL', float(fine))}  {printable(line)}")
    if all(found):
        next_note(f"run the command without --check to train by {config or 'these settings'}")
    else:
        next_note("fix the lines with FAIL, in the config or with --set KEY=VALUE, then run --check again")
    return 0 if all(found) else 2


def _values(changes: Sequence[str]) -> Iterator[str]:
    """Return the values of `--set KEY=VALUE` options, without quotes."""
    return (change.partition("=")[2].strip().strip("\"'") for change in changes)


def _train(settings: Config, path: Path, resume: bool, quiet: bool) -> None:
    if run_training(settings, path, resume=resume, quiet=quiet):
        lines = list(summary(read_log(path / METRICS)))
        click.echo("\n".join(lines) if lines else f"trained for {settings.run.steps} steps")
        click.echo(f"written to {path}", err=True)
        best = ["--best"] if settings.run.best else []
        next_step("verikit", "export", path, *best, "-o", f"{path.resolve().name}-model", quiet=quiet)


def _changed(run: Path, changes: tuple[str, ...], quiet: bool) -> Config:
    """Return a run's settings with changes, and report the differences."""
    return changed_settings(run, changes, lambda line: None if quiet else click.echo(line, err=True))


@click.command(cls=GroupedCommand)
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Output folder.")
@click.option("--step", type=click.IntRange(0), help="Step of the checkpoint. Default: the last.")
@click.option("--best", is_flag=True, help="Weights with the best held-out metric, kept by `run.best`.")
@click.option("--recipe", metavar="MODULE:CLASS", default="", help="Recipe of the run, if it is your own code.")
@click.option("--adapter", is_flag=True, help="Export only the LoRA adapter, in the format of peft and vLLM.")
def export(run: Path, out: Path, step: int | None, best: bool, recipe: str, adapter: bool) -> None:
    """Write a trained run's model and tokenizer as a plain transformers folder, adapters merged into the weights.

    \b
    verikit export runs/math -o math && vllm serve math
    verikit export runs/math -o lora --adapter
    vllm serve BASE --enable-lora --max-lora-rank 32 --lora-modules mine=lora
    """  # noqa: D301 - click reads \b as "don't wrap"
    import_transformers("training", "train")
    from verikit.trainers.export import export_run

    with code_only_from([recipe], lambda name: f"--recipe {name}"):
        name = export_run(run, read_settings(run), out, step, adapter=adapter, best=best)
    click.echo(f"{name} -> {out}", err=True)
    if adapter:
        rank = read_settings(run).precision.lora_rank
        most = next((each for each in VLLM_RANKS if each >= rank), rank)
        next_step("vllm", "serve", "BASE", "--enable-lora", "--max-lora-rank", most, "--lora-modules", f"mine={out}")
    else:
        next_step("verikit", "sample", f"hf:{out}", "FILE")
