"""Programs run on another machine: by a `verikit serve --sandbox`, or by any SandboxFusion server.

The server itself reports which of the two it is. A verikit server takes the child's payload unchanged and returns its
record, so verdicts equal the local sandbox's verdicts. A server that fails, rejects a request or does not answer is
`infra_error` after some retries, never a verdict. Its isolation is tested from here, with the probes for all backends.
"""

from __future__ import annotations

import base64
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from verikit.errors import SandboxUnavailable
from verikit.platform.secrets import strike
from verikit.sandbox import bundle, fusion, probes, records, wire
from verikit.sandbox.fusion import UnusableReply
from verikit.sandbox.programs import BUILD, BuiltProgram
from verikit.sandbox.report import PROPERTIES, Property, Report
from verikit.sandbox.toolchains import HELLO
from verikit.sandbox.types import Failure, RunLimits, RunResult
from verikit.sandbox.whole import NoPrograms, WholeRuns

TOKEN = "VERIKIT_SANDBOX_TOKEN"
"""The environment variable for the server's token. The token may also be part of the address."""
_PAUSES = (0.2, 1.0, 3.0)
_RETRYABLE = {408, 429, 500, 502, 503, 504}
_TRIAL = records.payload("def f(): return 2", [("f", [], {})])
_MOST_WAIT_S = 30.0
"""Maximum wait requested by a server's Retry-After."""


class HttpSandbox(WholeRuns):
    """Runs programs on a server.

    Args:
        url: of the server, with or without `/run_code`; a token as the password in it.
        require: properties that must be verified.
        limits: of each run; the server may have narrower ones.
        workers: parallel requests.
        retries: after a rejected or broken request.
        check: query the server now, and test its isolation.

    Raises:
        SandboxUnavailable: It does not answer, or a required property is not verified.
    """

    def __init__(
        self,
        url: str,
        *,
        require: Iterable[Property] = (),
        limits: RunLimits | None = None,
        workers: int = 8,
        retries: int = 3,
        check: bool = False,
    ) -> None:
        import httpx

        self.limits: RunLimits = limits or RunLimits()
        self.workers: int = workers
        self._url = url.rstrip("/").removesuffix("/run_code")
        self._pauses = _PAUSES[:retries]
        token = os.environ.get(TOKEN, "").strip()
        self._client = httpx.Client(
            limits=httpx.Limits(max_connections=workers), headers={"Authorization": f"Bearer {token}"} if token else {}
        )
        self._lock = threading.Lock()
        self._ours: bool | None = None
        self._bundles = False
        """Whether a bundle has ever returned its record. After that, a missing record is the program's doing."""
        self._programs = HttpPrograms(self)
        self._report = Report("http", strike(self._url), {"server": "not asked"}, dict.fromkeys(PROPERTIES, "absent"))
        wanted = frozenset(require)
        if check or wanted:
            self._check()
        self._report.require(wanted)

    def _check(self) -> None:
        first = self.run("print('ok')")
        if first.status != "ok" or first.stdout != "ok\n":
            self.close()
            raise SandboxUnavailable(
                f"programs can't run there: {first.error or first.stdout[:100]}",
                hint=f"is the server there (`verikit serve --sandbox`), and its token in {TOKEN} or in the address?",
            )
        properties, notes = probes.examine(self, spin_s=1.0)
        kind = "verikit" if self._ours else "SandboxFusion"
        self._report = Report("http", strike(self._url), {"server": kind}, properties, notes)

    @property
    def report(self) -> Report:
        """The properties verified by tests from here. Empty unless `check` or `require` was set."""
        return self._report

    @property
    def programs(self) -> HttpPrograms:
        """Programs of other languages, if the server runs them."""
        return self._programs

    def _run_plain(
        self, code: str, payload: bytes, stdin: bytes, limits: RunLimits, files: Mapping[str, str | bytes] | None
    ) -> RunResult:
        if self._speaks_ours():
            return super()._run_plain(code, payload, stdin, limits, files)
        return self.ask("/run_code", fusion.request(code, stdin, limits, files=files), limits.wall_s, fusion.result)

    def _execute(self, payload: bytes, stdin: bytes, limits: RunLimits, calls: int, *, asking: bool) -> RunResult:
        if self._speaks_ours():
            body = {
                "payload": payload.decode(), "stdin": base64.b64encode(stdin).decode(), "limits": asdict(limits),
                "calls": calls, "asking": asking,
            }  # fmt: skip
            return self.ask("/run", body, limits.wall_s, lambda facts, _: wire.read(facts, calls, asking=asking))
        if not self._bundles:
            self._bundles = self._bundled(_TRIAL, b"", RunLimits(wall_s=20.0), 1, asking=False).value == [2]
            if not self._bundles:
                told = Failure("infra", "the server gives no files back, or its Python is older than 3.11")
                return RunResult("infra_error", error=told)
        return self._bundled(payload, stdin, limits, calls, asking=asking)

    def _bundled(self, payload: bytes, stdin: bytes, limits: RunLimits, calls: int, *, asking: bool) -> RunResult:
        body = fusion.request(bundle.program(payload), stdin, limits, fetch=(bundle.RECORD,))
        return self.ask(
            "/run_code", body, limits.wall_s,
            lambda facts, seconds: fusion.bundled(facts, seconds, limits, calls, asking=asking),
        )  # fmt: skip

    def _speaks_ours(self) -> bool:
        """Whether the server is a verikit server. If it does not answer, the next run queries it again."""
        import httpx

        with self._lock:
            if self._ours is None:
                try:
                    reply = self._client.get(f"{self._url}/sandbox", timeout=10)
                    told = reply.json() if reply.is_success else {}
                except (httpx.HTTPError, ValueError):
                    return False
                if reply.status_code not in _RETRYABLE:
                    self._ours = isinstance(told, dict) and told.get("server") == "verikit"
            return bool(self._ours)

    def ask(self, path: str, body: Mapping[str, Any], wall_s: float, read: wire.Reader) -> RunResult:
        """Send a request, with retries if they may help. Returns `infra_error` without a usable reply."""
        start, problem = time.monotonic(), ""
        for pause in (*self._pauses, None):
            asked = time.monotonic()
            try:
                return read(self._post(path, body, wall_s), time.monotonic() - asked)
            except UnusableReply as error:
                problem = str(error)
                if pause is not None:
                    time.sleep(max(pause, min(error.wait_s, _MOST_WAIT_S)))
        return RunResult("infra_error", error=Failure("infra", problem), seconds=time.monotonic() - start)

    def _post(self, path: str, body: Mapping[str, Any], wall_s: float) -> dict[str, Any]:
        import httpx

        try:
            reply = self._client.post(f"{self._url}{path}", json=body, timeout=2 * wall_s + 90)
            wait = reply.headers.get("retry-after", "")
            if reply.status_code in _RETRYABLE:
                seconds = float(wait) if wait.isdecimal() else 0.0
                raise UnusableReply(f"HTTP {reply.status_code}: {reply.text[:200]}", seconds)
            facts = reply.json() if reply.is_success else None
        except (httpx.HTTPError, ValueError) as error:
            raise UnusableReply(f"{type(error).__name__}: {error}") from None
        if not isinstance(facts, dict):
            raise UnusableReply(f"HTTP {reply.status_code}: {reply.text[:200]}")
        return facts

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class HttpPrograms(NoPrograms):
    """Programs of other languages, compiled and run by the server, which caches compiled programs.

    Args:
        box: the sandbox that sends the requests.
    """

    def __init__(self, box: HttpSandbox) -> None:
        super().__init__("http")
        self._box = box
        self._works: dict[str, str] = {}
        self._trial = threading.Lock()

    def problem(self, language: str) -> str:
        """Why the server can't run programs of this language; empty if it can. Checked once, with a test program."""
        if language not in fusion.LANGUAGES:
            return super().problem(language)
        with self._trial:
            if language not in self._works:
                ours = BuiltProgram(language, {"source": HELLO[language].encode()})
                done = self.run(ours, ["ready\n"], RunLimits(wall_s=20.0))[0]
                right = done.status == "ok" and done.stdout.strip() == "ready"
                self._works[language] = "" if right else f"the server does not run {language}: {done.error}"
            return self._works[language]

    def build(self, language: str, text: str, limits: RunLimits | None = None) -> BuiltProgram | RunResult:
        """The program of a source text. The server compiles it when it runs it."""
        seconds = (limits or BUILD).cpu_s or (limits or BUILD).wall_s
        return BuiltProgram(language, {"source": text.encode("utf-8", "replace")}, str(seconds))

    def run(
        self, program: BuiltProgram, stdins: Sequence[str | bytes], limits: RunLimits, *, budget_s: float = 1e6
    ) -> list[RunResult]:
        """Run a program once for each standard input. A failed case ends the run."""
        source, results, left = program.files["source"].decode(), list[RunResult](), budget_s

        def read(facts: Mapping[str, Any], seconds: float) -> RunResult:
            return fusion.compiled(facts) or _timed(facts, fusion.result(facts, seconds))

        for stdin in stdins:
            given = stdin.encode("utf-8", "surrogatepass") if isinstance(stdin, str) else stdin
            each = replace(limits, wall_s=min(limits.wall_s, left))
            body = fusion.request(source, given, each, language=program.language)
            if program.main.replace(".", "").isdecimal():
                body["compile_timeout"] = float(program.main)
            results.append(self._box.ask("/run_code", body, each.wall_s + 60, read))
            left -= results[-1].seconds
            if results[-1].status != "ok" or left <= 0:
                break
        return results


def _timed(facts: Mapping[str, Any], result: RunResult) -> RunResult:
    """The result with the seconds that the server reports, without network time."""
    took = facts["run_result"].get("execution_time")
    return replace(result, seconds=float(took)) if isinstance(took, int | float) else result
