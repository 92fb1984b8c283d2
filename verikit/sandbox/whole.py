"""Base of sandboxes that can only run a whole program: calls, sessions by rerunning, and no other languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Self

from verikit.errors import SandboxUnavailable
from verikit.sandbox import records
from verikit.sandbox.programs import BuiltProgram
from verikit.sandbox.replay import ReplaySession
from verikit.sandbox.report import Report
from verikit.sandbox.types import FunctionCall, Job, RunLimits, RunResult


class WholeRuns:
    """Base of all backends except `local`. A backend defines `_execute`, `report` and, if it has them, `programs`."""

    limits: RunLimits
    workers: int

    def _execute(self, payload: bytes, stdin: bytes, limits: RunLimits, calls: int, *, asking: bool) -> RunResult:
        """Run a payload of `records.payload`. With calls, the value is the list of their results."""
        raise NotImplementedError

    @property
    def report(self) -> Report:
        """The properties of this backend."""
        raise NotImplementedError

    @property
    def programs(self) -> NoPrograms:
        """Programs of other languages than Python."""
        return NoPrograms(self.report.backend)

    def run(
        self,
        code: str,
        stdin: str | bytes = "",
        call: FunctionCall | None = None,
        limits: RunLimits | None = None,
        files: Mapping[str, str | bytes] | None = None,
    ) -> RunResult:
        """Run one program; with `call`, call a function of it and return the value.

        Raises:
            ValueError: An argument of the call has no typed form, or a file's name leads out.
        """
        payload = records.payload(code, [call] if call else [], files)
        given = stdin.encode("utf-8", "surrogatepass") if isinstance(stdin, str) else stdin
        if call is None:
            return self._run_plain(code, payload, given, limits or self.limits, files)
        result = self._execute(payload, given, limits or self.limits, 1, asking=False)
        return replace(result, value=result.value[0]) if result.status == "ok" else result

    def _run_plain(
        self, code: str, payload: bytes, stdin: bytes, limits: RunLimits, files: Mapping[str, str | bytes] | None
    ) -> RunResult:
        """Run a program that is not called. `payload` includes it and its files, too."""
        return self._execute(payload, stdin, limits, 0, asking=False)

    def run_calls(
        self, code: str, calls: Sequence[FunctionCall], limits: RunLimits | None = None, *, only_closed: bool = False
    ) -> RunResult:
        """Run one program and call it several times in the one process; the value is the list of results.

        With `only_closed`, a program whose calls can affect each other is not run, and the status is `error`.
        """
        payload = records.payload(code, calls, only_closed=only_closed)
        return self._execute(payload, b"", limits or self.limits, len(calls), asking=False)

    def map(self, jobs: Iterable[Job]) -> list[RunResult]:
        """Run many programs, `workers` at a time; results keep the order."""
        with ThreadPoolExecutor(self.workers, thread_name_prefix="verikit-sandbox") as threads:
            return list(threads.map(lambda j: self.run(j.code, j.stdin, j.call, j.limits, j.files), jobs))

    def session(
        self, limits: RunLimits | None = None, *, science: bool = True, loaded: Sequence[str] = ()
    ) -> ReplaySession:
        """Test code, or one side of a conversation. The options preload nothing here."""
        return ReplaySession(
            lambda payload, lim, calls: self._execute(payload, b"", lim, calls, asking=True), limits or self.limits
        )

    def close(self) -> None:
        """Nothing stays behind."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class NoPrograms:
    """Replaces programs of other languages if they are unsupported. It raises an error that names the sandbox.

    Args:
        backend: the sandbox's name.
    """

    def __init__(self, backend: str) -> None:
        self._backend = backend

    def problem(self, language: str) -> str:
        """Why programs of this language can't be run here."""
        return f"the {self._backend} sandbox does not run {language}: use the sandbox `local`, or an http one"

    def build(self, language: str, text: str, limits: RunLimits | None = None) -> BuiltProgram | RunResult:
        """Always raises.

        Raises:
            SandboxUnavailable: Always.
        """
        raise SandboxUnavailable(self.problem(language))

    def execute(
        self, command: Sequence[str], files: Mapping[str, bytes], stdin: bytes, limits: RunLimits, *,
        tools: tuple[str, ...], env: Mapping[str, str],
    ) -> RunResult:  # fmt: skip
        """Always raises.

        Raises:
            SandboxUnavailable: Always.
        """
        raise SandboxUnavailable(f"the {self._backend} sandbox can't run commands with files")

    def run(
        self, program: BuiltProgram, stdins: Sequence[str | bytes], limits: RunLimits, *, budget_s: float = 0.0
    ) -> list[RunResult]:
        """Always raises.

        Raises:
            SandboxUnavailable: Always.
        """
        raise SandboxUnavailable(self.problem(program.language))
