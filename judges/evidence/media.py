"""Pictures and other media among content parts."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from verikit.messages import media_of

MOST_TOLD = 120
"""Maximum characters of what is said of an entry's pictures that are not shown."""


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


def with_places(found: Sequence[Media], places: int) -> list[int]:
    """The positions of the embedded pictures that get places, in the order of `ends_first`."""
    embedded = [at for at, item in enumerate(found) if is_embedded(item)]
    return [embedded[at] for at in ends_first(len(embedded))[:places]]


def pictures_told(reasons: Counter[str]) -> list[str]:
    """What is said of pictures that are not shown, a line for each reason. The reason may be empty.

    If this takes more than `MOST_TOLD` characters, one line has their number only.
    """
    lines = [_told(reason, count) for reason, count in reasons.items()]
    return lines if len("\n".join(lines)) <= MOST_TOLD else [_told("", reasons.total())]


def _told(reason: str, count: int) -> str:
    what = "a picture that is" if count == 1 else f"{count:,} pictures that are"
    return f"⟨{what} not shown{reason and ': '}{reason}⟩"


def _found(content: Any) -> list[tuple[str, Any]]:
    """Word and part of each part without text."""
    if not media_of(content):
        return []
    parts = [content] if isinstance(content, Mapping) else content
    return [(words[0], part) for part in parts if (words := media_of([part]))]


def _digest(part: Any) -> str:
    told = json.dumps(part, sort_keys=True, default=repr) if isinstance(part, Mapping) else repr(part)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:8]
