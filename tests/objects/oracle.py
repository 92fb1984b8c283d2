"""Runs tests beside programs in one plain process, by Python's own runners: what verikit is judged by.

For our own benign programs only. `python oracle.py FILE` reads a JSON object (form, meta, needs, programs). It prints a
JSON list with an entry for each program: empty if it passes, else why it does not. Each has a fork of its own.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import os
import signal
import sys
import tempfile
import traceback
import types
import unittest
from pathlib import Path
from typing import Any

ALIASES = ("main", "candidate", "submission", "your_module", "bank", "shapes")
OURS = ("solution", *ALIASES)
SECONDS = 60
"""For one program; a near miss may never end."""


def verdict(form: str, meta: dict[str, Any], program: str) -> str:
    """Empty if the program passes, else the reason."""
    try:
        if form in ("asserts", "mbpp"):
            setup = meta.get("test_setup_code") or ""
            for test in meta["tests" if form == "asserts" else "test_list"]:
                exec(code_of(f"{setup}\n{test}", "tests"), module_of(program).__dict__)
            return ""
        if form == "text":
            exec(code_of(meta["tests"], "tests"), module_of(program).__dict__)
            return ""
        if form == "humaneval":
            module = module_of(program)
            exec(code_of(meta["test"], "tests"), module.__dict__)
            module.__dict__["check"](module.__dict__[meta["entry_point"]])
            return ""
        return {"pytest": by_pytest, "unittest": by_unittest, "doctest": by_doctest}[form](meta["tests"], program)
    except BaseException:
        return traceback.format_exc(limit=-2)


def code_of(text: str, name: str) -> types.CodeType:
    """Compiled without this module's own future statements."""
    return compile(text, name, "exec", dont_inherit=True)


def module_of(program: str) -> types.ModuleType:
    """The program as the module `solution`, which has other names, too."""
    Path("solution.py").write_text(program, "utf-8")
    module = types.ModuleType("solution")
    module.__file__ = "solution.py"
    sys.modules.update(dict.fromkeys(OURS, module))
    exec(code_of(program, "solution.py"), module.__dict__)
    return module


def names_of(program: str, tests: str) -> dict[str, Any]:
    """The program's globals; none if the tests import it themselves."""
    module = module_of(program)
    if any(f"{word} {name}" in tests for word in ("from", "import") for name in OURS):
        return {}
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}


def by_pytest(tests: str, program: str) -> str:
    import pytest

    class Names:
        """Puts the program's names into a test file that imports nothing of it."""

        @staticmethod
        def pytest_collection_modifyitems(items: list[Any]) -> None:
            for item in items:
                for name, value in held.items():
                    item.module.__dict__.setdefault(name, value)

    held = names_of(program, tests)
    Path("test_it.py").write_text(tests, "utf-8")
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = pytest.main(["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir=.", "test_it.py"], [Names()])
    return "" if code == 0 else output.getvalue()[-1500:]


def by_unittest(tests: str, program: str) -> str:
    module = types.ModuleType("test_it")
    module.__dict__.update(names_of(program, tests))
    sys.modules["test_it"] = module
    exec(code_of(tests, "test_it.py"), module.__dict__)
    suite = unittest.TestLoader().loadTestsFromModule(module)
    output = io.StringIO()
    result = unittest.TextTestRunner(output).run(suite)
    return "" if result.testsRun and result.wasSuccessful() and not result.skipped else output.getvalue()[-1500:]


def by_doctest(tests: str, program: str) -> str:
    test = doctest.DocTestParser().get_doctest(tests, names_of(program, tests), "it", None, 0)
    output = io.StringIO()
    failed, tried = doctest.DocTestRunner(verbose=False).run(test, out=output.write)
    return "" if tried and not failed else output.getvalue()[-1500:]


def main(path: str) -> None:
    """Judge the programs of a file, each in a fork and an empty folder of its own."""
    row = json.loads(Path(path).read_text("utf-8"))
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # only what every installation has, and much faster
    for package in [*row["needs"], *(["pytest"] if row["form"] == "pytest" else [])]:
        importlib.import_module(package)  # once for all forks
    sys.argv = ["tests"]  # programs must not read this script's argument
    reasons = []
    for program in row["programs"]:
        with tempfile.TemporaryDirectory() as folder:
            reader, writer = os.pipe()
            child = os.fork()
            if not child:
                signal.alarm(SECONDS)
                os.chdir(folder)
                sys.path.insert(0, folder)
                # What programs print must not mix with the answers.
                os.dup2(os.open(os.devnull, os.O_RDWR), 0)
                os.dup2(0, 1)
                os.write(writer, json.dumps(verdict(row["form"], row["meta"], program)).encode()[:60000])
                os._exit(0)
            os.close(writer)
            with os.fdopen(reader, "rb") as pipe:
                said = pipe.read()
            os.waitpid(child, 0)
            reasons.append(json.loads(said) if said else "ended the process, or never ends")
    print(json.dumps(reasons))


if __name__ == "__main__":
    main(sys.argv[1])
