"""Errors between verikit and a model, in addition to those in `verikit.errors`. All are `EngineError`s.

EngineError
├── RateLimited, EngineTimeout, ContextOverflow, AuthError     (verikit.errors)
├── Unreachable     no server answers at the address
├── ServerFailed    the server answered 5xx
├── UnknownModel    the server has no model of that name
├── BadRequest      the server rejects the request as invalid
├── BadReply        the reply can't be read: HTML, a truncated body, missing fields
├── Unsupported     this engine does not support the request
└── NotRecorded     a replayed file has no such request
"""

from __future__ import annotations

from verikit.errors import EngineError


class Unreachable(EngineError):
    """No server answers at the address: refused, unknown host, connection lost before a reply."""

    retryable = True
    engine_wide = True


class ServerFailed(EngineError):
    """The server answered with a 5xx status."""

    retryable = True


class UnknownModel(EngineError):
    """The server has no model of that name."""

    engine_wide = True


class BadRequest(EngineError):
    """The server rejects the request as invalid."""


class BadReply(EngineError):
    """The response is not a reply: HTML instead of JSON, missing fields."""


class TruncatedReply(BadReply):
    """The body ended too early. A retry may help."""

    retryable = True


class Unsupported(EngineError):
    """This engine does not support the request."""


class NoChatTemplate(Unsupported):
    """A conversation was sent to a model that has no chat template."""


class NotRecorded(EngineError):
    """A replayed file has no record of the request."""
