"""Rows whose tests are declared in many ways, with honest patches and with patches that rewrite the tests."""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from shutil import which
from typing import Any

Files = Mapping[str, str | None]
"""What a patch gives files; None deletes one."""

CALC = "def add(a, b):\n    return a - b\n"
RIGHT = CALC.replace("-", "+")
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
EASY = TEST.replace("== 3", "== -1")
UNIT = (
    "import unittest\n\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n"
    "        self.assertEqual(add(1, 2), 3)\n"
)
EASY_UNIT = UNIT.replace("2), 3", "2), -1")
LIB = "exports.add = (a, b) => a - b;\n"
RIGHT_LIB = LIB.replace("-", "+")
CHECK_JS = "const {add} = require('./lib');\nif (add(1, 2) !== 3) process.exit(1);\n"
CHECK_PY = "from calc import add\nassert add(1, 2) == 3\n"
CHECK_SH = "set -e\ntest \"$(python -c 'from calc import add; print(add(1, 2))')\" = 3\n"
TRUE = "exit 0\n"
ADD_C = "int add(int a, int b) {\n    return a - b;\n}\n"
CHECK_C = "int add(int, int);\nint main(void) {\n    return add(1, 2) != 3;\n}\n"


@dataclass(frozen=True)
class Case:
    """A row, a patch that mends it, and patches that only rewrite its tests."""

    row: Mapping[str, Any]
    honest: Files
    forged: Mapping[str, Files]
    runs: bool = True
    """Whether its commands run with a plain Python, shell and node."""


def pytest_row(name: str, **more: Any) -> dict[str, Any]:
    return {"repository": {"calc.py": CALC, name: TEST}, "FAIL_TO_PASS": [f"{name}::test_add"], **more}


def command_row(command: str, repository: Mapping[str, str], **more: Any) -> dict[str, Any]:
    return {
        "repository": dict(repository),
        "test_commands": [command],
        "report": "exit",
        "FAIL_TO_PASS": [command],
        **more,
    }


def python_case(row: Mapping[str, Any], name: str, easy: str) -> Case:
    module = name.removesuffix(".py")
    return Case(
        row, {"calc.py": RIGHT},
        {
            "weakened": {name: easy}, "weakened and mended elsewhere": {name: easy, "README": "more\n"},
            "deleted and a package in its place": {name: None, f"{module}/__init__.py": easy},
            "a package beside it": {f"{module}/__init__.py": easy},
            "renamed": {name: None, name.replace(".py", "_.py"): easy},
            "a conftest beside it": {f"{name.rpartition('/')[0]}/conftest.py".lstrip("/"): "def pytest_pyfunc_call(pyfuncitem): return True\n"},
            "a unittest beside it": {f"{name.rpartition('/')[0]}/unittest.py".lstrip("/"): "class TestCase: pass\n"},
            "sitecustomize": {"sitecustomize.py": "import os\nos._exit(0)\n"},
        },
    )  # fmt: skip


CASES: dict[str, Case] = {
    **{
        f"pytest, {name}, {how}": python_case(
            {**pytest_row(name, **({"tests": {name: TEST}} if "tests" in how else {})),
             **({"repository": {"calc.py": CALC, name: TEST + "# old\n"}} if "differ" in how else {})},
            name, EASY,
        )
        for name in ("checks/verify_add.py", "spec/calc_spec.py", "unit/add_checks.py")
        for how in ("named only", "tests alike", "tests differ")
    },
    "unittest": python_case(
        {"repository": {"calc.py": CALC, "checks/__init__.py": "", "checks/adding.py": UNIT},
         "FAIL_TO_PASS": ["test_add (checks.adding.T)"]}, "checks/adding.py", EASY_UNIT,
    ),
    "sh, in tests": Case(
        command_row("sh check.sh", {"calc.py": CALC, "check.sh": CHECK_SH}, tests={"check.sh": CHECK_SH}),
        {"calc.py": RIGHT}, {"emptied": {"check.sh": TRUE}, "a folder": {"check.sh": None, "check.sh/x": "1\n"}},
    ),
    "sh, in tests only": Case(
        command_row("sh check.sh", {"calc.py": CALC}, tests={"check.sh": CHECK_SH}),
        {"calc.py": RIGHT}, {"added": {"check.sh": TRUE}},
    ),
    "sh, named only": Case(
        command_row("sh check.sh", {"calc.py": CALC, "check.sh": CHECK_SH}),
        {"calc.py": RIGHT}, {"emptied": {"check.sh": TRUE}, "deleted": {"check.sh": None}},
    ),
    "a pipe": Case(
        command_row("set -o pipefail; sh run.sh 2>&1 | tail -n 3", {"calc.py": CALC, "run.sh": CHECK_SH}),
        {"calc.py": RIGHT}, {"emptied": {"run.sh": TRUE}},
    ),
    "made executable": Case(
        command_row("chmod +x ./run.sh && ./run.sh", {"calc.py": CALC, "run.sh": "#!/bin/sh\n" + CHECK_SH}),
        {"calc.py": RIGHT}, {"emptied": {"run.sh": "#!/bin/sh\n" + TRUE}},
    ),
    "bash -c": Case(
        command_row("bash -c 'cd tools && sh run.sh'", {"tools/calc.py": CALC, "tools/run.sh": CHECK_SH}),
        {"tools/calc.py": RIGHT}, {"emptied": {"tools/run.sh": TRUE}},
    ),
    "a script of a script": Case(
        command_row("bash run.sh", {"calc.py": CALC, "run.sh": "set -e\npython main.py\n", "main.py": CHECK_PY}),
        {"calc.py": RIGHT}, {"emptied": {"main.py": ""}, "both": {"main.py": "", "run.sh": TRUE}},
    ),
    "python": Case(
        command_row("python main.py", {"calc.py": CALC, "main.py": CHECK_PY}),
        {"calc.py": RIGHT}, {"emptied": {"main.py": ""}},
    ),
    "python -m": Case(
        command_row("python -m tools.main", {"calc.py": CALC, "tools/main.py": CHECK_PY}),
        {"calc.py": RIGHT}, {"emptied": {"tools/main.py": ""}},
    ),
    "python -m pytest": Case(
        command_row("PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest checks/adding.py", {"calc.py": CALC, "checks/adding.py": TEST}),
        {"calc.py": RIGHT},
        {"weakened": {"checks/adding.py": EASY}, "a module pytest": {"pytest.py": ""},
         "a package pytest": {"pytest/__init__.py": "", "pytest/__main__.py": ""}},
    ),
    "python -m unittest": Case(
        command_row("python -m unittest checks.adding", {"calc.py": CALC, "checks/__init__.py": "", "checks/adding.py": UNIT}),
        {"calc.py": RIGHT}, {"weakened": {"checks/adding.py": EASY_UNIT}, "a module unittest": {"unittest.py": ""}},
    ),
    "an expected output": Case(
        command_row("python main.py | diff - want.txt", {"main.py": "print(2)\n", "want.txt": "3\n"}),
        {"main.py": "print(3)\n"}, {"changed": {"want.txt": "2\n"}},
    ),
    "an expected output by way of a file": Case(
        command_row("python main.py > out.txt && cmp out.txt want.txt", {"main.py": "print(2)\n", "want.txt": "3\n", "out.txt": ""}),
        {"main.py": "print(3)\n"}, {"changed": {"want.txt": "2\n"}},
    ),
    "a compared output": Case(
        command_row('test "$(python main.py)" = 3', {"main.py": "print(2)\n"}), {"main.py": "print(3)\n"}, {},
    ),
    "make": Case(
        command_row("make check", {"calc.py": CALC, "Makefile": "RUN = tools/run.sh\n\ncheck: prepare\n\t@sh $(RUN)\n\nprepare:\n\t@true\n", "tools/run.sh": CHECK_SH}),
        {"calc.py": RIGHT},
        {"the script": {"tools/run.sh": TRUE}, "the recipe": {"Makefile": "check:\n\t@true\n"},
         "another makefile": {"GNUmakefile": "check:\n\t@true\n"}, "a makefile in lower case": {"makefile": "check:\n\t@true\n"},
         "in another case": {"makeFile": "check:\n\t@true\n", "tools/Run.sh": TRUE}},
        runs=which("make") is not None,
    ),
    "make and a linker": Case(
        command_row("make check", {"add.c": ADD_C, "check.c": CHECK_C, "Makefile": "check: adds\n\t./adds\n\nadds: add.o check.o\n\tcc -o adds add.o check.o\n"}),
        {"add.c": ADD_C.replace("-", "+")}, {"emptied": {"check.c": "int main(void) {\n    return 0;\n}\n"}},
        runs=bool(which("make") and which("cc")),
    ),
    "cmake": Case(
        command_row("cmake -B out && cmake --build out && ctest --test-dir out", {
            "add.c": ADD_C, "check.c": CHECK_C,
            "CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(adds C)\nadd_executable(adds add.c check.c)\nenable_testing()\nadd_test(NAME adds COMMAND adds)\n",
        }),
        {"add.c": ADD_C.replace("-", "+")},
        {"emptied": {"check.c": "int main(void) {\n    return 0;\n}\n"}, "the build file": {"CMakeLists.txt": "project(adds NONE)\n"}},
        runs=bool(which("cmake") and which("cc") and which("make")),
    ),
    "node": Case(
        command_row("node main.js", {"lib.js": LIB, "main.js": CHECK_JS}, language="javascript"),
        {"lib.js": RIGHT_LIB}, {"emptied": {"main.js": ""}},
    ),
    "node without an ending": Case(
        command_row("node ./main", {"lib.js": LIB, "main.js": CHECK_JS}, language="javascript"),
        {"lib.js": RIGHT_LIB}, {"emptied": {"main.js": ""}, "without": {"main": ""}},
    ),
    "node, test.js": Case(
        command_row("node test.js", {"lib.js": LIB, "test.js": CHECK_JS}, language="javascript"),
        {"lib.js": RIGHT_LIB},
        {"emptied": {"test.js": ""}, "a manifest": {"package.json": '{"type": "module"}', "test.js": ""}},
    ),
    "npm": Case(
        command_row("npm test", {"lib.js": LIB, "main.js": CHECK_JS, "package.json": json.dumps({"scripts": {"test": "node main.js"}})}),
        {"lib.js": RIGHT_LIB, "package.json": json.dumps({"scripts": {"test": "node main.js"}, "main": "lib.js"})},
        {"the script": {"package.json": json.dumps({"scripts": {"test": "true"}})}, "its file": {"main.js": ""},
         "before": {"package.json": json.dumps({"scripts": {"test": "node main.js", "pretest": "rm main.js; touch main.js"}})},
         "settings": {".npmrc": "script-shell=/bin/true\n"}},
        runs=False,
    ),
    "mocha": Case(
        command_row("npx mocha 'spec/*_spec.js'", {"lib.js": LIB, "spec/add_spec.js": CHECK_JS, "package.json": "{}"}),
        {"lib.js": RIGHT_LIB},
        {"emptied": {"spec/add_spec.js": ""}, "one more": {"spec/a_spec.js": "process.exit(0)"},
         ".mocharc.json": {".mocharc.json": '{"spec": []}'}, ".mocharc.yml": {".mocharc.yml": "spec: []"},
         "settings": {"package.json": '{"mocha": {"spec": []}}'}, "a manifest": {"spec/package.json": '{"type": "module"}'},
         "a runner": {"node_modules/mocha/bin/mocha.js": ""}},
        runs=False,
    ),
    "mocha by its settings": Case(
        command_row("npm test", {"lib.js": LIB, "adding/all.js": CHECK_JS, ".mocharc.json": '{"spec": ["adding/*.js"]}',
                                 "package.json": '{"scripts": {"test": "mocha"}, "mocha": {"require": "./setup.js"}}', "setup.js": ""}),
        {"lib.js": RIGHT_LIB}, {"emptied": {"adding/all.js": ""}, "set up": {"setup.js": "process.exit(0)"}}, runs=False,
    ),
    "options that name code": Case(
        command_row("python -m pytest --cov=calc.py --ignore=old.py checks", {"calc.py": CALC, "old.py": "", "checks/adding.py": TEST}),
        {"calc.py": RIGHT, "old.py": "x"}, {"emptied": {"checks/adding.py": ""}}, runs=False,
    ),
    "jest": Case(
        command_row("jest checks", {"lib.js": LIB, "checks/adding.js": CHECK_JS}),
        {"lib.js": RIGHT_LIB}, {"emptied": {"checks/adding.js": ""}, "jest.config.cjs": {"jest.config.cjs": ""}}, runs=False,
    ),
    "cargo": Case(
        command_row("cargo test", {"src/lib.rs": "mod tests;\n", "src/tests.rs": "#[test] fn t() {}\n", "tests/a.rs": "", "Cargo.toml": "[package]\n"},
                    FAIL_TO_PASS=["tests::t"]),
        {"src/lib.rs": "mod tests;\nfn x() {}\n"},
        {"emptied": {"src/tests.rs": ""}, "outside": {"tests/a.rs": "//"}, "untested": {"Cargo.toml": "[lib]\ntest = false\n"},
         "a runner": {".cargo/config.toml": '[build]\nrustflags = []\n'}},
        runs=False,
    ),
    "go": Case(
        command_row("go test ./...", {"a.go": "package a\n", "a_test.go": "package a\n", "go.mod": "module a\n"}),
        {"a.go": "package a\n\n"}, {"emptied": {"a_test.go": "package a\n//\n"}, "one more": {"b_test.go": "package a\n"}}, runs=False,
    ),
    "java": Case(
        {"repository": {"src/main/java/a/Calc.java": "", "checks/a/Adds.java": "class Adds {}"}, "FAIL_TO_PASS": ["a.Adds.adds"],
         "test_commands": ["sh run"], "report": "junit", "report_files": ["out.xml"]},
        {"src/main/java/a/Calc.java": "//"}, {"emptied": {"checks/a/Adds.java": ""}}, runs=False,
    ),
    "ruby": Case(
        command_row("bundle exec rspec spec/add_spec.rb:12", {"lib/add.rb": "", "spec/add_spec.rb": "it"}),
        {"lib/add.rb": "x"}, {"emptied": {"spec/add_spec.rb": ""}, ".rspec": {".rspec": "--dry-run\n"}}, runs=False,
    ),
    "c": Case(
        command_row("cc -o out main.c lib.c check.c && ./out", {"main.c": "", "lib.c": "", "check.c": ""}),
        {"lib.c": "//", "main.c": "//"}, {"emptied": {"check.c": "//"}}, runs=False,
    ),
    "linters": Case(
        command_row("flake8 src/a.py && grep -q x src/a.py && python -m py_compile src/a.py", {"src/a.py": ""}),
        {"src/a.py": "x"}, {}, runs=False,
    ),
    "a file that the row's own patch changes": Case(
        command_row("python main.py", {"main.py": "import sys\nsys.exit(1)\n"},
                    patch="--- a/main.py\n+++ b/main.py\n@@ -1,2 +1,2 @@\n import sys\n-sys.exit(1)\n+sys.exit(0)\n"),
        {"main.py": "pass\n"}, {},
    ),
    "a file that the row leaves open": Case(
        command_row("python main.py", {"main.py": "import sys\nsys.exit(1)\n"}, solution_files=["main.*", "setup.cfg"]),
        {"main.py": "pass\n", "setup.cfg": "[x]\n"}, {},
    ),
}  # fmt: skip
