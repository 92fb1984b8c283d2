"""Pictures and other media among content parts."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from verikit.messages import media_of


class Media(NamedTuple):
    """A picture, sound, video or file among content parts."""

    word: str
    digest: str
    """Hex digits that identify the part."""
    part: Any = None
    """The part itself."""
    url: str = ""
    """For a picture that is already decoded, its `data:` URL as the engine receives it."""


def media_parts(content: Any) -> tuple[Media, ...]:
    """The media among a content's parts, each with 8 hex digits of its part."""
    return tuple(Media(word, _digest(part), part) for word, part in _found(content))


def pictures_in(content: Any) -> tuple[Media, ...]:
    """The pictures among a content's parts. Of a part, only its address is read: an agent may have written it."""
    return tuple(
        Media(word, hashlib.sha256(address_of(part).encode("utf-8", "replace")).hexdigest(), part)
        for word, part in _found(content)
        if word == "picture"
    )


def address_of(part: Any) -> str:
    """A part's picture as a `data:` URL, from OpenAI's, Anthropic's and MCP's formats.

    Otherwise its value unchanged.
    """
    if not isinstance(part, Mapping):
        return ""
    source = part.get("source")
    embedded = source if isinstance(source, Mapping) else part
    if isinstance(data := embedded.get("data"), str):
        return f"data:;base64,{data}"
    found = part.get("image_url", part.get("image"))
    if isinstance(found, Mapping):
        found = found.get("url")
    return found if isinstance(found, str) else ""


def is_embedded(item: Media) -> bool:
    """Whether a part contains its picture."""
    head, comma, _ = address_of(item.part).partition(",")
    return bool(comma) and head.startswith("data:") and head.endswith(";base64")


def ends_first(count: int) -> list[int]:
    """The positions of pictures in the order in which they get places: the last, the first, then the most recent."""
    return list(dict.fromkeys([*range(count)[-1:], *range(count)[:1], *reversed(range(count))]))


def pictures_told(reasons: Counter[str]) -> list[str]:
    """What is said of pictures that are not shown, a line for each reason. The reason may be empty."""
    return [
        f"⟨{'a picture that is' if count == 1 else f'{count:,} pictures that are'} not shown{reason and ': '}{reason}⟩"
        for reason, count in reasons.items()
    ]


def _found(content: Any) -> list[tuple[str, Any]]:
    """Word and part of each part without text."""
    if not media_of(content):
        return []
    parts = [content] if isinstance(content, Mapping) else content
    return [(words[0], part) for part in parts if (words := media_of([part]))]


def _digest(part: Any) -> str:
    told = json.dumps(part, sort_keys=True, default=repr) if isinstance(part, Mapping) else repr(part)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:8]
