"""`patch`: repositories with a bug, right patches, wrong ones, and patches that forge the verdict."""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

import io
import json
import sys
import tarfile
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from tests.verifiers.repositories import CALC, CALC_TESTS, MENDED, ROWS, STACK, TEXT, diff
from verikit.sandbox import default_sandbox
from verikit.sandbox.toolchains import Missing, toolchain
from verikit.types import Sample, Score
from verikit.verifiers.patch.verifier import Patch

if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)


def score(reply: str, row: dict[str, Any], **options: Any) -> Score:
    if row.get("language") and isinstance(toolchain(row["language"]), Missing):
        pytest.skip(f"no tool chain for {row['language']}")
    if problem := default_sandbox().programs.problem("bash"):
        pytest.skip(problem)
    verifier = Patch(**{"wall_s": 60, "check_row": False, **options})
    return verifier.score([Sample(completion=reply, meta=row)])[0]


@pytest.mark.parametrize("name", [*sorted({*ROWS} - {"stack"}), pytest.param("stack", marks=pytest.mark.slow)])
def test_a_right_patch_passes_and_a_patch_of_something_else_fails(name: str) -> None:
    row = ROWS[name]
    right = score(f"Fixed:\n```diff\n{diff(row['repository'], MENDED[name])}```\n", row)
    assert (right.value, right.status) == (1.0, "ok"), right
    assert right.reason.startswith("in process, forgeable: passes ")
    assert {group: part.value for group, part in right.parts.items()} == {"FAIL_TO_PASS": 1.0, "PASS_TO_PASS": 1.0}
    other = score(diff(row["repository"], {"README": "more\n"}), row, reward="fraction")
    assert other.value == 0.0
    assert other.parts["PASS_TO_PASS"].value == 1.0


def test_whole_files_are_patches_too() -> None:
    ((name, text),) = MENDED["calc"].items()
    for reply in (f"```python {name}\n{text}```", f"**{name}**\n```python\n{text}```", json.dumps({name: text})):
        assert score(reply, ROWS["calc"]).value == 1.0, reply


def test_a_patch_that_breaks_what_passed_is_no_solution() -> None:
    text = MENDED["calc"]["calc/core.py"].replace("return a + b", "return a + b if a != 1 else 0")
    found = score(diff(CALC, {"calc/core.py": text}), ROWS["calc"], reward="fraction")
    assert found.value == 0.0
    assert found.parts["PASS_TO_PASS"].value == 0.0


BROKEN = CALC["calc/core.py"]
FORGED: dict[str, dict[str, str]] = {
    "a conftest that passes all": {
        "conftest.py": "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    o = yield\n    o.get_result().outcome = 'passed'\n"
    },
    "a conftest in a package": {"calc/conftest.py": "import os\nos._exit(0)\n"},
    "an edited conftest": {"tests/conftest.py": "import pytest\n@pytest.fixture\ndef values():\n    return [2, 2, 4]\n"},
    "edited tests": {"tests/test_calc.py": "def test_mean(): pass\ndef test_mean_of_one(): pass\ndef test_add(): pass\n"},
    "options": {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--co -p nothing"\n'},
    "an ini file": {"pytest.ini": "[pytest]\naddopts = --exitfirst --deselect tests\npython_functions = nothing\n"},
    "a set-up file": {"setup.cfg": "[tool:pytest]\naddopts = --co\n"},
    "sys.exit": {"calc/core.py": "import sys\nsys.exit(0)\n" + BROKEN},
    "os._exit": {"calc/core.py": "import os\nos._exit(0)\n" + BROKEN},
    "os._exit in a call": {"calc/core.py": BROKEN.replace("    total = 0\n", "    import os; os._exit(0)\n")},
    "a skip at import": {"calc/core.py": "import pytest\npytest.skip('', allow_module_level=True)\n" + BROKEN},
    "a skip in a call": {"calc/core.py": BROKEN.replace("    total = 0\n", "    import pytest; pytest.skip('')\n")},
    "an expected failure": {"calc/core.py": BROKEN.replace("    total = 0\n", "    import pytest; pytest.xfail('')\n")},
    "an outcome": {
        "calc/core.py": BROKEN.replace("    total = 0\n", "    from _pytest.outcomes import Exit; raise Exit('', 0)\n")
    },
    "sitecustomize": {"sitecustomize.py": "import os\nos._exit(0)\n"},
    "a module named pytest": {"pytest.py": "def main(*a, **k): return 0\ndef fixture(f): return f\n"},
    "a module named unittest": {"unittest.py": "import os\nos._exit(0)\n"},
    "a package named as an installed one": {"pluggy/__init__.py": "import os\nos._exit(0)\n"},
    "a plug-in by its entry point": {
        "evil.egg-info/entry_points.txt": "[pytest11]\nevil = evil\n",
        "evil.egg-info/PKG-INFO": "Name: evil\nVersion: 1\n",
        "evil.py": "def pytest_runtest_call(item): return True\n",
    },
    "an equal value": {
        "calc/core.py": BROKEN + "\n\nclass E(float):\n    __eq__ = lambda s, o: True\n    __hash__ = None\n\n\n"
        "def add(a, b):\n    return a + b\n"
    },
    "patched asserts": {
        "calc/core.py": "import _pytest.runner as r\nr.CallInfo.from_call = classmethod(lambda c, f, when, reraise=None: "
        "c(None if when == 'call' else f(), None, 0, 0, 0, when, _ispytest=True))\n" + BROKEN
    },
    "patched tests": {
        "calc/core.py": "import _pytest.python as p\np.Function.runtest = lambda self: None\n" + BROKEN
    },
    "patched hooks": {
        "calc/core.py": "import _pytest.python as p\np.pytest_pyfunc_call = lambda pyfuncitem: True\n"
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'HookImpl' and "
        "o.function.__name__ == 'pytest_pyfunc_call':\n        o.function = lambda pyfuncitem: True\n" + BROKEN
    },
    "a patched report": {
        "calc/core.py": "from _pytest.reports import TestReport as T\nf = T.from_item_and_call\n"
        "def g(item, call):\n    call.excinfo = None\n    return f(item, call)\nT.from_item_and_call = staticmethod(g)\n"
        + BROKEN
    },
    "tests written anew at import": {
        "calc/core.py": "open('tests/test_calc.py', 'w').write('def test_mean(): pass\\ndef test_mean_of_one(): pass\\n"
        "def test_add(): pass\\n')\n" + BROKEN
    },
    "a conftest written at import": {
        "calc/core.py": "open('conftest.py', 'w').write('def pytest_pyfunc_call(pyfuncitem): return True')\n" + BROKEN
    },
    "printed results": {
        "calc/core.py": "import os\nfor n in ('test_mean', 'test_mean_of_one', 'test_add'):\n"
        "    print('PASSED tests/test_calc.py::' + n)\nopen('/dev/stdout', 'a').write('{}')\n"
        "open('/dev/stdout', 'w').write('0' * 64 + ' {\"steps\": []}')\nos._exit(0)\n"
    },
    "records without the nonce": {
        "calc/core.py": "import os, json\nfor fd in range(3, 60):\n    try:\n        os.lseek(fd, 0, 0)\n"
        "        print(os.read(fd, 100))\n        os.ftruncate(fd, 0)\n    except OSError: pass\n    try:\n"
        "        os.write(fd, b'x [\"test\", \"tests/test_calc.py::test_mean\", \"call\", \"passed\", \"\"]\\n')\n"
        "    except OSError: pass\n" + BROKEN
    },
    "an exit handler": {"calc/core.py": "import atexit, os\natexit.register(os._exit, 0)\n" + BROKEN},
    "a thread": {
        "calc/core.py": "import threading, os, time\nthreading.Thread(target=lambda: (time.sleep(.01), os._exit(0)))"
        ".start()\n" + BROKEN
    },
    "a killed supervisor": {"calc/core.py": "import os\nos.kill(os.getppid(), 9)\nos.kill(-1, 9)\n" + BROKEN},
    "an answer by the caller": {
        "calc/core.py": BROKEN.replace("    total = 0\n", "    import sys\n    f = sys._getframe(1)\n"
                                       "    f.f_globals['mean'] = lambda v: 2\n    total = 0\n")
    },
    "patched builtins": {
        "calc/core.py": "import builtins\nbuiltins.AssertionError = type('A', (Exception,), {'__init__': lambda *a: 0})\n"
        + BROKEN
    },
}  # fmt: skip


QUICK = {"a conftest that passes all", "edited tests", "options", "sys.exit", "a skip in a call", "an expected failure",
         "patched tests", "tests written anew at import"}  # fmt: skip


def quick_first(forgeries: dict[str, dict[str, str]], quick: set[str]) -> list[Any]:
    """All but a few of the forgeries are for the slow run."""
    return [pytest.param(name, marks=[] if name in quick else pytest.mark.slow) for name in forgeries]


@pytest.mark.parametrize("forgery", quick_first(FORGED, QUICK))
def test_forged_patches_of_a_pytest_repository_are_held(forgery: str) -> None:
    found = score(diff(CALC, FORGED[forgery]), ROWS["calc"])
    assert (found.value, found.status) == (0.0, "ok"), found


DEEP_TESTS = {"tests/unit/test_calc.py": CALC_TESTS.replace("values):", "values=(1, 2, 3)):")}
DEEP = {**{name: text for name, text in CALC.items() if "tests" not in name}, "conftest.py": "import calc\n",
        "tests/__init__.py": "", "tests/unit/__init__.py": "", **DEEP_TESTS}  # fmt: skip
DEEP_ROW = {"repository": DEEP, "FAIL_TO_PASS": ["tests/unit/test_calc.py::test_mean"]}
WRITES = "open('{0}', 'w').write('def pytest_pyfunc_call(pyfuncitem): return True')\n"


@pytest.mark.parametrize("path", ["tests/unit/conftest.py", "tests/conftest.py"])
def test_a_conftest_written_deeper_before_tests_are_collected_is_held(path: str) -> None:
    assert score(diff(DEEP, MENDED["calc"]), DEEP_ROW).value == 1.0
    tidy = "import atexit, os\natexit.register(os.unlink, '{0}')\n"
    for more in ("", tidy):
        found = score(diff(DEEP, {"calc/core.py": (more + WRITES).replace("{0}", path) + BROKEN}), DEEP_ROW)
        assert (found.value, found.status) == (0.0, "ok"), found


def test_what_commands_before_write_beside_the_tests_is_taken_away() -> None:
    text = "import pathlib\npathlib.Path('conftest.py').write_text('def pytest_pyfunc_call(pyfuncitem): return True')\n"
    row = {**ROWS["calc"], "before": ["python setup.py"]}
    assert score(diff(CALC, {"setup.py": text}), row).value == 0.0
    assert score(diff(CALC, {"setup.py": text, **MENDED["calc"]}), row).value == 1.0
    rewrites = "import pathlib\npathlib.Path('tests/test_calc.py').write_text('def test_mean(): pass')\n"
    assert score(diff(CALC, {"setup.py": rewrites}), row).value == 0.0


WORDS = TEXT["src/textkit/words.py"]
FORGED_UNITTEST: dict[str, dict[str, str]] = {
    "patched assertions": {
        "src/textkit/words.py": "import unittest\nfor n in dir(unittest.TestCase):\n    if n.startswith('assert'):\n"
        "        setattr(unittest.TestCase, n, lambda *a, **k: __import__('contextlib').nullcontext())\n" + WORDS
    },
    "one patched assertion": {
        "src/textkit/words.py": "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n" + WORDS
    },
    "a patched run": {
        "src/textkit/words.py": "import unittest\nunittest.TestCase._callTestMethod = lambda s, m: None\n" + WORDS
    },
    "SkipTest": {"src/textkit/words.py": WORDS.replace("return len(", "raise __import__('unittest').SkipTest('')\n    return len(")},
    "an expected failure": {
        "src/textkit/words.py": "import sys\ndef t(f, e, a):\n    for c in sys.modules.values():\n"
        "        k = getattr(c, 'TestWords', None)\n        if k: k.__unittest_expecting_failure__ = True\n"
        "sys.setprofile(t)\n" + WORDS
    },
    "edited tests": {"tests/test_words.py": "import unittest\n", "tests/json.py": "x = 1\n"},
    "sys.exit": {"src/textkit/words.py": "import sys\nsys.exit(0)\n" + WORDS},
    "a module named json": {"src/json.py": "import os\nos._exit(0)\n"},
    "a module named unittest": {"src/unittest/__init__.py": "import os\nos._exit(0)\n"},
}  # fmt: skip


@pytest.mark.parametrize("forgery", quick_first(FORGED_UNITTEST, {"one patched assertion", "edited tests"}))
def test_forged_patches_of_a_unittest_repository_are_held(forgery: str) -> None:
    found = score(diff(TEXT, FORGED_UNITTEST[forgery]), ROWS["textkit"])
    assert (found.value, found.status) == (0.0, "ok"), found


FORGED_GO = {
    "os.Exit": {"stack.go": STACK["stack.go"] + '\nfunc init() { println("--- PASS: TestPop (0.00s)"); }\n'},
    "edited tests": {"stack_test.go": 'package stack\n\nimport "testing"\n\nfunc TestPop(t *testing.T) {}\n'},
    "another test file": {
        "main_test.go": 'package stack\n\nimport ("testing"; "os"; "fmt")\n\nfunc TestMain(m *testing.M) {\n'
        '\tfmt.Println("--- PASS: TestPop (0.00s)")\n\tos.Exit(0)\n}\n'
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("forgery", FORGED_GO)
def test_forged_patches_of_a_go_repository_are_held(forgery: str) -> None:
    found = score(diff(STACK, FORGED_GO[forgery]), ROWS["stack"])
    assert (found.value, found.status) == (0.0, "ok"), found


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("no patch at all", "neither a diff nor a file"),
        (diff(CALC, MENDED["calc"]).replace("total", "sum"), "hunk 1 of 1 does not apply"),
        (diff({}, {"a/../../x": "1\n"}), "not a path within the repository"),
        ("--- /dev/null\n+++ b//etc/passwd\n@@ -0,0 +1 @@\n+x\n", "not a path within the repository"),
        ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n", "symbolic links"),
        ("diff --git a/b b/b\nGIT binary patch\nliteral 0\n", "binary"),
        (diff({"gone.py": "1\n"}, {"gone.py": "2\n"}), "gone.py does not exist"),
        ("```python .git/hooks/pre-commit.py\nx\n```", "not a path within the repository"),
    ],
)
def test_what_does_not_apply_is_zero_with_its_reason(reply: str, told: str) -> None:
    found = score(reply, ROWS["calc"])
    assert (found.value, found.status) == (0.0, "ok")
    assert told in found.reason


def test_a_row_that_nobody_can_pass_is_unscored() -> None:
    row = {**ROWS["calc"], "PASS_TO_PASS": ["tests/test_calc.py::test_that_never_was"]}
    found = score(diff(CALC, MENDED["calc"]), row, check_row=True)
    assert (found.value, found.status) == (None, "error")
    assert "the repository as it is does not pass: tests/test_calc.py::test_that_never_was" in found.reason
    own = {**ROWS["calc"], "patch": diff(CALC, {"README.md": "x\n"})}
    assert "the row's own patch does not pass" in score(diff(CALC, {"README.md": "y\n"}), own, check_row=True).reason
    good = {**ROWS["calc"], "patch": diff(CALC, MENDED["calc"])}
    assert score(diff(CALC, {"README.md": "y\n"}), good, check_row=True).value == 0.0


@pytest.mark.parametrize(
    "change",
    [
        {"repository": "/nowhere/at/all"}, {"repository": {}}, {"FAIL_TO_PASS": None, "PASS_TO_PASS": []},
        {"FAIL_TO_PASS": "not json"}, {"test_commands": ["make"]}, {"test_commands": ["make"], "report": "tap"},
        {"test_patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}, {"test_form": "nose"}, {"repository": "../x"},
    ],
)  # fmt: skip
def test_rows_that_cannot_be_read_are_unscored(change: dict[str, Any]) -> None:
    found = score(diff(CALC, MENDED["calc"]), {**ROWS["calc"], **change})
    assert (found.value, found.status) == (None, "error"), found


def test_a_repository_is_a_folder_or_an_archive_and_its_tests_may_come_as_a_diff(tmp_path: Path) -> None:
    for name, text in CALC.items():
        path = tmp_path / "calc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "calc/.git").mkdir()
    (tmp_path / "calc/.git/config").write_text("x")
    (tmp_path / "calc/outside").symlink_to("/etc/passwd")
    with tarfile.open(tmp_path / "calc.tar.gz", "w:gz") as archive:
        for name, text in CALC.items():
            info = tarfile.TarInfo(f"calc-1.0/{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    row = {key: value for key, value in ROWS["calc"].items() if key != "tests"}
    row["test_patch"] = diff(CALC, {"tests/test_calc.py": CALC_TESTS})
    for name in ("calc", "calc.tar.gz"):
        found = score(diff(CALC, MENDED["calc"]), {**row, "repository": name}, root=str(tmp_path))
        assert found.value == 1.0, found
    assert score("x", {**row, "repository": "../calc"}, root=str(tmp_path)).status == "error"


def test_commands_before_run_first_and_their_failure_is_told() -> None:
    row = {**ROWS["calc"], "before": ["echo 'made = 1' > calc/made.py", "test -f calc/made.py"]}
    assert score(diff(CALC, MENDED["calc"]), row).value == 1.0
    failing = score(diff(CALC, MENDED["calc"]), {**row, "before": ["echo broken; exit 3"]})
    assert failing.value == 0.0
    assert "fails with 3: broken" in failing.reason


def test_each_command_may_be_a_test_and_none_has_a_network() -> None:
    connects = "import socket; socket.create_connection(('127.0.0.1', 1), 1)"
    commands = ["test -f fixed", f'python -c "{connects}" 2>&1 | grep -q -i "unreachable\\|not permitted"', "false"]
    row = {"repository": {"x": "1"}, "FAIL_TO_PASS": commands[:1], "PASS_TO_PASS": commands[1:2],
           "test_commands": commands, "report": "exit"}  # fmt: skip
    assert score('{"fixed": "yes"}', row).value == 1.0
    assert score('{"other": "yes"}', row).value == 0.0
    assert score('{"fixed": "yes"}', {**row, "PASS_TO_PASS": ["false"]}).value == 0.0


def test_a_report_of_junit_is_read() -> None:
    xml = '<testsuite><testcase classname="a.B" name="c"/><testcase name="d"><failure/></testcase></testsuite>'
    row = {"repository": {"x": "1"}, "FAIL_TO_PASS": ["a.B.c"], "test_commands": [f"echo '{xml}' > out.xml"],
           "report": "junit", "report_files": ["out.xml"]}  # fmt: skip
    assert score('{"y": "1"}', row).value == 1.0
    assert score('{"y": "1"}', {**row, "PASS_TO_PASS": ["d"]}).value == 0.0


def test_every_candidate_gets_a_fresh_tree() -> None:
    row = {"repository": {"x": "1"}, "FAIL_TO_PASS": ["test ! -e left && touch left ../left ../../left"],
           "test_commands": ["test ! -e left && touch left ../left ../../left"], "report": "exit"}  # fmt: skip
    samples = [Sample(completion='{"y": "1"}', meta=row)] * 4
    assert [found.value for found in Patch(check_row=False).score(samples)] == [1.0] * 4


def test_an_endless_test_is_ended() -> None:
    text = MENDED["calc"]["calc/core.py"].replace("    total = 0\n", "    while True: pass\n")
    found = score(diff(CALC, {"calc/core.py": text}), ROWS["calc"], wall_s=4)
    assert found.value == 0.0
    assert "the time is up" in found.reason


@pytest.mark.parametrize("command", ["rustc --test src/lib.rs -o out && ./out", "cargo test --offline"])
def test_tests_in_rust_are_linked_and_run(command: str) -> None:
    if which(command.split()[0]) is None:
        pytest.skip(f"no {command.split()[0]}")
    text = (
        "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n"
    )
    repository = {
        "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": text,
    }
    row = {
        "repository": repository, "language": "rust", "test_commands": [command], "report": "exit", "FAIL_TO_PASS": [command],
    }  # fmt: skip
    right = score(diff(repository, {"src/lib.rs": text.replace("a - b", "a + b")}), row)
    assert (right.value, right.status) == (1.0, "ok"), right
    assert score(diff(repository, {"src/lib.rs": text.replace("a - b", "a * b")}), row).value == 0.0
