"""The code inside a helper process: it calls a tool's function."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verikit.errors import VerikitError
from verikit.names.spec import import_object
from verikit.trainers.recipes.tools.toolbox import as_text


def answer(spec: str, folder: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """Call a function and return (`ok`, `error` or `fault`, message)."""
    function = import_object(spec, Path(folder))
    try:
        inspect.signature(function).bind(**arguments)
        return "ok", as_text(function(**arguments))
    except VerikitError as error:
        return "fault", f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - the model receives any exception of the function
        return "error", f"error: {type(error).__name__}: {error}"
