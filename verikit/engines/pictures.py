"""The content parts of prompts, as engines send them: text, and pictures that the prompt embeds.

An address is never passed on: a server might fetch it, or read a file of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from verikit.engines.errors import BadRequest
from verikit.messages import content_text, media_of

_EMBEDDED = re.compile(r"data:(image/[\w.+-]{1,60});base64,([A-Za-z0-9+/]+={0,2})", re.ASCII)
_HINT = '"image_url": {"url": "data:image/png;base64,…"}'


class EmbeddedPicture(NamedTuple):
    """A picture in a message."""

    media_type: str
    data: str
    """Base64."""

    @property
    def part(self) -> dict[str, Any]:
        """The picture in OpenAI's format."""
        return {"type": "image_url", "image_url": {"url": f"data:{self.media_type};base64,{self.data}"}}


def parts_of(content: Any) -> list[str | EmbeddedPicture]:
    """Return the pieces of a message's content: text and pictures.

    Raises:
        BadRequest: A part is neither text nor an embedded picture.
    """
    if not media_of(content):
        return [content_text(content)]
    parts = [content] if isinstance(content, Mapping) else content
    return [_picture(part) if media_of([part]) else content_text([part]) for part in parts]


def text_of(content: Any, place: str) -> str:
    """Return the text of a message that must have no pictures.

    Raises:
        BadRequest: It has one.
    """
    if words := media_of(content):
        raise BadRequest(f"{place} has a {words[0]}", hint="put it in a message of the user")
    return content_text(content)


def sendable(messages: Sequence[Any], *, pictures: bool) -> list[Any]:
    """Return the messages with their pictures in OpenAI's format. `pictures`: whether the model reads pictures.

    Raises:
        BadRequest: A part is neither text nor an embedded picture, or the model reads only text.
    """
    return [_sendable(message, pictures) if media_of(message.get("content")) else message for message in messages]


def _sendable(message: Mapping[str, Any], pictures: bool) -> dict[str, Any]:
    parts = parts_of(message["content"])
    if not pictures:
        raise BadRequest(
            "the prompt has a picture", hint="set the engine's option pictures=True if its model reads them"
        )
    sent = [part.part if isinstance(part, EmbeddedPicture) else {"type": "text", "text": part} for part in parts]
    return {**message, "content": sent}


def _picture(part: Any) -> EmbeddedPicture:
    word = media_of([part])[0]
    if word != "picture":
        raise BadRequest(f"the prompt has a {word}, which no engine sends")
    found = _EMBEDDED.fullmatch(_address(part))
    if found is None or len(found[2]) % 4:
        raise BadRequest("the prompt has a picture that is not embedded as base64", hint=_HINT)
    return EmbeddedPicture(found[1], found[2])


def _address(part: Mapping[str, Any]) -> str:
    """A picture's address, from OpenAI's, Anthropic's and MCP's formats. Empty if there is none."""
    source = part.get("source", part)
    if isinstance(source, Mapping) and isinstance(data := source.get("data"), str):
        return f"data:{source.get('media_type', source.get('mimeType', ''))};base64,{data}"
    found = part.get("image_url", part.get("image"))
    if isinstance(found, Mapping):
        found = found.get("url")
    return found if isinstance(found, str) else ""
