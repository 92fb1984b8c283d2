"""Records as a pandas or polars data frame, or a dataset: one column per key, each of one type."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from verikit.errors import MissingExtra

if TYPE_CHECKING:
    import datasets
    import pandas
    import polars

EXTRA = "frames"


def to_pandas(records: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Records as a data frame.

    Raises:
        MissingExtra: pandas is not installed.
    """
    found: pandas.DataFrame = _imported("pandas", "to_pandas()").DataFrame(columns_of(records))
    return found


def to_polars(records: Iterable[Mapping[str, Any]]) -> polars.DataFrame:
    """Records as a data frame.

    Raises:
        MissingExtra: polars is not installed.
    """
    make = _imported("polars", "to_polars()").DataFrame
    found: polars.DataFrame = make(columns_of(records), strict=False, infer_schema_length=None)
    return found


def to_dataset(records: Iterable[Mapping[str, Any]]) -> datasets.Dataset:
    """Return records as a dataset.

    Raises:
        MissingExtra: The package datasets is not installed.
    """
    found: datasets.Dataset = _imported("datasets", "to_dataset()").Dataset.from_dict(columns_of(records))
    return found


def columns_of(records: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return each key with its values, None if a record lacks it. Columns of mixed types become strings."""
    rows = list(records)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _alike([row.get(name) for row in rows]) for name in names}


def _alike(values: list[Any]) -> list[Any]:
    kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) <= 1 and object not in kinds:
        return values
    convert = float if kinds == {int, float} else _as_text
    return [None if value is None else convert(value) for value in values]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else _text(value)


def _kind(value: Any) -> type:
    return type(value) if type(value) in (bool, int, float, str) else object


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _imported(package: str, feature: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtra(feature, EXTRA) from None
