"""Pictures in a judge's prompt: decoded in the sandbox, encoded again, and sent in their original position.

A candidate's picture is a hostile file. Only its pixels reach the engine: no metadata, no second frame, no data after
its end. A picture given as a URL is not fetched.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from verikit.errors import AgentFault, VerikitError
from verikit.judges.evidence.attached import decoded
from verikit.judges.evidence.media import Media, address_of, is_embedded
from verikit.judges.evidence.shown import NotShown
from verikit.types import Message

if TYPE_CHECKING:
    from verikit.artifacts.box import BoxReader

MOST_PICTURES = 16
"""Maximum pictures in one request."""
LONG_SIDE = 1024
"""Maximum pixels of the longer side. Larger pictures are scaled down: providers do so too, or charge for the excess."""
_MARK = "\0"
"""Marks a picture's number until the prompt is complete. No shown text contains it (`shown.py`)."""
_MARKED = re.compile(f"{_MARK}(\\d+){_MARK}")


class PictureSlots:
    """The pictures of one request, and the marks in its text that represent them.

    Args:
        taken: Whether the engine takes pictures.
        engine: The engine's name, for messages.
    """

    def __init__(self, taken: bool, engine: str) -> None:
        self._taken, self._engine = taken, engine
        self._urls: list[str] = []

    def mark(self, item: Media, what: str, name: str) -> str:
        """Return the text that represents a picture.

        Args:
            item: The picture.
            what: The text that contains it, for messages.
            name: The template's name of that text.

        Raises:
            NotShown: The engine takes no pictures, it is another kind of file, or it can't be read.
        """
        if not self._taken or item.word != "picture":
            hint = "an engine of openai: takes pictures with the option pictures=True"
            raise NotShown(
                f"the {what} has a {item.word}, and {self._engine} takes none",
                hint=hint if item.word == "picture" else "",
            )
        if len(self._urls) == MOST_PICTURES:
            raise NotShown(f"there are more than {MOST_PICTURES} pictures")
        try:
            self._urls.append(item.url or picture_sent(item))
        except AgentFault as problem:
            raise NotShown(f"the {what} has a picture that can't be read: {problem}", nothing=name) from None
        except VerikitError as problem:
            raise NotShown(f"the {what} has a picture that can't be shown: {problem}", hint=problem.hint) from None
        number = len(self._urls)
        return f"⟨picture {number}⟩{_MARK}{number}{_MARK}"

    def placed(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages with each mark replaced by a content part. Messages without marks are unchanged."""
        if not self._urls:
            return list(messages)
        return [Message(role=turn["role"], content=cast(str, self._parts(turn["content"]))) for turn in messages]

    def _parts(self, text: str) -> str | list[dict[str, Any]]:
        pieces = _MARKED.split(text)  # text, number, text, number, …, text
        if len(pieces) == 1:
            return text
        parts: list[dict[str, Any]] = []
        for said, number in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
            if said:
                parts.append({"type": "text", "text": said})
            if number and 0 < int(number) <= len(self._urls):
                parts.append(picture_part(self._urls[int(number) - 1]))
        return parts


def _file_of(item: Media) -> bytes:
    """The picture that a content part embeds.

    Raises:
        NotShown: The part embeds no picture.
        AgentFault: The embedded data is not base64.
    """
    if not is_embedded(item):
        raise NotShown(
            "it is not embedded, and nothing is fetched", hint='"image_url": {"url": "data:image/png;base64,…"}'
        )
    return decoded(address_of(item.part).partition(",")[2])


def picture_sent(item: Media, at_most: int = LONG_SIDE) -> str:
    """A picture as the engine receives it: decoded in the sandbox, with its pixels as a PNG in a `data:` URL.

    Args:
        item: The picture.
        at_most: Maximum pixels of its longer side.

    Raises:
        AgentFault: It is not a picture.
        NotShown: It is not embedded, is too large or has several frames.
        VerikitError: It could not be decoded here.
    """
    return _sent(_file_of(item), at_most)


@lru_cache(maxsize=16)
def _sent(file: bytes, at_most: int) -> str:
    from verikit.artifacts.box import observe  # loads the sandbox
    from verikit.verifiers.image.verifier import READER

    seen = observe(with_room(READER, at_most), [file], {"at_most": at_most})
    if seen["frames"] > 1:
        raise NotShown(f"it has {seen['frames']} frames, and a judge sees one")
    return embedded(seen)


def with_room(reader: BoxReader, at_most: int) -> BoxReader:
    """A reader that may return a picture whose sides have this many pixels: 6 hex digits each."""
    needed = (6 * at_most**2 >> 10) + reader.limits.output_kb
    return replace(reader, limits=replace(reader.limits, value_kb=max(reader.limits.value_kb, needed)))


def embedded(seen: Mapping[str, Any]) -> str:
    """The `data:` URL of a picture, from an observation with its pixels."""
    encoded = base64.b64encode(png(seen["wide"], seen["high"], seen["pixels"])).decode()
    return f"data:image/png;base64,{encoded}"


def picture_part(url: str) -> dict[str, Any]:
    """A content part with a picture."""
    return {"type": "image_url", "image_url": {"url": url}}


def png(width: int, height: int, pixels: bytes) -> bytes:
    """Encode rows of RGB pixels, 3 bytes each, as a PNG."""
    row = 3 * width
    rows = b"".join(b"\0" + pixels[at : at + row] for at in range(0, row * height, row))  # 0: a row without a filter
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB, not interlaced
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
