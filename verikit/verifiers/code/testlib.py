"""Special judges in C++, as in testlib: compiled in the sandbox, run there as `checker input output answer`.

The candidate's program is not in that sandbox: a checker reads its output from a file. `testlib.h` is not part of
verikit. A row provides it (`checker_files`), or `VERIKIT_TESTLIB` gives its path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from verikit.errors import SandboxUnavailable
from verikit.sandbox import Failure, LocalSandbox, RunLimits, RunResult
from verikit.sandbox.programs import BUILD, BuiltProgram
from verikit.verifiers.code.cases import Piped

OK, FAIL, POINTS = 0, 3, 7
"""Exit codes of testlib; 1, 2, 4 and 8 mean that the output is wrong."""
PARTLY = 50
"""Exit codes of this value or more mean that the output is partly right."""
VARIABLE = "VERIKIT_TESTLIB"
_HEADER = "testlib.h"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]{1,200})[">][^\n]*$', re.MULTILINE)
_GIVEN = re.compile(r"\bpoints(?:_info)?[ \t]+(-?\d{1,300}(?:\.\d{1,300})?)")
_BUILD = replace(BUILD, wall_s=600.0, cpu_s=60.0)
"""A compiler only waits on a busy machine, so its wall-clock limit is generous."""
_MOST = 8 << 20
"""Of a header, in bytes."""


def is_cpp(checker: str) -> bool:
    """Whether a checker is C++: it includes something."""
    return _INCLUDE.search(checker) is not None


def source(checker: str, files: Mapping[str, str]) -> str:
    """A checker as one source text, with each file of the row inserted at its first include.

    Raises:
        ValueError: It needs `testlib.h`, and neither the row nor the machine has it.
    """
    seen: set[str] = set()

    def put(found: re.Match[str]) -> str:
        name = found[1]
        if name not in files and name != _HEADER:
            return found[0]
        if name in seen:
            return ""
        seen.add(name)
        return _INCLUDE.sub(put, files[name] if name in files else _machine_header())

    text = _INCLUDE.sub(put, checker)
    return f"#define PC_BASE_EXIT_CODE {PARTLY}\n{text}"


def _machine_header() -> str:
    place = os.environ.get(VARIABLE, "")
    if not place:
        raise ValueError(
            f"the checker includes {_HEADER}: put its text into the row's checker_files, or set {VARIABLE} to its path "
            "(https://github.com/MikeMirzayanov/testlib)"
        )
    path = Path(place)
    path = path / _HEADER if path.is_dir() else path
    try:
        if path.stat().st_size > _MOST:
            raise ValueError(f"{VARIABLE}: {path} has more than {_MOST:,} bytes")
        return path.read_text("utf-8", "replace")
    except OSError as error:
        raise ValueError(f"{VARIABLE}: can't read {path}: {error.strerror}") from None


def run(case: Piped, output: str, box: LocalSandbox, limits: RunLimits) -> RunResult:
    """The run of a case's checker on an output; `infra_error` if it can't be compiled or run.

    Raises:
        ValueError: See `source`.
    """
    text = source(case.checker, dict(case.checker_files))
    try:
        if problem := box.programs.problem("cpp"):
            return _not_run(problem)
        built = box.programs.build("cpp", text, _BUILD)
        if not isinstance(built, BuiltProgram):
            said = " | ".join(line for line in built.stderr.split("\n") if line.strip())[:300]
            return _not_run(f"the checker does not compile: {built.status}: {said or built.error}")
        files = {**built.files, "input": _bytes(case.stdin), "output": _bytes(output), "answer": _bytes(case.stdout)}
        command = ["{kept}/main", "{kept}/input", "{kept}/output", "{kept}/answer"]
        return box.programs.execute(command, files, b"", limits, tools=("/usr/lib",), env={})
    except SandboxUnavailable as problem:
        return _not_run(f"{problem}; {problem.hint}")


def points(result: RunResult) -> float | None:
    """The points that a checker gave, on any scale; None if it did not give any."""
    if result.exit_code != POINTS:
        return None
    found = _GIVEN.search(result.stderr) or _GIVEN.search(result.stdout)
    return float(found[1]) if found else None


def said(result: RunResult) -> str:
    """The output of a checker, on one line."""
    return " ".join((result.stderr or result.stdout).split())[:200]


def _not_run(why: str) -> RunResult:
    return RunResult("infra_error", error=Failure("checker", why))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
