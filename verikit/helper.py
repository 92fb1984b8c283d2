"""A helper process that runs functions with a hard deadline and a memory cap, from anywhere.

pebble's pool kills calls that take too long, but it can't start in daemonic processes, and its spawn runs an unguarded
main module again. So the pool runs in one exec'd process (``python -m verikit.helper``). It is started at the first
call, restarted if it died, and started separately in a forked child. Calls go there over pipes, and results come back
as JSON. The helper ends when its stdin does, so also if its parent is killed. Its workers die with it. Requests are
pickled and unpickled by verikit only: arguments are data, never model output to be unpickled.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from verikit.errors import HelperError, HelperTimeout, SpecError
from verikit.names.spec import import_file, imported_files
from verikit.platform.system import at_fork

_HEAD = struct.Struct("!I")
PR_SET_PDEATHSIG = 1
"""prctl(2)'s number for the parent-death signal."""
GRACE_S = 30.0
"""Seconds beyond its deadlines that a helper may take (to start, to import) before it is considered dead."""


class Helper:
    """Runs functions named ``package.module:function`` in worker processes of a helper.

    Thread-safe, with many calls in flight. Cheap to create: nothing starts before the first `call`.
    """

    def __init__(self, workers: int = 2, memory_mb: int | None = 1024, preload: Sequence[str] = ()) -> None:
        """Set up `workers` processes of at most `memory_mb` MiB of address space each (None: no cap).

        `preload` names modules to import, or functions to call, once before the workers are forked.
        """
        self.workers = workers
        self.memory_mb = memory_mb
        self.preload: tuple[str, ...] = tuple(preload)
        self._reset()
        _helpers.add(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: dict[int, Future[Any]] = {}
        self._next = 0

    def call(self, target: str, *args: Any, timeout: float) -> Any:
        """Run ``target(*args)`` for at most `timeout` seconds and return its result, after a round trip through JSON.

        Raises:
            HelperTimeout: The call used up its time or its memory.
            HelperError: The function raised, or the helper could not be started or died.
        """
        future: Future[Any] = Future()
        with self._lock:
            self._ensure()
            assert self._process is not None
            process = self._process
            number = self._next
            self._next += 1
            self._waiting[number] = future
            limit = GRACE_S + timeout * (1 + len(self._waiting) // self.workers)
            try:
                request = pickle.dumps((target, args, timeout))
                _write(process.stdin, pickle.dumps((number, imported_files(), request)))
            except OSError as error:
                self._process = None
                self._fail("the helper process died")
                _end(process)
                raise HelperError(f"the helper process died: {error}") from None
        try:
            reply = future.result(limit)
        except FutureTimeout:
            with self._lock:
                if self._process is process:
                    process.kill()
            raise HelperError(f"the helper process did not answer within {limit:.0f} s") from None
        if "value" in reply:
            return reply["value"]
        raise (HelperTimeout if reply.get("limit") else HelperError)(str(reply["error"]))

    def close(self) -> None:
        """End the helper process. A later call starts another."""
        with self._lock:
            process, self._process = self._process, None
            self._fail("the helper was closed")
        if process is not None:
            _end(process)

    def __del__(self) -> None:
        self.close()

    def _ensure(self) -> None:
        """Start the process if none is alive. The caller must have the lock."""
        if self._process is not None:
            if self._process.poll() is None:
                return
            _end(self._process)
            self._process = None
            self._fail("the helper process died")
        options = json.dumps({"workers": self.workers, "memory_mb": self.memory_mb, "preload": self.preload})
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "verikit.helper", options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        except OSError as error:
            raise HelperError(f"the helper process could not be started: {error}") from None
        reader = threading.Thread(target=_read_replies, args=(weakref.ref(self), self._process), daemon=True)
        reader.start()

    def _fail(self, reason: str) -> None:
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            future.set_result({"error": reason})

    def _settle(self, process: subprocess.Popen[bytes], reply: dict[str, Any] | None) -> None:
        """Pass a reply to its caller. None means that the process ended, and the next call starts another."""
        future: Future[Any] | None = None
        with self._lock:
            if self._process is not process:
                return
            if reply is None:
                self._process = None
                self._fail("the helper process died")
            else:
                future = self._waiting.pop(reply["id"], None)
        if reply is None:
            _end(process)
        elif future is not None:
            future.set_result(reply)

    def _after_fork(self) -> None:
        """In a forked child: forget the parent's process and close its pipes, so it notices when its parent ends."""
        process = self._process
        self._reset()
        if process is not None:
            process.returncode = 0
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        os.close(pipe.fileno())
                    _abandoned.append(pipe)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Helper, (self.workers, self.memory_mb, self.preload))


_helpers: weakref.WeakSet[Helper] = weakref.WeakSet()
_abandoned: list[IO[bytes]] = []
"""The parent's pipe objects in a forked child. Keeping them stops their finalizers from closing a reused descriptor."""


def _forked() -> None:
    for helper in list(_helpers):
        helper._after_fork()


@atexit.register
def _close_all() -> None:
    for helper in list(_helpers):
        helper.close()


at_fork(in_child=_forked)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its stdin, which ends the process, and wait for it. Kill it if it does not end."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends, even inside C code (Linux only).

    A parent that ended before the call is not noticed: compare `os.getppid()` after it.
    """
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _read_replies(helper: weakref.ref[Helper], process: subprocess.Popen[bytes]) -> None:
    """Run the parent's reader thread: one JSON reply per line, until the process ends."""
    assert process.stdout is not None
    with suppress(OSError, ValueError):
        for line in process.stdout:
            owner = helper()
            if owner is None:
                break
            owner._settle(process, json.loads(line))
            del owner
    owner = helper()
    if owner is None:
        _end(process)
    else:
        owner._settle(process, None)


def _write(pipe: IO[bytes] | None, data: bytes) -> None:
    assert pipe is not None
    pipe.write(_HEAD.pack(len(data)) + data)
    pipe.flush()


# The code below runs in the helper process.


def _limit(memory_mb: int | None, private: Sequence[int]) -> None:
    """Set up a worker: cap its memory, tie its life to the helper's, close the helper's pipes."""
    import resource

    for descriptor in private:
        with suppress(OSError):
            os.close(descriptor)
    if memory_mb is not None:
        refused: tuple[type[Exception], ...] = () if sys.platform == "linux" else (OSError, ValueError)
        with suppress(*refused):  # macOS has no such limit
            resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20, memory_mb * 2**20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    die_with_parent()


def _run(target: str, args: tuple[Any, ...]) -> str:
    """In a worker: find the function, call it, and convert its return value to JSON."""
    module, _, name = target.partition(":")
    return json.dumps(getattr(importlib.import_module(module), name)(*args))


def _reply_of(future: Any) -> dict[str, Any]:
    from pebble import ProcessExpired

    try:
        return {"value": json.loads(future.result())}
    except FutureTimeout:
        return {"error": "out of time", "limit": True}
    except MemoryError:
        return {"error": "out of memory", "limit": True}
    except ProcessExpired as error:
        return {"error": f"the worker died: {error}", "limit": True}
    except Exception as error:  # noqa: BLE001 - a worker's main: whatever the function raised is the reply
        return {"error": f"{type(error).__name__}: {error}"[:500]}


def main(options: dict[str, Any]) -> None:
    """Serve requests from stdin until it ends."""
    import multiprocessing

    from pebble import ProcessPool

    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(null, descriptor)
    for entry in options["preload"]:
        module, _, name = entry.partition(":")
        loaded = importlib.import_module(module)
        if name:
            getattr(loaded, name)()
    lock = threading.Lock()

    def answer(number: int, reply: dict[str, Any]) -> None:
        line = json.dumps({"id": number} | reply).encode() + b"\n"
        with lock, suppress(OSError):
            replies.write(line)
            replies.flush()

    def answer_with(number: int, future: Any) -> None:
        answer(number, _reply_of(future))

    pool = ProcessPool(
        max_workers=options["workers"],
        initializer=_limit,
        initargs=(options["memory_mb"], (requests.fileno(), replies.fileno())),
        context=multiprocessing.get_context("fork"),
    )
    while len(head := requests.read(_HEAD.size)) == _HEAD.size:
        number, files, request = pickle.loads(requests.read(_HEAD.unpack(head)[0]))  # noqa: S301 - from our parent
        try:
            for file in files:
                import_file(Path(file))
            target, args, timeout = pickle.loads(request)  # noqa: S301
        except (ImportError, AttributeError, SpecError) as error:
            answer(number, {"error": f"{type(error).__name__}: {error}"})
            continue
        future = pool.schedule(_run, args=(target, args), timeout=timeout)
        future.add_done_callback(partial(answer_with, number))
    pool.stop()  # type: ignore[no-untyped-call]
    pool.join(5)
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
