"""The server side of SandboxFusion's formats: `/run_code`, and `/submit` for its `CommonOJDataset`.

Field names, statuses and the comparison of outputs are those of bytedance/SandboxFusion (`sandbox_api.py`,
`online_judge_api.py`, `utils/testing.py`). Expected outputs are compared here and never passed to a program.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from verikit.errors import SchemaError
from verikit.platform.numbers import number
from verikit.sandbox import Job, LocalSandbox, RunLimits, RunResult
from verikit.sandbox.budget import Budget
from verikit.sandbox.programs import BuiltProgram
from verikit.sandbox.toolchains import ALIASES
from verikit.verifiers.code.languages import program as program_of
from verikit.verifiers.reading.solution import solution

CAPS = RunLimits(wall_s=1e6, memory_mb=8192, output_kb=8192, value_kb=1024, disk_mb=1024, files=65536, threads=256)
"""Maximum limits that a request may set. Larger values are reduced to these."""
_MOST_TESTS = 1000
_SHOWN = 1000


@dataclass(frozen=True, slots=True)
class RunCodeRequest:
    """A request for one run."""

    code: str
    language: str
    """As `ALIASES` names it."""
    stdin: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    fetch: tuple[str, ...] = ()
    limits: RunLimits = field(default_factory=RunLimits)
    compile_s: float = 10.0

    @property
    def longest_s(self) -> float:
        """Maximum seconds that the request may take."""
        return self.limits.wall_s + (self.compile_s if self.language != "python" else 0.0)


def narrowed(limits: RunLimits) -> RunLimits:
    """The limits, within `CAPS`."""
    names = ("memory_mb", "output_kb", "value_kb", "disk_mb", "files", "threads")
    return replace(limits, **{name: min(getattr(limits, name), getattr(CAPS, name)) for name in names})


def read_run(body: Mapping[str, Any]) -> RunCodeRequest:
    """Read a request of `/run_code`.

    Raises:
        SchemaError: A field can't be used.
    """
    memory = _number(body, "memory_limit_MB", -1.0)
    limits = RunLimits(wall_s=_seconds(body, "run_timeout", 10.0), output_kb=1024)
    if memory > 0:
        limits = replace(limits, memory_mb=math.ceil(memory))
    files = body.get("files") or {}
    fetch = body.get("fetch_files") or []
    if not isinstance(files, Mapping) or not isinstance(fetch, list) or not all(isinstance(f, str) for f in fetch):
        raise SchemaError("must be an object of base64 strings, and a list of names", field="files, fetch_files")
    contents = {str(name): _content(str(name), text) for name, text in files.items() if text is not None}
    return RunCodeRequest(
        _text(body, "code"), _language(body.get("language")), _text(body, "stdin", ""), contents, tuple(fetch),
        narrowed(limits), _seconds(body, "compile_timeout", 10.0),
    )  # fmt: skip


def _language(name: Any) -> str:
    found = ALIASES.get(name.lower(), "") if isinstance(name, str) else ""
    if not found:
        raise SchemaError(
            f"language {name!r} is not available here", field="language", hint=", ".join(set(ALIASES.values()))
        )
    return found


def _text(body: Mapping[str, Any], key: str, usual: str | None = None) -> str:
    value = body.get(key)
    if value is None and usual is not None:
        return usual
    if not isinstance(value, str):
        raise SchemaError("must be a string", field=key)
    return value


def _number(body: Mapping[str, Any], key: str, usual: float) -> float:
    value = body.get(key)
    if value is None:
        return usual
    found = None if isinstance(value, bool) else number(value)
    if found is None:
        raise SchemaError("must be a number", field=key)
    return found


def _seconds(body: Mapping[str, Any], key: str, usual: float) -> float:
    value = _number(body, key, usual)
    if not 0 < value <= CAPS.wall_s:
        raise SchemaError("must be a positive number of seconds", field=key)
    return value


def _content(name: str, text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise SchemaError("must be base64", field=f"files[{name!r}]") from None


def run_code(box: LocalSandbox, asked: RunCodeRequest, seconds: float) -> dict[str, Any]:
    """Build and run the program within `seconds`, and return the reply."""
    budget = Budget(asked.limits, seconds)
    return _run(box, asked, _ready(box, asked, budget), budget)


def _ready(box: LocalSandbox, asked: RunCodeRequest, budget: Budget) -> BuiltProgram | dict[str, Any]:
    """Return the program ready to run, or the reply that explains why it can't be."""
    if asked.language == "python":
        return BuiltProgram(asked.language)
    problem = box.programs.problem(asked.language)
    if not problem and (asked.files or asked.fetch):
        problem = "files are for programs in Python only"
    if problem:
        return _sandbox_error(problem)
    built = budget.build(lambda limits: box.programs.build(asked.language, asked.code, limits), asked.compile_s)
    return _reply(built, None) if isinstance(built, RunResult) else built


def _run(
    box: LocalSandbox, asked: RunCodeRequest, ready: BuiltProgram | dict[str, Any], budget: Budget
) -> dict[str, Any]:
    """Run what `_ready` made; the reply."""
    if not isinstance(ready, BuiltProgram):
        return ready
    if asked.language == "python":
        job = Job(asked.code, asked.stdin, None, None, asked.files, asked.fetch)
        return _reply(None, budget.run(lambda limits: box.map([replace(job, limits=limits)])[0]))
    result = budget.run(lambda limits: box.programs.run(ready, [asked.stdin], limits)[0])
    return _reply(RunResult("ok", cpu_s=ready.cpu_s), result)


def _sandbox_error(problem: str) -> dict[str, Any]:
    return {"status": "SandboxError", "message": problem, "compile_result": None, "run_result": None,
            "executor_pod_name": None, "files": {}}  # fmt: skip


def _encoded(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(data).decode() for name, data in files.items()}


def _reply(built: RunResult | None, run: RunResult | None) -> dict[str, Any]:
    """The reply of a run, or of a build that failed."""
    parts = [result for result in (built, run) if result is not None]
    for result in parts:
        if result.status == "infra_error":
            return _sandbox_error(str(result.error))
    good = run is not None and all(_exit_code(part) == 0 for part in parts)
    files = {} if run is None else _encoded(run.files)
    return {
        "status": "Success" if good else "Failed", "message": "", "compile_result": built and _command(built),
        "run_result": run and _command(run), "executor_pod_name": None, "files": files,
    }  # fmt: skip


def _exit_code_of(said: str) -> int:
    """Return the exit code of a process that calls `sys.exit` with a number or a message."""
    return int(said) & 0xFF if said.lstrip("-").isdecimal() and len(said) < 10 else 1


def _exit_code(result: RunResult) -> int | None:
    """Return the exit code that the process would have had. None for a timeout.

    A program that exceeded a limit was killed. One that called `os._exit` has its own code.
    """
    if result.status == "timeout":
        return None
    if result.status == "ok":
        return 0
    if result.status == "no_result":
        return result.exit_code
    if result.status == "error" and result.error is not None and result.error.type == "SystemExit":
        return _exit_code_of(result.error.message)
    if result.exit_code:
        return result.exit_code
    return -9 if result.status in ("output", "disk", "killed") else 1


def _command(result: RunResult) -> dict[str, Any]:
    code, stderr = _exit_code(result), result.stderr
    if result.status in ("output", "disk", "memory", "killed", "violation") and result.error is not None:
        stderr = f"{stderr.rstrip()}\n{result.status}: {result.error}\n".lstrip()
    return {
        "status": "TimeLimitExceeded" if code is None else "Finished", "execution_time": result.seconds,
        "cpu_time": result.cpu_s, "return_code": code, "stdout": result.stdout, "stderr": stderr,
    }  # fmt: skip


# ---- /submit ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Submission:
    """A request to judge one completion on tests of standard input and output."""

    id: int | str
    run: RunCodeRequest
    tests: tuple[tuple[str, str], ...]
    """Standard input and the expected output of each test."""
    all_cases: bool
    full_cases: bool


def read_submission(body: Mapping[str, Any]) -> Submission:
    """Read a request of `/submit`, whose tests are in `config.provided_data`.

    Raises:
        SchemaError: A field is invalid, or the dataset type is not `CommonOJDataset`.
    """
    config, id = body.get("config"), body.get("id")
    if not isinstance(config, Mapping) or isinstance(id, bool) or not isinstance(id, int | str):
        raise SchemaError("must be an object, and a number or a string", field="config, id")
    if config.get("dataset_type") not in (None, "CommonOJDataset"):
        raise SchemaError("only CommonOJDataset is judged here", field="config.dataset_type",
                          hint="a server of the verifier `code` judges other forms, at POST /score")  # fmt: skip
    if config.get("custom_extract_logic"):
        raise SchemaError("is Python of a client, which is not run here", field="config.custom_extract_logic")
    language = _language(config.get("language"))
    completion = _text(body, "completion")
    code = solution(completion, ())[0] if language == "python" else program_of(completion, language)
    limits = RunLimits(wall_s=_seconds(config, "run_timeout", 20.0 if language == "python" else 10.0))
    extra = config.get("extra") or {}
    if not isinstance(extra, Mapping):
        raise SchemaError("must be an object", field="config.extra")
    run = RunCodeRequest(code, language, limits=limits, compile_s=_seconds(config, "compile_timeout", 10.0))
    all_cases, full = bool(extra.get("run_all_cases")), bool(extra.get("return_full_case"))
    return Submission(id, run, _tests(config.get("provided_data"), id), all_cases, full)


def _tests(data: Any, id: int | str) -> tuple[tuple[str, str], ...]:
    field = "config.provided_data.test"
    tests = _given_tests(data, id, field)
    if not isinstance(tests, list) or not 0 < len(tests) <= _MOST_TESTS:
        raise SchemaError(f"must be a list of 1 to {_MOST_TESTS} tests", field=field,
                          hint='{"id": 1, "test": [{"input": {"stdin": "…"}, "output": {"stdout": "…"}}]}')  # fmt: skip
    try:
        found = tuple((test["input"]["stdin"], test["output"]["stdout"]) for test in tests)
    except (KeyError, TypeError):
        found = ((0, 0),)
    if not all(isinstance(text, str) for pair in found for text in pair):
        raise SchemaError("each test must have the strings input.stdin and output.stdout", field=field)
    return found


def _given_tests(data: Any, id: int | str, field: str) -> Any:
    """The tests of the row with this id, or of the only row. They may be in a JSON string."""
    if isinstance(data, list):
        data = next((row for row in data if isinstance(row, Mapping) and row.get("id") == id), None)
    tests = data.get("test") if isinstance(data, Mapping) else None
    if not isinstance(tests, str):
        return tests
    try:
        return json.loads(tests)
    except (ValueError, RecursionError):
        raise SchemaError("is not JSON", field=field) from None


def judge(box: LocalSandbox, asked: Submission, seconds: float) -> dict[str, Any]:
    """Run the tests and return the reply.

    All tests share `seconds`. It is the program's own time, so it fails the tests that have not finished by then.
    """
    done: list[dict[str, Any]] = []
    budget = Budget(asked.run.limits, seconds)
    ready = _ready(box, asked.run, budget)
    for stdin, expected in asked.tests:
        info = _run(box, replace(asked.run, stdin=stdin), ready, budget)
        passed = info["status"] == "Success" and same_lines(info["run_result"]["stdout"], expected)
        shown = (stdin, expected) if asked.full_cases else (_short(stdin), _short(expected))
        case = {"input": {"stdin": shown[0]}, "output": {"stdout": shown[1]}}
        done.append({"passed": passed, "exec_info": info, "test_info": case})
        if info["status"] == "SandboxError":
            return {"error": info["message"]}
        if not passed and not asked.all_cases:
            break
    return {
        "id": asked.id, "accepted": all(case["passed"] for case in done), "extracted_code": asked.run.code,
        "full_code": None, "test_code": None, "tests": done, "extracted_type": None, "extra": None,
    }  # fmt: skip


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def same_lines(got: str, wanted: str) -> bool:
    """SandboxFusion's comparison: line by line without case and outer spaces, numbers to one part in 100,000."""
    found, expected = got.strip().split("\n"), wanted.strip().split("\n")
    return len(found) == len(expected) and all(map(_same_line, found, expected))


def _same_line(got: str, wanted: str) -> bool:
    got, wanted = got.strip().lower(), wanted.strip().lower()
    if got == wanted:
        return True
    if max(len(got), len(wanted)) > 400:
        return False
    try:
        a, b = float(got), float(wanted)
    except ValueError:
        return False
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) / max(abs(b), 1e-10) < 1e-5
