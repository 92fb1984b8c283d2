"""`verikit doctor`."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Check this machine: versions, extras present, and the pip line that adds what is missing."""
    found = examine()
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    click.echo(f"verikit {found['verikit']} on Python {found['python']}, {found['platform']}, {found['cpus']} CPUs")
    for name, extra in found["extras"].items():
        have = [f"{package} {number}" for package, number in extra["have"].items()]
        line = ", ".join(have) or "-"
        if extra["missing"]:
            line += f"; missing {', '.join(extra['missing'])}: {extra['fix']}"
        click.echo(f"  {'core' if name == '' else name:<12} {line}")


def examine() -> dict[str, Any]:
    """Versions of Python and verikit, and for each extra ("" is the core) what is there and what is missing."""
    extras: dict[str, dict[str, Any]] = {}
    for line in requires("verikit") or []:
        package = re.match(r"[\w.-]+", line)
        marker = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if package is None:
            continue
        name = marker[1] if marker else ""
        extra = extras.setdefault(
            name,
            {"have": {}, "missing": [], "fix": f"pip install 'verikit[{name}]'" if name else "pip install verikit"},
        )
        try:
            extra["have"][package[0]] = version(package[0])
        except PackageNotFoundError:
            extra["missing"].append(package[0])
    return {
        "verikit": version("verikit"),
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cpus": len(os.sched_getaffinity(0)),
        "extras": extras,
    }
