"""The class of every command: its help lists the usual options, and `--help-all` lists all of them by purpose."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from verikit.errors import UsageError, nearest, with_hint
from verikit.platform.secrets import strike
from verikit.platform.terminal import printable

INPUT, RUNNING, LIMITS, OUTPUT = "Input", "Running", "Thresholds and exit codes", "Output"
OTHER = "Other options"
SHARED = {
    INPUT: "--gold --map --format --data --limit",
    RUNNING: "--seed --batch --jobs --workers --model-args --cache --prices --resume --retry-errors",
    LIMITS: "--fail-under --fail-if-worse --fail-on --fail-over --junit",
    OUTPUT: "--out --by-key --examples --html --markdown --csv --latex --svg --pdf --json --track --quiet --verbose",
}
"""Purpose -> options that serve it in every command, unless the command declares another purpose."""
OUTPUTS = ("out", "html", "junit", "inspect", "errors", "held_out_file")
"""The parameters that name a file or a folder to write."""
HELP_ALL = "--help-all"


if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # generic only in newer versions


class NameChoice(_Choice):
    """One of many names. For another name, the error suggests the nearest, or else `otherwise`."""

    def __init__(self, choices: Iterable[str], otherwise: str = "") -> None:
        super().__init__(list(choices))
        self.otherwise = otherwise

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name, or fail."""
        if value not in self.choices:
            hint = nearest(str(value), map(str, self.choices), self.otherwise)
            self.fail(with_hint(f"{value!r} not found", hint), param, ctx)
        return super().convert(value, param, ctx)


class GroupedCommand(click.Command):
    """A command whose help is grouped.

    Args:
        arguments: The arguments of `click.Command`.
        usual: The options that `--help` explains, separated by spaces. Without it `--help` explains all options.
        stdout: Whether the command itself reads `-o -` as stdout. Otherwise `-` is not the name of an output.
        purposes: Heading -> options, separated by spaces. They come before the headings of SHARED.
        options: The keyword arguments of `click.Command`.
    """

    def __init__(
        self,
        *arguments: Any,
        usual: str = "",
        purposes: Mapping[str, str] | None = None,
        stdout: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.usual, self.stdout = usual.split(), stdout
        self.purposes = {heading: names.split() for heading, names in (purposes or {}).items()}

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters and `--help-all`, which is hidden if `--help` shows everything."""
        return [*super().get_params(ctx), _help_all(hidden=not self.usual)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            UsageError: An output is named `-`, and the command does not write it to stdout.
        """
        rest = super().parse_args(ctx, args)
        for option in self.params if not ctx.resilient_parsing else ():
            allowed = self.stdout and option.name == "out"
            if option.name in OUTPUTS and str(ctx.params.get(option.name)) == "-" and not allowed:
                name = max(option.opts, key=len)
                raise UsageError(f"{name} can't be stdout", hint=f"pass a path: {name} {option.metavar or 'FILE'}")
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usual options, then the others by purpose: with their meaning, or as names only."""
        if not self.usual:
            super().format_options(ctx, formatter)
            return
        groups = self.grouped(ctx)
        helps = groups.pop("Help")
        _write_section(ctx, formatter, "Usual options", groups.pop("Usual options"))
        if ctx.meta.get(HELP_ALL):
            for heading, group in groups.items():
                _write_section(ctx, formatter, heading, group)
        else:
            with formatter.section(f"More options ({HELP_ALL} explains them)"):
                _write_names(formatter, groups)
        _write_section(ctx, formatter, "Help", helps)

    def grouped(self, ctx: click.Context) -> dict[str, list[click.Option]]:
        """Return all shown options by heading, the usual ones first. No heading is empty."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option) and not option.hidden]
        by_name = {name: option for option in options for name in option.opts}
        groups: dict[str, list[click.Option]] = {}
        seen: set[str | None] = set()
        for heading, names in self._headings():
            for option in (by_name[name] for name in names if name in by_name):
                if option.name not in seen:
                    seen.add(option.name)
                    groups.setdefault(heading, []).append(option)
        if others := [option for option in options if option.name not in seen]:
            groups[OTHER] = others
        return {**groups, "Help": groups.pop("Help", [])}

    def _headings(self) -> Iterator[tuple[str, Sequence[str]]]:
        """The headings in order with the names of their options. An option belongs to the first that names it."""
        yield "Usual options", self.usual
        yield "Help", ["--help", HELP_ALL]
        yield from self.purposes.items()
        yield from ((heading, names.split()) for heading, names in SHARED.items())


def _help_all(hidden: bool) -> click.Option:
    def show(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value and not context.resilient_parsing:
            context.meta[HELP_ALL] = True
            click.echo(context.get_help(), color=context.color)
            context.exit()

    text = "Show all options by purpose, and exit."
    return click.Option(
        [HELP_ALL], is_flag=True, is_eager=True, expose_value=False, callback=show, help=text, hidden=hidden
    )


def _write_section(
    ctx: click.Context, formatter: click.HelpFormatter, heading: str, options: Sequence[click.Option]
) -> None:
    records = [record for option in options if (record := option.get_help_record(ctx))]
    with formatter.section(heading):
        formatter.write_dl(records)


def _write_names(formatter: click.HelpFormatter, groups: Mapping[str, Sequence[click.Option]]) -> None:
    """Write a line per heading with the names of its options. click would break `--max-tokens` at its hyphens."""
    indent = formatter.current_indent
    column = indent + max(map(len, groups), default=0) + 2
    for heading, group in groups.items():
        first = " " * indent + heading.ljust(column - indent)
        names = " ".join(map(_name, group))
        lines = textwrap.wrap(names, formatter.width - column, break_on_hyphens=False, break_long_words=False)
        formatter.write(first + f"\n{' ' * column}".join(lines) + "\n")


def _name(option: click.Option) -> str:
    return max(option.opts, key=len)


def stdout_as_none(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Read `-` as no file, for an output that is stdout by default (a click callback)."""
    return None if str(value) == "-" else value


def next_step(*words: object, quiet: bool = False) -> None:
    """Suggest the next command on stderr, as the last line of a run.

    Args:
        words: The command as words. They are quoted for the shell.
        quiet: Print nothing. Commands set it for --quiet and --json.
    """
    next_note(" ".join(shlex.quote(str(word)) for word in words), quiet=quiet)


def next_note(text: str, *, quiet: bool = False) -> None:
    """Print a next step that is not one command, or why there is nothing to do. Like `next_step` otherwise."""
    if not quiet:
        click.secho(f"next: {strike(printable(text))}", dim=True, err=True)
