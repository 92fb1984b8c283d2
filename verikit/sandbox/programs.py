"""Programs of other languages in the sandbox: built once, each case in a fresh process, judged from outside.

Compilers read hostile source code, so they run behind the same walls. Their output leaves the sandbox as bytes and is
cached by content. It goes into a fresh sandbox for each run. The cases of a run share only the machine.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from verikit.errors import SandboxUnavailable
from verikit.sandbox import case_engines
from verikit.sandbox.client import Broken, ForkServer
from verikit.sandbox.guest import source
from verikit.sandbox.java_source import main_class
from verikit.sandbox.meter import metered
from verikit.sandbox.pool import Pool
from verikit.sandbox.program_runs import ProgramJob, ProgramRun, fly
from verikit.sandbox.toolchains import Missing, Toolchain, toolchain
from verikit.sandbox.types import Failure, RunLimits, RunResult

BUILD = RunLimits(wall_s=30.0, memory_mb=2048, disk_mb=256, output_kb=256, threads=128)
"""Limits of a compiler."""
_MOST_KEPT = 256 << 20
_OWN_PATH = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "HOME": "{work}", "TMPDIR": "{work}"}


@dataclass(frozen=True, slots=True)
class BuiltProgram:
    """A program that is ready to run."""

    language: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    main: str = "Main"
    """The class that is started (Java)."""
    cpu_s: float = 0.0
    """CPU seconds of its compiler, now or when it was built before."""
    has_engine: bool = False
    """Whether its engine is linked into it."""


_Key = tuple[str, str, RunLimits]
"""Key of the cache: language, source text, and the limits of its compiler, except the wall clock."""


class Programs:
    """Builds and runs programs of other languages on one pool of servers; thread-safe.

    Args:
        pool: of the servers.
        native: run cases by the native supervisor if a C compiler can build it. Otherwise by Python's.
    """

    def __init__(self, pool: Pool, *, native: bool = True) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._built: OrderedDict[_Key, BuiltProgram | RunResult] = OrderedDict()
        self._turns: dict[tuple[int, _Key], threading.Lock] = {}
        self._size = 0
        self._works: dict[str, str] = {}
        self._trial = threading.Lock()
        self._native: bytes | None = None if native else b""
        self._engines: dict[str, Mapping[str, bytes]] = {}
        self._making = threading.RLock()
        self._without_engine = case_engines.WithoutEngine()

    def problem(self, language: str) -> str:
        """Why programs of this language can't be run here; empty if they can. Checked once, with a test program."""
        chain = toolchain(language)
        if isinstance(chain, Missing):
            return f"the toolchain is missing for {language} on this machine: {chain.install}"
        with self._trial:
            if language not in self._works:
                with metered():  # verikit's time, not the first caller's
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
        return f"the toolchain for {chain.language} does not work in the sandbox: {done.status}, {done.error} {seen}"

    def build(self, language: str, text: str, limits: RunLimits = BUILD) -> BuiltProgram | RunResult:
        """Build a source text, cached by content. Returns the program, or how its compiler failed.

        Callers that limit a row's seconds subtract `cpu_s` of the result, which is the same for a cached result.

        Raises:
            SandboxUnavailable: There is no toolchain, or no namespaces.
        """
        chain = toolchain(language)
        if isinstance(chain, Missing):
            raise SandboxUnavailable(f"the toolchain is missing for {language}", hint=chain.install)
        key = (language, text, replace(limits, wall_s=BUILD.wall_s, cpu_s=None))
        place = os.getpid(), key  # a forked copy lacks the threads that would open it
        with self._lock:
            turn = self._turns.setdefault(place, threading.Lock())
        try:
            with turn:  # equal programs at the same time are compiled once
                return self._found(key, limits) or self._build(chain, text, limits, key)
        finally:
            with self._lock:
                self._turns.pop(place, None)

    def _found(self, key: _Key, limits: RunLimits) -> BuiltProgram | RunResult | None:
        """A cached build that would end the same under these limits."""
        with self._lock:
            found = self._built.get(key)
            if found is None or not _holds_under(found, limits.cpu_s or math.inf):
                return None
            self._built.move_to_end(key)
            return found

    def _build(self, chain: Toolchain, text: str, limits: RunLimits, key: _Key) -> BuiltProgram | RunResult:
        language = chain.language
        main = main_class(text) if language == "java" else ("Main", "Main")
        name = f"{main[0]}.java" if language == "java" else chain.source
        content = text.encode("utf-8", "replace")
        built: BuiltProgram | RunResult = BuiltProgram(language, {name: content}, main[1])
        if chain.build:
            command = [part.replace(chain.source, name) for part in chain.build]
            built = self._compile_program(chain, command, {name: content, "out/.keep": b""}, main[1], limits)
        if not (isinstance(built, RunResult) and (built.status == "infra_error" or was_too_busy(built))):
            self._keep(key, built)
        return built

    def _keep(self, key: _Key, built: BuiltProgram | RunResult) -> None:
        with self._lock:
            self._built[key] = built
            self._size = sum(map(_weight, self._built.values()))
            while self._size > _MOST_KEPT and len(self._built) > 1:
                self._size -= _weight(self._built.popitem(last=False)[1])

    def _compile_program(
        self, chain: Toolchain, command: Sequence[str], files: Mapping[str, bytes], main: str, limits: RunLimits
    ) -> BuiltProgram | RunResult:
        may_link = chain.linked and case_engines.may_link(files[chain.source])
        if engine := self._engine_files(chain.language) if may_link else {}:
            built = self._compile(chain, [*command, *chain.linked], {**files, **engine}, main, limits)
            if isinstance(built, BuiltProgram):
                return replace(built, has_engine=True)
            if case_engines.NOT_LINKED not in built.stderr:
                return built
        return self._compile(chain, command, files, main, limits)

    def _compile(
        self, chain: Toolchain, command: Sequence[str], files: Mapping[str, bytes], main: str, limits: RunLimits
    ) -> BuiltProgram | RunResult:
        job = ProgramJob(command, files, {**_OWN_PATH, **chain.env}, [b""], limits, limits.wall_s, chain.data_mb, "out")
        run = self._fly(job, chain.tools)
        said = replace(run.results[0], cpu_s=run.cpu_s)
        if said.status != "ok":
            return said
        files = {name: content for name, content in run.products.items() if name != ".keep"}
        if not files:
            return replace(said, status="error", error=Failure("compiler", "it made no program"))
        return BuiltProgram(chain.language, files, main, run.cpu_s)

    def run(
        self, program: BuiltProgram, stdins: Sequence[str | bytes], limits: RunLimits, *, budget_s: float = math.inf
    ) -> list[RunResult]:
        """Run a program once for each standard input. Results keep the order.

        A failed case ends the run, and then there are fewer results than inputs.

        Args:
            program: returned by `build`.
            stdins: of the cases.
            limits: of each case.
            budget_s: for all of them together.

        Raises:
            SandboxUnavailable: There is no toolchain, or no namespaces.
        """
        chain = toolchain(program.language)
        if isinstance(chain, Missing):
            raise SandboxUnavailable(f"the toolchain is missing for {program.language}", hint=chain.install)
        inputs = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in stdins]
        tries = chain.engine and len(inputs) >= case_engines.PAYS and program.files not in self._without_engine
        engine = self._engine(chain, program) if tries else None
        return self._run(chain, program, inputs, limits, budget_s, engine)

    def _run(
        self, chain: Toolchain, program: BuiltProgram, inputs: Sequence[bytes], limits: RunLimits, budget_s: float,
        engine: case_engines.CaseEngine | None,
    ) -> list[RunResult]:  # fmt: skip
        fill = {"{memory}": str(limits.memory_mb), "{main}": program.main, **(engine.fill if engine else {})}
        alone, command = ([_filled(part, fill) for part in parts] for parts in (chain.run, chain.engine))
        plain = job = ProgramJob(
            alone, program.files, {**_OWN_PATH, **chain.run_env}, inputs, limits, budget_s, chain.run_data_mb,
            native=self.native_supervisor(),
        )  # fmt: skip
        if engine:
            job = replace(
                job, command=command, files={**program.files, **engine.files}, env={**job.env, **engine.env},
                engine=True, alone=alone if engine.may_fail else (),
            )  # fmt: skip
        results: list[RunResult] = []
        while True:
            run = self._fly(job, chain.run_tools or ("/usr/lib",))
            results += run.results
            left = job.budget_s - sum(result.seconds for result in run.results)
            if not run.again or left <= 0:
                return results
            if run.again == "alone" or not run.results:  # a forged record without results must not repeat for ever
                job = plain
                self._without_engine.add(program.files)
            job = replace(job, stdins=inputs[len(results) :], budget_s=left)

    def execute(
        self,
        command: Sequence[str],
        files: Mapping[str, bytes],
        stdin: bytes,
        limits: RunLimits,
        *,
        tools: tuple[str, ...],
        env: Mapping[str, str],
        places: tuple[str, ...] = (),
        collect: str = "",
    ) -> RunResult:
        """Run one command with its own files, with all the processes that it starts.

        Args:
            command: `{kept}` in it is the folder of the files. It starts in an empty one.
            files: relative names and contents.
            stdin: its standard input.
            limits: of the command and its child processes, together.
            tools: paths that it needs to read and execute.
            env: its variables, in addition to `PATH` and similar ones.
            places: folders at the root, such as `/app`, that lead to folders of their names in the work folder.
            collect: the folder next to the files whose regular files are returned with the result.

        Raises:
            SandboxUnavailable: No namespaces.
        """
        job = ProgramJob(command, files, {**_OWN_PATH, **env}, [stdin], limits, limits.wall_s, collect=collect)
        run = self._fly(job, tools, places)
        return replace(run.results[0], files=run.products) if collect else run.results[0]

    def native_supervisor(self) -> bytes:
        """The program that runs cases fast, built once. Empty if there is no C compiler."""
        with self._making:
            if self._native is None:
                self._native = b""
                chain = toolchain("c")
                if not isinstance(chain, Missing):
                    files = _native_files(_NATIVE, "calls.h", "engine.h", "mapping.h")
                    built = self._compile(chain, _native_build(chain), files, "", BUILD)
                    self._native = built.files.get("main", b"") if isinstance(built, BuiltProgram) else b""
            return self._native

    def _engine(self, chain: Toolchain, program: BuiltProgram) -> case_engines.CaseEngine | None:
        """The engine that runs the cases of a program. None if it doesn't exist or the program can't use it."""
        if chain.linked:
            return case_engines.CaseEngine({}) if program.has_engine else None
        needs = case_engines.needs_of(chain.language, program.files)
        files = self._engine_files(chain.language) if needs else {}
        return replace(needs, files={**files, **needs.files}) if needs and files else None

    def _engine_files(self, language: str) -> Mapping[str, bytes]:
        """The files of a language's engine, built and tested once. Empty if it is not available."""
        if not self.native_supervisor():
            return {}
        language = "javascript" if language == "typescript" else language
        make = self._make_linked if language in case_engines.TRIALS else self._make_engine
        with self._making, metered():  # verikit's time, not the first caller's
            if language not in self._engines:
                self._engines[language] = make(language)
            return self._engines[language]

    def _make_linked(self, language: str) -> Mapping[str, bytes]:
        """The parts that are linked into programs. The order in which C programs start is the same for all of them."""
        c, chain = toolchain("c"), toolchain(language)
        if isinstance(c, Missing) or isinstance(chain, Missing):
            return {}
        made: Mapping[str, bytes] = self._engine_files("c") if language != "c" else {}
        if language == "c":
            command, source_name = case_engines.build_command(language, chain, c)
            built = self._compile(c, command, _native_files(source_name, "calls.h"), "", BUILD)
            made = case_engines.own_files(language, built.files) if isinstance(built, BuiltProgram) else {}
        sources = {**made, chain.source: case_engines.TRIALS[language].encode(), "out/.keep": b""}
        trial = self._compile(chain, [*chain.build, *chain.linked], sources, "", BUILD) if made else None
        if not isinstance(trial, BuiltProgram):
            return {}
        done = self._run(chain, trial, [b""] * 2, RunLimits(wall_s=20), 60.0, case_engines.CaseEngine({}))
        return made if [run.status for run in done] == ["ok", "ok"] else {}

    def _make_engine(self, language: str) -> dict[str, bytes]:
        c, chain = toolchain("c"), toolchain(language)
        if isinstance(c, Missing) or isinstance(chain, Missing):
            return {}
        command, source_name = case_engines.build_command(language, chain, c)
        maker = chain if chain.build else c
        built = self._compile(maker, command, _native_files(source_name), "", BUILD)
        hello = self.build(language, chain.hello)
        if not isinstance(built, BuiltProgram) or not isinstance(hello, BuiltProgram):
            return {}
        files = case_engines.own_files(language, built.files)
        needs = case_engines.needs_of(language, hello.files)
        if needs is None:
            return {}
        engine = replace(needs, files={**files, **needs.files})
        done = self._run(chain, hello, [b"a\n", b"b\n"], RunLimits(wall_s=20), 60.0, engine)
        return files if [(run.status, run.stdout) for run in done] == [("ok", "a\n"), ("ok", "b\n")] else {}

    def _fly(self, job: ProgramJob, tools: tuple[str, ...], places: tuple[str, ...] = ()) -> ProgramRun:
        payload, begun = job.payload(), time.monotonic()

        def run(server: ForkServer) -> ProgramRun:
            if not server.options.namespaces:
                raise SandboxUnavailable(
                    f"programs of other languages need namespaces, which are not available here: {self._pool.refusal}",
                    hint="docker: --security-opt seccomp=… with unshare and mount. Ubuntu: an AppArmor profile "
                    "with `userns`",
                )
            return fly(server, payload, job)

        try:
            return self._pool.use(run, source("bare"), 0, tools, places)
        except Broken as problem:
            seconds = time.monotonic() - begun
            return ProgramRun([RunResult("infra_error", error=Failure("infra", str(problem)), seconds=seconds)])


_NATIVE = "cases.c"
_NATIVE_FLAGS = (
    "-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-fno-tree-loop-distribute-patterns",
    "-fcf-protection=none", "-fPIE", "-no-pie", "-Wl,-Ttext-segment=0x100000000000", "-Wl,--build-id=none",
)  # fmt: skip


def _native_build(chain: Toolchain) -> list[str]:
    return [chain.build[0], *_NATIVE_FLAGS, f"{{kept}}/{_NATIVE}", "-o", "{kept}/out/main"]


def _native_files(*names: str) -> dict[str, bytes]:
    return {name: (case_engines.NATIVE / name).read_bytes() for name in names} | {"out/.keep": b""}


def _filled(part: str, fill: Mapping[str, str]) -> str:
    for mark, value in fill.items():
        part = part.replace(mark, value)
    return part


def was_too_busy(built: RunResult) -> bool:
    """Whether a compiler exceeded its generous wall clock. The machine caused this, so another try may succeed."""
    return built.status == "timeout" and "wall" in str(built.error)


def _holds_under(built: BuiltProgram | RunResult, cpu_s: float) -> bool:
    """Whether a cached build would end the same with this many CPU seconds."""
    if isinstance(built, RunResult) and built.status == "timeout":
        return built.cpu_s >= cpu_s
    return built.cpu_s <= cpu_s


def _weight(built: BuiltProgram | RunResult) -> int:
    return sum(map(len, built.files.values())) if isinstance(built, BuiltProgram) else 1024
