"""`verikit audit`."""

from __future__ import annotations

import json
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import click

from verikit.audit import CHECKS, AuditResult
from verikit.audit import audit as audit_file
from verikit.audit.findings import GROUPS
from verikit.audit.folder import summary, write_folder
from verikit.audit.run import PROBED
from verikit.audit.show import EXAMPLES, show
from verikit.cli.command import GroupedCommand, next_step
from verikit.cli.options import (
    GATE,
    data_options,
    data_words,
    json_option,
    limit_option,
    parse_share,
    quiet_option,
    resume_option,
)
from verikit.errors import nearest, with_hint
from verikit.platform.terminal import Watch, pace, printable
from verikit.types import PASS_MARK

_NOT_KEPT = "with -o FOLDER, patches that were run are kept"


def _parse_limits(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, float]:
    """Read `--fail-on CHECK[=SHARE]` options (a click callback)."""
    limits: dict[str, float] = {}
    for text in value:
        name, _, share = text.partition("=")
        names = [check for check in CHECKS if name in ("all", check, CHECKS[check].group)]
        if not names:
            hint = nearest(name, ["all", *GROUPS, *CHECKS])
            raise click.BadParameter(with_hint(f"check {name!r} not found", hint))
        limits |= dict.fromkeys(names, parse_share(context, parameter, share or "0"))
    return limits


@click.command(
    cls=GroupedCommand,
    usual="--by --against --rows --fail-on --out --map",
    purposes={
        "Reward checks": "--repeats --pay --programs",
    },
)
@click.argument("file")
@click.option(
    "--by", default="", metavar="SPEC", help="Spec of the reward, a verifier. Without it, only the data are checked."
)
@click.option("--against", default="", metavar="FILE", help="Test set whose questions must not appear in FILE.")
@click.option(
    "--rows", default=PROBED, show_default=True, type=click.IntRange(0), help="Rows to try the reward on. 0: all."
)
@click.option(
    "--repeats",
    default=2,
    show_default=True,
    type=click.IntRange(1),
    help="Times to score each text, to measure noise. 1: no repeats.",
)
@click.option("--pay", default=PASS_MARK, show_default=True, help="Lowest reward that counts as correct.")
@click.option(
    "--programs/--no-programs", default=None, help="Try programs that hack the reward. Default: if it runs programs."
)
@click.option("--seed", default=0, show_default=True, help="Random seed of the selected rows.")
@click.option(
    "--fail-on",
    "limits",
    multiple=True,
    metavar="CHECK[=SHARE]",
    callback=_parse_limits,
    help="Exit with 4 if CHECK, a group of checks or `all` finds more than SHARE (0%) of the rows. Repeat it.",
)
@click.option(
    "-o",
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Folder for the findings, for `verikit report`.",
)
@click.option(
    "--examples", default=EXAMPLES, show_default=True, type=click.IntRange(0), help="Examples shown per check."
)
@data_options
@limit_option
@resume_option
@json_option
@quiet_option
def audit(
    file: str,
    by: str,
    against: str,
    rows: int,
    repeats: int,
    pay: float,
    programs: bool | None,
    seed: int,
    limits: dict[str, float],
    out: Path | None,
    examples: int,
    mapping: dict[str, str],
    format_: str | None,
    limit: int | None,
    resume: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Check the data in FILE, and a reward on them, for problems before training.

    Data: gold answers that are empty, truncated, ambiguous, equal to the prompt or contradicted by the row's solution.
    Duplicate questions, also across files. Reward (--by): the gold answer and its spellings must be rewarded. Near
    misses, gold answers of other rows and text that solves nothing must not be. Candidates, if the rows have them:
    gold answers that most candidates contradict, and errors of the reward against labels. Rows with a repository and
    tests: the row's own patch must pass, and the empty patch must not. Rows with a workspace: the agent's input files,
    and empty files of the right names, must not be rewarded. With -o, results of patches are saved as they finish.

    \b
    verikit audit train.jsonl --by answer --against test.jsonl -o runs/audit
    verikit audit train.jsonl --by my_reward.py:reward --fail-on golds --fail-on hack=1%
    verikit report runs/audit --html audit.html
    """  # noqa: D301 - click reads \b as "don't wrap"
    with Watch(quiet=quiet) as watch, redirect_stdout(sys.stderr):  # the verifier's own output is not a result
        seen = AuditProgress()
        watch.start(seen.describe)
        try:
            result = audit_file(
                file,
                by,
                mapping=mapping,
                format=format_,
                limit=limit,
                against=against,
                probed=rows,
                repeats=repeats,
                mark=pay,
                programs=programs,
                seed=seed,
                tick=seen.tick,
                begun=seen.begin,
                keep=out,
                resume=resume,
            )
        except KeyboardInterrupt:
            kept = f"finished patches are saved in {out}. Run the command again to resume" if out else _NOT_KEPT
            click.echo(f"Interrupted: {kept}", err=True)
            return 1
    if out is not None:
        write_folder(result, out)
    click.echo(json.dumps(summary(result), indent=2) if as_json else "\n".join(show(result, examples)))
    words = _next(file, by, out, data_words(mapping, format_))
    next_step(*words, quiet=quiet or as_json or (file == "-" and out is None))
    return _code(result, limits)


class AuditProgress:
    """Progress of the audit: texts scored so far, and the state of the current check."""

    def __init__(self) -> None:
        self._total, self._done, self._of, self._check, self._began = 0, 0, 0, "reading", time.monotonic()

    def begin(self, check: str, texts: int) -> None:
        """Start a check that scores `texts` texts."""
        self._done, self._of, self._check, self._began = 0, texts, check.replace("_", " "), time.monotonic()

    def tick(self, count: int) -> None:
        """Add `count` scored texts."""
        self._total += count
        self._done += count

    def describe(self, seconds: float) -> str:
        """Describe it in one line: `near miss: 120 of 480 texts (25%), 95/s, 0:03 left; 1,204 in 14 s`."""
        text = pace(self._done, self._of or None, "texts", time.monotonic() - self._began)
        return f"{self._check}: {text}; {self._total:,} in {seconds:.0f} s"


def _next(file: str, by: str, out: Path | None, words: list[str]) -> list[object]:
    """The command after an audit: the page of kept findings, the reward's audit, or an audit that is kept."""
    if out is not None:
        return ["verikit", "report", out, "--html", f"{out.resolve().name}.html"]
    kept = ["-o", "runs/audit"] if by else []
    return ["verikit", "audit", file, *words, "--by", by or "answer", *kept]


def _code(result: AuditResult, limits: dict[str, float]) -> int:
    """Return GATE if a check found more than is allowed, and report it."""
    limits = {"unscored": 0.0} | limits  # a reward that fails passes every other check
    over = [count for count in result.checks if count.check in limits and count.share > limits[count.check]]
    for count in over:
        allowed = f"{100 * limits[count.check]:.4g}%"
        told = f"{count.check}: {count.found} of {count.rows} rows, more than --fail-on allows ({allowed})"
        if count.check == "unscored":
            first = result.of("unscored")[0]
            told += f"; line {first.line}: {first.what}"
        click.echo(printable(told), err=True)
    return GATE if over else 0
