"""Special judges in C++: testlib's command line and exit codes, with a header made here in the place of testlib's."""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.verifiers.test_code_languages import needs
from verikit.types import Sample, Score
from verikit.verifiers.code.verifier import Code

if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)

HEADER = """#pragma once
#include <stdio.h>
#include <stdlib.h>
enum { _ok = 0, _wa = 1, _pe = 2, _fail = 3, _points = 7 };
static void quit(int code, const char *text) { fprintf(stderr, "%s", text); exit(code); }
"""
CHECKER = """#include "testlib.h"
int main(int count, char **names) {
    long given, wanted, input;
    if (count != 4) quit(_fail, "three files are expected");
    FILE *in = fopen(names[1], "r"), *out = fopen(names[2], "r"), *answer = fopen(names[3], "r");
    if (!in || !out || !answer || fscanf(in, "%ld", &input) != 1 || fscanf(answer, "%ld", &wanted) != 1) quit(_fail, "no answer");
    if (fscanf(out, "%ld", &given) != 1) quit(_pe, "a number is expected");
    if (given == -77) abort();
    if (given == -78) for (;;) ;
    if (given == -79) quit(_points, "points 5 half");
    if (given == -80) quit(PC_BASE_EXIT_CODE + 40, "some");
    if (given > wanted) quit(_fail, "the participant has a better answer");
    if (given % input != wanted % input) quit(_wa, "another rest");
    quit(_ok, "fine");
}
"""
POINTS = """#include "testlib.h"
int main(int count, char **names) {
    long given;
    FILE *out = fopen(names[2], "r");
    if (fscanf(out, "%ld", &given) != 1) quit(_pe, "a number is expected");
    fprintf(stderr, "points %ld.5 told", given);
    exit(_points);
}
"""


def checked(output: str, checker: str = CHECKER, files: Any = None, answer: str = "17\n") -> Score:
    """The score of a program that writes an output."""
    needs("cpp")
    meta = {"tests": [{"input": "5\n", "output": answer}], "checker": checker}
    meta |= {"checker_files": {"testlib.h": HEADER} if files is None else files}
    return Code(wall_s=2).score([Sample(completion=f"print({output!r})", meta=meta)])[0]


def test_the_exit_code_of_a_checker_is_the_verdict() -> None:
    assert [checked(output).value for output in ("17", "12", " 2 ", "-3")] == [1.0, 1.0, 1.0, 0.0]
    wrong, form = checked("16"), checked("none")
    assert wrong.value == 0.0
    assert "another rest" in wrong.reason
    assert form.value == 0.0
    assert "a number is expected" in form.reason
    assert checked("-80").value == 0.0


def test_what_makes_a_checker_fail_that_takes_the_expected_output_is_wrong() -> None:
    for output in ("-77", "-78"):
        score = checked(output)
        assert score.value == 0.0
        assert "fails on the output" in score.reason


def test_a_checker_that_blames_the_row_leaves_it_unscored() -> None:
    for score in (checked("18"), checked("17", answer="none\n"), checked("17", CHECKER.replace("== -77", "!= -77"))):
        assert score.status == "error"
        assert "checker" in score.reason
    assert "better answer" in checked("18").reason


def test_a_checker_that_does_not_compile_leaves_the_row_unscored() -> None:
    score = checked("17", CHECKER.replace("_pe,", "_no_such,"))
    assert score.status == "error"
    assert "does not compile" in score.reason


def test_points_are_right_where_they_are_those_of_the_expected_output() -> None:
    assert [checked(output, POINTS).value for output in ("17", "16", "18")] == [1.0, 0.0, 1.0]
    assert "16.5 of 17.5 points" in checked("16", POINTS).reason
    assert checked("-79").status == "error"  # the expected output has no points to measure them by


def test_the_header_comes_from_the_row_or_from_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERIKIT_TESTLIB", raising=False)
    score = checked("17", files={})
    assert score.status == "error"
    assert "VERIKIT_TESTLIB" in score.reason
    assert "checker_files" in score.reason
    (tmp_path / "testlib.h").write_text(HEADER)
    for place in (tmp_path, tmp_path / "testlib.h"):
        monkeypatch.setenv("VERIKIT_TESTLIB", str(place))
        assert checked("17", files={}).value == 1.0
    monkeypatch.setenv("VERIKIT_TESTLIB", str(tmp_path / "none"))
    assert "can't read" in checked("17", files={}).reason


def test_files_of_a_row_include_each_other() -> None:
    files = {"testlib.h": '#include "more.h"\n', "more.h": f'#include "testlib.h"\n{HEADER}'}
    assert checked("17", files=files).value == 1.0


def test_checker_files_of_another_form_are_the_rows_fault() -> None:
    assert checked("17", files=["testlib.h"]).status == "error"


def test_the_files_that_a_program_leaves_are_not_the_checkers() -> None:
    needs("cpp")
    meta = {"tests": [{"input": "5\n", "output": "17\n"}], "checker": CHECKER, "checker_files": {"testlib.h": HEADER}}
    program = (
        "import os\nfor name in ('answer', 'input', 'output', 'main'):\n    open(name, 'w').write('16')\nprint(16)"
    )
    assert Code().score([Sample(completion=program, meta=meta)])[0].value == 0.0


def test_programs_of_a_java_package_run() -> None:
    needs("java")
    program = "/* package none; */\npackage com.example.app;\nimport java.util.*;\npublic class Main {\n    public static void main(String[] a) { System.out.println(2 * new Scanner(System.in).nextInt()); }\n}\nclass Other { }"
    for text, value in ((program, 1.0), (program.replace("2 *", "3 *"), 0.0)):
        sample = Sample(completion=f"```java\n{text}\n```", meta={"tests": [{"input": "3", "output": "6"}]})
        assert Code().score([sample])[0].value == value
