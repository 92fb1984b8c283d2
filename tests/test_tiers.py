"""Which tests run when: the cases that are known to be slow, and the file that names them."""

import ast
import json

from tests import conftest


def test_every_slow_case_is_one_of_a_test_that_exists():
    functions = {}
    for name in json.loads(conftest.TIMES.read_text("utf-8")):
        path, function = name.partition("[")[0].split("::", 1)
        if path not in functions:
            tree = ast.parse((conftest.ROOT / path).read_text("utf-8"))
            functions[path] = {
                node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            }
        assert function.split("::")[-1] in functions[path], name


def test_times_of_what_ran_replace_older_ones_and_others_stay(tmp_path, monkeypatch):
    file = tmp_path / "times.json"
    file.write_text('{"tests/a.py::old": 3.0, "tests/b.py::same": 2.0}', "utf-8")
    monkeypatch.setattr(conftest, "TIMES", file)
    conftest.write_times({"tests/a.py::new": 1.26, "tests/a.py::quick": 0.2})
    assert json.loads(file.read_text("utf-8")) == {"tests/a.py::new": 1.3, "tests/b.py::same": 2.0}
