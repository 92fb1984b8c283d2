"""Is the text TOML of the right shape?"""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import dataclass
from typing import Any, ClassVar

from verikit.verifiers.structured import StructuredText


@dataclass(frozen=True)
class Toml(StructuredText):
    """1.0 if the completion is TOML 1.0 that the schema accepts; dates and times are checked as their ISO text."""

    name = "toml"
    labels: ClassVar[frozenset[str]] = frozenset({"toml"})

    def parse(self, text: str) -> Any:
        """The document as JSON's types."""
        return _plain(tomllib.loads(text))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else value
