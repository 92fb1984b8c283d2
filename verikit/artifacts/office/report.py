"""Whether LibreOffice works on this machine, found by trying it."""

from __future__ import annotations

from typing import Any

from verikit.artifacts.office.cells import recalculated
from verikit.artifacts.office.convert import missing, version

_MODEL: dict[str, dict[str, Any]] = {"values": {"S1!A1": 2.0}, "formulas": {"S1!A2": "=S1!A1*3"}, "errors": {}}


def office_told() -> str:
    """The version of LibreOffice, or why workbooks are not recalculated by it here."""
    told = recalculated(_MODEL, ["S1!A2"], [{}])[0]["S1!A2"]
    if told != {"value": 6.0}:
        return f"missing: {told.get('unknown', told)}"
    lacking = "".join(f" (not installed: {hint})" for kind in ("docx", "pptx") if (hint := missing(kind)))
    return f"{version()}, without network, in its own namespaces{lacking}"
