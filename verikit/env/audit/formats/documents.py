"""Configurations of an environment: TOML and YAML of unknown origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from verikit.env.audit.task import AuditedTask
from verikit.workspaces.config import MAX_CONFIG, parse_config
from verikit.workspaces.names import shown


class Unread(Exception):
    """A document can't be read here, with the thing that is missing."""


@lru_cache(maxsize=64)
def yaml_document(text: str) -> Any:
    """The value of a YAML text, as JSON's types.

    Raises:
        ValueError: It is not YAML, or too large.
        Unread: PyYAML is not installed.
    """
    if find_spec("yaml") is None:
        raise Unread("PyYAML, to read YAML (pip install 'verikit[text]')")
    if len(text) > MAX_CONFIG:
        raise ValueError(f"it has more than {MAX_CONFIG >> 10} KiB")
    from verikit.verifiers.documents.yaml import Yaml

    try:
        return Yaml().parse(text)
    except (RecursionError, ArithmeticError):
        raise ValueError("it is nested too deeply") from None


def project(task: AuditedTask) -> Mapping[str, Any]:
    """The content of `pyproject.toml`; empty if it doesn't exist.

    Raises:
        ValueError: It can't be read.
    """
    data = task.data("pyproject.toml")
    return {} if data is None else parse_config(data)


def inner(value: Any, *names: str) -> Any:
    """The value at a path of mappings, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def walked(value: Any) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Each key with its value and the mapping that has it, at any depth."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            for name, held in one.items():
                yield str(name), held, one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def line_of(text: str, word: str) -> str:
    """`:12` for the first line that has a word, or ""."""
    at = text.find(word)
    return f":{text.count(chr(10), 0, at) + 1}" if at >= 0 else ""


def place(path: str, text: str, word: str) -> str:
    """A file with the line of a word in it."""
    return f"{shown(path)}{line_of(text, word)}"
