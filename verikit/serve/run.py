"""The server's settings, and the server under uvicorn."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

from verikit.errors import UsageError, VerikitError
from verikit.platform.numbers import number
from verikit.serve.app import RequestLimits, make_app
from verikit.serve.best import BestOfEndpoint, BestSettings
from verikit.serve.metrics import Metrics
from verikit.serve.patience import Patience
from verikit.serve.protocols import PROTOCOLS
from verikit.serve.queue import Queue


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of `verikit serve`, with its defaults."""

    spec: str
    host: str = "127.0.0.1"
    port: int = 8000
    protocol: str | None = None
    workers: int = 1
    max_batch: int = 256
    max_waiting: int = 4096
    max_connections: int = 1024
    max_body_mb: float = 8.0
    deadline_s: float = 60.0
    drain_s: float = 30.0
    """Seconds for open requests to finish after the stop signal."""
    unscored: float | None = None
    """The number for an unscored sample in the protocol's replies. None sends `null`."""
    token: str | None = None
    best: BestSettings | None = None
    """Serve the best of several samples as chat completions, too."""


def serve(settings: ServerSettings, started: Callable[[str], None]) -> None:
    """Serve until a stop signal, then finish open requests. `started` is called with the address.

    Raises:
        UsageError: The spec can't be loaded, the address is reachable from other machines and there is no token, or the
            protocol needs a number for unscored samples and none is set.
        VerikitError: The address is not available, or a scoring process can't start.
    """
    check_host(settings.host, has_token=settings.token is not None)
    _check_unscored(settings.protocol, settings.unscored)
    with listen(settings.host, settings.port) as listener:
        asyncio.run(_serve(settings, listener, started))


def check_host(host: str, *, has_token: bool) -> None:
    """Reject an address that other machines can reach, unless a token is required.

    Raises:
        UsageError: No token is required.
    """
    if not has_token and not _is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines, and there is no token",
            hint="put one into the environment as VERIKIT_TOKEN, or into a file for --token-file",
        )


def _check_unscored(protocol: str | None, unscored: float | None) -> None:
    """Reject a value that JSON or the protocol's clients can't read as a reward.

    Raises:
        UsageError: It is infinite or not a number, or missing although the protocol needs one.
    """
    if unscored is not None and number(unscored) is None:
        raise UsageError(f"--unscored must be a finite number, got {unscored}", hint="remove it to get null")
    if unscored is None and protocol is not None and PROTOCOLS[protocol].needs_number:
        raise UsageError(
            f"--protocol {protocol} requires a number for unscored samples: NeMo-Gym can't read null as a reward",
            hint="--unscored 0, which NeMo-Gym 0.7 keeps out of its metrics, or --protocol nemo-gym for HTTP errors",
        )


def listen(host: str, port: int) -> socket.socket:
    """Make the listening socket.

    Raises:
        VerikitError: The address is not available.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise VerikitError(f"can't listen on {host}:{port}: {error.strerror}") from None
    # Its connections inherit this. asyncio sets it only for listeners that it creates. Without it, each reply's body
    # waits for the client's delayed ACK of its head: 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def _serve(settings: ServerSettings, listener: socket.socket, started: Callable[[str], None]) -> None:
    queue = Queue(
        settings.spec,
        workers=settings.workers,
        max_batch=settings.max_batch,
        max_waiting=settings.max_waiting,
        deadline_s=settings.deadline_s,
        metrics=Metrics(),
    )
    await queue.start()
    limits = RequestLimits(int(settings.max_body_mb * 2**20))
    best = BestOfEndpoint(settings.best, queue, limits) if settings.best else None
    app = make_app(
        queue,
        protocol=settings.protocol,
        token=settings.token,
        unscored=settings.unscored,
        limits=limits,
        more=best.routes if best else (),
    )
    await host(app, listener, started, settings.max_connections, settings.drain_s)
    if best:
        best.close()
    await queue.stop()


async def host(
    app: ASGIApp, listener: socket.socket, started: Callable[[str], None], connections: int, drain_s: float
) -> None:
    """Serve an application until a stop signal, then finish open requests."""
    config = uvicorn.Config(
        app,
        http=Patience,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        access_log=False,
        log_level="error",
        limit_concurrency=connections,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, round(drain_s)),
        server_header=False,
    )
    server = _Server(config)
    for stop in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(stop, server.handle_exit, stop, None)
    host, port = listener.getsockname()[:2]
    started(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
    await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Keep verikit's signal handlers: uvicorn's would raise signals again and exit with their code."""
        yield


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
