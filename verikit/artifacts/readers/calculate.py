"""Evaluates a small model of cells in one engine, in the sandbox, for several sets of inputs."""

from __future__ import annotations

import datetime
import math
from typing import Any

from verikit.artifacts.readers.references import area_of

_KINDS = {"Div": "#DIV/0!", "Na": "#N/A", "Name": "#NAME?", "Null": "#NULL!", "Num": "#NUM!", "Ref": "#REF!",
          "Value": "#VALUE!", "Circ": "#CIRC!", "Spill": "#SPILL!", "Calc": "#CALC!"}  # fmt: skip
_EPOCH = datetime.datetime(1899, 12, 30)
MOST_FORMULAS = 600
"""Formulas of a model for `formulas`, which takes some 50 ms for each."""


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """The values of cells.

    `engine`: `formulas` or `formualizer`. `values`, `formulas`, `errors`: the model. `cells`: the cells to evaluate.
    `cases`: cells with other values, a mapping for each run.
    """
    run = _formualizer if request["engine"] == "formualizer" else _formulas
    return {"runs": run(request)}


def warm() -> None:
    """Load all of the engines, which takes seconds; once for all children of a fork server."""
    model = {"values": {"S1!A1": 1.0}, "formulas": {"S1!B1": "=SUM(S1!A1:A1)"}, "errors": {}, "cells": ["S1!B1"]}
    for engine in ("formulas", "formualizer"):
        read([], {**model, "cases": [{}], "engine": engine})


def _formualizer(request: dict[str, Any]) -> list[dict[str, Any]]:
    import formualizer

    found = []
    for case in request["cases"]:
        book = formualizer.Workbook()
        values = {**request["values"], **case}
        for sheet in sorted({key.partition("!")[0] for key in [*values, *request["formulas"], *request["errors"]]}):
            book.add_sheet(sheet)
        for key, value in values.items():
            if value is not None and (key in case or key not in request["formulas"]):
                book.set_value(*_place(key), _literal(formualizer.LiteralValue, value))
        for key, error in request["errors"].items():
            book.set_formula(*_place(key), "=" + error)
        for key, formula in request["formulas"].items():
            if key not in case:
                book.set_formula(*_place(key), formula)
        found.append({key: _guarded(lambda key=key, book=book: book.evaluate_cell(*_place(key)))
                      for key in request["cells"]})  # fmt: skip
    return found


def _literal(literals: Any, value: str | bool | float) -> Any:
    if isinstance(value, bool):
        return literals.boolean(value)
    return literals.text(value) if isinstance(value, str) else literals.number(value)


def _place(key: str) -> tuple[str, int, int]:
    sheet, _, cell = key.partition("!")
    area = area_of(cell)
    assert area is not None
    return sheet, area.top, area.left


def _guarded(evaluate: Any) -> dict[str, Any]:
    """A value, an error, or why the engine can't compute one: engines raise all kinds of exceptions."""
    try:
        return _plain(evaluate())
    except Exception as problem:  # noqa: BLE001 - engines raise all kinds of exceptions
        return {"unknown": f"{type(problem).__name__}: {problem}"[:200]}


def _plain(value: Any) -> dict[str, Any]:
    """An engine's result as plain data."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        kind = str(value.get("kind", ""))
        return _error(_KINDS.get(kind, kind))
    if value is None:
        return {"value": 0.0}  # as a formula shows an empty cell
    if isinstance(value, bool | str):
        return {"value": value}
    if isinstance(value, datetime.datetime):
        return {"value": (value.replace(tzinfo=None) - _EPOCH) / datetime.timedelta(days=1)}
    if isinstance(value, datetime.date):
        return {"value": float((datetime.datetime(value.year, value.month, value.day) - _EPOCH).days)}
    if isinstance(value, datetime.time):
        return {"value": (value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6) / 86400}
    if isinstance(value, datetime.timedelta):
        return {"value": value / datetime.timedelta(days=1)}
    if isinstance(value, int | float) and math.isfinite(value):
        return {"value": float(value)}
    return {"unknown": f"a value of type {type(value).__name__}"}


def _error(name: str) -> dict[str, Any]:
    """An error value. `#NAME?` and the engine's own errors mean that it does not support the function."""
    if name in ("#DIV/0!", "#N/A", "#NULL!", "#NUM!", "#REF!", "#VALUE!"):
        return {"error": name}
    return {"unknown": name or "an error without a name"}


def _formulas(request: dict[str, Any]) -> list[dict[str, Any]]:
    import formulas

    if len(request["formulas"]) > MOST_FORMULAS:
        told = {"unknown": f"more than {MOST_FORMULAS} formulas"}
        return [dict.fromkeys(request["cells"], told) for _ in request["cases"]]
    cells = {_long(key): value for key, value in request["values"].items() if value is not None}
    cells |= {_long(key): f"={error}" for key, error in request["errors"].items()}
    cells |= {_long(key): formula for key, formula in request["formulas"].items()}
    wanted = [_long(key) for key in request["cells"]]
    found = []
    for case in request["cases"]:
        given = {**cells, **{_long(key): value for key, value in case.items()}}
        given = {key: value for key, value in given.items() if value is not None}
        try:
            solution = formulas.ExcelModel().from_dict(given).calculate()
        except Exception as problem:  # noqa: BLE001 - engines raise all kinds of exceptions
            told = {"unknown": f"{type(problem).__name__}: {problem}"[:200]}
            found.append(dict.fromkeys(request["cells"], told))
            continue
        found.append({key: _guarded(lambda long=long, solution=solution: _of_solution(solution, long))
                      for key, long in zip(request["cells"], wanted, strict=True)})  # fmt: skip
    return found


def _long(key: str) -> str:
    sheet, _, cell = key.partition("!")
    return f"'[B.XLSX]{sheet}'!{cell}"


def _of_solution(solution: Any, key: str) -> Any:
    """A value of `formulas` as one of Python's own."""
    found = solution.get(key)
    if found is None:
        raise KeyError("not computed")
    value = found.value[0, 0] if hasattr(found, "value") else found
    if type(value).__name__ == "XlError":
        name = str(value)
        return {"kind": name if name != "#EMPTY!" else ""}
    if type(value).__module__ == "numpy":
        value = value.item()
    if type(value).__name__ == "XlObject" or repr(value) == "empty":
        return None
    return value
