"""In the sandbox: stands in for `datasets`, as far as environments build rows in memory."""

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Dataset:
    """Rows in memory."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self._rows = [dict(row) for row in rows]

    @classmethod
    def from_list(cls, rows: Iterable[dict[str, Any]], *more: Any, **options: Any) -> "Dataset":
        """From rows."""
        return cls(rows)

    @classmethod
    def from_dict(cls, columns: dict[str, list[Any]], *more: Any, **options: Any) -> "Dataset":
        """From columns."""
        return cls(dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))

    @classmethod
    def from_generator(cls, make: Callable[..., Iterator[dict[str, Any]]], **options: Any) -> "Dataset":
        """From a generator."""
        return cls(make(**options.get("gen_kwargs", {})))

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(dict.fromkeys(name for row in self._rows for name in row))

    def map(self, change: Callable[..., dict[str, Any]], *more: Any, **options: Any) -> "Dataset":
        """Rows with the changed columns."""
        if options.get("batched"):
            raise NotImplementedError("datasets, for map with batched")
        numbered, gone = options.get("with_indices"), options.get("remove_columns") or []
        gone = [gone] if isinstance(gone, str) else gone
        given = options.get("fn_kwargs", {})
        made = (change(dict(row), *([at] if numbered else []), **given) for at, row in enumerate(self._rows))
        kept = ({name: value for name, value in row.items() if name not in gone} for row in self._rows)
        return Dataset({**row, **new} for row, new in zip(kept, made, strict=True))

    def filter(self, keep: Callable[[dict[str, Any]], bool], *more: Any, **options: Any) -> "Dataset":
        """Some of the rows."""
        return Dataset(row for row in self._rows if keep(dict(row)))

    def select(self, numbers: Iterable[int], *more: Any, **options: Any) -> "Dataset":
        """The rows at some places."""
        return Dataset(self._rows[number] for number in numbers)

    def take(self, count: int) -> "Dataset":
        """The first rows."""
        return Dataset(self._rows[:count])

    def shuffle(self, seed: int | None = None, **options: Any) -> "Dataset":
        """The rows in another order."""
        rows = list(self._rows)
        random.Random(seed).shuffle(rows)
        return Dataset(rows)

    def add_column(self, name: str, values: Iterable[Any], **options: Any) -> "Dataset":
        """With a further column."""
        return Dataset({**row, name: value} for row, value in zip(self._rows, values, strict=True))

    def rename_column(self, old: str, new: str) -> "Dataset":
        """With another name of a column."""
        return Dataset({new if name == old else name: value for name, value in row.items()} for row in self._rows)

    def remove_columns(self, names: str | list[str]) -> "Dataset":
        """Without some columns."""
        gone = [names] if isinstance(names, str) else names
        return Dataset({name: value for name, value in row.items() if name not in gone} for row in self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return [row[key] for row in self._rows]
        return Dataset(self._rows[key])._columns() if isinstance(key, slice) else self._rows[key]

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [row.get(name) for row in self._rows] for name in self.column_names}


def __getattr__(name: str) -> Any:
    """Anything else of the package needs it, and most of it needs the network."""
    if name.startswith("__"):
        raise AttributeError(name)

    def needed(*given: Any, **options: Any) -> Any:
        raise NotImplementedError(f"the network or a file, for datasets.{name}")

    return needed
