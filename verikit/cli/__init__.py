"""The `verikit` command: a table of commands, each imported only when it is run, so that `--help` stays instant.

Exit codes: 0 ok; 1 failed (or interrupted); 2 usage; 3 more candidates unscored than `--fail-over` allows;
4 a threshold that the caller set (`--fail-if-worse`, `--fail-under`) is not met.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from verikit.errors import DISK_FULL, UsageError, VerikitError
from verikit.platform import tracing
from verikit.platform.system import POSIX_MODULES, WSL, needs_posix

COMMANDS = {
    "sample": ("verikit.cli.sample:sample", "Sample candidates for prompts from any model, to be scored."),
    "score": ("verikit.cli.score:score", "Score candidates, rerank them, and estimate pass@k, maj@k, BoN@k."),
    "judge": ("verikit.judges.match.cli:judge", "Compare models' answers by a judge: win rates, bias, ratings."),
    "calibrate": (
        "verikit.judges.calibration.cli:calibrate_",
        "Measure a judge by labels, and correct rates for its error.",
    ),
    "eval": (
        "verikit.evals.cli:eval_",
        "Run benchmark tasks on models, with data from the Hugging Face Hub or local files.",
    ),
    "compare": (
        "verikit.cli.compare:compare",
        "Compare runs on the same questions: which differences are significant.",
    ),
    "train": (
        "verikit.trainers.cli:train",
        "Train a model on a verifier's rewards, or on demonstrations.",
    ),
    "export": ("verikit.trainers.cli:export", "Write a trained run as a plain transformers folder."),
    "synth": ("verikit.cli.synth:synth", "Make training data offline: verified tasks, step labels, rationales."),
    "data": ("verikit.cli.data:data", "Convert public datasets (GSM8K, HotpotQA, …) into rows."),
    "index": ("verikit.cli.index:index", "Find passages: build an index, search it, serve it."),
    "serve": ("verikit.cli.serve:serve", "Serve scores over HTTP, as a reward server for training."),
    "mcp": ("verikit.cli.mcp:mcp", "Offer scores and audits to coding assistants (Model Context Protocol)."),
    "adapter": ("verikit.cli.adapter:adapter", "Use a verifier as the reward of TRL, verl, OpenRLHF and other stacks."),
    "env": (
        "verikit.cli.env:env",
        "Read and audit environments of other stacks, and check a verifier against their rewards.",
    ),
    "audit": ("verikit.cli.audit:audit", "Check whether a dataset is gradable and a reward hackable."),
    "report": ("verikit.cli.report:report", "Show finished runs."),
    "verify": ("verikit.cli.verify:verify", "Verify that the files of finished runs have not changed."),
    "explain": ("verikit.cli.explain:explain", "Explain the score of one candidate."),
    "list": ("verikit.cli.list:list_", "List verifiers, selectors, engines and tasks, and explain one."),
    "cache": ("verikit.cli.cache:cache", "Show or clear the generation cache."),
    "doctor": (
        "verikit.cli.doctor:doctor",
        "Check this machine: versions, extras, missing parts and how to install them.",
    ),
}
"""Command name -> (its location, its line in `verikit --help`)."""


class LazyGroup(click.Group):
    """A click group that imports a command on first use. `table` has the format of COMMANDS."""

    def __init__(self, *arguments: Any, table: Mapping[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the table's order."""
        return [*self.table]  # `list` is also a module of this package

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by its name. For an unknown name, suggest the nearest."""
        near = get_close_matches(args[0], self.table, n=1)
        if args[0] not in self.table and near and not ctx.resilient_parsing:
            raise click.UsageError(f"Command {args[0]!r} not found. Did you mean {near[0]!r}?", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names from the table: click would import every command at a press of the key."""
        names = [
            CompletionItem(name, help=told) for name, (_, told) in self.table.items() if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])


@click.group(cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="verikit", prog_name="verikit")
def cli() -> None:
    """Is this output right, and which of these is best?"""


def main() -> None:
    """Run the command line and exit with its code."""
    tracing.configure()
    try:
        code = cli.main(prog_name="verikit", standalone_mode=False, color=_colour())
        if sys.stdout is not None:  # None: it was closed before we came
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:
        click.echo("Interrupted.", err=True)
        code = 1
    except VerikitError as error:
        click.echo(f"Error: {error}", err=True)
        if error.hint:
            click.echo(f"Hint: {error.hint}", err=True)
        code = 2 if isinstance(error, UsageError) else 1
    except ModuleNotFoundError as error:
        if error.name not in POSIX_MODULES:
            raise
        click.echo(f"Error: {needs_posix('this command')}\nHint: {WSL}", err=True)
        code = 1
    except BrokenPipeError:  # the reader of the results closed the pipe
        _drop_output()
        code = 1
    except OSError as error:
        code = _told(error)
    sys.exit(code if isinstance(code, int) else 0)


def _colour() -> bool | None:
    """False if the user disables colours, True if they are forced. With None, click colours text only for a terminal.

    https://no-color.org, https://force-color.org and https://bixense.com/clicolors name the variables.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return False if os.environ.get("CLICOLOR") == "0" or os.environ.get("TERM") == "dumb" else None


def _told(error: OSError) -> int:
    """Report a full disk or a missing temporary folder, and return the exit code. Other errors are raised."""
    if "temporary directory" in str(error.strerror):  # tempfile's wording
        click.echo(f"Error: {error.strerror}\nHint: set TMPDIR to a folder that can be written", err=True)
        return 1
    if error.errno not in DISK_FULL:
        raise error
    click.echo(f"Error: can't write {error.filename or 'the results out'}: {error.strerror}", err=True)
    _drop_output()
    return 1


def _drop_output() -> None:
    """Discard stdout's remaining buffer, which Python would otherwise try to write, and complain about, at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
