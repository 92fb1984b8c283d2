"""Logs of other evaluation tools, cut into rows: inspect's `.eval` and `.json`, promptfoo's JSON, OpenAI evals' JSONL.

Each is recognised by its first bytes. A row is one sample with the keys of its tool. `logged.py` makes fields of them.
A JSON document, one sample of an archive and the events of OpenAI evals are each read up to `MAX_LOG` bytes.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from verikit.errors import SchemaError
from verikit.readers.array import items, too_long
from verikit.readers.compressed import Stream, decompressed, errors
from verikit.readers.parse import JsonRow, parse

ZIP = b"PK\x03\x04"
MAX_LOG = 256 * 2**20
"""Maximum bytes in memory for one document or sample."""
ZSTD = 93
"""The zip method of zstd, which inspect uses."""
SAMPLE_KEYS = (
    *("id", "epoch", "input", "choices", "target", "messages", "output", "scores", "metadata", "error", "limit"),
    *("attachments", "invalidation"),
)
"""The keys of an inspect sample that are read. Its events and its store are not."""
_HEAD = 4096
_SAMPLE = re.compile(r"samples/(.+)_epoch_(\d{1,9})\.json", re.DOTALL)
_MEMBER = re.compile(rb'\s*"(\w{1,40})"\s*:')
_INSPECT = re.compile(rb'\s*\{\s*"version"\s*:\s*\d{1,9}\s*,\s*"status"\s*:\s*"\w{1,40}"\s*,\s*"eval"\s*:')
_PROMPTFOO = re.compile(rb'\s*\{\s*"evalId"\s*:\s*(?:null|"[^"\\]{0,200}")\s*,\s*"results"\s*:')
_EVENTS = re.compile(rb'\s*\{\s*"spec"\s*:\s*\{\s*"(?:completion_fns|model_name|eval_name)"\s*:')
_LOCAL_HEADER = 30
_DAMAGE: tuple[type[Exception], ...] = (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, struct.error)
"""Exceptions of `zipfile` for a damaged member, and those of decompression."""
Rows = Iterator[tuple[int, bytes | JsonRow | SchemaError]]


def archive_rows(stream: io.BufferedReader, name: str, cap: int) -> Rows:
    """Number the samples of inspect's `.eval` archive from 1, the epochs of a sample one after the other.

    Raises:
        SchemaError: The stream is not such an archive, or comes through a pipe.
    """
    if not stream.seekable():
        raise SchemaError("An archive can't be read from a pipe", file=name, hint="give the file's path")
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, struct.error) as error:
        raise SchemaError(f"the zip archive is damaged: {error}", file=name, hint="fetch it again") from None
    found = {match: info for info in archive.infolist() if (match := _SAMPLE.fullmatch(info.filename))}
    if not found:
        problem = "the file is a zip archive without samples of inspect"
        raise SchemaError(problem, file=name, hint="unpack it: unzip FILE")
    first: dict[str, int] = {}
    ordered = sorted(found, key=lambda match: (first.setdefault(match[1], len(first)), int(match[2])))
    for number, match in enumerate(ordered, 1):
        yield number, _archived(stream, archive, found[match], cap)


def _archived(
    stream: io.BufferedReader, archive: zipfile.ZipFile, info: zipfile.ZipInfo, cap: int
) -> bytes | SchemaError:
    """One sample of an archive, or its error."""
    try:
        with _zstd(stream, info) if info.compress_type == ZSTD else archive.open(info) as member:
            data = member.read(MAX_LOG + 1)
        if len(data) > MAX_LOG:
            return too_long(len(data), MAX_LOG)
        if zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("wrong checksum")
        return _sample(data, cap)
    except SchemaError as error:
        return error
    except _DAMAGE + errors() as error:
        return SchemaError(f"{info.filename} can't be read: {error}", hint="the archive is damaged: fetch it again")


def _zstd(stream: io.BufferedReader, info: zipfile.ZipInfo) -> Stream:
    """The unpacked bytes of a member that is packed by zstd, which `zipfile` supports from Python 3.14 only.

    Raises:
        MissingExtra: zstandard is not installed.
    """
    if info.flag_bits & 1:
        raise RuntimeError("it is encrypted")
    stream.seek(info.header_offset)
    header = stream.read(_LOCAL_HEADER)
    if not header.startswith(ZIP):
        raise zipfile.BadZipFile("no header at its place")
    named, extra = struct.unpack("<HH", header[26:])
    return decompressed(io.BufferedReader(_Window(stream, stream.tell() + named + extra, info.compress_size)))


class _Window(io.RawIOBase):
    """A part of a stream."""

    def __init__(self, stream: io.BufferedReader, start: int, size: int) -> None:
        self._stream, self._at, self._end = stream, start, start + size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._stream.seek(self._at)
        data = self._stream.read(min(len(buffer), self._end - self._at))
        self._at += len(data)
        buffer[: len(data)] = data
        return len(data)


def document_rows(source: Stream, name: str, cap: int) -> Rows | None:
    """Return the rows of a log that is JSON text, numbered from 1, or None if the text is not the log of a known tool.

    Raises:
        SchemaError: The log has no samples, or is too large.
    """
    head = source.peek(_HEAD)[:_HEAD]
    if _INSPECT.match(head):
        return _document(source, name, ("samples",), cap)
    if _PROMPTFOO.match(head):
        return _document(source, name, ("results", "results"), cap)
    return _event_rows(source, name, cap) if _EVENTS.match(head) else None


def _document(source: Stream, name: str, path: tuple[str, ...], cap: int) -> Rows:
    """The items of an array within a document. The epochs of an inspect sample come one after the other."""
    data = source.read(MAX_LOG + 1)
    if len(data) > MAX_LOG:
        raise SchemaError(
            f"a log of more than {MAX_LOG:,} bytes", file=name, hint="`inspect log convert` makes an .eval of it"
        )
    for key in path:
        found = _members(data, name).get(key)
        if found is None:
            raise SchemaError("the log has no samples", file=name, field=".".join(path), hint="was the run stopped?")
        data = found
    if not data.startswith(b"["):
        raise SchemaError("a list of samples is expected", file=name, field=".".join(path))
    cut: Iterator[bytes | SchemaError] = (item for _, item in items(io.BytesIO(data).read, MAX_LOG))
    if len(path) == 1:
        cut = _by_sample(_guarded(item, cap) for item in cut)
    yield from enumerate(cut, 1)


def _guarded(item: bytes | SchemaError, cap: int) -> bytes | SchemaError:
    if isinstance(item, SchemaError):
        return item
    try:
        return _sample(item, cap)
    except SchemaError as error:
        return error


def _by_sample(rows: Iterable[bytes | SchemaError]) -> Iterator[bytes | SchemaError]:
    """Yield the same rows, with those of one id moved to the position of the first."""
    groups: dict[bytes, list[bytes | SchemaError]] = {}
    for number, row in enumerate(rows):
        key = b"%d bad" % number if isinstance(row, SchemaError) else _members(row, "").get("id", b"")
        groups.setdefault(key, []).append(row)
    return (row for group in groups.values() for row in group)


def _sample(data: bytes, cap: int) -> bytes:
    """An inspect sample with the keys that are read only: its events are most of it, and may be nested deeply.

    Raises:
        SchemaError: The text is not one object, or the rest is longer than a row may be.
    """
    members = _members(data, "")
    kept = b",".join(b'"%b":%b' % (key.encode(), members[key]) for key in SAMPLE_KEYS if key in members)
    if len(kept) > cap:
        raise too_long(len(kept), cap)
    return b"{%b}" % kept


def _members(data: bytes, name: str) -> dict[str, bytes]:
    """The members of a JSON object by key, not parsed.

    Raises:
        SchemaError: It is not an object, or it is cut short.
    """
    if not data.lstrip().startswith(b"{"):
        raise SchemaError("a JSON object is expected here", file=name)
    found = {}
    for _, item in items(io.BytesIO(data).read, MAX_LOG):
        if isinstance(item, SchemaError):
            raise SchemaError("the JSON text is cut short or damaged", file=name, hint="fetch the file again")
        if key := _MEMBER.match(item):
            found[key[1].decode()] = item[key.end() :].strip()
    return found


def _event_rows(source: Stream, name: str, cap: int) -> Rows:
    """Yield the samples of OpenAI evals' log, each gathered from its events, in the order in which they start.

    A sample's completions are those of its first prompt. Later prompts are calls of a grader.
    """
    samples: dict[str, JsonRow] = {}
    bad: list[SchemaError] = []
    size = line = 0
    while raw := source.readline(cap + 1):
        line += 1
        size += len(raw)
        if len(raw) > cap or size > MAX_LOG:
            raise SchemaError(f"the log has a line or lines beyond {MAX_LOG:,} bytes", file=name, line=line)
        if not raw.strip():
            continue
        try:
            event = parse(raw.strip())
            if "sample_id" in event:
                _take(samples, event)
        except SchemaError as error:
            bad.append(SchemaError(f"line {line} of the log: {error.problem}", field=error.field, hint=error.hint))
    yield from enumerate([*samples.values(), *bad], 1)


def _take(samples: dict[str, JsonRow], event: JsonRow) -> None:
    """Add one event to its sample.

    Raises:
        SchemaError: The event has no data, or a key of the wrong type.
    """
    name, kind, data = event["sample_id"], event.get("type"), event.get("data")
    if kind not in ("sampling", "match", "metrics", "error"):
        return
    if type(name) is not str or type(data) is not dict:
        raise SchemaError("an event has a sample_id and data", field="sample_id" if type(name) is not str else "data")
    sample = samples.setdefault(name, {"sample_id": name, "sampled": []})
    if kind == "error":
        data = {"error": data.get("message") or data.get("type") or "no reason given"}
    if kind != "sampling":
        sample.update({key: value for key, value in data.items() if key not in ("prompt", "sampled", "sample_id")})
    elif sample.setdefault("prompt", data.get("prompt")) == data.get("prompt"):
        replies = data.get("sampled")
        sample["sampled"] += replies if type(replies) is list else [replies]
