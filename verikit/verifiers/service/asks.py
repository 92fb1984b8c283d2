"""A row's requests to a service, the expected replies, and restarts between them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import h11

from verikit.answers.claims.json_fields import unfit
from verikit.artifacts.service.call import HttpRequest, client
from verikit.errors import UsageError
from verikit.verifiers.service.lines import DeclaredLine, read_line
from verikit.verifiers.service.values import filled

METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
_OTHER_KEYS = {"json", "text", "headers", "expect", "keep"}
_EXPECTED_KEYS = {"status", "headers", "json", "text"}
_MOST = 100
_HINT = (
    '{"get": "/a", "expect": {"status": 200, "json": …}}, {"post": "/a", "json": …, "keep": {"id": "id"}}, '
    '{"line": "GET a", "expect": {"line": "1"}} or {"restart": "kill"}'
)


@dataclass(frozen=True)
class Restart:
    """The program ends and is started again; its files stay."""

    kind: str
    """`kill`: without a warning. `stop`: with SIGTERM first."""

    def __str__(self) -> str:
        return f"restart {self.kind}"


@dataclass(frozen=True)
class DeclaredRequest:
    """A request, and what its reply must be."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """JSON or a string."""
    as_json: bool = False
    expect: Mapping[str, Any] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)
    """Names, each with the path of a value in the reply's JSON."""

    def __str__(self) -> str:
        return f"{self.method} {self.target}"[:80]

    def request(self, client_headers: Mapping[str, str], kept: Mapping[str, str | int]) -> HttpRequest:
        """The request of a client, with values it kept from earlier replies."""
        headers = {"Host": "localhost", "Connection": "close", **client_headers}
        body = b""
        if self.as_json:
            headers["Content-Type"] = "application/json"
            body = json.dumps(filled(self.body, kept)).encode()
        elif self.body is not None:
            headers["Content-Type"] = "text/plain; charset=utf-8"
            body = self.body.encode()
        own = {name.lower() for name in self.headers}
        pairs = [(name, value) for name, value in headers.items() if name.lower() not in own]
        target = self.target
        for name, value in kept.items():
            target = target.replace(f"{{{name}}}", quote(str(value), safe=""))
        return HttpRequest(self.method, target, [*pairs, *self.headers.items()], body)


def read_asks(told: Sequence[Mapping[str, Any]]) -> list[DeclaredRequest | DeclaredLine | Restart]:
    """The requests, lines and restarts that a row names.

    Raises:
        UsageError: They have another format.
    """
    if isinstance(told, str | Mapping) or not isinstance(told, Sequence) or len(told) > _MOST:
        raise UsageError(f"ask is a list of at most {_MOST} requests, lines and restarts")
    asks = [_read(one) for one in told]
    connected = False
    for ask in asks:
        if isinstance(ask, Restart):
            connected = False
        elif isinstance(ask, DeclaredLine):
            if ask.same and not connected:
                raise UsageError(f"{ask}: same has no line before it since the start of the program")
            connected = True
    return asks


def _read(told: Mapping[str, Any]) -> DeclaredRequest | DeclaredLine | Restart:
    if not isinstance(told, Mapping):
        raise UsageError(f"{told!r:.200} is not a request", hint=_HINT)
    if dict(told) in ({"restart": "kill"}, {"restart": "stop"}):
        return Restart(told["restart"])
    if "line" in told:
        return read_line(told)
    methods = [key for key in told if key in METHODS]
    if len(methods) != 1 or not set(told) <= {*methods, *_OTHER_KEYS} or {"json", "text"} <= set(told):
        raise UsageError(f"{told!r:.200} is not a request", hint=_HINT)
    method = methods[0]
    ask = DeclaredRequest(
        method.upper(), told[method], told.get("headers", {}), told.get("json", told.get("text")), "json" in told,
        told.get("expect", {}), told.get("keep", {}),
    )  # fmt: skip
    problem = _problem(ask)
    if problem:
        raise UsageError(f"{ask}: {problem}", hint=_HINT)
    return ask


def _problem(ask: DeclaredRequest) -> str:
    """The problem with a request of a row."""
    if not isinstance(ask.target, str) or not ask.target.startswith("/"):
        return "the path must start with /"
    if not all(_is_texts(value) for value in (ask.headers, ask.keep)):
        return "headers and keep must map strings to strings"
    if ask.body is not None and not ask.as_json and not isinstance(ask.body, str):
        return "text must be a string"
    try:
        ask.request({}, {}).encoded(client())
    except (h11.LocalProtocolError, TypeError, ValueError, RecursionError) as error:
        return f"it can't be sent: {error}"
    return _expected_problem(ask.expect)


def _expected_problem(expect: Mapping[str, Any]) -> str:
    if not isinstance(expect, Mapping) or not set(expect) <= _EXPECTED_KEYS:
        return "expect has the keys status, headers, json and text"
    if not isinstance(expect.get("status", 200), int) or not isinstance(expect.get("text", ""), str):
        return "the expected status must be an integer, and the expected text a string"
    if not _is_texts(expect.get("headers", {})):
        return "expected headers must map strings to strings"
    return unfit(expect.get("json"))


def _is_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(part, str) for pair in value.items() for part in pair)
