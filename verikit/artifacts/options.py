"""Options of verifiers of files: set once for all rows, or by each row under the verifier's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from verikit.errors import UsageError, WorkspaceError
from verikit.names.registry import allowed, registered
from verikit.types import Sample

V = TypeVar("V")


def of_row(verifier: V, sample: Sample, key: str) -> V:
    """The verifier with the options that the row has under a key. A spec among them can't name code.

    Raises:
        WorkspaceError: The verifier doesn't have the row's options.
    """
    told: Any = sample.meta.get(key)
    if told is None:
        return verifier
    assert is_dataclass(verifier)
    assert not isinstance(verifier, type)
    known = {field.name for field in fields(verifier)}
    if not isinstance(told, Mapping) or not set(told) <= known:
        raise WorkspaceError(
            f"the row's {key!r} has other keys than the options of {key}", hint=", ".join(sorted(known))
        )
    try:
        with allowed(registered("verifiers")):
            return replace(verifier, **told)
    except (UsageError, TypeError) as problem:
        raise WorkspaceError(f"the row's {key!r} can't be used: {problem}") from None
