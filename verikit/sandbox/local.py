"""The default sandbox: fork servers with Landlock, seccomp, limits and, where allowed, namespaces.

Three tiers: a bare interpreter, one with numpy and sympy loaded, and one with databases, chosen by the names in the
source. Probes verify each property when the sandbox starts. An infrastructure failure is retried once on another
server. After that it is `infra_error`.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self

from verikit.errors import SandboxError, SandboxUnavailable, UsageError
from verikit.platform.system import at_fork, processors
from verikit.sandbox import probes, records
from verikit.sandbox.client import GRACE_S, Broken, ForkServer, sealed
from verikit.sandbox.guest import source
from verikit.sandbox.pool import Pool
from verikit.sandbox.programs import Programs
from verikit.sandbox.report import PROPERTIES, Property, Report
from verikit.sandbox.session import Session
from verikit.sandbox.types import Failure, FunctionCall, Job, RunLimits, RunResult

SCIENCE = ("numpy", "sympy", "mpmath", "scipy", "pandas")
GYM = "import reasoning_gym"
"""Marks source code that scores by that package. Its tier has the package preloaded."""
DATABASES = ("sqlite3", "duckdb")


class LocalSandbox:
    """Runs hostile Python programs on this machine (Linux x86-64), a few milliseconds each.

    Thread-safe; usable from asyncio (`arun`), daemonic processes and forked copies. A context manager.

    Args:
        strict: fail to start unless every property is verified.
        require: fail to start unless these properties are verified.
        limits: of each run, unless the run brings its own.
        workers: number of parallel programs; None: the CPUs that this process may use.
        paranoid: a pid and mount namespace for every run as well.
        namespaces: False disables them (to test the isolation without them).

    Raises:
        SandboxUnavailable: A required property is not verified. The error names it and the remedy.
        SandboxError: No fork server can be started.
    """

    def __init__(
        self,
        *,
        strict: bool = False,
        require: Iterable[Property] = (),
        limits: RunLimits | None = None,
        workers: int | None = None,
        paranoid: bool = False,
        namespaces: bool = True,
    ) -> None:
        wanted = frozenset(PROPERTIES) if strict else frozenset(require)
        if unknown := wanted - set(PROPERTIES):
            raise UsageError(f"unknown properties {sorted(unknown)}", hint=f"known: {', '.join(PROPERTIES)}")
        if sys.platform != "linux" or platform.machine() != "x86_64":
            raise SandboxUnavailable(
                f"the local sandbox needs Linux on x86-64, got {sys.platform} on {platform.machine()}",
                hint="sandbox='docker:python:3.12-slim', or 'http://HOST' for a `verikit serve --sandbox` on Linux. "
                "'process' runs programs that you trust, with limits only",
            )
        self.limits: RunLimits = limits or RunLimits()
        self.workers: int = workers or processors()
        self._pool = Pool(self.workers, paranoid=paranoid, namespaces=namespaces)
        self.programs: Programs = Programs(self._pool)
        """Programs of other languages than Python."""
        self._finalizer = weakref.finalize(self, self._pool.close)
        try:
            self._report = probes.report(self, self._pool, paranoid=paranoid)
            self._report.require(wanted)
        except BaseException:
            self.close()
            raise

    @property
    def report(self) -> Report:
        """The layers in force and the verified properties."""
        return self._report

    def run(
        self,
        code: str,
        stdin: str | bytes = "",
        call: FunctionCall | None = None,
        limits: RunLimits | None = None,
        files: Mapping[str, str | bytes] | None = None,
    ) -> RunResult:
        """Run one program; with `call`, call a function of it and return the value.

        A program's behaviour never raises.

        Raises:
            ValueError: An argument of the call has no typed form, or a file's name leads out.
        """
        return self._job(Job(code, stdin, call, limits, files or {}))

    def run_calls(
        self, code: str, calls: Sequence[FunctionCall], limits: RunLimits | None = None, *, only_closed: bool = False
    ) -> RunResult:
        """Run one program and call it several times in the one child; the value is the list of results.

        The first call that fails ends the run. Calls in one child can affect each other, unless the program is closed
        (`guest/closed.py`). With `only_closed`, another program is not run, and the status is `error`.
        """
        return self._run(Job(code, limits=limits), calls, only_closed=only_closed)

    async def arun(self, code: str, **options: Any) -> RunResult:
        """Run one program without blocking the event loop; the options of `run`."""
        return await asyncio.to_thread(self.run, code, **options)

    def map(self, jobs: Iterable[Job]) -> list[RunResult]:
        """Run many programs, `workers` at a time; results keep the order."""
        jobs = list(jobs)
        if self.workers == 1 or len(jobs) < 2:
            return [self._job(job) for job in jobs]
        with ThreadPoolExecutor(self.workers, thread_name_prefix="verikit-sandbox") as threads:
            return list(threads.map(self._job, jobs))

    def session(self, limits: RunLimits | None = None, *, science: bool = True, loaded: Sequence[str] = ()) -> Session:
        """A namespace that persists over the steps of one solution; a context manager.

        Args:
            limits: of each step; the memory limit applies to the whole session.
            science: have numpy and sympy loaded.
            loaded: other modules to load: `testing` (the runners of test files), `pandas`, `talking` (the proxies: the
                session is one side of a conversation).
        """
        preload = "".join(map(source, ["science" if science else "bare", *loaded]))
        return Session(self._pool, preload, limits or self.limits)

    def repeated(self, code: str, call: FunctionCall, limits: RunLimits | None = None, *, seed: int = 0) -> RunResult:
        """Run one program and make a call twice in the one child; the value is the list of both results."""
        return self._run(Job(code, call=call, limits=limits), [call, call], seed=seed)

    def deterministic(
        self, code: str, stdin: str | bytes = "", call: FunctionCall | None = None, limits: RunLimits | None = None,
        *, seeds: Sequence[int] = (0, 0, 1, 1), seen: Sequence[Any] = (),
    ) -> bool:  # fmt: skip
        """Whether a program gives the same value (or output) always: 2 hash seeds x 2 children x 2 calls.

        A program that fails, or whose value does not travel, is not deterministic. Values that change slowly, such as
        today's date, are not detected.

        Args:
            code: the program.
            stdin: of it.
            call: a function of it whose value counts; None: its output does.
            limits: of each run.
            seeds: the hash seed of each child.
            seen: values that other children gave already, as `repeated` has them.

        Raises:
            SandboxError: The sandbox failed.
        """
        job = Job(code, stdin, call, limits)
        found = list(seen)
        for seed in seeds:
            if not _agree(found):
                break
            result = self._run(job, [call, call] if call else [], seed=seed)
            if result.status == "infra_error":
                raise SandboxError(f"determinism can't be checked: {result.error}")
            if result.status != "ok":
                return False
            found += result.value if call else [result.stdout]
        return _agree(found)

    def equivalent(self, a: Any, b: Any, limits: RunLimits | None = None) -> bool:
        """Whether two `Symbolic` values are equal as expressions, evaluated in a child without candidate code.

        Raises:
            SandboxError: The sandbox failed.
        """
        result = self.run(source("symbolic"), call=("equal", [a.srepr, b.srepr], {}), limits=limits)
        if result.status == "infra_error":
            raise SandboxError(f"equivalence can't be decided: {result.error}")
        return result.status == "ok" and result.value is True

    def _job(self, job: Job) -> RunResult:
        result = self._run(job, [job.call] if job.call else [])
        return replace(result, value=result.value[0]) if job.call and result.status == "ok" else result

    def _run(self, job: Job, calls: Sequence[FunctionCall], *, seed: int = 0, only_closed: bool = False) -> RunResult:
        payload = records.payload(job.code, calls, job.files, fetch=job.fetch, only_closed=only_closed)
        stdin = job.stdin.encode("utf-8", "surrogatepass") if isinstance(job.stdin, str) else job.stdin
        return self.run_payload(payload, stdin, job.limits or self.limits, tier(job.code), len(calls), seed=seed)

    def run_payload(
        self, payload: bytes, stdin: bytes, limits: RunLimits, preload: str, calls: int = 0, *, seed: int = 0,
        asking: bool = False,
    ) -> RunResult:  # fmt: skip
        """Run a payload from `records.payload`.

        Args:
            payload: only for the child. It is not inspected here.
            stdin: of the program.
            limits: of the run.
            preload: as returned by `tier`.
            calls: number of expected values.
            seed: of hashes.
            asking: whether the value may be a `Question`.
        """
        start = time.monotonic()
        try:
            return self._pool.use(lambda server: _fly(server, payload, stdin, limits, calls, asking), preload, seed)
        except Broken as problem:
            return RunResult("infra_error", error=Failure("infra", str(problem)), seconds=time.monotonic() - start)

    def close(self) -> None:
        """End every process of the sandbox."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def tier(code: str) -> str:
    """The modules to load before forking for this source. A name that only looks like an import is harmless."""
    if GYM in code:
        return source("gym")
    if any(name in code for name in SCIENCE):
        return source("science")
    return source("database" if any(name in code for name in DATABASES) else "bare")


def _agree(values: Sequence[Any]) -> bool:
    return all(records.same(values[0], other) for other in values)


def _fly(server: ForkServer, payload: bytes, stdin: bytes, limits: RunLimits, calls: int, asking: bool) -> RunResult:
    """One run on one server."""
    commands, given = sealed(payload), sealed(stdin)
    try:
        flight = server.start(limits, given, commands, wall_s=limits.wall_s)
    finally:
        os.close(commands)
        os.close(given)
    try:
        flight.pump(time.monotonic() + limits.wall_s + GRACE_S)
    finally:
        flight.close()
    if flight.ended is None:
        raise Broken("the run has no end")
    begun = time.monotonic()
    result = records.result(flight.ended, flight.overflow, flight.data, limits, calls, asking=asking)
    if b'"files"' in flight.data["record"]:
        result = replace(result, files=records.fetched(bytes(flight.data["record"])))
    return replace(result, seconds=result.seconds + time.monotonic() - begun)  # reading its result takes time


_default: LocalSandbox | None = None
_default_lock = threading.Lock()
at_fork(before=_default_lock.acquire, in_parent=_default_lock.release, in_child=_default_lock.release)


def default_sandbox(require: Iterable[Property] = ()) -> LocalSandbox:
    """The sandbox that this process shares, started on first use.

    Raises:
        SandboxUnavailable: It lacks a required property.
    """
    global _default
    with _default_lock:
        if _default is None:
            _default = LocalSandbox()
    _default.report.require(frozenset(require))
    return _default
