"""`verikit verify`: compare finished runs with their manifests."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import click

from verikit.cli.command import GroupedCommand, next_note
from verikit.cli.options import json_option
from verikit.errors import UsageError, VerikitError, with_hint
from verikit.platform.ssh import sign_file, signer_of
from verikit.platform.terminal import pass_or_fail, printable, quantity
from verikit.report.kinds import kind_of
from verikit.scoring.manifest import GIB, MANIFEST, NAMESPACE, SIGNATURE, RunCheck, RunManifest, check_run

MAX_SIGNATURE = 2**16
"""Bytes of the largest signature that ssh-keygen gets."""
SHOWN = 20
"""Most problems and missing inputs of a run that are printed."""
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(name="verify", cls=GroupedCommand)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option("--sign", metavar="KEY", type=FILE, help="Sign the manifest of each unchanged run with an ssh key.")
@click.option(
    "--signers", metavar="FILE", type=FILE, help="Require a signature by one of these keys: lines NAME KEY, as in ssh."
)
@click.option(
    "--max-gib",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    metavar="N",
    help="Maximum GiB to read per run.",
)
@json_option
def verify(runs: tuple[Path, ...], sign: Path | None, signers: Path | None, max_gib: int, as_json: bool) -> int:
    """Verify that the files of finished runs have not changed.

    score, eval, judge, train and env audit write manifest.json at their end. It has the SHA-256 of each file, input
    and spec, and the version of the code. The command lists changed, missing and extra files, and then exits with 1.
    It exits with 2 if a folder has no valid manifest or can't be signed, but still verifies the others. If RUN is a
    folder of runs, folders that are not runs are listed and skipped. With --signers the exit code is then 1. Without a
    signature, the manifest itself could have been replaced.

    \b
    verikit verify runs/candidates
    verikit verify runs/candidates --sign ~/.ssh/id_ed25519
    verikit verify runs/candidates --signers allowed_signers
    """  # noqa: D301 - click reads \b as "don't wrap"
    results, code = {}, 0
    for run in chain.from_iterable(map(_runs, runs)):
        try:
            check = check_run(run, max_gib * GIB)
            _check_partial(run, check.manifest)
        except UsageError as error:
            problem = with_hint(str(error), error.hint)
            results[str(run)] = _told(RunCheck(RunManifest({}, {}, (), ()), {MANIFEST: problem}), "")
            code = 2
            continue
        signer = ""
        try:
            if sign and not check.problems:
                sign_file(run / MANIFEST, sign, NAMESPACE)
            signer = _signature(run, signers, check)
        except VerikitError as error:
            check.problems[SIGNATURE] = with_hint(str(error), error.hint)
            code = 2
        results[str(run)] = _told(check, signer)
        code = code or int(bool(check.problems))
    for folder in chain.from_iterable(map(_skipped, runs)):
        click.echo(printable(f"{folder}: not a run, skipped"), err=True)
        code = code or int(signers is not None)
    click.echo(json.dumps(results, indent=2) if as_json else "\n".join(map(_shown, results, results.values())))
    next_note(_next(results, code), quiet=as_json)
    return code


def _check_partial(run: Path, manifest: RunManifest) -> None:
    """Refuse a manifest of only some files, unless it is an audit's and has its report.

    Raises:
        UsageError: It is another run's. Who changes a file could otherwise take it from the list.
    """
    kind = kind_of(run)
    audits = kind is not None and kind.name == "env audit" and kind.file in {file.path for file in manifest.files}
    if not (manifest.whole or audits):
        raise UsageError(f"{run / MANIFEST} lists only some files, and only env audit writes such a manifest")


def _next(results: dict[str, dict[str, Any]], code: int) -> str:
    problems = {name for result in results.values() for name in result["problems"]}
    if problems == {SIGNATURE}:
        return "sign a run that you trust with --sign KEY, and add a line `NAME KEY` with its public key to --signers"
    if problems:
        return "restore the named files, or run the command that wrote them again"
    if code:
        return "move the skipped folders out, or verify the signed runs by name"
    return "nothing to do: the files have not changed"


def _runs(path: Path) -> list[Path]:
    """Return a run, or the runs in a folder that has no manifest, such as a suite's."""
    if (path / MANIFEST).exists() or kind_of(path) or not path.is_dir():
        return [path]
    return sorted(one for one in path.iterdir() if (one / MANIFEST).exists() or kind_of(one)) or [path]


def _skipped(path: Path) -> list[Path]:
    """Return the other folders among runs: a run without manifest and identifying file can't be told from these."""
    runs = _runs(path)
    if runs == [path]:
        return []
    return sorted(one for one in path.iterdir() if one not in runs and one.is_dir() and any(one.iterdir()))


def _signature(run: Path, signers: Path | None, check: RunCheck) -> str:
    """Return who signed the manifest, "" if nobody did. An invalid or missing signature is added to the problems."""
    signature = run / SIGNATURE
    if not signature.exists():
        if signers:
            check.problems[SIGNATURE] = "missing"
        return ""
    small = signature.stat().st_size <= MAX_SIGNATURE
    signer = signer_of(run / MANIFEST, signature, NAMESPACE, signers) if small else None
    if signer is None:
        allowed = f", or its key is not in {signers}" if signers else ""
        check.problems[SIGNATURE] = f"not a valid signature of {MANIFEST}{allowed}"
    return signer or ""


def _told(check: RunCheck, signer: str) -> dict[str, Any]:
    manifest = check.manifest
    return {
        "verified": not check.problems,
        "whole": manifest.whole,
        "files": len(manifest.files),
        "inputs": len(manifest.inputs) - len(check.absent),
        "problems": check.problems,
        "inputs_not_found": check.absent,
        "signer": signer,
        "code": dict(manifest.code),
        "installed_code_is_the_same": check.same_code,
        "specs": dict(manifest.specs),
    }


def _shown(run: str, result: dict[str, Any]) -> str:
    """Return the lines for a run: the result first, then its details."""
    told = "verified" if result["verified"] else quantity(len(result["problems"]), "problem")
    details = [f"  {name}: {problem}" for name, problem in sorted(result["problems"].items())]
    details += [f"  input {name}: not found on this machine, not compared" for name in result["inputs_not_found"]]
    lines = details[:SHOWN] + [f"  and {len(details) - SHOWN:,} more, which --json lists"] * (len(details) > SHOWN)
    code = result["code"]
    if code:  # otherwise there is no manifest
        told += f" (files: {result['files']:,}, inputs: {result['inputs']:,})"
        same = "the same as" if result["installed_code_is_the_same"] else "different from"
        lines.append(f"  code: verikit {code.get('verikit')}, {code.get('sha256', '')[:12]}, {same} the installed code")
        lines += [] if result["whole"] else ["  other files of the folder are not compared"]
        lines.append(f"  signed by: {result['signer'] or 'nobody (--sign KEY signs the manifest)'}")
    first = pass_or_fail(printable(f"{run}: {told}"), float(result["verified"]))
    return "\n".join((first, *map(printable, lines)))
