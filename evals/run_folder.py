"""Reads the content of a run's folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verikit.errors import UsageError
from verikit.platform.folders import refuse_links
from verikit.scoring.sums import verify

CONFIG, RESULTS, REPORT = "config.json", "results.json", "report.md"


def samples_name(task: str) -> str:
    """The file of a task's samples."""
    return f"samples_{task.replace('/', '_')}.jsonl"


def read_results(run: Path) -> dict[str, Any]:
    """Return the content of a run's results.json.

    Raises:
        UsageError: The folder is not a finished run, is damaged, or has a link that leads outside.
    """
    refuse_links(run)
    verify(run)
    try:
        found: Mapping[str, Any] = json.loads((run / RESULTS).read_bytes())
        return {"model": str(found["model"]), "tasks": dict(found["tasks"]), "groups": dict(found["groups"])}
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"{run} contains no results of verikit eval", hint="give the folder of a run") from None


def units(results: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the units on which models are compared, with their tasks: whole groups, and tasks outside of them."""
    groups = results["groups"]
    found = {name: group["members"] for name, group in groups.items() if group["whole"]}
    parts = {member for members in found.values() for member in members}
    return {name: [name] for name in results["tasks"] if name not in parts} | found
