"""Requests as multipart/form-data: the part `request` is the JSON, and the other parts are files that it names.

The files are stored in a temporary folder until the request is answered. Workspaces in the JSON name them as a row
names the files next to its own file, so a client names only its own parts, never a path of this machine.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from tempfile import TemporaryDirectory, gettempdir
from typing import IO, Self

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from verikit.errors import UsageError
from verikit.types import WORKSPACE, Sample, Score
from verikit.workspaces.names import parts, shown
from verikit.workspaces.row import TaskWorkspace

REQUEST = "request"
"""Name of the part with the JSON."""
MOST_ENTRIES = 1000
"""Maximum number of stored files and folders."""
MOST_NAMES = 32
"""Maximum number of names along the path that a part's name is."""
PLAIN = (b"", b"7bit", b"8bit", b"binary")
"""Values of Content-Transfer-Encoding that leave a part unchanged."""
_BAD_NAME = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL)

logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # otherwise clients could fill the log


ROOM = "free disk space there, or restart with TMPDIR=FOLDER"
"""What to do if files can't be stored."""


def scratch() -> str:
    """The folder of the files, for messages."""
    try:
        return gettempdir()
    except FileNotFoundError:  # nothing can be written to any of them
        return "a temporary folder"


class InvalidForm(UsageError):
    """A body that is no form, or a part that can't be accepted."""


class RequestForm:
    """The body of one request, read as it arrives. Use it as a context: its files are removed at the end.

    The first problem is kept until `finish`, and what follows it is dropped. So the client has sent everything when it
    gets the reply.

    Args:
        content_type: The request's header, with the boundary.
    """

    def __init__(self, content_type: str) -> None:
        self._boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
        self._problem = None if self._boundary else InvalidForm("Content-Type has no boundary", hint=_HINT)
        self._json: bytearray | None = None
        self._header, self._headers = (bytearray(), bytearray()), dict[bytes, bytes]()
        self._name = ""
        self._file: IO[bytes] | None = None
        self._entries: set[str] = set()
        self._ended = False

    def __enter__(self) -> Self:
        self._scratch = TemporaryDirectory(prefix="verikit-form-", ignore_cleanup_errors=True)
        self.folder: str = self._scratch.name
        try:
            self._parser = MultipartParser(
                self._boundary,
                {
                    "on_part_begin": self._begin,
                    "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
                    "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._open,
                    "on_part_data": self._add,
                    "on_part_end": self._close,
                    "on_end": self._end,
                },
            )
        except FormParserError as error:
            self._problem = InvalidForm(f"the body is not a form: {error}", hint=_HINT)
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._close()
        finally:
            self._scratch.cleanup()

    def write(self, data: bytes) -> None:
        """Read the next piece of the body."""
        if self._problem is not None:
            return
        try:
            self._parser.write(data)
        except InvalidForm as problem:
            self._problem = problem
        except FormParserError as error:
            self._problem = InvalidForm(f"the body is not a form{self._place()}: {error}", hint=_HINT)

    def finish(self) -> bytes:
        """The JSON, after the last piece.

        Raises:
            InvalidForm: The body is no form, or lacks the JSON, or a part can't be accepted.
        """
        if self._problem is not None:
            raise self._problem
        if not self._ended:
            raise InvalidForm(f"the body ends{self._place()} without its last boundary", hint=_HINT)
        if self._json is None:
            raise InvalidForm(f"part {REQUEST!r} not found", hint=f"send the JSON as the part {REQUEST!r}")
        return bytes(self._json)

    def placed(self, samples: Sequence[Sample | Score]) -> list[Sample | Score]:
        """The samples, whose workspaces name the parts."""
        return [self._placed(sample) if isinstance(sample, Sample) else sample for sample in samples]

    def _placed(self, sample: Sample) -> Sample:
        told = sample.meta.get(WORKSPACE)
        return sample if told is None else replace(sample, workspace=TaskWorkspace(told, self.folder))

    def shown(self, row: bytes) -> bytes:
        """A row of the reply, without the folder's name: the paths in it are the names of parts."""
        folder = os.fsencode(self.folder)
        return row.replace(folder + b"/", b"").replace(folder, b".")

    def _place(self) -> str:
        return f" after the start of part {shown(self._name)!r}" if self._name else ""

    def _begin(self) -> None:
        self._headers = {}

    def _end_header(self) -> None:
        name, value = (bytes(text).strip() for text in self._header)
        for text in self._header:
            text.clear()
        if name.lower() in self._headers:
            raise InvalidForm(f"a part has the header {name[:80].decode('latin-1')!r} twice{self._place()}", hint=_HINT)
        self._headers[name.lower()] = value

    def _open(self) -> None:
        """Start a part, whose headers were read."""
        self._name = self._part_name()
        if self._headers.get(b"content-transfer-encoding", b"").lower() not in PLAIN:
            raise InvalidForm(f"part {shown(self._name)!r} is encoded", hint="send its bytes unchanged")
        if self._name == REQUEST:
            if self._json is not None:
                raise InvalidForm(f"part {REQUEST!r} occurs twice", hint="give each part its own name")
            self._json = bytearray()
            return
        try:
            self._file = self._created(parts(self._name))
        except OSError as error:
            if error.errno not in _BAD_NAME:
                raise
            told = "occurs twice, or below a file" if error.errno != errno.ENAMETOOLONG else "has too long a name"
            raise InvalidForm(f"part {shown(self._name)!r} {told}", hint="give each part its own name") from None

    def _part_name(self) -> str:
        kind, told = parse_options_header(self._headers.get(b"content-disposition"))
        if kind != b"form-data" or not told.get(b"name"):
            hint = 'each part needs the header Content-Disposition: form-data; name="…"'
            raise InvalidForm(f"the part{self._place()} has no name", hint=hint)
        try:
            return told[b"name"].decode()
        except UnicodeDecodeError:
            name = told[b"name"].decode("utf-8", "surrogateescape")
            raise InvalidForm(
                f"part {shown(name)!r} must have a name in UTF-8", hint="send the files as a tar"
            ) from None

    def _created(self, names: list[str] | None) -> IO[bytes]:
        """The new file of a part.

        Raises:
            InvalidForm: Its name leaves the folder or has too many names, or there are too many files.
            OSError: It can't be created.
        """
        if not names or self._name.endswith("/") or len(names) > MOST_NAMES:
            hint = "use a relative path such as left/sales.csv"
            raise InvalidForm(f"part {shown(self._name)!r} has a name that no file can have here", hint=hint)
        self._entries.update("/".join(names[:end]) for end in range(1, len(names) + 1))
        if len(self._entries) > MOST_ENTRIES:
            told = f"part {shown(self._name)!r}: a form has at most {MOST_ENTRIES} files and folders"
            raise InvalidForm(told, hint="send the files as one tar")
        path = os.path.join(self.folder, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return open(path, "xb")

    def _add(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(data[start:end])
        elif self._json is not None:
            self._json += data[start:end]

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _end(self) -> None:
        self._ended = True


_HINT = "let an HTTP client make the form: curl -F, or files= in httpx and requests"
