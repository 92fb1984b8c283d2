"""`verikit synth reasoning-gym`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from verikit.cli.command import GroupedCommand, next_step
from verikit.errors import MissingExtra, UsageError, nearest

ALL = "all"
LEFT_OUT = ("composite",)
"""Datasets that combine others."""


@click.command(name="reasoning-gym", cls=GroupedCommand)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("-n", "--n", "count", type=click.IntRange(1), default=100, show_default=True, help="Rows per dataset.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Setting of the dataset, such as max_terms=4."
)
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Output file, in JSON lines."
)
def reasoning_gym(names: tuple[str, ...], count: int, seed: int, settings: tuple[str, ...], out: Path) -> None:
    """Make problems from the reasoning_gym datasets NAME (or `all`). The verifier `reasoning_gym` scores them.

    Equal seeds and settings give equal rows. It needs no network.

    \b
    verikit synth reasoning-gym countdown graph_color --n 1000 --seed 1 -o problems.jsonl
    verikit train reasoning-gym --set options.data=problems.jsonl --set model.path=…
    """  # noqa: D301 - click reads \b as "don't wrap"
    chosen, config = data_sets(names), _settings(settings)
    written = 0
    with open(out, "w", encoding="utf-8") as file:
        for name in chosen:
            for row in rows(name, count, seed, config):
                file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
                written += 1
    click.echo(f"{written} rows of {len(chosen)} datasets in {out}", err=True)
    next_step("verikit", "train", "reasoning-gym", "--set", f"options.data={out}", "--set", "model.path=MODEL")


def data_sets(names: Sequence[str]) -> list[str]:
    """Return the named datasets without duplicates. `all` returns every one.

    Raises:
        MissingExtra: reasoning_gym is not installed.
        UsageError: A dataset does not exist.
    """
    known = [name for name in sorted(_package().factory.DATASETS) if name not in LEFT_OUT]
    chosen = known if ALL in names else list(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            raise UsageError(f"dataset {name!r} not found in reasoning_gym", hint=nearest(name, known))
    return chosen


def rows(name: str, count: int, seed: int, config: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Yield problems of a dataset: prompt, answer (None if many are right), and the data that its scorer needs.

    Raises:
        MissingExtra: reasoning_gym is not installed.
        UsageError: The settings are invalid for this dataset, or it can't generate a problem with them.
    """
    package = _package()
    try:
        with contextlib.redirect_stdout(sys.stderr):  # some print
            made = package.create_dataset(name, seed=seed, size=count, **(config or {}))
            for index in range(count):
                entry = json.loads(json.dumps(made[index], default=_plain))
                yield {
                    "id": f"{name}-{seed}-{index}",
                    "prompt": entry["question"],
                    "answer": entry["answer"],
                    "dataset": name,
                    "metadata": entry["metadata"],
                    **({"config": dict(config)} if config else {}),
                }
    except (TypeError, ValueError, AssertionError, KeyError) as error:
        raise UsageError(f"{name} can't be made so: {type(error).__name__}: {error}") from None


def _plain(value: Any) -> Any:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else str(value)


def _settings(pairs: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise UsageError(f"{pair!r} is not KEY=VALUE")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def _package() -> Any:
    try:
        import reasoning_gym as package
    except ImportError:
        raise MissingExtra("verikit synth reasoning-gym", "reasoning-gym") from None
    return package
