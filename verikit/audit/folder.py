"""An audit's folder: `audit.json`, all but the findings, and `findings.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from verikit.audit.findings import AuditResult, CheckCount, Finding, LabelCount, NoiseCount, ProbeCount
from verikit.errors import VerikitError
from verikit.platform.secrets import strike

AUDIT, FINDINGS = "audit.json", "findings.jsonl"


def summary(result: AuditResult) -> dict[str, Any]:
    """Return everything but the findings, in a form for JSON."""
    found = asdict(result)
    del found["findings"]
    return found


def write_folder(result: AuditResult, folder: Path) -> None:
    """Write an audit, replacing an earlier one in the same folder. API keys are redacted.

    Raises:
        VerikitError: The folder is not writable.
    """
    lines = [json.dumps(asdict(finding), ensure_ascii=False) for finding in result.findings]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{strike(line)}\n" for line in lines)
        (folder / FINDINGS).write_text(text, "utf-8", errors="replace")
        told = json.dumps(summary(result), indent=2, ensure_ascii=False)
        (folder / AUDIT).write_text(strike(told) + "\n", "utf-8", errors="replace")
    except OSError as error:
        raise VerikitError(f"can't write {folder}: {error.strerror}") from None


def result_of(told: Mapping[str, Any], findings: list[Mapping[str, Any]]) -> AuditResult:
    """Return the result stored in a folder's files.

    Raises:
        TypeError: They were not written by `write_folder`.
    """
    return AuditResult(
        **{
            **told,
            "checks": [CheckCount(**count) for count in told["checks"]],
            "probes": [ProbeCount(**count) for count in told["probes"]],
            "labels": [LabelCount(**count) for count in told["labels"]],
            "noise": NoiseCount(**told["noise"]) if told["noise"] else None,
            "findings": [Finding(**finding) for finding in findings],
        }
    )
