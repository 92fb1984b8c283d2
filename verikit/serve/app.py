"""The server's paths: access, limits on requests, and the status of replies."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from verikit.errors import UsageError
from verikit.platform import tracing
from verikit.serve import gym_paths
from verikit.serve.forms import ROOM, InvalidForm, RequestForm, scratch
from verikit.serve.nemo_gym import UnscoredRollout
from verikit.serve.protocols import NATIVE, PROTOCOLS, RewardProtocol
from verikit.serve.queue import Full, Queue, Ticket

OPEN_PATHS = ("/health", "/ready")
"""Paths that need no token. They only show that the server is running."""
LOOK_S = 0.5
"""Seconds until the server first checks whether a request's client is still connected."""
Endpoint = Callable[[Request], Awaitable[Response]]
_log = logging.getLogger("verikit.serve")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of one request."""

    body_bytes: int = 8 * 2**20
    body_s: float = 10.0
    """Seconds a body may take to arrive."""


class RefusedRequest(UsageError):
    """A rejected request, with its HTTP status."""

    def __init__(self, status: int, problem: str, *, hint: str = "", retry_s: int = 0) -> None:
        super().__init__(problem, hint=hint)
        self.status: int = status
        self.retry_s: int = retry_s

    def response(self) -> Response:
        """Return the error as a reply. A body that was not read ends the connection."""
        headers = {"Retry-After": str(self.retry_s)} if self.retry_s else {}
        if self.status in (408, 413):
            headers["Connection"] = "close"
        return JSONResponse({"error": str(self), "hint": self.hint}, self.status, headers)


class Guard:
    """Rejects requests without the token, except for `OPEN_PATHS`. Accepts it as a bearer token or basic password."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app: ASGIApp = app
        self.token: bytes = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or answer 401."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._knows(dict(scope["headers"])):
            await self.app(scope, receive, send)
            return
        await no_token()(scope, receive, send)

    def _knows(self, headers: dict[bytes, bytes]) -> bool:
        given = given_token(headers)
        return given is not None and hmac.compare_digest(given, self.token)


def given_token(headers: Mapping[bytes, bytes]) -> bytes | None:
    """The token that a request has: as bearer, or as basic password; None without one."""
    kind, _, given = headers.get(b"authorization", b"").partition(b" ")
    if kind.lower() == b"basic":
        try:
            return base64.b64decode(given, validate=True).partition(b":")[2]
        except binascii.Error:
            return None
    return given if kind.lower() == b"bearer" else None


def no_token() -> Response:
    """The reply to a request without a valid token."""
    refusal = JSONResponse({"error": "no valid token", "hint": "Authorization: Bearer TOKEN"}, 401)
    refusal.headers["WWW-Authenticate"] = "Bearer"
    return refusal


def make_app(
    queue: Queue,
    *,
    protocol: str | None = None,
    token: str | None = None,
    unscored: float | None = None,
    limits: RequestLimits,
    more: Sequence[Route] = (),
) -> ASGIApp:
    """Make the ASGI application over a started queue. `more` are paths in addition to the reward server's own."""
    metrics = queue.metrics
    metrics.gauge("verikit_waiting_samples", "Samples in the queue.", lambda: queue.waiting)
    metrics.gauge("verikit_workers_ready", "Scoring processes that are ready.", lambda: len(queue.workers))

    async def health(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(request: Request) -> Response:
        return PlainTextResponse("ready\n") if queue.ready else PlainTextResponse("no scoring process\n", 503)

    async def metrics_page(request: Request) -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    endpoint = partial(_endpoint, queue=queue, unscored=unscored, limits=limits)
    routes = [
        Route(NATIVE.path, endpoint(NATIVE), methods=["POST"]),
        *(_protocol_routes(protocol, endpoint(PROTOCOLS[protocol]), limits) if protocol else ()),
        Route("/health", health),
        Route("/ready", ready),
        Route("/metrics", metrics_page),
        *more,
    ]
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return app if token is None else Guard(app, token)


def _protocol_routes(name: str, endpoint: Endpoint, limits: RequestLimits) -> list[Route]:
    path = PROTOCOLS[name].path
    if not name.startswith("nemo-gym"):
        return [Route(path, endpoint, methods=["POST"])]
    own = gym_paths.routes(partial(read_object, limits=limits))
    return gym_paths.with_prefix(path, endpoint) + [_refusing(route) for route in own]


def _refusing(route: Route) -> Route:
    """A path whose `RefusedRequest` errors become replies."""

    async def endpoint(request: Request) -> Response:
        try:
            return await route.endpoint(request)
        except RefusedRequest as refused:
            return refused.response()
        except ClientDisconnect:
            return Response(status_code=499)

    return Route(route.path, endpoint, methods=sorted(route.methods or ()))


def _endpoint(protocol: RewardProtocol, queue: Queue, unscored: float | None, limits: RequestLimits) -> Endpoint:
    metrics = queue.metrics
    paths = {"http.route": protocol.path, "url.path": protocol.path}

    async def endpoint(request: Request) -> Response:
        begun = monotonic()
        with tracing.served(f"POST {protocol.path}", request.headers, {"http.request.method": "POST"} | paths) as span:
            response = await answer(request)
            tracing.answered(span, response.status_code)
        metrics.requests.labels(response.status_code).inc()
        metrics.seconds.observe(monotonic() - begun)
        _log.debug("%s %d in %.3f s", protocol.path, response.status_code, monotonic() - begun)
        return response

    async def answer(request: Request) -> Response:
        try:
            with _form(request, protocol) as form:
                body = await read_object(request, limits, form)
                ticket = _submit(queue, protocol, body, form)
                await _complete(ticket, request)
            rows = [form.shown(row) if form else row for row in ticket.rows if row is not None]
            for row in rows:
                metrics.samples.labels(_status(row)).inc()
            return Response(protocol.reply(body, rows, unscored), media_type="application/json")
        except OSError as error:
            _log.error("files of a request can't be stored in %s: %s (%s)", scratch(), error.strerror, ROOM)
            return RefusedRequest(503, f"the files of the request can't be stored: {error.strerror}").response()
        except RefusedRequest as refused:
            return refused.response()
        except UnscoredRollout as lost:
            return JSONResponse({"error": str(lost)}, lost.status)
        except ClientDisconnect:
            return Response(status_code=499)  # the client is disconnected

    return endpoint


def _status(row: bytes) -> str:
    return "ok" if b'"status":"ok"' in row[:64] else str(json.loads(row)["status"])


def _form(request: Request, protocol: RewardProtocol) -> RequestForm | nullcontext[None]:
    """The request's form. None if its body is JSON, as in all protocols other than verikit's own."""
    content_type = request.headers.get("content-type", "")
    if not content_type.lower().startswith("multipart/"):
        return nullcontext()
    if protocol is not NATIVE or not content_type.lower().startswith("multipart/form-data"):
        raise RefusedRequest(415, "the body must be JSON", hint=f"POST {NATIVE.path} also takes multipart/form-data")
    return RequestForm(content_type)


async def read_object(request: Request, limits: RequestLimits, form: RequestForm | None = None) -> dict[str, Any]:
    """Read the request's JSON object, and set `request.state.body_bytes` to the body's length.

    Args:
        request: The request.
        limits: Its limits.
        form: Reads the body, if it is a form. The object is then one of its parts.

    Raises:
        RefusedRequest: The body is too long, too slow, no form or not a JSON object.
    """
    data = bytearray()
    await _receive(request, limits, form.write if form else data.extend)
    try:
        body = json.loads(form.finish() if form else data)
    except InvalidForm as error:
        raise RefusedRequest(400, str(error), hint=error.hint) from None
    except (ValueError, RecursionError) as error:
        raise RefusedRequest(400, f"the {'part request' if form else 'body'} is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise RefusedRequest(400, f"the {'part request' if form else 'body'} is not a JSON object")
    return body


async def _receive(request: Request, limits: RequestLimits, sink: Callable[[bytes], object]) -> None:
    """Read the body in pieces.

    Raises:
        RefusedRequest: It is too long or too slow.
    """
    too_long = RefusedRequest(413, f"a body has at most {limits.body_bytes} bytes", hint="send fewer samples at a time")
    length = request.headers.get("content-length", "0")
    if length.isascii() and length.isdigit() and int(length) > limits.body_bytes:
        raise too_long
    size = 0
    try:
        async with asyncio.timeout(limits.body_s):
            async for piece in request.stream():
                size += len(piece)
                if size > limits.body_bytes:
                    raise too_long
                sink(piece)
    except TimeoutError:
        raise RefusedRequest(408, f"the body took more than {limits.body_s:g} s") from None
    request.state.body_bytes = size


def _submit(queue: Queue, protocol: RewardProtocol, body: dict[str, Any], form: RequestForm | None) -> Ticket:
    try:
        samples = protocol.read(body)
    except UsageError as error:
        raise RefusedRequest(422, str(error), hint=error.hint) from None
    if len(samples) > queue.max_waiting:
        raise RefusedRequest(413, f"a request has at most {queue.max_waiting} samples", hint="send fewer at a time")
    try:
        return queue.submit(form.placed(samples) if form else samples)
    except RecursionError:
        raise RefusedRequest(422, "a sample is nested too deeply") from None
    except Full as full:
        raise RefusedRequest(429, str(full), hint=full.hint, retry_s=full.seconds) from None


async def _complete(ticket: Ticket, request: Request) -> None:
    """Wait for the scores.

    Raises:
        ClientDisconnect: The client went away; its samples are dropped.
    """
    while not ticket.done.done():
        await asyncio.wait([ticket.done], timeout=LOOK_S)
        if not ticket.done.done() and await request.is_disconnected():
            ticket.close()
            raise ClientDisconnect
