"""`verikit data`: converts public datasets to rows that verikit reads."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path

import click

from verikit.cli.command import GroupedCommand, NameChoice, next_note, next_step
from verikit.cli.options import UNSCORED, json_option, limit_option, parse_share, quiet_option
from verikit.convert import FORMS, ConversionCounts, Form, convert
from verikit.convert.card import CARD, split_files, write_card
from verikit.convert.inputs import read_files, rows
from verikit.errors import MissingExtra, SchemaError, UsageError, VerikitError, with_hint
from verikit.platform.terminal import Watch, printable

SHOWN = 3
"""Bad rows that are printed."""
LIST, FETCH = "list", "fetch"


@click.command(
    cls=GroupedCommand,
    stdout=True,
    usual="--out --config --split --limit --held-out --errors",
    purposes={
        "Held-out rows": "--held-out-file --seed",
        "Output": "--card",
    },
)
@click.argument("form", type=NameChoice([LIST, FETCH, *FORMS]), metavar="list|fetch|FORM")
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="JSON lines file. -: stdout.")
@click.option("--config", metavar="NAME", default="", help="Configuration of a Hugging Face dataset.")
@click.option(
    "--split", metavar="NAME", default="", help="Split of a Hugging Face dataset, or of a folder with several splits."
)
@partial(limit_option, told="Write only the first N rows.")
@click.option("--held-out", type=click.IntRange(1), metavar="N", help="Hold out N prompts, in a second file.")
@click.option(
    "--held-out-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File for the held-out rows. Default: FILE-held-out.jsonl.",
)
@click.option(
    "--card",
    is_flag=True,
    help="Make -o a folder for the Hugging Face Hub: train.jsonl, held_out.jsonl, and a card.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed for choosing the held-out prompts.")
@click.option("--errors", type=click.Path(path_type=Path), metavar="FILE", help="File for the bad rows, as JSON lines.")
@click.option(
    "--fail-over",
    default="0%",
    show_default=True,
    callback=parse_share,
    metavar="SHARE",
    help="Exit with 3 if a larger fraction of the rows is bad.",
)
@json_option
@quiet_option
def data(
    form: str,
    inputs: tuple[str, ...],
    out: Path | None,
    config: str,
    split: str,
    limit: int | None,
    held_out: int | None,
    held_out_file: Path | None,
    card: bool,
    seed: int,
    errors: Path | None,
    fail_over: float,
    as_json: bool,
    quiet: bool,
) -> int:
    """Convert a dataset in its published FORM to rows. `verikit data list` shows the forms.

    `verikit data fetch TASK` downloads the rows of tasks of `verikit eval` into the data folder. Without a network it
    reports which files to get, and where to put them.

    INPUT is files, folders, quoted patterns, - for stdin, or hf:ORG/NAME (hf:FOLDER for a local copy).
    Compressed and parquet files are read directly. Bad rows are reported and skipped.

    \b
    verikit data gsm8k train.jsonl -o gsm8k.jsonl --held-out 200
    verikit data hotpotqa hf:hotpotqa/hotpot_qa --config distractor --split train -o hotpotqa.jsonl
    verikit data fetch verikit_gsm8k
    verikit data documents 'dclm/*.jsonl.zst' -o documents.jsonl --limit 20000
    """  # noqa: D301 - click reads \b as "don't wrap"
    if form == LIST:
        return _listed(as_json)
    if form == FETCH:
        return _fetch(inputs, quiet)
    if not inputs or out is None:
        raise click.UsageError("pass INPUT and -o FILE. `verikit data list` shows the forms.")
    chosen, to_stdout = FORMS[form], str(out) == "-"
    if held_out and (to_stdout or not chosen.prompts):
        raise click.UsageError("--held-out goes with prompts and -o FILE")
    folder, (out, apart) = out, _files(out, held_out_file, split, bool(held_out)) if card else _pair(out, held_out_file)
    _spare(inputs, split, [None if to_stdout else out, apart if held_out else None, errors])
    with ExitStack() as stack:
        watch = stack.enter_context(Watch(quiet=quiet))
        told = _Told(form, errors, watch)
        watch.start(told.describe)
        stack.callback(told.close)
        state = convert(
            chosen,
            rows(inputs, config, split, golds=chosen.golds_beside),
            None if to_stdout else out,
            sys.stdout.buffer.write if to_stdout else None,
            held_out=held_out or 0,
            held_out_path=apart,
            seed=seed,
            limit=limit,
            tell=told.error,
            watch=told.see,
        )
    if card:
        _carded(folder, chosen, inputs, {out: state.written, apart: state.held_out})
    _summary(chosen, state, str(out), str(apart) if held_out else "", as_json and not to_stdout)
    return UNSCORED if state.bad > fail_over * state.read else 0


def _pair(out: Path, held_out_file: Path | None) -> tuple[Path, Path]:
    """Return the files for the rows and for the held-out rows."""
    return out, held_out_file or out.with_name(f"{out.name.removesuffix('.jsonl')}-held-out.jsonl")


def _files(folder: Path, held_out_file: Path | None, split: str, held_out: bool) -> tuple[Path, Path]:
    """Make the folder of a dataset with a card, and return its files.

    Raises:
        UsageError: The output is no folder, or has held-out rows of another conversion.
        VerikitError: The folder can't be made.
    """
    if held_out_file or str(folder) == "-":
        raise UsageError("--card goes with -o FOLDER, and names the files itself")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VerikitError(f"can't make the folder {folder}: {error.strerror}") from None
    out, apart = split_files(folder, split)
    if apart.exists() and not held_out:
        raise UsageError(f"{apart} is from an earlier conversion", hint="remove it, or choose another folder")
    return out, apart


def _carded(folder: Path, form: Form, inputs: Sequence[str], counts: Mapping[Path, int]) -> None:
    """Write the card, and report how to publish the folder."""
    written = {path: count for path, count in counts.items() if count}
    new = write_card(folder, form.told, " ".join(inputs), form.use, written)
    publish = shlex.join(["hf", "upload", f"ORG/{folder.absolute().name}", str(folder), "--repo-type", "dataset"])
    done = "written" if new else f"kept, check that it names {' and '.join(path.name for path in written)}"
    click.echo(printable(f"{folder / CARD}: {done}. `{publish}` publishes the folder"), err=True)


def _fetch(names: tuple[str, ...], quiet: bool) -> int:
    """Download the rows of benchmark tasks. The core finds the layer of the tasks by name."""
    if not names:
        raise click.UsageError("pass the TASKs to fetch. `verikit list tasks` shows them")
    try:
        fetch = import_module("verikit.evals.fetch").fetch
    except ModuleNotFoundError as error:
        raise MissingExtra(f"verikit data fetch (no {error.name})", "eval") from None
    fetch(names, lambda line: click.echo(printable(line)))
    next_step("verikit", "eval", *names, "--model", "MODEL", quiet=quiet)
    return 0


def _spare(inputs: tuple[str, ...], split: str, outputs: list[Path | None]) -> None:
    """Reject output files that are also inputs.

    Raises:
        UsageError: An output file is one of the inputs or another output, or a folder.
    """
    written = [path for path in outputs if path is not None]
    if len({path.absolute() for path in written}) < len(written):
        raise click.UsageError("two of the files to write have the same name")
    if folder := next((path for path in written if path.is_dir()), None):
        raise UsageError(f"can't write {folder}: is a directory")
    there = [path for path in written if path.exists()]
    for name in read_files(inputs, split) if there else ():
        if found := next((path for path in there if path.samefile(name)), None):
            raise UsageError(f"{found} is an input and would be overwritten", hint="choose another name for the output")


class _Told:
    """Messages of a running conversion: the first bad rows, and its progress."""

    def __init__(self, form: str, errors: Path | None, watch: Watch) -> None:
        self._form, self._state, self._count, self._watch = form, ConversionCounts(), 0, watch
        try:
            self._file = open(errors, "w", encoding="utf-8") if errors else None  # noqa: SIM115 - closed by close
        except OSError as error:
            raise UsageError(f"can't write {errors}: {(error.strerror or str(error)).lower()}") from None

    def see(self, state: ConversionCounts) -> None:
        """Take how far it is."""
        self._state = state

    def describe(self, seconds: float) -> str:
        """Describe the progress."""
        return f"{self._form}: {self._state.read:,} rows read, {self._state.written:,} made"

    def error(self, error: SchemaError) -> None:
        """Print one of the first bad rows; write each to the file of errors."""
        self._count += 1
        if self._count <= SHOWN:
            self._watch.warn(f"  {printable(with_hint(str(error), error.hint))}")
        if self._file is not None:
            row = {"file": error.file, "line": error.line, "field": error.field, "problem": error.problem}
            self._file.write(json.dumps(row | {"hint": error.hint}, ensure_ascii=True) + "\n")

    def close(self) -> None:
        """Close the file of errors."""
        if self._file is not None:
            self._file.close()


def _summary(form: Form, state: ConversionCounts, out: str, apart: str, as_json: bool) -> None:
    if as_json:
        found = {name: getattr(state, name) for name in ("read", "written", "held_out", "bad", "repeated")}
        click.echo(json.dumps(found | {"left_out": dict(state.left_out)}, indent=2))
        return
    parts = [f"{state.written:,} rows in {out}"] + ([f"{state.held_out:,} in {apart}"] if apart else [])
    parts += [f"{state.bad:,} of {state.read:,} bad"] if state.bad else []
    parts += [f"{state.repeated:,} repeated"] if state.repeated else []
    parts += [f"{count:,} left out: {reason}" for reason, count in state.left_out.most_common(SHOWN)]
    click.echo(printable("; ".join(parts)), err=True)
    asked = form.use if form.use.startswith("verikit") else f"verikit score … -v {form.use!r}"
    next_note(asked)


def _listed(as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps({form.name: {"what": form.told, "use": form.use} for form in FORMS.values()}, indent=2))
        return 0
    width = max(map(len, FORMS))
    click.echo("\n".join(f"{form.name:<{width}}  {form.told}\n{'':<{width}}  {form.use}" for form in FORMS.values()))
    next_step("verikit", "data", "FORM", "INPUT", "-o", "FILE")
    return 0
