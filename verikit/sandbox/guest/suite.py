"""Runs a test file (pytest, unittest, doctest) and reports each named test, in a child without candidate code.

The program's functions are called remotely. Modules that the file imports and that don't exist are built from them,
and names that it only uses are builtins. With `program`, the program is run here instead, next to the tests.
"""

import ast
import builtins
import contextlib
import os
import sys
import types
from collections.abc import Callable, Generator, Sequence
from typing import Any

MOST_TESTS = 5000
BASE = "verikit_program"
"""The name that the session gives the object that reaches the program."""
NamedResult = list[str]
"""Name of a test, outcome (passed, failed, skipped; broken: no test at all), message."""


def failures() -> list[Exception]:
    """The failures of calls so far, from the session."""
    kept: list[Exception] = globals()[BASE].failed if BASE in globals() else []
    return kept


def lost() -> str:
    """The description of a failure that no handler caught, or ""."""
    if BASE not in globals():
        return ""
    from verikit.sandbox.lost import swallowed, why_lost

    found = next(filter(swallowed, failures()), None)
    return why_lost(found) if found else ""


def run(form: str, text: str, functions: Sequence[str], modules: Sequence[str], program: str) -> list[NamedResult]:
    """The tests of a file, each by its name.

    Args:
        form: `pytest`, `unittest` or `doctest`.
        text: of the file.
        functions: names that the file uses and does not define.
        modules: names of modules that it imports and that are the program's.
        program: its text, to be run here; empty where functions are called from afar.
    """
    sys.dont_write_bytecode = True
    own = beside(program) if program else from_afar(functions)
    sys.modules.update(dict.fromkeys(modules, own))
    for name, item in names_of(own, functions).items():
        setattr(builtins, name, item)
    by: dict[str, Callable[[str], list[NamedResult]]] = {
        "pytest": by_pytest, "unittest": by_unittest, "doctest": by_doctest,
    }  # fmt: skip
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        return by[form](text)[:MOST_TESTS]


def beside(program: str) -> types.ModuleType:
    """The program, run here as required by `in_process`."""
    own = types.ModuleType("solution")
    exec(compile(program, "<program>", "exec"), own.__dict__)  # noqa: S102
    return own


def from_afar(names: Sequence[str]) -> types.ModuleType:
    """The program as a module whose names are resolved in its own child."""
    from verikit.sandbox.proxies.names import ProgramModule

    return ProgramModule("solution", globals()[BASE], names)


def names_of(own: types.ModuleType, names: Sequence[str]) -> dict[str, Any]:
    """The given names that the program has."""
    if BASE in globals():
        return dict(globals()[BASE].ask("names", list(names)))
    return {name: own.__dict__[name] for name in names if name in own.__dict__}


def told(error: BaseException) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())[:300]


def by_pytest(text: str) -> list[NamedResult]:
    """Run the file by pytest."""
    try:
        import pytest
    except ImportError:
        return [["pytest", "broken", "pytest is not installed: pip install pytest"]]
    with open("test_file.py", "w", encoding="utf-8") as file:
        file.write(text)
    found: dict[str, NamedResult] = {}

    class Reporter:
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_call(self) -> Generator[None, Any, None]:
            failures().clear()
            outcome = yield
            if outcome.excinfo is None and (message := lost()):
                outcome.force_exception(RuntimeError(message))

        def pytest_collectreport(self, report: Any) -> None:
            if report.failed:
                found["collection"] = ["collection", "broken", str(report.longrepr).strip()[-300:]]

        def pytest_runtest_logreport(self, report: Any) -> None:
            name = report.nodeid.partition("::")[2]
            outcome = "passed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
            if name not in found or outcome != "passed":
                crash = getattr(report.longrepr, "reprcrash", None)
                message = str(crash.message if crash else report.longrepr or "")
                found[name] = [name, outcome, message.strip().partition("\n")[0][:300]]

    options = ["-p", "no:cacheprovider", "--noconftest", "--import-mode=importlib", "--rootdir=.", "--tb=short"]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    code = pytest.main([*options, "test_file.py"], plugins=[Reporter()])
    if code not in (0, 1) and "collection" not in found:
        found["pytest"] = ["pytest", "broken", f"pytest ends with {code!s}"]
    return list(found.values())


def by_unittest(text: str) -> list[NamedResult]:
    """Run the file's cases by unittest."""
    import unittest

    module = types.ModuleType("test_file")
    sys.modules["test_file"] = module
    try:
        exec(compile(text, "test_file.py", "exec"), module.__dict__)  # noqa: S102 - what this process is for
    except Exception as error:  # noqa: BLE001 - a row's tests may raise anything
        return [["collection", "broken", told(error)]]
    found: dict[str, NamedResult] = {}

    class Results(unittest.TestResult):
        def _put(self, test: Any, outcome: str, message: str) -> None:
            name = test.id().removeprefix("test_file.")
            found[name] = [name, outcome, message]

        def startTest(self, test: Any) -> None:
            super().startTest(test)
            failures().clear()
            self._put(test, "passed", "")

        def addSuccess(self, test: Any) -> None:
            if message := lost():
                self._put(test, "failed", message)

        def addError(self, test: Any, err: Any) -> None:
            self._put(test, "failed", told(err[1]))

        def addFailure(self, test: Any, err: Any) -> None:
            self._put(test, "failed", told(err[1]))

        def addSkip(self, test: Any, reason: str) -> None:
            self._put(test, "skipped", reason)

        def addUnexpectedSuccess(self, test: Any) -> None:
            self._put(test, "failed", "an unexpected success")

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            if err is not None:
                self._put(test, "failed", f"{subtest._subDescription()}: {told(err[1])}"[:300])

    unittest.defaultTestLoader.loadTestsFromModule(module).run(Results())
    return list(found.values())


def by_doctest(text: str) -> list[NamedResult]:
    """Run each example. They share their names, in order. An example that only prepares others is not a test."""
    import doctest

    examples = doctest.DocTestParser().get_examples(text)
    found: list[NamedResult] = []

    class Runner(doctest.DocTestRunner):
        def _put(self, example: doctest.Example, outcome: str, message: str) -> None:
            found.append([f"{example.lineno + 1}: {example.source.strip()}"[:200], outcome, message[:300]])

        def report_start(self, out: Any, test: Any, example: Any) -> None:
            failures().clear()

        def report_success(self, out: Any, test: Any, example: Any, got: str) -> None:
            message = lost()
            if message or example.want or not _prepares(example.source):
                self._put(example, "failed" if message else "passed", message)

        def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
            self._put(example, "failed", f"gives {got.strip().rpartition(chr(10))[2]}")

        def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
            self._put(example, "failed", told(exc_info[1]))

    whole = doctest.DocTest(examples, {"__name__": "test_file"}, "test_file", None, 0, text)
    Runner(verbose=False).run(whole, out=lambda _: None)
    return found


def _prepares(source: str) -> bool:
    """Whether an example only imports, assigns or defines."""
    kinds = (ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef, ast.ClassDef)
    return all(isinstance(node, kinds) for node in ast.parse(source).body)
