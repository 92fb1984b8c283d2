"""Files among content parts, as a judge reads them: name, size and text.

Only embedded files are read. A part may also name a file by a path, an address or an identifier, but nothing is opened
or fetched: a candidate could name any file. Readers of office files, PDFs, tables and archives run in the sandbox.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from verikit.errors import AgentFault, UsageError
from verikit.judges.evidence.shown import NotShown
from verikit.messages import content_text, media_of
from verikit.workspaces.names import shown

MOST_BYTES = 20 << 20
"""Maximum bytes of one embedded file."""
_NAMES = ("filename", "name", "title")
_DATA = ("file_data", "data", "base64")
_PLACES = ("file_id", "id", "file_url", "url", "uri", "path")
_URL_SAFE = str.maketrans("-_", "+/")
_FORM = '"file": {"filename": "a.txt", "file_data": "data:text/plain;base64,…"}'
_ENDING = 8
"""Maximum characters of the ending that selects a file's reader."""
_MOST_KEPT = 128
"""Files whose text is kept: more than a row has. Their bytes are not."""
_KEPT: dict[tuple[str, str], str | AgentFault | NotShown] = {}


def attached_text(part: Any, *, candidate: bool) -> str:
    """A file's name and size, and its text below.

    Args:
        part: A content part in OpenAI's, Anthropic's or MCP's format.
        candidate: Whether a candidate wrote it. A file without text is then shown by its size and digest: a candidate
            could otherwise avoid its score.

    Raises:
        NotShown: The file is elsewhere, or its text can't be shown.
        AgentFault: The part embeds no file.
        VerikitError: A reader failed, or its package is missing.
    """
    from verikit.judges.evidence.file_text import fault_shown  # loads the readers of files

    inner = _inner(part)
    name = _first(_NAMES, inner) or _first(_NAMES, part) or "without a name"
    data = _embedded(inner, part)
    told = f"file {shown(name)}, {len(data):,} bytes:"
    found = _read(data, _ending(name))
    if isinstance(found, NotShown):
        raise NotShown(f"{told} {found}", too_long=found.too_long)
    if isinstance(found, str):
        return f"{told}\n{found}"
    if candidate:
        return f"{told}\n{fault_shown(found)}"
    raise NotShown(f"{told} {found}")


def _read(data: bytes, ending: str) -> str | AgentFault | NotShown:
    """A file's text, or why it has none. Requests repeat files, so each is read once."""
    key = hashlib.sha256(data).hexdigest(), ending
    found = _KEPT.get(key)
    if found is None:
        found = _text_of(data, ending)
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.clear()
        _KEPT[key] = found
    return found


def _text_of(data: bytes, ending: str) -> str | AgentFault | NotShown:
    from verikit.judges.evidence.file_text import MOST_READ, decoded_text, readable_text, too_large
    from verikit.workspaces import Workspace

    if len(data) > MOST_READ and decoded_text(data) is not None:
        return too_large(f"file{ending}", f"{len(data):,} bytes")
    workspace = Workspace({f"file{ending}": data})
    (entry,) = workspace.find("file*")
    try:
        return readable_text(workspace, entry)
    except (AgentFault, NotShown) as problem:
        problem.__context__ = problem.__cause__ = None  # their frames hold the file
        return problem.with_traceback(None)


def decoded(data: str) -> bytes:
    """The file that base64 embeds: also in lines, without padding, or with the alphabet for URLs.

    Raises:
        NotShown: It is too large.
        AgentFault: This is not base64.
    """
    plain = "".join(data.split()).translate(_URL_SAFE)
    if len(plain) > MOST_BYTES * 4 // 3:
        raise _too_large()
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError) as problem:
        raise AgentFault(f"its base64 is broken: {problem}") from None


def _inner(part: Any) -> Mapping[str, Any]:
    """The object that embeds the file: a member of OpenAI's and Anthropic's parts, or the part itself."""
    if not isinstance(part, Mapping):
        raise NotShown("it is not embedded, and nothing is opened", hint=_FORM)
    return next((part[key] for key in ("file", "source") if isinstance(part.get(key), Mapping)), part)


def _embedded(inner: Mapping[str, Any], part: Mapping[str, Any]) -> bytes:
    """The file's bytes: base64, a `data:` URL, or the text of Anthropic's documents."""
    data = next((value for key in _DATA if (value := inner.get(key)) is not None), None)
    if data is not None and not isinstance(data, str):
        raise AgentFault(f"its data is {type(data).__name__}, not a string")
    if data is not None and inner.get("type") != "text":
        return _of_url(data) if data.startswith("data:") and "," in data else decoded(data)
    text = inner.get("content") if data is None else data
    if media_of(text) or (text is None and _elsewhere(inner, part)):
        raise NotShown("it is not embedded, and nothing is opened or fetched", hint=_FORM)
    if text is None:
        raise AgentFault("it has no data")
    try:
        return _limited(content_text(text).encode("utf-8", "replace"))
    except UsageError as problem:
        raise AgentFault(str(problem)) from None


def _of_url(url: str) -> bytes:
    head, _, rest = url.partition(",")
    data = unquote_to_bytes(rest.encode("utf-8", "replace"))
    return decoded(data.decode("ascii", "replace")) if head.lower().endswith(";base64") else _limited(data)


def _elsewhere(inner: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    """Whether a part names a file by a path, an address or an identifier."""
    named = [part.get("file"), part.get("source"), *(inner.get(key) for key in _PLACES)]
    return any(isinstance(value, str) and value for value in named)


def _limited(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise _too_large()
    return data


def _too_large() -> NotShown:
    return NotShown(f"it has more than {MOST_BYTES >> 20} MB", too_long="answer")


def _first(keys: tuple[str, ...], table: Mapping[str, Any]) -> str | None:
    return next((value for key in keys if isinstance(value := table.get(key), str)), None)


def _ending(name: str) -> str:
    """The name's ending. Only plain ones: the name is a candidate's."""
    ending = name.rpartition(".")[2].lower()
    return f".{ending}" if "." in name and ending.isascii() and ending.isalnum() and len(ending) <= _ENDING else ""
