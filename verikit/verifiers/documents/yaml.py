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
from verikit.verifiers.documents.structured import StructuredText

_MOST_OPEN = 200
"""How deep a document may nest."""
_MOST_VALUES = 100_000
"""Maximum values of a document, with aliases and merges expanded; a larger one is rejected."""
_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True)
class Yaml(StructuredText):
    """1.0 if the completion is YAML (1.1, plain types only) that the schema accepts.

    Invalid are duplicate keys (also `1` and `"1"`), Python tags, and aliases that expand without limit. Dates are
    checked as ISO strings, and other keys as strings.
    """

    name = "yaml"
    labels: ClassVar[frozenset[str]] = frozenset({"yaml", "yml"})

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately.

        Raises:
            MissingExtra: PyYAML is not installed.
        """
        if find_spec("yaml") is None:
            raise MissingExtra(self.name, "text")
        return super().score_batch(samples)

    def parse(self, text: str) -> Any:
        """The document as JSON's types."""
        import yaml

        try:
            _shallow(yaml.parse(text, _loader()))
            loader = _loader()(text)
            try:
                root = loader.get_single_node()
                if root is None:
                    return None
                mappings = _check_mappings(root, loader)
                _write_merges_out(mappings)
                return _plain(loader.construct_document(root), [0])
            finally:
                loader.dispose()
        except yaml.YAMLError as problem:
            raise ValueError(str(problem)) from None


@cache
def _loader() -> Any:
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _check_mappings(root: Any, loader: Any) -> list[Any]:
    """All mappings in the document's order; rejects literally repeated keys, and merges that blow up."""
    waiting, known = [root], {id(root)}
    mappings: list[Any] = []
    sizes: dict[int, int] = {}
    total = 0
    while waiting:
        node = waiting.pop()
        if node.id == "mapping":
            mappings.append(node)
            _check_keys(node, loader)
            total += _merged_size(node, sizes)
            if total > _MOST_VALUES:
                raise ValueError(f"the document has more than {_MOST_VALUES} keys after expanding merges")
        parts = [part for pair in node.value for part in pair] if node.id == "mapping" else node.value
        new = [part for part in parts if id(part) not in known] if node.id != "scalar" else []
        known.update(map(id, new))
        waiting += reversed(new)  # in the document's order, so merged mappings already have their sizes
    return mappings


def _check_keys(node: Any, loader: Any) -> None:
    """Reject keys that are equal as JSON text or as Python values: `1` and `"1"`, `1` and `1.0`."""
    texts: set[str] = set()
    values: set[Any] = set()
    for key, _ in node.value:
        if key.id != "scalar":
            continue
        typed = key.tag.rpartition(":")[2] in ("int", "float", "bool", "null", "timestamp")
        value = loader.construct_object(key) if typed else key.value
        text = value if isinstance(value, str) else _key(value)
        if text in texts or value in values:
            raise ValueError(f"a duplicate key at line {node.start_mark.line + 1}: {text[:80]}")
        texts.add(text)
        values.add(value)


def _merged_size(node: Any, sizes: dict[int, int]) -> int:
    """The number of pairs of a mapping, with its merges (`<<`) expanded."""
    if id(node) in sizes:
        if sizes[id(node)] < 0:
            raise ValueError("a merge contains itself")
        return sizes[id(node)]
    sizes[id(node)] = -1
    size = 0
    for key, value in node.value:
        size += 1 + sum(_merged_size(part, sizes) for part in _merged(key, value))
        if size > _MOST_VALUES:
            raise ValueError(f"the document has more than {_MOST_VALUES} keys after expanding merges")
    sizes[id(node)] = size
    return size


def _merged(key: Any, value: Any) -> list[Any]:
    """The mappings that the pair `<<: value` merges; [] for any other pair, and for one the loader will reject."""
    if key.tag != _MERGE or value.id == "scalar":
        return []
    parts = value.value if value.id == "sequence" else [value]
    return parts if all(part.id == "mapping" for part in parts) else []


def _write_merges_out(mappings: Iterable[Any]) -> None:
    """Replace each `<<` with the pairs of the merged mappings.

    Of pairs with one key, the loader keeps the last. So the mapping's own pairs come last, and of several merged
    mappings the first one comes last. The loader's own merging is not used: PyYAML 6.0.4 lets a merged mapping's
    merge win over the mapping's own keys of one character.
    """
    written: set[int] = set()

    def write(node: Any) -> None:
        if id(node) in written:
            return
        written.add(id(node))
        own: list[Any] = []
        merged: list[Any] = []
        for key, value in node.value:
            parts = _merged(key, value)
            if not parts:
                own.append((key, value))
            for part in reversed(parts):
                write(part)
                merged += part.value
        node.value = merged + own

    for mapping in mappings:
        write(mapping)


def _shallow(events: Iterable[Any]) -> None:
    """Reject a document that nests too deeply, before its reader recurses."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind in ("SequenceStartEvent", "MappingStartEvent")
        depth -= kind in ("SequenceEndEvent", "MappingEndEvent")
        if depth > _MOST_OPEN:
            raise ValueError(f"nested more than {_MOST_OPEN} deep")


def _plain(value: Any, count: list[int]) -> Any:
    """YAML's values as JSON's types, with aliases expanded up to the cap on values."""
    count[0] += 1
    if count[0] > _MOST_VALUES:
        raise ValueError(
            f"the document has more than {_MOST_VALUES} values after expanding aliases, or a value contains itself"
        )
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
