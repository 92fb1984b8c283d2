"""Runs a repository's Python tests in one process with the repository's own code, and records how each ended.

The code under test could change anything in this process. So runners are loaded before the repository can be imported,
and Python's own modules come before the repository's. Plugins and bytecode of the repository are ignored. Tests that
have to fail run with the others. If one of them passes, the verdicts of all are void.
"""

import importlib
import json
import os
import sys
import tempfile
import unittest
from collections.abc import Callable, Generator
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

CASES = """
import unittest

class Test{0}(unittest.TestCase):
    def test_1(self):
        self.assertEqual(1, 2)

    def test_2(self):
        self.assertTrue(False)

    def test_3(self):
        with self.assertRaises(ValueError):
            int("1")

    def test_4(self):
        self.assertIn(1, [2])

    def test_5(self):
        self.fail("{0}")
"""
BARE = """
import pytest

def test_{0}_1():
    found = [1]
    assert found == [2]

def test_{0}_2():
    with pytest.raises(ValueError):
        int("1")

def test_{0}_3():
    assert 0.1 + 0.2 == pytest.approx(0.4)

def test_{0}_4():
    raise RuntimeError("{0}")
"""
ALARMS = {"pytest": (CASES + BARE, 9), "unittest": (CASES, 5)}
"""Tests that have to fail, and how many they are."""


def main() -> None:
    """Run the tests that standard input names."""
    asked = json.load(sys.stdin)
    write, record, nonce = os.write, int(asked["record"]), str(asked["nonce"])

    def say(*words: str) -> None:
        data = f"{nonce} {json.dumps(words)}\n".encode()
        while data:
            data = data[write(record, data) :]

    sys.dont_write_bytecode = True
    alarm = "x" + os.urandom(8).hex()
    folder = tempfile.mkdtemp()
    path, (text, count) = f"{folder}/test_{alarm}.py", ALARMS[asked["form"]]
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("{0}", alarm))
    sys.path.extend(path for path in asked["packages"] if path not in sys.path)
    os.chdir(asked["tree"])
    hide([f"{asked['tree']}/{name}" for name in asked["hidden"]])
    run = {"pytest": by_pytest, "unittest": by_unittest}[asked["form"]]
    code = run(asked, path, say)
    say("end", alarm, str(count), str(code))


def by_pytest(asked: dict[str, Any], alarms: str, say: Callable[..., None]) -> int:
    """Run the named tests and the alarms by pytest."""
    try:
        import pytest
    except ImportError:
        say("missing", "pytest is not installed: pip install pytest")
        return 0
    load_all("_pytest")
    hold_to(pytest, {f"{asked['tree']}/{name}" for name in asked["conftests"]})
    wanted = set(asked["names"])
    alarm = os.path.basename(alarms).removeprefix("test_").removesuffix(".py")

    class Reporter:
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            items[:] = [item for item in items if item.nodeid in wanted or alarm in item.nodeid]

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
            marked = any(True for _ in item.iter_markers("xfail"))
            outcome = yield
            report = outcome.get_result()
            if call.excinfo is not None and call.excinfo.errisinstance(pytest.xfail.Exception):
                marked = False
            ended = str(report.outcome)
            if report.skipped and getattr(report, "wasxfail", None) is not None and marked:
                ended = "passed"
            if call.excinfo is not None and ended == "passed" and not marked:
                ended = "failed"
            say("test", report.nodeid, report.when, ended, short(call.excinfo.value if call.excinfo else None))

        def pytest_collectreport(self, report: Any) -> None:
            if report.failed:
                say("collect", report.nodeid, str(report.longrepr)[-500:])

    files = list(dict.fromkeys(name.partition("::")[0] for name in asked["names"]))
    options = ["-p", "no:cacheprovider", "-o", "addopts=", "--continue-on-collection-errors", "--tb=short", "-q"]
    options += [] if asked["importlib"] else ["--import-mode=append"]
    options += [part for name in asked["plugins"] for part in ("-p", name)]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import_from(asked)
    there = [name for name in files if os.path.exists(name)]
    return int(pytest.main([f"--rootdir={asked['tree']}", *options, *there, alarms], plugins=[Reporter()]))


def hold_to(pytest: Any, conftests: set[str]) -> None:
    """Load no conftest but these: hooks of another one would reach the tests below it, and not the alarms."""
    manager = pytest.PytestPluginManager
    load = manager._importconftest

    def load_known(self: Any, path: Any, *args: Any, **options: Any) -> Any:
        if str(path) not in conftests:
            raise pytest.UsageError(f"{path} is not the repository's")
        return load(self, path, *args, **options)

    manager._importconftest = load_known


def by_unittest(asked: dict[str, Any], alarms: str, say: Callable[..., None]) -> int:
    """Run the named tests and the alarms by unittest."""

    class Results(unittest.TestResult):
        def _put(self, test: Any, outcome: str, message: str) -> None:
            say("test", test.id(), "call", outcome, message)

        def addSuccess(self, test: Any) -> None:
            self._put(test, "passed", "")

        def addError(self, test: Any, err: Any) -> None:
            self._put(test, "failed", short(err[1]))

        def addFailure(self, test: Any, err: Any) -> None:
            self._put(test, "failed", short(err[1]))

        def addSkip(self, test: Any, reason: str) -> None:
            self._put(test, "skipped", reason)

        def addExpectedFailure(self, test: Any, err: Any) -> None:
            marked = getattr(getattr(test, test._testMethodName, None), "__unittest_expecting_failure__", False)
            self._put(test, "passed" if marked else "failed", "expected to fail")

        def addUnexpectedSuccess(self, test: Any) -> None:
            self._put(test, "failed", "an unexpected success")

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            if err is not None:
                self._put(test, "failed", short(err[1]))

    loader, results = unittest.TestLoader(), Results()
    load_all("unittest")
    import_from(asked)
    for name in asked["names"]:
        try:
            loader.loadTestsFromName(name).run(results)
        except Exception as error:  # noqa: BLE001 - the repository may raise anything
            say("test", name, "setup", "failed", short(error))
    sys.path.insert(0, os.path.dirname(alarms))
    loader.loadTestsFromName(os.path.basename(alarms).removesuffix(".py")).run(results)
    return 0


def short(error: BaseException | None) -> str:
    """An exception in one line."""
    if error is None:
        return ""
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())[:300]
    except Exception:  # noqa: BLE001 - its own text may fail
        return type(error).__name__[:100]


def load_all(package: str) -> None:
    """Load a runner completely, to avoid later imports of its parts."""
    root = importlib.import_module(package)
    for folder in root.__path__:
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py") and not name.startswith("__"):
                with suppress(ImportError):
                    importlib.import_module(f"{package}.{name.removesuffix('.py')}")


def hide(paths: list[str]) -> None:
    """Empty the files of tests: Python loads them from memory, and the code under test finds nothing to read.

    Not where pytest does not read a test file in the one place that is known here.
    """
    with suppress(ImportError):
        if not hasattr(importlib.import_module("_pytest.assertion.rewrite"), "_rewrite_test"):
            return
    texts = {path: Path(path).read_bytes() for path in paths}
    load, whole = SourceFileLoader.get_data, Path.read_bytes

    def get_data(self: Any, path: str) -> bytes:
        held = texts.get(str(path)) if sys._getframe(1).f_code.co_name == "get_code" else None
        return load(self, path) if held is None else held

    def read_bytes(self: Path) -> bytes:
        held = texts.get(str(self)) if sys._getframe(1).f_code.co_name == "_rewrite_test" else None
        return whole(self) if held is None else held

    SourceFileLoader.get_data, Path.read_bytes = get_data, read_bytes  # type: ignore[method-assign]
    for path in paths:
        os.truncate(path, 0)


def import_from(asked: dict[str, Any]) -> None:
    """Put the repository after Python's own modules and before installed ones."""
    tree = asked["tree"]
    own = [path for path in (tree, *(f"{tree}/{name}" for name in asked["sources"])) if os.path.isdir(path)]
    installed = [at for at, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages"))]
    at = min(installed, default=len(sys.path))
    sys.path[at:at] = own
    sys.pycache_prefix = tempfile.mkdtemp()  # ignore bytecode of the repository


if __name__ == "__main__":
    main()
