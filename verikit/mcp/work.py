"""The work of the tools, in a helper's process: plain data in, plain data out. verikit's errors are also data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import lru_cache
from typing import Any

import click

from verikit.audit import audit as audit_file
from verikit.audit.folder import summary
from verikit.audit.show import show
from verikit.base import Verifier
from verikit.cli.explain import explained
from verikit.errors import VerikitError
from verikit.names.spec import load
from verikit.platform.folders import code_only_from
from verikit.scoring.rows import to_row
from verikit.types import Sample

LONGEST = 60_000
"""Maximum characters of a string sent to a client, since it goes into a model's context."""


def check(spec: str) -> dict[str, Any]:
    """Load a spec that the server's operator wrote."""
    return _told(lambda: {"name": load(spec).name})


def score(spec: str, trusted: bool, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Score samples, given as the arguments of `Sample`."""

    def scored() -> dict[str, Any]:
        found = _loaded(spec, trusted).score([Sample(**row) for row in rows])
        return {"scores": [to_row(given) for given in found]}

    return _told(scored)


def explain(spec: str, trusted: bool, row: dict[str, Any]) -> dict[str, Any]:
    """Explain a sample's score, as `verikit explain` does."""
    return _told(lambda: {"text": _cut("\n".join(explained(_loaded(spec, trusted), Sample(**row))[1]))})


def audit(
    file: str, spec: str, trusted: bool, against: str, mapping: dict[str, str], rows: int, examples: int
) -> dict[str, Any]:
    """Check a data file and a reward on it, as `verikit audit` does."""

    def audited() -> dict[str, Any]:
        by = _loaded(spec, trusted) if spec else ""
        programs = None if trusted else False
        result = audit_file(file, by, mapping=mapping, against=against, probed=rows, programs=programs)
        told = summary(result)
        kept = {key: told[key] for key in ("rows", "bad_rows", "checks", "notices")}
        return {**kept, "text": _cut(click.unstyle("\n".join(show(result, examples))))}

    return _told(audited)


@lru_cache(maxsize=16)
def _loaded(spec: str, trusted: bool) -> Verifier:
    """Load a spec. A client's spec may not name code, regardless of earlier checks."""
    if trusted:
        return load(spec)
    with code_only_from(()):
        return load(spec)


def _told(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        with redirect_stdout(sys.stderr):
            return work()
    except VerikitError as error:
        return {"error": str(error), "hint": error.hint}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "\n… (cut)"
