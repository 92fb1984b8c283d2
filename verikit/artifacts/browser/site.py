"""Serves the files of a workspace to a page: by the browser's own requests, which never leave it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from verikit.errors import AgentFault, WorkspaceError

ORIGIN = "http://localhost"
"""A host name that browsers trust like https. Inside its own network namespace it leads to no server."""
_KINDS = {
    ".html": "text/html", ".htm": "text/html", ".js": "text/javascript", ".mjs": "text/javascript",
    ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png",
    ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".ico": "image/x-icon",
    ".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".txt": "text/plain", ".csv": "text/csv",
    ".xml": "application/xml", ".wasm": "application/wasm", ".mp3": "audio/mpeg", ".mp4": "video/mp4",
    ".webm": "video/webm", ".pdf": "application/pdf", ".md": "text/markdown", ".webmanifest": "application/json",
}  # fmt: skip
_TEXTS = ("text/", "application/json", "image/svg")
_MOST_REQUESTS, _MOST_MB, _SHOWN = 2000, 128, 200


class Site:
    """The requests of a page, and the replies to them.

    Args:
        read: Returns the content of a path of the workspace, or None if the file doesn't exist.
    """

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._count = self._bytes = 0
        self.outside: list[str] = []
        """Addresses outside the workspace. Nothing was sent to them."""
        self.missing: list[str] = []
        """Files that the workspace does not have."""

    def has(self, address: str) -> bool:
        """Whether an address belongs to a file of the workspace."""
        path = _path(address)
        return path is not None and self._found(path) is not None

    def note(self, address: str) -> None:
        """Record a requested address outside the workspace."""
        if len(self.outside) < _SHOWN and address[:300] not in self.outside:
            self.outside.append(address[:300])

    def answer(self, address: str) -> dict[str, Any] | None:
        """The browser's reply for an address, in the format of `Fetch.fulfillRequest`. None: the request is blocked.

        Raises:
            AgentFault: The page makes too many requests.
            WorkspaceError: It requests more bytes than are served.
        """
        self._count += 1
        if self._count > _MOST_REQUESTS:
            raise AgentFault(f"the page requests files more than {_MOST_REQUESTS:,} times")
        path = _path(address)
        if path is None:
            self.note(address)
            return None
        found = self._found(path)
        if found is None:
            if path != "favicon.ico" and path not in self.missing and len(self.missing) < _SHOWN:
                self.missing.append(path[:300])
            return {
                "responseCode": 404,
                "responseHeaders": [{"name": "Content-Type", "value": "text/plain"}],
                "body": "",
            }
        name, content = found
        self._bytes += len(content)
        if self._bytes > _MOST_MB << 20:
            raise WorkspaceError(f"the page requests more than {_MOST_MB} MiB")
        kind = _KINDS.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")
        kind += "; charset=utf-8" if kind.startswith(_TEXTS) and not kind.startswith("text/html") else ""
        headers = [{"name": "Content-Type", "value": kind}, {"name": "Cache-Control", "value": "no-store"}]
        return {"responseCode": 200, "responseHeaders": headers, "body": base64.b64encode(content).decode("ascii")}

    def _found(self, path: str) -> tuple[str, bytes] | None:
        names = [f"{path}index.html"] if path.endswith("/") or not path else [path]
        for name in names:
            content = self._read(name)
            if content is not None:
                return name, content
        return None


def address_of(path: str) -> str:
    """The address of a file of the workspace."""
    return f"{ORIGIN}/{quote(path)}"


def _path(address: str) -> str | None:
    """The path of an address in the workspace. None: it is outside."""
    try:
        told = urlsplit(address)
    except ValueError:
        return None
    if f"{told.scheme}://{told.netloc}" != ORIGIN:
        return None
    return unquote(told.path, errors="replace").lstrip("/")
