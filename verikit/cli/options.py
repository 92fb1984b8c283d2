"""Options that several commands share, and the exit code for unscored candidates."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

from verikit.errors import ConfigError, UsageError, with_hint
from verikit.platform.terminal import pass_or_fail, printable, spending
from verikit.sampling.prices import check_prices, prices_in

if TYPE_CHECKING:
    from verikit.tracking.spec import TrackerSpec

UNSCORED = 3
"""Exit code when more candidates are unscored than allowed."""
PRICES = "VERIKIT_PRICES"
"""Environment variable that names a table of prices."""
GATE = 4
"""Exit code when a threshold that the caller set is not met."""

Command = TypeVar("Command", bound=Callable[..., Any])
"""The object that a click option decorates: a command or a function that becomes one."""


def parse_mapping(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """Read `--map FIELD=KEY` options (a click callback)."""
    pairs = [text.partition("=") for text in value]
    if bad := [text for text, pair in zip(value, pairs, strict=True) if not pair[1]]:
        raise click.BadParameter(f"{bad[0]!r} is not FIELD=KEY, such as prompt=problem")
    return {field: key for field, _, key in pairs}


def parse_share(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """Parse a fraction such as 5%, 5pt or 0.05 (a click callback)."""
    number = value.removesuffix("%").removesuffix("pt")
    try:
        share = float(number) / (1 if number == value else 100)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise click.BadParameter(f"must be a fraction such as 5% or 0.05, got {value!r}")
    return share


def map_option(command: Command, name: str = "mapping", told: str = "Key of a field: prompt=problem, …") -> Command:
    """Add `--map FIELD=KEY`, as `name`: maps fields to the keys of a row."""
    return click.option("--map", name, multiple=True, metavar="FIELD=KEY", callback=parse_mapping, help=told)(command)


def format_option(command: Command) -> Command:
    """Add `--format NAME`, as `format_`."""
    text = "Format of the input, if its keys do not show it: verikit, lm-eval, inspect, …."
    return click.option("--format", "format_", metavar="NAME", help=text)(command)


def fail_over_option(command: Command) -> Command:
    """Add `--fail-over SHARE`, a fraction between 0 and 1 that `unscored_code` applies."""
    return click.option(
        "--fail-over",
        default="0%",
        show_default=True,
        callback=parse_share,
        metavar="SHARE",
        help="Exit with 3 if a larger fraction is unscored because of errors.",
    )(command)


def limit_option(command: Command, told: str = "Read only the first N rows.") -> Command:
    """Add `--limit N`: at most this many rows are read. None reads all."""
    return click.option("--limit", type=click.IntRange(1), metavar="N", help=told)(command)


def by_key_option(command: Command) -> Command:
    """Add `--by-key KEY`, as `by_key`: keys of the rows to slice a run by."""
    text = "Also show results by this key of the rows: category, extra_info.level. Repeatable."
    return click.option("--by-key", multiple=True, metavar="KEY", help=text)(command)


def resume_option(command: Command) -> Command:
    """Add `--resume/--restart`, as `resume`."""
    text = "Resume an earlier run (default), or start again."
    return click.option("--resume/--restart", default=True, help=text)(command)


def json_option(command: Command) -> Command:
    """Add `--json`, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def quiet_option(command: Command) -> Command:
    """Add `-q`, `--quiet`."""
    return click.option("-q", "--quiet", is_flag=True, help="Show no progress and no suggestions.")(command)


def gold_option(command: Command) -> Command:
    """Add `--gold FILE`, as `gold`: the file with the gold answers, if the rows lack them."""
    text = "File with the gold answers, joined by id (id, custom_id, …)."
    return click.option("--gold", metavar="FILE", help=text)(command)


def prices_option(command: Command) -> Command:
    """Add `--prices FILE`; `spent` obeys it."""
    text = "Table of prices per million tokens by model. See docs/sample.md."
    return click.option("--prices", metavar="FILE", envvar=PRICES, callback=_checked_prices, help=text)(command)


def _checked_prices(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value:
        check_prices(value)
    return value


def track_option(command: Command) -> Command:
    """Add `--track TRACKER`, as `track`: checked specs of trackers, for `track_run`."""
    text = "Also send the result to wandb:PROJECT, tensorboard, trackio:PROJECT or mlflow:NAME. See docs/tracking.md."
    return click.option("--track", multiple=True, metavar="TRACKER", callback=_trackers, help=text)(command)


def _trackers(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> list[TrackerSpec]:
    if not value:
        return []
    from verikit.tracking.spec import read_trackers

    return read_trackers(value)


def spent(usage: Mapping[str, float], prices: str | None, spec: str) -> str:
    """Describe the engines' usage, with its price if a table of prices is given. "" if there was none.

    A table that can't be read, or lacks the model that `spec` names, is reported instead of raised: the run is done by
    then.
    """
    told = spending(usage)
    if not told or not prices:
        return told
    try:
        sent, got, cached = (usage.get(key, 0.0) for key in ("prompt_tokens", "completion_tokens", "prompt_cached"))
        cost = prices_in(prices, spec).cost(sent, got, prompt_cached=cached)
    except ConfigError as error:
        return f"{told}; {printable(with_hint(str(error), error.hint))}"
    return f"{told}, {cost:.4g} spent"


def data_options(command: Command) -> Command:
    """Add --map and --format, for a command that reads a file in any of the formats."""
    return map_option(format_option(command))


def data_words(mapping: Mapping[str, str], format_: str | None = None, gold: str | None = None) -> list[str]:
    """Return the words of --map, --format and --gold as they were given, for a suggested command on the same file."""
    words = [word for field, key in mapping.items() for word in ("--map", f"{field}={key}")]
    words += ["--format", format_] if format_ else []
    return words + (["--gold", gold] if gold else [])


def run_options(command: Command) -> Command:
    """Add --fail-over, --resume/--restart, --json and --quiet, for a command that makes a run."""
    return fail_over_option(resume_option(json_option(quiet_option(command))))


def unscored_code(lost: int, total: int, fail_over: float, what: str = "score") -> int:
    """Return the exit code of a run in which `lost` of `total` are unscored. Reports if that is more than allowed."""
    if not total or lost / total <= fail_over:
        return 0
    told = f"{lost} of {total} have no {what}: more than --fail-over allows ({100 * fail_over:.4g}%)"
    click.echo(pass_or_fail(told, 0.0), err=True)
    return UNSCORED


def read_options(texts: tuple[str, ...]) -> dict[str, Any]:
    """Parse `KEY=VALUE` options. Values are parsed as JSON if possible, and are otherwise strings.

    Raises:
        UsageError: An option has another format.
    """
    found: dict[str, Any] = {}
    for pair in (pair for text in texts for pair in _pairs(text)):
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise UsageError(f"{pair!r} is not KEY=VALUE")
        found[key] = value
        with suppress(ValueError):
            found[key] = json.loads(value)
    return found


def _pairs(text: str) -> list[str]:
    """An option's pairs: commas separate them, save within a value that is JSON."""
    with suppress(ValueError):
        json.loads(text.partition("=")[2])
        return [text]
    return [pair for pair in text.split(",") if pair]
