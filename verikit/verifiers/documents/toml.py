"""Is the text TOML of the right shape?"""

from __future__ import annotations

import datetime
import re
import tomllib
from dataclasses import dataclass
from typing import Any, ClassVar

from verikit.verifiers.documents.structured import StructuredText

_MOST_PARTS = 200
"""A dotted key with more parts is rejected: reading it takes quadratic time."""
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|""?(?!"))*+(?:""")?|"(?:[^"\\\n]|\\.)*+"?'
    r"|'''(?:[^']|''?(?!'))*+(?:''')?|'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)
"""Strings and comments, including ones that never end, so each character is read once."""
_LONG_KEY = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{_MOST_PARTS}}}")


@dataclass(frozen=True)
class Toml(StructuredText):
    """1.0 if the completion is TOML 1.0 that the schema accepts; dates and times are checked as ISO strings."""

    name = "toml"
    labels: ClassVar[frozenset[str]] = frozenset({"toml"})

    def parse(self, text: str) -> Any:
        """The document as JSON's types."""
        if _LONG_KEY.search(_STRING.sub("s", text)):
            raise ValueError(f"a key of more than {_MOST_PARTS} parts")
        return _plain(tomllib.loads(text))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else value
