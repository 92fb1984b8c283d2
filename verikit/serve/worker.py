"""A scoring process, from the server's side."""

from __future__ import annotations

import asyncio
import json
import math
import os
import pickle
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Self

from verikit.errors import HelperError, UsageError
from verikit.serve.process import CUT_SHORT, HEAD

START_S = 120.0
"""Seconds that a process may take to load its verifier."""


class Worker:
    """Scores one batch at a time. Created by `start`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.batch = 1
        """Samples per call that the verifier prefers."""
        self.most = 0
        """Samples that are scored in a quarter of a request's time, however slow; 0: not known."""

    @classmethod
    async def start(cls, spec: str, deadline_s: float) -> Self:
        """Start a process and wait until it has loaded the verifier.

        Args:
            spec: The verifier.
            deadline_s: Seconds a request may take.

        Raises:
            UsageError: The spec can't be loaded.
            HelperError: The process died before it was ready, or took too long.
        """
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "verikit.serve.process", spec, str(deadline_s)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
        )
        worker = cls(process)
        try:
            ready = json.loads(await asyncio.wait_for(worker._read(), START_S))
        except TimeoutError:
            worker.kill()
            raise HelperError(f"a scoring process was not ready after {START_S:.0f} s") from None
        if "error" in ready:
            await worker.stop()
            raise UsageError(ready["error"], hint=ready["hint"])
        worker.batch, worker.most = ready["batch"], ready["most"]
        return worker

    async def score(
        self, samples: Sequence[bytes], traces: Sequence[Mapping[str, str]] = (), row_s: float = math.inf
    ) -> tuple[list[bytes], bool]:
        """Return one JSON row for each pickled sample, and whether more than `row_s` might change one.

        After a cancelled call the process is of no more use.

        Args:
            samples: Pickled.
            traces: The spans of the requests that they are of.
            row_s: Seconds for the programs of a row.

        Raises:
            HelperError: The process died.
        """
        assert self._process.stdin is not None
        data = pickle.dumps((samples, traces, row_s))
        try:
            self._process.stdin.write(HEAD.pack(len(data)) + data)
            await self._process.stdin.drain()
        except ConnectionError:
            raise HelperError(await self._ended()) from None
        head, *rows = (await self._read()).split(b"\n")
        return rows, head == CUT_SHORT

    async def _read(self) -> bytes:
        assert self._process.stdout is not None
        try:
            head = await self._process.stdout.readexactly(HEAD.size)
            return await self._process.stdout.readexactly(HEAD.unpack(head)[0])
        except (asyncio.IncompleteReadError, ConnectionError):
            raise HelperError(await self._ended()) from None

    async def _ended(self) -> str:
        code = await self._process.wait()
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def kill(self) -> None:
        """End the process now."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def stop(self) -> None:
        """Let the process end; kill it if it does not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 2.0)
        except TimeoutError:
            self.kill()
            await self._process.wait()
