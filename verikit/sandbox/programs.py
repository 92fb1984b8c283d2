"""Programs of other languages in the sandbox: built once, each case in a fresh process, judged from outside.

Compilers read hostile text, so they run behind the same walls. What they make comes out as bytes, is kept by content,
and goes into a fresh sandbox for each run; the cases of a run share nothing but the machine.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verikit.errors import SandboxUnavailable
from verikit.sandbox.client import GRACE_S, Broken, ForkServer, sealed
from verikit.sandbox.guest import source
from verikit.sandbox.pool import Pool
from verikit.sandbox.toolchains import Missing, Toolchain, toolchain
from verikit.sandbox.types import Failure, RunLimits, RunResult, Status

BUILD = RunLimits(wall_s=30.0, memory_mb=2048, disk_mb=256, output_kb=256, threads=128)
"""What a compiler may use."""
_MOST_KEPT = 256 << 20
_MOST_PRODUCT = 64 << 20
_OWN_PATH = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "HOME": "{work}", "TMPDIR": "{work}"}
_OUT_OF_MEMORY = ("bad_alloc", "OutOfMemoryError", "heap out of memory", "memory allocation of", "out of memory")
_JAVA_CLASS = re.compile(r"\b(?:class|interface|enum|record)[ \t\n]+([A-Za-z_$][\w$]*)")
_JAVA_PUBLIC = re.compile(r"^[ \t]*public[ \t]+(?:(?:final|abstract|strictfp)[ \t]+)*(?:class|interface|enum|record)"
                          r"[ \t\n]+([A-Za-z_$][\w$]*)", re.MULTILINE)  # fmt: skip
_JAVA_MAIN = re.compile(r"\bstatic[ \t\n]+(?:final[ \t\n]+)?void[ \t\n]+main\b")


@dataclass(frozen=True, slots=True)
class Program:
    """A program that is ready to run."""

    language: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    main: str = "Main"
    """The class that is started (Java)."""


class Programs:
    """Builds and runs programs of other languages on one pool of servers; thread-safe."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._built: OrderedDict[tuple[str, str], Program | RunResult] = OrderedDict()
        self._size = 0
        self._works: dict[str, str] = {}
        self._trial = threading.Lock()

    def problem(self, language: str) -> str:
        """Why programs of this language can't be run here; empty if they can. Tried once, with a program of ours."""
        chain = toolchain(language)
        if isinstance(chain, Missing):
            return f"no tool chain for {language} on this machine: {chain.install}"
        with self._trial:
            if language not in self._works:
                self._works[language] = self._try(chain)
            return self._works[language]

    def _try(self, chain: Toolchain) -> str:
        try:
            built = self.build(chain.language, chain.hello)
        except SandboxUnavailable as error:
            return str(error)
        done = built if isinstance(built, RunResult) else self.run(built, ["ready\n"], RunLimits(wall_s=20))[0]
        if done.status == "ok" and done.stdout.strip() == "ready":
            return ""
        seen = (done.stderr or done.stdout).strip()[:300]
        return f"the tool chain for {chain.language} does not work in the sandbox: {done.status}, {done.error} {seen}"

    def build(self, language: str, text: str, limits: RunLimits = BUILD) -> Program | RunResult:
        """The program of a source text, or how its compiler failed; kept by content.

        Raises:
            SandboxUnavailable: there is no tool chain, or no namespaces.
        """
        chain = toolchain(language)
        if isinstance(chain, Missing):
            raise SandboxUnavailable(f"no tool chain for {language}", hint=chain.install)
        with self._lock:
            if found := self._built.get((language, text)):
                self._built.move_to_end((language, text))
                return found
        main = java_class(text) if language == "java" else ("Main", "Main")
        name = f"{main[0]}.java" if language == "java" else chain.source
        content = text.encode("utf-8", "replace")
        built: Program | RunResult = Program(language, {name: content}, main[1])
        if chain.build:
            command = [part.replace(chain.source, name) for part in chain.build]
            built = self._compile(chain, command, {name: content, "out/.keep": b""}, main[1], limits)
        if not (isinstance(built, RunResult) and built.status == "infra_error"):
            self._keep((language, text), built)
        return built

    def _keep(self, key: tuple[str, str], built: Program | RunResult) -> None:
        with self._lock:
            self._built[key] = built
            self._size = sum(map(_weight, self._built.values()))
            while self._size > _MOST_KEPT and len(self._built) > 1:
                self._size -= _weight(self._built.popitem(last=False)[1])

    def _compile(
        self, chain: Toolchain, command: Sequence[str], files: Mapping[str, bytes], main: str, limits: RunLimits
    ) -> Program | RunResult:
        job = _Job(command, files, {**_OWN_PATH, **chain.env}, [b""], limits, limits.wall_s, chain.data_mb, "out")
        results, products = self._fly(job, chain.tools)
        if results[0].status != "ok":
            return results[0]
        files = {name: content for name, content in products.items() if name != ".keep"}
        if not files:
            return replace(results[0], status="error", error=Failure("compiler", "it made no program"))
        return Program(chain.language, files, main)

    def run(
        self, program: Program, stdins: Sequence[str | bytes], limits: RunLimits, *, budget_s: float = math.inf
    ) -> list[RunResult]:
        """Run a program once for each standard input; results keep the order.

        A case that ends badly is the last: the results are fewer than the inputs then.

        Args:
            program: what `build` made.
            stdins: of the cases.
            limits: of each case.
            budget_s: for all of them together.

        Raises:
            SandboxUnavailable: there is no tool chain, or no namespaces.
        """
        chain = toolchain(program.language)
        if isinstance(chain, Missing):
            raise SandboxUnavailable(f"no tool chain for {program.language}", hint=chain.install)
        fill = {"{memory}": str(limits.memory_mb), "{main}": program.main}
        command = [_filled(part, fill) for part in chain.run]
        inputs = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in stdins]
        job = _Job(command, program.files, {**_OWN_PATH, **chain.run_env}, inputs, limits, budget_s, chain.run_data_mb)
        return self._fly(job, chain.run_tools or ("/usr/lib",))[0]

    def execute(
        self,
        command: Sequence[str],
        files: Mapping[str, bytes],
        stdin: bytes,
        limits: RunLimits,
        *,
        tools: tuple[str, ...],
        env: Mapping[str, str],
    ) -> RunResult:
        """Run one command beside files of its own, with all the processes that it starts.

        Args:
            command: `{kept}` in it is the folder of the files; it starts in an empty one.
            files: relative names and contents.
            stdin: its standard input.
            limits: of the command and what it starts, together.
            tools: paths that it needs to read and execute.
            env: its variables, beside `PATH` and the like.

        Raises:
            SandboxUnavailable: no namespaces.
        """
        job = _Job(command, files, {**_OWN_PATH, **env}, [stdin], limits, limits.wall_s)
        return self._fly(job, tools)[0][0]

    def _fly(self, job: _Job, tools: tuple[str, ...]) -> tuple[list[RunResult], dict[str, bytes]]:
        payload, begun = job.payload(), time.monotonic()

        def run(server: ForkServer) -> tuple[list[RunResult], dict[str, bytes]]:
            if not server.options.namespaces:
                raise SandboxUnavailable(
                    f"programs of other languages need namespaces, refused here: {self._pool.refusal}",
                    hint="docker: --security-opt seccomp=… with unshare and mount; Ubuntu: an AppArmor profile "
                    "with `userns`",
                )
            return _once(server, payload, job)

        try:
            return self._pool.use(run, source("bare"), 0, tools)
        except Broken as problem:
            seconds = time.monotonic() - begun
            return [RunResult("infra_error", error=Failure("infra", str(problem)), seconds=seconds)], {}


@dataclass(frozen=True)
class _Job:
    """What the supervisor is asked to do."""

    command: Sequence[str]
    files: Mapping[str, bytes]
    env: Mapping[str, str]
    stdins: Sequence[bytes]
    limits: RunLimits
    budget_s: float
    data_mb: int = 0
    collect: str = ""

    def payload(self) -> bytes:
        """A line of JSON and the contents that it speaks of."""
        contents: list[bytes] = []
        end = 0

        def put(content: bytes) -> list[int]:
            nonlocal end
            contents.append(content)
            end += len(content)
            return [end - len(content), end]

        head = {
            "argv": list(self.command), "env": dict(self.env),
            "files": [[name, *put(content), 0o700] for name, content in self.files.items()],
            "cases": [put(content) for content in self.stdins], "wall": self.limits.wall_s,
            "budget": min(self.budget_s, 1e6), "output": self.limits.output_kb << 10,
            "data": (self.limits.memory_mb + self.data_mb) << 20 if self.data_mb else 0,
            "stop": True, "collect": self.collect,
        }  # fmt: skip
        return b"\n".join([json.dumps(head).encode(), b"".join(contents)])

    def order(self, size: int) -> tuple[RunLimits, float, int, int]:
        """Limits of the supervisor, its wall clock, what all may hold in MiB, and the bytes of its record."""
        lim = self.limits
        engine = lim.memory_mb + self.data_mb
        limits = replace(
            lim, cpu_s=lim.cpu_s if lim.cpu_s is not None else 2 * lim.wall_s + 2,
            memory_mb=1 << 20 if self.data_mb else lim.memory_mb, threads=max(lim.threads, 64),
            disk_mb=lim.disk_mb + 3 * (size >> 20) + 2 + (2 * lim.output_kb >> 10),
        )  # fmt: skip
        wall = min(self.budget_s, lim.wall_s * len(self.stdins)) + 2.0
        most = len(self.stdins) * ((2 * lim.output_kb << 10) + 4096) + _MOST_PRODUCT
        return limits, wall, engine + 64, most


def _once(server: ForkServer, payload: bytes, job: _Job) -> tuple[list[RunResult], dict[str, bytes]]:
    """One run on one server."""
    limits, wall, resident, most = job.order(len(payload))
    commands, given = sealed(payload), sealed(b"")
    try:
        flight = server.start(limits, given, commands, wall_s=wall, resident_mb=resident, record_cap=most)
    finally:
        os.close(commands)
        os.close(given)
    try:
        flight.pump(time.monotonic() + wall + GRACE_S)
    finally:
        flight.close()
    if flight.ended is None:
        raise Broken("the run has no end")
    results, products = _read(bytes(flight.data["record"]), job.limits)
    if not results or (results[-1].status == "ok" and len(results) < len(job.stdins)):
        results.append(_cut_short(flight.ended, flight.overflow, job))
    return results, products


def _cut_short(ended: Mapping[str, Any], overflow: str, job: _Job) -> RunResult:
    """How a run ended whose supervisor did not say so."""
    seconds = float(ended["seconds"])
    if overflow:
        return RunResult("output", error=Failure("output", "more than the cap"), seconds=seconds)
    if ended["why"] == "memory":
        told = Failure("memory", f"more than {job.limits.memory_mb} MiB in use")
        return RunResult("memory", error=told, seconds=seconds)
    if ended["why"] in ("wall", "stopped") or seconds >= job.budget_s:
        return RunResult("timeout", error=Failure("timeout", f"{seconds:.1f} s of wall clock"), seconds=seconds)
    return RunResult("killed", error=Failure("killed", "the program ended its own supervisor"), seconds=seconds)


def _read(record: bytes, limits: RunLimits) -> tuple[list[RunResult], dict[str, bytes]]:
    """The results and the files in a record.

    Raises:
        Broken: the supervisor says that it failed, or the record can't be read.
    """
    results: list[RunResult] = []
    products: dict[str, bytes] = {}
    position = 0
    while (end := record.find(b"\n", position)) >= 0:
        try:
            said = json.loads(record[position:end])
            position = end + 1
            if "infra" in said:
                raise Broken(f"a supervisor failed: {said['infra']}")
            if "spoiled" in said:
                told = Failure("killed", f"the program spoiled its own surroundings: {str(said['spoiled'])[:200]}")
                results.append(RunResult("killed", error=told))
                continue
            if "file" in said:
                products[str(said["file"])] = record[position : position + int(said["size"])]
                position += int(said["size"])
                continue
            out, err = record[position : position + said["out"]], record[position + said["out"] :][: said["err"]]
            position += said["out"] + said["err"]
            results.append(_result(said, out, err, limits))
        except (ValueError, KeyError, TypeError) as problem:
            raise Broken(f"a record that can't be read: {problem!r}") from None
    return results, products


def _result(said: Mapping[str, Any], out: bytes, err: bytes, limits: RunLimits) -> RunResult:
    cap = limits.output_kb << 10
    stdout, stderr = (data[:cap].decode("utf-8", "replace") for data in (out, err))
    status, error = _ended(said, max(len(out), len(err)) > cap, stderr, limits)
    return RunResult(status, None, stdout, stderr, error, float(said["seconds"]), float(said["cpu"]), int(said["exit"]))


def _ended(said: Mapping[str, Any], flood: bool, stderr: str, limits: RunLimits) -> tuple[Status, Failure | None]:
    """What a case came to; evidence from outside goes first."""
    code, why = int(said["exit"]), said["why"]
    if flood or why == "output":
        return "output", Failure("output", f"more than {limits.output_kb} KiB")
    if why == "wall":
        return "timeout", Failure("timeout", f"{limits.wall_s:g} s of wall clock")
    if why == "exec":
        return "error", Failure("start", f"the program can't be started: {os.strerror(code)}")
    if code == 0:
        return "ok", None
    if said["full"] or code == -signal.SIGXFSZ:
        return "disk", Failure("disk", "more than the cap of what may be written")
    tail = stderr[-4000:]
    if any(mark in tail for mark in _OUT_OF_MEMORY):
        return "memory", Failure("memory", f"more than {limits.memory_mb} MiB")
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and said["cpu"] >= limits.wall_s):
        return "timeout", Failure("timeout", "CPU time")
    if code == -signal.SIGSYS:
        return "violation", Failure("violation", "a system call by a forbidden gate")
    if code < 0:
        number = -code
        name = signal.Signals(number).name if number in signal.valid_signals() and number < 32 else f"signal {number}"
        return "killed", Failure("killed", name)
    lines = [line for line in stderr.strip().split("\n") if line.strip()]
    return "error", Failure(f"exit code {code}", " | ".join(lines[:3])[:500])


def _filled(part: str, fill: Mapping[str, str]) -> str:
    for mark, value in fill.items():
        part = part.replace(mark, value)
    return part


def _weight(built: Program | RunResult) -> int:
    return sum(map(len, built.files.values())) if isinstance(built, Program) else 1024


def java_class(text: str) -> tuple[str, str]:
    """The class that names the file, and the class that is started: the one before `static void main`."""
    public = _JAVA_PUBLIC.search(text)
    main = _JAVA_MAIN.search(text)
    before = _JAVA_CLASS.findall(text[: main.start()]) if main else []
    start = before[-1] if before else "Main"
    if public and main and public.start() < main.start():
        start = public[1]
    return (public[1] if public else start), start
