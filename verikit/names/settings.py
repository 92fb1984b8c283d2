"""Checks user-written settings against a pydantic model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ValidationError

from verikit.errors import ConfigError, nearest, with_hint

Model = TypeVar("Model", bound=BaseModel)


def checked(kind: type[Model], table: Any, prefix: str = "", *, where: str = "") -> Model:
    """Create a pydantic model from a table.

    Args:
        kind: The model.
        table: The settings as written.
        prefix: Prefix of each key in messages, such as `options.` for a table within the file.
        where: Prefix of the message, such as a file name.

    Raises:
        ConfigError: Any key or value is wrong. One message lists all of them, and unknown keys with the nearest known
            one.
    """
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        problems = []
        for problem in error.errors():
            key = prefix + ".".join(map(str, problem["loc"]))
            if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
                hint = nearest(str(problem["loc"][-1]), _keys(kind, problem["loc"][:-1]))
                problems.append(with_hint(f"unknown key {key!r}", hint))
            elif problem["type"] in ("model_type", "dataclass_type", "dict_type"):
                problems.append(f"{key.rstrip('.') or 'the top level'} must be a table with keys")
            else:
                problems.append(
                    f"{key}: {problem['msg'].removeprefix('Value error, ')}{_got(problem)}".removeprefix(": ")
                )
        raise ConfigError(where + "; ".join(problems)) from None


def _got(problem: Mapping[str, Any]) -> str:
    """The value of a wrong type, if it is short enough to show. Messages of verikit's own checks name theirs."""
    value = problem["input"]
    shown = problem["msg"].startswith("Input should be") and isinstance(value, (str, int, float, bool))
    return f", got {repr(value)[:80]}" if shown else ""


def _keys(kind: Any, loc: Sequence[int | str]) -> list[str]:
    """The known keys of the table at a location."""
    for name in loc:
        if isinstance(name, str):
            kind = _table(get_type_hints(kind)[name])
    return list(getattr(kind, "model_fields", None) or get_type_hints(kind))


def _table(annotation: Any) -> Any:
    """The class of a table in an annotation: the annotation itself, or the class in `X | None` and `list[X]`."""
    parts = [annotation, *get_args(annotation)]
    return next(part for part in parts if isinstance(part, type) and get_type_hints(part))
