"""Pytest's option `--ctrf`, loaded in the sandbox for the package pytest-json-ctrf: counts of results as JSON."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:  # not loaded in the box
    from typing import Any

_RESULTS: dict[str, str] = {}


def pytest_addoption(parser: Any) -> None:
    """The option."""
    parser.addoption("--ctrf", default="")


def pytest_runtest_logreport(report: Any) -> None:
    """The result of a test: the first of its stages that did not pass, or that of its call."""
    decides = report.when == "call" or report.outcome != "passed"
    if decides and _RESULTS.get(report.nodeid, "passed") == "passed":
        _RESULTS[report.nodeid] = report.outcome


def pytest_sessionfinish(session: Any) -> None:
    """Write the file."""
    path = session.config.getoption("--ctrf")
    if path:
        told = list(_RESULTS.values())
        summary = {"tests": len(told), "pending": 0, "other": 0, "start": 0, "stop": 0}
        summary.update({name: told.count(name) for name in ("passed", "failed", "skipped")})
        tests = [{"name": name, "status": status, "duration": 0} for name, status in _RESULTS.items()]
        with open(path, "w") as stream:
            json.dump({"results": {"tool": {"name": "pytest"}, "summary": summary, "tests": tests}}, stream)
