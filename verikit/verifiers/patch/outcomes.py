"""Output and reports of test commands (go test, JUnit XML, pytest, unittest), as test names that passed or not.

A report is only as trustworthy as the process that wrote it. A name that is reported twice passes if it passed each
time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from xml.parsers import expat

from verikit.errors import UsageError

FORMS = ("go", "junit", "pytest", "unittest", "exit")
_GO = re.compile(r"[ \t]*--- (PASS|FAIL|SKIP): (\S{1,500})")
_PYTEST = re.compile(r"(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)[ \t]+(\S.{0,1000}?)(?: - .*)?$")
_VERBOSE = re.compile(r"(\S.{0,1000}?)[ \t]+(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?:[ \t]+\[ *\d+%\])?$")
_UNITTEST = re.compile(r"(\w+ \([\w.]+\)|[\w.]+) \.\.\. (ok|FAIL|ERROR|expected failure|skipped.*)$")
_PASSED = ("PASSED", "XFAIL", "PASS", "ok", "expected failure")
_MOST_LINE = 4000


def passed(form: str, outputs: Sequence[tuple[str, int, str]], files: Iterable[str] = ()) -> dict[str, bool]:
    """Whether each test has passed, keyed by its name.

    Args:
        form: one of `FORMS`.
        outputs: (command, exit code, output) of each command.
        files: reports that the commands wrote (JUnit).

    Raises:
        UsageError: There is no such form.
    """
    if form not in FORMS:
        raise UsageError(f"the report format must be one of {', '.join(FORMS)}, got {form!r}")
    if form == "exit":
        return _all([(command, code == 0) for command, code, _ in outputs])
    if form == "junit":
        return _all(found for text in files if text for found in _junit(text))
    read = {"go": _go, "pytest": _pytest, "unittest": _unittest}[form]
    return _all(found for _, _, text in outputs for found in read(text))


def _all(found: Iterable[tuple[str, bool]]) -> dict[str, bool]:
    seen: dict[str, bool] = {}
    for name, good in found:
        seen[name] = good and seen.get(name, True)
    return seen


def _lines(text: str) -> Iterable[str]:
    return (line.rstrip() for line in text.split("\n") if len(line) <= _MOST_LINE)


def _go(text: str) -> Iterable[tuple[str, bool]]:
    """`go test -v`, or `go test -json`, whose tests have their package's name too."""
    for line in _lines(text):
        if line.startswith("{"):
            try:
                said = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(said, dict) and said.get("Action") in ("pass", "fail", "skip") and said.get("Test"):
                for name in (str(said["Test"]), f"{said.get('Package')}.{said['Test']}"):
                    yield name, said["Action"] == "pass"
        elif found := _GO.match(line):
            yield found[2], found[1] == "PASS"


def _pytest(text: str) -> Iterable[tuple[str, bool]]:
    """The lines of `pytest -rA` or `pytest -v`."""
    for line in _lines(text):
        if found := _PYTEST.match(line):
            yield found[2], found[1] in _PASSED
        elif (found := _VERBOSE.match(line)) and "::" in found[1]:
            yield found[1], found[2] in _PASSED


def _unittest(text: str) -> Iterable[tuple[str, bool]]:
    """The lines of `python -m unittest -v`, or of Django's runner."""
    for line in _lines(text):
        if found := _UNITTEST.match(line):
            yield found[1], found[2] in _PASSED


def _junit(text: str) -> list[tuple[str, bool]]:
    """The cases of a report, as `class.name`, without reading entities; a truncated report keeps its complete cases."""
    found: list[tuple[str, bool]] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "testcase":
            owner, name = attributes.get("classname", ""), attributes.get("name", "")
            found.append((f"{owner}.{name}" if owner else name, True))
        elif tag in ("failure", "error", "skipped") and found:
            found[-1] = found[-1][0], False

    def refuse(*_: object) -> None:
        raise ValueError("a report with entities")

    parser.StartElementHandler = start
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, ValueError):
        return []
    return found
