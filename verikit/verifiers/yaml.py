"""Is the text YAML of the right shape?"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar

from verikit.errors import MissingExtra
from verikit.types import Sample, Score
from verikit.verifiers.structured import StructuredText

_MOST_OPEN = 200
"""How deep a document may nest."""
_MOST_VALUES = 100_000
"""A document of more values than that, aliases written out, is not looked at."""


@dataclass(frozen=True)
class Yaml(StructuredText):
    """1.0 if the completion is YAML (1.1, plain types only) that the schema accepts.

    Keys that come twice, tags of Python, and aliases that blow up are faults. Dates are checked as their ISO text, keys
    that are no text as their text.
    """

    name = "yaml"
    labels: ClassVar[frozenset[str]] = frozenset({"yaml", "yml"})

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by itself.

        Raises:
            MissingExtra: PyYAML is not installed.
        """
        if find_spec("yaml") is None:
            raise MissingExtra(self.name, "text")
        return super().score(samples)

    def parse(self, text: str) -> Any:
        """The document as JSON's types."""
        import yaml

        try:
            _shallow(yaml.parse(text, _loader()))
            return _plain(yaml.load(text, _loader()), [0])
        except yaml.YAMLError as problem:
            raise ValueError(str(problem)) from None


@cache
def _loader() -> Any:
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Plain types only, every key once."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [(key.tag, key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(set(keys)) < len(keys):
                raise yaml.YAMLError(f"a key that comes twice at line {node.start_mark.line + 1}")
            return super().construct_mapping(node, deep)

    return Loader


def _shallow(events: Iterable[Any]) -> None:
    """Refuse a text that nests too deeply, before what reads it would recurse."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind in ("SequenceStartEvent", "MappingStartEvent")
        depth -= kind in ("SequenceEndEvent", "MappingEndEvent")
        if depth > _MOST_OPEN:
            raise ValueError(f"nested more than {_MOST_OPEN} deep")


def _plain(value: Any, count: list[int]) -> Any:
    """YAML's values as JSON's types, aliases written out as far as the cap on values allows."""
    count[0] += 1
    if count[0] > _MOST_VALUES:
        raise ValueError(f"more than {_MOST_VALUES} values, aliases written out, or one that holds itself")
    if isinstance(value, dict):
        return {key if isinstance(key, str) else _key(key): _plain(part, count) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, count) for part in value]
    if isinstance(value, set):
        return sorted(map(_key, value))
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else value


def _key(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return value.isoformat() if isinstance(value, datetime.date) else str(value)
