"""Files among content parts, as a judge reads them: name, size and text.

Only embedded files are read. A part may also name a file by a path, an address or an identifier, but nothing is opened
or fetched: a candidate could name any file. Readers of office files, PDFs, tables and archives run in the sandbox.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from verikit.errors import AgentFault, UsageError
from verikit.judges.evidence.shown import NotShown
from verikit.messages import content_text, media_of
from verikit.workspaces.names import shown

MOST_BYTES = 20 << 20
"""Maximum bytes of one embedded file."""
_NAMES = ("filename", "name", "title")
_DATA = ("file_data", "data", "base64")
_FORM = '"file": {"filename": "a.txt", "file_data": "data:text/plain;base64,…"}'
_ENDING = 8
"""Maximum characters of the ending that selects a file's reader."""


def attached_text(part: Any, *, candidate: bool) -> str:
    """A file's name and size, and its text below.

    Args:
        part: A content part in OpenAI's, Anthropic's or MCP's format.
        candidate: Whether a candidate wrote it. A file without text is then shown by its size and digest: a candidate
            could otherwise avoid its score.

    Raises:
        NotShown: The part embeds no file, or its text can't be shown.
        AgentFault: The embedded data is not base64.
        VerikitError: A reader failed, or its package is missing.
    """
    from verikit.judges.evidence.file_text import file_text, readable_text  # loads the readers of files
    from verikit.workspaces import Workspace

    inner = _inner(part)
    name = _first(_NAMES, inner) or _first(_NAMES, part) or "without a name"
    data = _embedded(inner)
    told = f"file {shown(name)}, {len(data):,} bytes:"
    workspace = Workspace({f"file{_ending(name)}": data})
    (entry,) = workspace.find("file*")
    if candidate:
        return f"{told}\n{file_text(workspace, entry)}"
    try:
        return f"{told}\n{readable_text(workspace, entry)}"
    except AgentFault as fault:
        raise NotShown(f"{told} {fault}") from None


def decoded(data: str) -> bytes:
    """The file that base64 embeds.

    Raises:
        NotShown: It is too large.
        AgentFault: This is not base64.
    """
    if len(data) > MOST_BYTES * 4 // 3:
        raise NotShown(f"it has more than {MOST_BYTES >> 20} MB")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as problem:
        raise AgentFault(f"its base64 is broken: {problem}") from None


def _inner(part: Any) -> Mapping[str, Any]:
    """The object that embeds the file: a member of OpenAI's and Anthropic's parts, or the part itself."""
    if not isinstance(part, Mapping):
        raise NotShown("it is not embedded, and nothing is opened", hint=_FORM)
    return next((part[key] for key in ("file", "source") if isinstance(part.get(key), Mapping)), part)


def _embedded(inner: Mapping[str, Any]) -> bytes:
    """The file's bytes: base64, with or without `data:…;base64,`, or the text of Anthropic's documents."""
    data = _first(_DATA, inner)
    if data is not None and inner.get("type") != "text":
        head, comma, rest = data.partition(",")
        return decoded(rest if comma and head.startswith("data:") else data)
    text = inner.get("content") if data is None else data
    if text is None or media_of(text):
        raise NotShown("it is not embedded, and nothing is opened or fetched", hint=_FORM)
    try:
        return content_text(text).encode("utf-8", "replace")
    except UsageError as problem:
        raise NotShown(str(problem), hint=_FORM) from None


def _first(keys: tuple[str, ...], table: Mapping[str, Any]) -> str | None:
    return next((value for key in keys if isinstance(value := table.get(key), str)), None)


def _ending(name: str) -> str:
    """The name's ending. Only plain ones: the name is a candidate's."""
    ending = name.rpartition(".")[2].lower()
    return f".{ending}" if "." in name and ending.isascii() and ending.isalnum() and len(ending) <= _ENDING else ""
