"""`verikit synth genprm`."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import click

from verikit.cli.command import GroupedCommand, next_step
from verikit.cli.options import limit_option, map_option, quiet_option
from verikit.engines.load import load_engine
from verikit.errors import SchemaError, UsageError
from verikit.judges.genprm.synth.labels import PAPERS, Variant
from verikit.judges.genprm.synth.pipeline import REPORT, TRAIN, Synthesis, synthesise
from verikit.judges.genprm.synth.sampling import Asking
from verikit.judges.genprm.synth.solutions import Balance
from verikit.judges.genprm.verifier import GenPRM
from verikit.names.spec import load
from verikit.platform.terminal import stages_shown
from verikit.readers.problems import read_problems
from verikit.types import Group

THRESHOLDS = {"ratio": "0.8", "difference": "-0.3", "hard": "0"}


@click.command(
    cls=GroupedCommand,
    usual="--policy --completer --reviewer --verifier --out --limit",
    purposes={
        "Solutions": "--paths --attempts --draws --chat --temperature --max-tokens",
        "Step labels": "--completions --variant --threshold",
        "Rationales": "--protocol --drafts",
    },
)
@click.argument("problems", type=click.Path(path_type=Path))
@click.option("--policy", required=True, metavar="ENGINE", help="Writes the solutions.")
@click.option("--completer", metavar="ENGINE", help="Model that completes partial solutions. Default: the policy.")
@click.option(
    "--reviewer", required=True, metavar="ENGINE", help="Model that writes the rationales, following the protocol."
)
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Output folder.")
@click.option(
    "-v",
    "--verifier",
    "spec",
    default="answer",
    show_default=True,
    help="Verifier that decides which solutions are right.",
)
@click.option("--protocol", default="released", show_default=True, help="The protocol's name or TOML file.")
@click.option("--paths", type=click.IntRange(2), default=16, show_default=True, help="Solutions kept of a problem.")
@click.option(
    "--attempts",
    type=click.IntRange(2),
    default=2048,
    show_default=True,
    help="Maximum number of solutions sampled per problem.",
)
@click.option("--draws", type=click.IntRange(1), default=64, show_default=True, help="Solutions drawn at a time.")
@click.option(
    "--completions",
    default=",".join(map(str, PAPERS)),
    show_default=True,
    help="Completions of a step for problems seldom, sometimes and mostly solved.",
)
@click.option(
    "--variant", type=click.Choice(list(THRESHOLDS)), default="ratio", show_default=True, help="Threshold for labels."
)
@click.option("--threshold", metavar="X", help="Value of the threshold. Default: 0.8 for ratio, -0.3 for difference.")
@click.option("--drafts", type=click.IntRange(1), default=4, show_default=True, help="Rationales sampled per solution.")
@click.option("--chat/--text", default=True, show_default=True, help="Use the chat template, or continue plain text.")
@click.option(
    "--temperature", type=click.FloatRange(0), default=0.7, show_default=True, help="Sampling temperature of solutions."
)
@click.option(
    "--max-tokens", type=click.IntRange(1), default=2048, show_default=True, help="Maximum tokens per solution."
)
@click.option("--seed", type=int, default=0, show_default=True)
@map_option
@partial(limit_option, told="Read only the first N problems.")
@click.option("--batch", type=click.IntRange(1), default=64, show_default=True, help="Problems per call.")
@quiet_option
def genprm(
    problems: Path,
    policy: str,
    completer: str | None,
    reviewer: str,
    out: Path,
    spec: str,
    protocol: str,
    completions: str,
    variant: Variant,
    threshold: str | None,
    mapping: dict[str, str],
    limit: int | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """Make training data for a generative process reward model from PROBLEMS with answers.

    The command samples balanced solutions, labels each step by completing it many times (relative progress), and
    writes rationales with executed code. It keeps the rationales whose verdicts match the labels. OUT/train.jsonl is
    for `verikit train sft`, OUT/steps.jsonl for the recipe `step-labels`. Run the command again to resume an
    interrupted synthesis.
    """
    groups = _problems(problems, mapping, limit)
    counts = _counts(completions)
    least = _fraction(threshold or THRESHOLDS[variant])
    asking = Asking(
        chat=settings["chat"],
        max_tokens=settings["max_tokens"],
        temperature=settings["temperature"],
        seed=settings["seed"],
    )
    engine = load_engine(policy)
    parts = Synthesis(
        verifier=load(spec),
        policy=engine,
        completer=engine if completer in (None, policy) else load_engine(completer),
        reviewer=GenPRM(reviewer, settings["drafts"], protocol=protocol, seed=settings["seed"]),
        asking=asking,
        balance=Balance(settings["paths"], settings["attempts"], settings["draws"]),
        completions=counts,
        variant=variant,
        threshold=least,
        batch=settings["batch"],
    )
    decides = {
        key: settings[key] for key in ("paths", "attempts", "draws", "chat", "temperature", "max_tokens", "seed")
    }
    config = {
        "problems": str(problems), "count": len(groups), "verifier": parts.verifier.fingerprint,
        "policy": parts.policy.identity, "completer": parts.completer.identity, "reviewer": repr(parts.reviewer),
        "completions": list(counts), "variant": variant, "threshold": str(least), **decides,
    }  # fmt: skip
    with stages_shown(quiet=quiet) as progress:
        report = synthesise(groups, out, parts, config, progress)
    click.echo(json.dumps(report, indent=2))
    click.echo(f"{report['rationales']['kept']} rationales in {out / TRAIN}. Counts in {out / REPORT}", err=True)
    next_step(
        "verikit", "train", "sft", "--set", f"options.data={out / TRAIN}", "--set", "model.path=MODEL", quiet=quiet
    )


def _problems(path: Path, mapping: dict[str, str], limit: int | None) -> list[Group]:
    """Read problems.

    Raises:
        SchemaError: A problem has no prompt, or no answer.
        ConfigError: The file can't be read, or is empty.
    """
    found = read_problems(path, mapping, limit)
    for problem in found:
        if problem.answer is None:
            hint = "steps are labelled by it: --map answer=…"
            raise SchemaError(f"problem {problem.id} has no answer", file=path, hint=hint)
    return found


def _counts(text: str) -> tuple[int, int, int]:
    parts = text.split(",")
    if len(parts) != 3 or not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise UsageError(f"--completions must be three numbers such as 128,64,32, got {text!r}")
    seldom, sometimes, mostly = map(int, parts)
    return seldom, sometimes, mostly


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"--threshold must be a number, got {text!r}") from None
