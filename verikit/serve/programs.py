"""A server that runs programs for other machines: `verikit serve --sandbox`.

`/run_code` and `/submit` are SandboxFusion's. `/run` is for verikit's own client, which sends a child's payload
unchanged. Programs run in the local sandbox, whose properties are verified before the first request. None of them runs
in the server's own process.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from time import monotonic
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from verikit.errors import SchemaError, UsageError
from verikit.names.registry import version
from verikit.sandbox import ISOLATION, LocalSandbox, RunLimits, RunResult, records, wire
from verikit.sandbox.guest import source
from verikit.sandbox.local import tier
from verikit.sandbox.meter import metered
from verikit.sandbox.toolchains import LANGUAGES, Toolchain, toolchain
from verikit.sandbox.types import Failure
from verikit.serve import fusion
from verikit.serve.app import RefusedRequest, RequestLimits, no_token, read_object
from verikit.serve.metrics import Metrics
from verikit.serve.quotas import Clients, Tenant
from verikit.serve.run import check_host, host, listen
from verikit.serve.turns import FairTurns

_log = logging.getLogger("verikit.serve")
_MARGIN_S = 2.0
"""Seconds of a deadline reserved for everything but the program itself."""
Work = Callable[[float], dict[str, Any]]
"""Does the work within the given seconds and returns the reply."""


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """Settings of `verikit serve --sandbox`."""

    clients: Sequence[Tenant]
    workers: int
    host: str = "127.0.0.1"
    port: int = 8000
    max_waiting: int = 1024
    max_connections: int = 1024
    max_body_mb: float = 8.0
    deadline_s: float = 60.0
    drain_s: float = 30.0


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """A parsed request: the work, its maximum time, and its number of programs."""

    work: Work
    longest_s: float
    programs: int = 1


def serve_programs(settings: ProgramSettings, started: Callable[[str], None]) -> None:
    """Serve until a stop signal, then finish open requests. `started` is called with the address.

    Raises:
        UsageError: The address is reachable from other machines and there is no token.
        SandboxUnavailable: This machine can't isolate programs.
        VerikitError: The address is not available.
    """
    check_host(settings.host, has_token=all(client.token is not None for client in settings.clients))
    with (
        LocalSandbox(require=ISOLATION, workers=settings.workers) as box,
        listen(settings.host, settings.port) as listener,
    ):
        turns = FairTurns(settings.workers, settings.max_waiting)
        app = make_app(box, turns, settings)
        asyncio.run(host(app, listener, started, settings.max_connections, settings.drain_s))
        turns.close()


def make_app(box: LocalSandbox, turns: FairTurns, settings: ProgramSettings) -> ASGIApp:
    """Make the ASGI application over a sandbox that was started."""
    metrics, clients = Metrics(), Clients(settings.clients)
    metrics.gauge("verikit_waiting_programs", "Requests that have no turn yet.", lambda: turns.waiting)
    metrics.gauge("verikit_running_programs", "Programs that run.", lambda: turns.running)

    async def health(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ping(request: Request) -> Response:
        return JSONResponse("pong")

    async def metrics_page(request: Request) -> Response:
        if clients.find(dict(request.headers.raw)) is None:
            return no_token()
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    async def about(request: Request) -> Response:
        if clients.find(dict(request.headers.raw)) is None:
            return no_token()
        languages = ["python", *(name for name in LANGUAGES if isinstance(toolchain(name), Toolchain))]
        told = {"server": "verikit", "version": version(), "languages": languages, "workers": settings.workers}
        return JSONResponse(told | {"deadline_s": settings.deadline_s, "report": box.report.as_dict()})

    def endpoint(
        read: Callable[[LocalSandbox, Mapping[str, Any]], ProgramRequest],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            begun = monotonic()
            client = clients.find(dict(request.headers.raw))
            response = no_token() if client is None else await _answer(request, client, read, box, turns, settings)
            metrics.requests.labels(response.status_code).inc()
            metrics.seconds.observe(monotonic() - begun)
            _log.debug("%s %d in %.3f s", request.url.path, response.status_code, monotonic() - begun)
            return response

        return answer

    app = Starlette(
        routes=[
            Route("/run", endpoint(_read_run), methods=["POST"]),
            Route("/run_code", endpoint(_read_run_code), methods=["POST"]),
            Route("/submit", endpoint(_read_submission), methods=["POST"]),
            Route("/sandbox", about),
            Route("/v1/ping", ping),
            Route("/health", health),
            Route("/ready", health),
            Route("/metrics", metrics_page),
        ]
    )
    app.router.redirect_slashes = False
    return app


async def _answer(
    request: Request, client: Tenant, read: Callable[[LocalSandbox, Mapping[str, Any]], ProgramRequest],
    box: LocalSandbox, turns: FairTurns, settings: ProgramSettings,
) -> Response:  # fmt: skip
    deadline = monotonic() + settings.deadline_s
    try:
        body = await read_object(request, RequestLimits(int(settings.max_body_mb * 2**20)))
        order = _order(box, body, read, settings.deadline_s)
        client.admit(order.programs)

        def work() -> dict[str, Any]:
            with metered() as used:
                try:
                    return order.work(max(0.0, deadline - _MARGIN_S - monotonic()))
                finally:
                    client.spend(used.cpu_s)

        until = deadline - _MARGIN_S - order.longest_s
        reply = await turns.use(client, request.state.body_bytes, until, request.is_disconnected, work)
        return JSONResponse(reply, 503 if reply.keys() == {"error"} else 200)
    except RefusedRequest as refused:
        return refused.response()
    except (ClientDisconnect, ConnectionError):
        return Response(status_code=499)  # the client is disconnected


def _order(
    box: LocalSandbox, body: Mapping[str, Any], read: Callable[[LocalSandbox, Mapping[str, Any]], ProgramRequest],
    deadline_s: float,
) -> ProgramRequest:  # fmt: skip
    """Parse the request.

    Raises:
        RefusedRequest: The request is invalid, or needs more time than a request may take.
    """
    try:
        order = read(box, body)
    except UsageError as error:
        raise RefusedRequest(422, str(error), hint=error.hint) from None
    except (ValueError, RecursionError) as error:
        raise RefusedRequest(422, str(error)) from None
    if order.longest_s > deadline_s - _MARGIN_S:
        raise RefusedRequest(
            422, f"a program has at most {deadline_s - _MARGIN_S:g} s here, not {order.longest_s:g}",
            hint="set a shorter run_timeout and compile_timeout",
        )  # fmt: skip
    return order


def _read_run_code(box: LocalSandbox, body: Mapping[str, Any]) -> ProgramRequest:
    asked = fusion.read_run(body)
    records.payload("", (), asked.files, fetch=asked.fetch)
    return ProgramRequest(lambda seconds: fusion.run_code(box, asked, seconds), asked.longest_s)


def _read_submission(box: LocalSandbox, body: Mapping[str, Any]) -> ProgramRequest:
    asked = fusion.read_submission(body)
    return ProgramRequest(lambda seconds: fusion.judge(box, asked, seconds), asked.run.longest_s, len(asked.tests))


def _job(payload: str) -> dict[str, Any]:
    job = json.loads(payload)
    if not isinstance(job, dict) or not isinstance(job.get("code"), str):
        raise SchemaError("contains no program", field="payload")
    return job


def _stdin(body: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(body.get("stdin") or "", validate=True)
    except (binascii.Error, TypeError):
        raise SchemaError("must be base64", field="stdin") from None


def _read_run(box: LocalSandbox, body: Mapping[str, Any]) -> ProgramRequest:
    """Parse a request of verikit's own client."""
    payload, calls = body.get("payload"), body.get("calls")
    if not isinstance(payload, str) or type(calls) is not int or not isinstance(body.get("limits"), Mapping):
        raise SchemaError("must be a string, an integer and an object", field="payload, calls, limits")
    job = _job(payload)
    known = {f.name for f in fields(RunLimits)}
    limits = fusion.narrowed(RunLimits(**{name: n for name, n in body["limits"].items() if name in known}))
    stdin = _stdin(body)
    asking = body.get("asking") is True
    line = json.dumps(job).encode() + b"\n"

    def work(seconds: float) -> dict[str, Any]:
        preload = tier(job["code"]) + (source("talking") if "role" in job else "")
        result = box.run_payload(line, stdin, limits, preload, calls, asking=asking)
        try:
            return wire.write(result)
        except ValueError as problem:
            lost = RunResult("no_result", error=Failure("no result", str(problem)), seconds=result.seconds)
            return wire.write(lost)

    return ProgramRequest(work, limits.wall_s)
