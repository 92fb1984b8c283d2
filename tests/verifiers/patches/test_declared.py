"""Declared tests stay the row's, however they are declared and whatever a patch does to them."""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.verifiers.patches.forgeries import CALC, CASES, RIGHT, TEST, Files, pytest_row
from verikit.sandbox import default_sandbox
from verikit.sandbox.toolchains import Missing, toolchain
from verikit.types import Sample, Score
from verikit.verifiers.patch.commands import named_files
from verikit.verifiers.patch.declared import of_ids
from verikit.verifiers.patch.judged import JudgedTree, judged
from verikit.verifiers.patch.manifests import TEST_KEYS
from verikit.verifiers.patch.task import read_task
from verikit.verifiers.patch.tree import PatchError, Tree, TreeFile
from verikit.verifiers.patch.verifier import Patch


def tree(files: Mapping[str, str]) -> Tree:
    return {name: TreeFile(text.encode()) for name, text in files.items()}


def judge(row: Mapping[str, Any], patch: Files, executable: bool = False) -> JudgedTree:
    """The tree that would be run for a patch."""
    task = read_task(row)
    candidate = {**task.original, **tree({name: text for name, text in patch.items() if text is not None})}
    if executable:
        candidate |= {name: TreeFile(candidate[name].content, True) for name in patch}
    files = {name: file for name, file in candidate.items() if patch.get(name, "") is not None}
    return judged(task.original, files, task.tests, task.declared)


def run_settings(file: TreeFile) -> dict[str, Any]:
    return {key: value for key, value in json.loads(file.content).items() if key in TEST_KEYS}


PAIRS = [(name, how) for name, case in CASES.items() for how in case.forged]


@pytest.mark.parametrize(("name", "how"), PAIRS)
def test_what_a_patch_does_to_declared_tests_is_undone(name: str, how: str) -> None:
    case = CASES[name]
    task = read_task(case.row)
    try:
        found = judge(case.row, case.forged[how])
    except PatchError:  # a file where the tests need a folder
        return
    harmless = {"README"}
    assert set(case.forged[how]) - harmless <= {*found.put_back, *(n for n in found.changed if n.endswith("_.py"))}
    for name in {*task.tests, *found.files} - harmless:
        if not name.endswith(("_.py", "package.json")):
            assert found.files.get(name) == task.tests.get(name), name
        elif name.endswith("package.json"):
            assert json.loads(found.files[name].content).get("scripts") == json.loads(task.tests[name].content).get(
                "scripts"
            )


@pytest.mark.parametrize("name", CASES)
def test_an_honest_patch_stays_whole(name: str) -> None:
    case = CASES[name]
    found = judge(case.row, case.honest)
    assert found.put_back == ()
    assert {n: found.files[n].content.decode() for n in case.honest} == dict(case.honest)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "emptied" in case.forged])
def test_a_mode_is_put_back_too(name: str) -> None:
    case = CASES[name]
    found = judge(case.row, {}, executable=False)
    assert not found.put_back
    forged = {n: read_task(case.row).tests[n].content.decode() for n in case.forged["emptied"]}
    assert set(judge(case.row, forged, executable=True).put_back) == set(forged)


def score(row: Mapping[str, Any], patch: Files, **options: Any) -> Score:
    if row.get("language") and isinstance(toolchain(row["language"]), Missing):
        pytest.skip(f"no tool chain for {row['language']}")
    if problem := default_sandbox().programs.problem("bash"):
        pytest.skip(problem)
    reply = "*** Begin Patch\n"
    for name, text in patch.items():
        reply += f"*** Delete File: {name}\n" if text is None else f"*** Add File: {name}\n"
        reply += "".join(f"+{line}\n" for line in (text or "").splitlines())
    sample = Sample(completion=f"{reply}*** End Patch", meta=row)
    return Patch(**{"wall_s": 60, "check_row": False, **options}).score([sample])[0]


QUICK = {("pytest, checks/verify_add.py, tests alike", "weakened"), ("sh, named only", "emptied"), ("bash -c", "emptied"),
         ("an expected output", "changed"), ("node without an ending", "without")}  # fmt: skip
RUNS = {name: case for name, case in CASES.items() if case.runs}


@pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")
@pytest.mark.parametrize(
    ("name", "how"),
    [pytest.param(*pair, marks=[] if pair in QUICK else pytest.mark.slow) for pair in PAIRS if pair[0] in RUNS],
)
def test_rewritten_tests_are_paid_nothing(name: str, how: str) -> None:
    found = score(RUNS[name].row, RUNS[name].forged[how])
    assert (found.value, found.status) == (0.0, "ok"), found


@pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in dict(QUICK) else pytest.mark.slow) for name in RUNS]
)
def test_their_honest_twins_are_paid(name: str) -> None:
    found = score(RUNS[name].row, RUNS[name].honest)
    assert found.value == 1.0, found


@pytest.mark.parametrize(
    ("commands", "more"),
    [
        (["make"], {"Makefile": "all: adds\n\t./adds\nadds: add.o check_add.o\n\t$(CC) -o $@ $^\n"}),
        (["make"], {"Makefile": "all: adds\n\t./adds\nadds: add.c check_add.c\n\tcc -o $@ $^\n"}),
        (["make adds"], {"Makefile": "adds: add.o\n\tcc -o adds add.o check_add.c && ./adds\n"}),
        (["make check_add && ./check_add"], {"Makefile": "check_add: add.o\n"}),
        (["cmake -B out", "cmake --build out", "ctest --test-dir out"],
         {"CMakeLists.txt": "project(a C)\nadd_executable(adds add.c\n  ${CMAKE_SOURCE_DIR}/add.h check_add.c)\n"}),
        (["meson setup out && ninja -C out test"], {"meson.build": "test('adds', executable('adds', ['add.c','check_add.c']))"}),
    ],
)  # fmt: skip
def test_sources_behind_objects_and_build_files_are_told_apart(commands: list[str], more: dict[str, str]) -> None:
    files = tree({"add.c": "", "add.h": "", "check_add.c": "", **more})
    found = named_files(tuple(commands), files)
    assert found.tests & files.keys() == {"check_add.c", *more}
    assert "add.c" in found.sources


def test_commands_name_files_by_their_parts() -> None:
    files = tree(dict.fromkeys(
        ["main.py", "want.txt", "lib.c", "check.c", "sub/run.sh", "sub/data.csv", "in.txt", "Makefile", "a/b.js"], ""))  # fmt: skip
    files = {**files, "Makefile": TreeFile(b"all:\n\t@sh sub/run.sh\ninclude rules.mk\n"), "rules.mk": TreeFile(b"")}

    def tests(*commands: str) -> set[str]:
        return named_files(commands, files).tests & files.keys()

    assert tests("python main.py < in.txt | diff - want.txt") == {"want.txt", "in.txt"}
    assert tests("cd sub && ENV=1 timeout 10 ./run.sh --data=data.csv") == {"sub/run.sh", "sub/data.csv"}
    assert tests("cc lib.c check.c -o out && ./out") == {"check.c"}
    assert tests("make -C . all") == tests("make") == {"Makefile", "rules.mk", "sub/run.sh"}
    assert tests("cat <<EOF | node a/b.js\nsh sub/run.sh\nEOF\n") == {"a/b.js"}
    assert tests("rm -f want.txt; python -c 'open(\"in.txt\")'") == set()
    assert tests("sh 'sub/run.sh") == {"sub/run.sh"}
    assert tests("T=sub/run.sh; sh $T && node ${U:-x}") == {"sub/run.sh"}
    assert tests("for each in sub/*.sh; do bash $each; done") == {"sub/run.sh"}
    assert named_files(("python main.py > out.txt",), files).written == {"out.txt"}


@pytest.mark.parametrize(
    ("test", "path"),
    [
        ("checks/a.py::T::test_x[1::2]", "checks/a.py"), ("test_x (checks.a.T.test_x)", "checks/a.py"),
        ("checks.a.T.test_x", "checks/a.py"), ("pkg.b.T.test_x", "src/pkg/b.py"),
        ("spec/c.js > adds > two", "spec/c.js"), ("./spec/c.js:12: adds", "spec/c.js"),
        ("org.x.Adds#two", "deep/org/x/Adds.java"), ("org.x.Adds$Inner.two()", "deep/org/x/Adds.java"),
        ("inner::tests::adds", "src/inner/tests.rs"), ("adds two", ""), ("lib", "lib"), ("inner::adds", ""), ("y.Adds", ""),
    ],
)  # fmt: skip
def test_names_of_tests_lead_to_files(test: str, path: str) -> None:
    files = tree(dict.fromkeys(
        ["checks/a.py", "src/pkg/b.py", "spec/c.js", "deep/org/x/Adds.java", "src/inner/tests.rs", "src/inner.rs", "lib"], ""))  # fmt: skip
    assert of_ids([test], files) == ({path} if path else set())


HELPED = {
    **pytest_row("checks/adding.py"),
    "repository": {"calc.py": CALC, "support/values.py": "WANT = 3\n",
                   "checks/adding.py": TEST.replace("3", "WANT").replace("import add", "import add\nfrom support.values import WANT")},
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")
def test_helpers_that_only_tests_load_are_told_or_put_back() -> None:
    told = score(HELPED, {"support/values.py": "WANT = -1\n"})
    assert told.value == 1.0
    assert "forgeable: the patch changes support/values.py, which only tests load" in told.reason
    put_back = score(HELPED, {"support/values.py": "WANT = -1\n"}, restore_helpers=True)
    assert (put_back.value, "put back: support/values.py" in put_back.reason) == (0.0, True)
    assert "forgeable: the patch" not in score(HELPED, {"calc.py": RIGHT}).reason


def test_code_under_test_is_no_helper() -> None:
    def found(row: Mapping[str, Any], patch: Files) -> tuple[str, ...]:
        task = read_task(row)
        return Patch()._judged_tree(task, {**task.original, **tree({n: t for n, t in patch.items() if t})}).helpers

    assert found(HELPED, {"calc.py": RIGHT}) == ()
    used = {**HELPED, "repository": {**HELPED["repository"], "app.py": "import support.values\n"}}
    assert found(used, {"support/values.py": "WANT = 4\n"}) == ()
    gold = {
        **HELPED,
        "patch": "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n",
    }
    assert found(gold, {"calc.py": RIGHT, "support/values.py": "WANT = 4\n"}) == ("support/values.py",)


def test_tests_that_a_declared_script_looks_for_in_a_folder_are_helpers() -> None:
    run = "import unittest\nunittest.main(module=None, argv=['x', 'discover', '-s', 'checks', '-p', '*.py'])\n"
    row = {
        **pytest_row("checks/adding.py"),
        "test_commands": ["python run.py"],
        "report": "exit",
        "FAIL_TO_PASS": ["python run.py"],
    }
    row["repository"] = {"calc.py": CALC, "run.py": run, "checks/adding.py": TEST}
    task = read_task(row)
    weakened = {**task.original, "checks/adding.py": TreeFile(b"")}
    assert Patch()._judged_tree(task, weakened).helpers == ("checks/adding.py",)
    assert Patch(restore_helpers=True)._judged_tree(task, weakened).put_back == ("checks/adding.py",)


@pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")
def test_what_the_rows_own_patch_changes_stays_open_and_is_told() -> None:
    case = CASES["a file that the row's own patch changes"]
    found = score(case.row, case.honest)
    assert (found.value, "forgeable: the patch changes main.py" in found.reason) == (1.0, True)
