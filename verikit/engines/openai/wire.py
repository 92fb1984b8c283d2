"""One HTTP exchange, and the typed error of one that fails.

Errors are created from status, headers and the start of the body and are returned up as `FailedTry`. They are never
chained to the HTTP library's own errors, which contain the request with its headers. The key is redacted in all text
from the server.
"""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from verikit.engines.errors import (
    BadReply,
    BadRequest,
    ServerFailed,
    TruncatedReply,
    UnknownModel,
    Unreachable,
)
from verikit.errors import AuthError, ContextOverflow, EngineError, EngineTimeout, RateLimited

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx
    from pydantic import SecretStr

MAX_BODY = 256 * 2**20
MIN_SECRET = 8
"""Shorter keys (`EMPTY`, `x`) are placeholders. Redacting them would damage replies."""
_OVERFLOW = re.compile(
    r"context[ _](length|window|size)|maximum (model|input|prompt) len|max_model_len|prompt is too long"
)
_MODEL = re.compile(
    r"model[^.]{0,200}(not (exist|found|available|supported)|unknown|does not exist|is invalid)|model_not_found"
)


_ERRORS: Mapping[int, type[EngineError]] = {408: EngineTimeout, 429: RateLimited}


class FailedTry(Exception):
    """An exchange without a reply: the error, and the seconds that the server requires to wait."""

    def __init__(self, error: EngineError, wait: float = 0.0) -> None:
        super().__init__(str(error))
        self.error: EngineError = error
        self.wait: float = wait


def exchange(client: httpx.Client, method: str, path: str, body: Any, *, timeout_s: float, secret: SecretStr) -> Any:
    """Send one request and return the reply's JSON.

    Raises:
        FailedTry: There is no reply, or it is an error.
    """
    import httpx

    end = time.monotonic() + timeout_s
    content = None if body is None else json.dumps(body).encode()
    late = f"no reply within {timeout_s:.4g} s"
    failure: EngineError
    try:
        with client.stream(method, path, content=content, timeout=timeout_s) as response:
            text = _read(response, end, late)
            status, headers = response.status_code, response.headers
    except httpx.TimeoutException:
        failure = EngineTimeout(late)
    except httpx.ConnectError as error:
        failure = Unreachable(f"can't connect: {error}", hint="check that the server runs, and the address")
    except httpx.RemoteProtocolError as error:
        failure = TruncatedReply(f"the reply was cut off: {error}")
    except (httpx.TransportError, httpx.DecodingError) as error:
        failure = Unreachable(f"the connection was lost: {error or type(error).__name__}")
    else:
        return _judge(status, headers, strike_key(text, secret.get_secret_value()))
    raise FailedTry(failure) from None


def _read(response: httpx.Response, end: float, late: str) -> str:
    parts, size = [], 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > MAX_BODY:
            raise FailedTry(BadReply(f"the reply is over {MAX_BODY} bytes"))
        if time.monotonic() > end:
            raise FailedTry(EngineTimeout(late))
    return b"".join(parts).decode("utf-8", errors="replace")


def strike_key(text: str, secret: str) -> str:
    """Return a text with the key redacted."""
    if len(secret) < MIN_SECRET:
        return text
    escaped = json.dumps(secret)[1:-1]
    for form in {secret, escaped, escaped.replace("/", "\\/")}:
        text = text.replace(form, "***")
    return text


def _judge(status: int, headers: Mapping[str, str], text: str) -> Any:
    """Return a good reply's JSON, or raise its error."""
    try:
        reply = json.loads(text, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        if status == 200:
            raise FailedTry(_not_json(text, error)) from None
        reply = None
    problem = reply.get("error") if isinstance(reply, dict) else None
    if status == 200 and not problem:
        return reply
    if status == 200 and isinstance(problem, dict) and isinstance(problem.get("code"), int):
        status = problem["code"]
    said, code = _said(problem if problem else reply, text)
    raise FailedTry(error_of(status, said, code), retry_after(headers))


def _constant(name: str) -> float:
    """Read a constant that Python's JSON adds to the standard. An infinite log-probability is valid, NaN is not.

    Raises:
        FailedTry: It is NaN.
    """
    if name == "NaN":
        raise FailedTry(
            BadReply("the reply contains NaN as a number", hint="does the model overflow in its number format?")
        )
    return float(name)


def _not_json(text: str, error: Exception) -> EngineError:
    start = " ".join(text[:80].split())
    if text.lstrip()[:1] == "<":
        return BadReply(f"a page came back instead of JSON: {start!r}", hint="API addresses usually end in /v1")
    if isinstance(error, json.JSONDecodeError) and text.lstrip()[:1] in ("{", ""):
        return TruncatedReply(f"the reply's JSON ends too early, after {len(text)} characters")
    return BadReply(f"the reply is not JSON: {start!r}")


def _said(problem: Any, text: str) -> tuple[str, str]:
    """Return the server's message, one line, and its error code."""
    if isinstance(problem, dict):
        said = problem.get("message") or problem.get("detail") or problem
        code = f"{problem.get('code', '')} {problem.get('type', '')}"
    else:
        said, code = problem or text, ""
    line = " ".join(str(said).split())
    return (line if len(line) <= 300 else line[:299] + "…"), code


def error_of(status: int, said: str, code: str) -> EngineError:
    """Return the error for a reply's status, message and code."""
    about = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    low = f"{said} {code}".lower()
    if status in (401, 403):
        return AuthError(about, hint="set OPENAI_API_KEY, or the option api_key")
    if "insufficient_quota" in low:
        return AuthError(about, hint="the account's quota is used up")
    if status in _ERRORS:
        return _ERRORS[status](about)
    if status >= 500 and status != 501:
        return ServerFailed(about)
    if _OVERFLOW.search(low):
        return ContextOverflow(about, hint="shorten the prompt or lower max_tokens")
    if _MODEL.search(low):
        return UnknownModel(about, hint="the spec must end in #model. The server lists its models at /models")
    return BadRequest(about, hint="API addresses usually end in /v1" if status == 404 else "")


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds of `Retry-After` (a number or a date) or OpenAI's `retry-after-ms`, or 0 without either."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after", "0")
        if value.strip().replace(".", "", 1).isdigit():
            return float(value)
        date = parsedate_to_datetime(value)
        return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds())
    except ValueError:
        return 0.0
