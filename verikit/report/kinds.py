"""Kinds of runs: the file that identifies each, and its reader. A folder's reader is next to its writer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from verikit.errors import UsageError
from verikit.platform.folders import nearest_path, refuse_links
from verikit.report.model import Options, Run
from verikit.scoring.sums import verify

Collector = Callable[[Path, Options], Run]


class Unfinished(UsageError):
    """A run that is still in progress, or was interrupted."""


class RunKind(NamedTuple):
    """One kind of run."""

    name: str
    file: str
    """A file that only folders of this kind have."""
    collector: str
    """`module:attribute` of a `Collector`."""
    outcomes: str = ""
    """The same of (run, metric) -> list[Outcomes], its values by question; a kind without can't be compared."""
    inspect: str = ""
    """The same of (run) -> names and contents of logs for inspect. A kind without can't be written as such."""
    rows: str = ""
    """The same of (run, keys, files) -> rows by task and id: questions, and the rows' values of keys."""
    slices: str = ""
    """The same of (run, summary, config, options) -> results by key and value, for summary.json."""


KINDS = (
    RunKind(
        "score",
        "scores.jsonl",
        "verikit.report.score:collect",
        "verikit.scoring.outcomes:outcomes",
        rows="verikit.scoring.slices:rows",
        slices="verikit.report.score:slices_of",
    ),
    RunKind(
        "judge",
        "verdicts.jsonl",
        "verikit.judges.match.page:collect",
        slices="verikit.judges.match.sliced:slices_of",
    ),
    RunKind(
        "eval",
        "results.json",
        "verikit.evals.page:collect",
        "verikit.evals.outcomes:outcomes",
        rows="verikit.evals.outcomes:rows",
        inspect="verikit.evals.inspect_log:inspect_logs",
    ),
    RunKind("train", "metrics.jsonl", "verikit.trainers.page:collect"),
    RunKind("audit", "findings.jsonl", "verikit.audit.page:collect"),
    RunKind("env audit", "env-audit.json", "verikit.env.audit.collect:collect"),
)

SLICED = " or ".join(f"`verikit {kind.name}`" for kind in KINDS if kind.slices or kind.rows)
"""Kinds whose rows have keys to slice by."""


def runs_in(path: Path) -> list[Path]:
    """Return the folder itself, or the runs in it if it is not a run: `runs/`, or a suite of several models."""
    if kind_of(path) is None and path.is_dir():
        return sorted(folder for folder in path.iterdir() if kind_of(folder) is not None) or [path]
    return [path]


def inspect_logs(run: Path, archives: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield the file name and content of each log for inspect: JSON, or `.eval` archives.

    Raises:
        UsageError: The folder is not a run of a kind that has logs, or is damaged.
    """
    refuse_links(run)
    kind = kind_of(run)
    if kind is None or not kind.inspect:
        raise UsageError(f"{run}: only runs of `verikit eval` can be written as logs for inspect")
    module, _, attribute = kind.inspect.partition(":")
    try:
        yield from getattr(import_module(module), attribute)(run, archives)
    except (OSError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UsageError(f"{run} is damaged: {type(error).__name__}: {error}") from error


def slices_of(run: Path, summary: Any, config: Any, options: Options) -> Any:
    """Return a run's results by key and value, for the keys that it was made with and those of the options.

    Raises:
        UsageError: Runs of its kind have no slices in the summary, or no row has a key.
    """
    kind = kind_of(run)
    if kind is None or not kind.slices:
        raise UsageError(f"{run} has no rows to slice by a key", hint=f"give runs of {SLICED}")
    module, _, attribute = kind.slices.partition(":")
    return getattr(import_module(module), attribute)(run, summary, config, options)


def kind_of(run: Path) -> RunKind | None:
    """Return a folder's kind of run, or None if it is not a run."""
    return next((kind for kind in KINDS if (run / kind.file).exists()), None)


def collect(run: Path, options: Options) -> Run:
    """Read one run's folder.

    Raises:
        UsageError: It is not a run's folder, not finished, damaged, or has a link that leads outside.
    """
    refuse_links(run)
    verify(run)
    kind = kind_of(run)
    if kind is None:
        read_json(run, "summary.json")
        raise UsageError(f"{run} is not a run of a known kind", hint=f"one of {', '.join(kind.name for kind in KINDS)}")
    module, _, attribute = kind.collector.partition(":")
    collector: Collector = getattr(import_module(module), attribute)
    try:
        return collector(run, options)
    except OSError as error:
        raise UsageError(f"{error.filename or run}: {error.strerror}") from error
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        raise UsageError(f"{run} is damaged: {type(error).__name__}: {error}") from error


def read_json(run: Path, name: str) -> Any:
    """Read a JSON file of a run's folder.

    Raises:
        Unfinished: The file does not exist yet.
        UsageError: It can't be read, or the folder is not a run.
    """
    try:
        return json.loads((run / name).read_bytes())
    except FileNotFoundError:
        if (run / "config.json").exists():
            hint = "run the command again. It resumes where it stopped"
            raise Unfinished(f"{run}: the run is not finished", hint=hint) from None
        hint = "give the folder that -o named"
        raise UsageError(f"{run} is not the folder of a run", hint=nearest_path(run, hint)) from None
    except NotADirectoryError:
        raise UsageError(f"{run} is a file", hint="give a run's folder: score's -o") from None
    except OSError as error:
        raise UsageError(f"{run / name}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{run / name} is damaged: {error}") from None


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a log, or nothing if the file does not exist. An incomplete last line is skipped.

    Raises:
        UsageError: A line is not a JSON object.
    """
    if not path.exists():
        return
    with open(path, "rb") as stream:
        for number, data in enumerate(stream, 1):
            if not data.endswith(b"\n"):
                return
            try:
                row = json.loads(data)
            except ValueError as error:
                raise UsageError(f"{path}:{number}: {error}") from None
            if not isinstance(row, dict):
                raise UsageError(f"{path}:{number}: no JSON object")
            yield row
