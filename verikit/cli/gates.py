"""Requirements on a run (`--fail-under`), and their results for CI: exit code 4 and a JUnit file."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from verikit.cli.options import GATE, Command, parse_share
from verikit.errors import VerikitError
from verikit.platform.terminal import pass_or_fail, printable
from verikit.report.floors import FloorCheck

Floor = tuple[str, float]
"""A metric ("" is the run's own) and its required minimum."""


class GateResult(NamedTuple):
    """One condition of a run, as CI shows it."""

    name: str
    told: str
    passed: bool = True
    rows: Sequence[str] = ()
    said: bool = False
    """Whether the command has already reported it."""


def parse_floors(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> list[Floor]:
    """Read `--fail-under [METRIC=]SHARE` options (a click callback)."""
    found = []
    for text in value:
        metric, _, share = text.rpartition("=")
        found.append((metric, parse_share(context, parameter, share)))
    return found


def gate_options(command: Command) -> Command:
    """Add --fail-under, as `floors`, and --junit."""
    under = "Exit with 4 if the metric (default: the run's own) is lower: 80%, pass@4=0.9. Repeatable."
    junit = "Write the thresholds and their results as JUnit XML, for CI."
    path = click.Path(path_type=Path, dir_okay=False)
    named = click.option(
        "--fail-under", "floors", multiple=True, metavar="[METRIC=]SHARE", callback=parse_floors, help=under
    )
    return named(click.option("--junit", metavar="FILE", type=path, help=junit)(command))


def floor_gate(check: FloorCheck, run: str = "") -> GateResult:
    """A floor as a gate."""
    name = f"{check.metric} at least {100 * check.least:.4g}%"
    return GateResult(f"{run}: {name}" if run else name, check.told(), check.passed, () if check.passed else check.rows)


def gate_code(gates: Iterable[GateResult], junit: Path | None, suite: str, code: int = 0) -> int:
    """Report the failed gates, write them out, and return the exit code: `code` if that is already another failure.

    Raises:
        VerikitError: The file can't be written.
    """
    gates = list(gates)
    for gate in gates:
        if not gate.passed and not gate.said:
            lines = [pass_or_fail(printable(gate.told), 0.0), *(f"  {printable(row)}" for row in gate.rows)]
            click.echo("\n".join(lines), err=True)
    if junit is not None:
        try:
            junit.parent.mkdir(parents=True, exist_ok=True)
            junit.write_bytes(junit_xml(suite, gates))
        except OSError as error:
            raise VerikitError(f"can't write {junit}: {error.strerror}") from None
    return code or (0 if all(gate.passed for gate in gates) else GATE)


def junit_xml(suite: str, gates: Sequence[GateResult]) -> bytes:
    """Return gates as JUnit XML, in the form that Jenkins, GitLab and GitHub's actions read: a test case each."""
    counts = {"tests": str(len(gates)), "failures": str(sum(not gate.passed for gate in gates)), "errors": "0"}
    root = ET.Element("testsuites", counts)
    held = ET.SubElement(root, "testsuite", {"name": f"verikit {printable(suite)}", **counts})
    for gate in gates:
        case = ET.SubElement(
            held, "testcase", {"classname": f"verikit.{printable(suite)}", "name": printable(gate.name)}
        )
        text = "\n".join(map(printable, [gate.told, *gate.rows]))
        if gate.passed:
            ET.SubElement(case, "system-out").text = text
        else:
            ET.SubElement(case, "failure", {"message": printable(gate.told), "type": "verikit"}).text = text
    ET.indent(root)
    written: bytes = ET.tostring(root, "utf-8", xml_declaration=True)
    return written + b"\n"
