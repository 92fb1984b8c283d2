"""`verikit report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from verikit.errors import UsageError
from verikit.scoring.show import show


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a summary by folder.")
def report(runs: tuple[Path, ...], as_json: bool) -> None:
    """Show finished score runs, by their folders."""
    found = {str(run): (_read(run, "summary.json"), _read(run, "config.json")) for run in runs}
    if as_json:
        click.echo(json.dumps({name: summary for name, (summary, _) in found.items()}, indent=2, ensure_ascii=False))
        return
    for name, (summary, config) in found.items():
        if "metrics" not in summary:
            raise UsageError(f"{name} is no score run", hint=f"its figures are in {name}/summary.json, or use --json")
        click.secho(name, dim=True)
        click.echo("\n".join(show(summary, config)))


def _read(run: Path, name: str) -> Any:
    try:
        return json.loads((run / name).read_bytes())
    except FileNotFoundError:
        unfinished = (run / "config.json").exists()
        problem = "the run is not finished" if unfinished else "no run's folder"
        hint = "run the same `verikit score` again: it goes on where it stopped" if unfinished else "give -o's folder"
        raise UsageError(f"{run}: {problem}", hint=hint) from None
    except NotADirectoryError:
        raise UsageError(f"{run} is a file", hint="give a run's folder: score's -o") from None
    except OSError as error:
        raise UsageError(f"{run / name}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{run / name} is damaged: {error}") from None
