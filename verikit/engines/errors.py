"""What can go wrong between us and a model, beside what `verikit.errors` names; all are `EngineError`s.

EngineError
├── RateLimited, EngineTimeout, ContextOverflow, AuthError     (verikit.errors)
├── Unreachable     nobody answers at the address
├── ServerFailed    the server answered 5xx
├── UnknownModel    the server has no model of that name
├── BadRequest      the server refuses the request as it stands
├── BadReply        what came back can't be read: HTML, a cut body, missing fields
├── Unsupported     this engine can't do what the request asks
└── NotRecorded     a replayed file holds no such request
"""

from __future__ import annotations

from collections.abc import Sequence

from verikit.errors import AuthError, EngineError


class Unreachable(EngineError):
    """Nobody answers at the address: refused, unknown host, connection lost before a reply."""

    retryable = True


class ServerFailed(EngineError):
    """The server answered with a 5xx status."""

    retryable = True


class UnknownModel(EngineError):
    """The server has no model of that name."""


class BadRequest(EngineError):
    """The server refuses the request as it stands."""


class BadReply(EngineError):
    """What came back is not a reply: HTML instead of JSON, fields missing."""


class TruncatedReply(BadReply):
    """The body ended too early; another try may help."""

    retryable = True


class Unsupported(EngineError):
    """This engine can't do what the request asks."""


class NoChatTemplate(Unsupported):
    """A conversation was sent to a model that has no chat template."""


class NotRecorded(EngineError):
    """A replayed file holds no record of the request."""


def raise_if_gone(errors: Sequence[BaseException | None]) -> None:
    """Stop a run whose engine is gone, before it pays for the rest or keeps failures as results.

    Args:
        errors: Of a batch's requests; None where one was answered.

    Raises:
        EngineError: nothing of the batch came back, and no request is to blame: no server, no key, no such model, or
            every one of several failed in a way that another try may mend.
    """
    gone = [error for error in errors if isinstance(error, EngineError) and _is_gone(error, len(errors))]
    if gone and len(gone) == len(errors):
        hint = "nothing of this batch was kept; run the same command again: it goes on where it stopped"
        raise type(gone[0])(str(gone[0]), hint="; ".join(filter(None, (gone[0].hint, hint))))


def _is_gone(error: EngineError, size: int) -> bool:
    # One request alone may time out for its own sake; a whole batch doesn't.
    return isinstance(error, (AuthError, UnknownModel, Unreachable)) or (error.retryable and size > 1)
