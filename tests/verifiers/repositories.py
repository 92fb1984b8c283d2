"""Three small repositories with a bug each, as names with texts, and the patches that mend them."""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

Files = dict[str, str]

CALC: Files = {
    "calc/__init__.py": "from calc.core import add, mean\n",
    "calc/core.py": (
        "def add(a, b):\n    return a + b\n\n\ndef mean(values):\n    total = 0\n    for value in values:\n"
        "        total = add(total, value)\n    return total / (len(values) + 1)\n"
    ),
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef values():\n    return [1, 2, 3]\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-q"\n',
    "README.md": "calc\n",
}
CALC_TESTS = CALC["tests/test_calc.py"].replace("import add", "import add, mean") + (
    "\n\ndef test_mean(values):\n    assert mean(values) == 2\n\n\ndef test_mean_of_one():\n    assert mean([4]) == 4\n"
)
TEXT: Files = {
    "src/textkit/__init__.py": "",
    "src/textkit/words.py": (
        "import json\n\n\ndef count(text):\n    return len(text.split(' '))\n\n\ndef shout(text):\n"
        "    return text.upper()\n\n\ndef dump(text):\n    return json.dumps(count(text))\n"
    ),
    "tests/__init__.py": "",
    "tests/test_words.py": (
        "import unittest\n\nfrom textkit.words import count, dump, shout\n\n\nclass TestWords(unittest.TestCase):\n"
        "    def test_shout(self):\n        self.assertEqual(shout('a'), 'A')\n\n"
        "    def test_count(self):\n        self.assertEqual(count('a  b'), 2)\n        self.assertEqual(count(''), 0)\n\n"
        "    def test_dump(self):\n        self.assertEqual(dump('a b'), '2')\n"
    ),
    "setup.cfg": "[metadata]\nname = textkit\n",
}
STACK: Files = {
    "go.mod": "module example.com/stack\n\ngo 1.19\n",
    "stack.go": (
        "package stack\n\ntype Stack struct{ items []int }\n\nfunc (s *Stack) Push(n int) { s.items = append(s.items, n) }\n\n"
        "func (s *Stack) Pop() int {\n\tn := s.items[0]\n\ts.items = s.items[1:]\n\treturn n\n}\n"
    ),
    "stack_test.go": (
        'package stack\n\nimport "testing"\n\nfunc TestPush(t *testing.T) {\n\ts := &Stack{}\n\ts.Push(1)\n'
        "\tif len(s.items) != 1 {\n\t\tt.Fatal(s.items)\n\t}\n}\n\nfunc TestPop(t *testing.T) {\n\ts := &Stack{}\n"
        '\ts.Push(1)\n\ts.Push(2)\n\tif n := s.Pop(); n != 2 {\n\t\tt.Fatalf("popped %d", n)\n\t}\n}\n'
    ),
}
ROWS: dict[str, dict[str, Any]] = {
    "calc": {
        "repository": CALC,
        "tests": {"tests/test_calc.py": CALC_TESTS},
        "FAIL_TO_PASS": ["tests/test_calc.py::test_mean", "tests/test_calc.py::test_mean_of_one"],
        "PASS_TO_PASS": ["tests/test_calc.py::test_add"],
    },
    "textkit": {
        "repository": TEXT,
        "FAIL_TO_PASS": '["test_count (tests.test_words.TestWords)"]',
        "PASS_TO_PASS": ["tests.test_words.TestWords.test_shout", "tests.test_words.TestWords.test_dump"],
    },
    "stack": {
        "repository": STACK,
        "FAIL_TO_PASS": ["TestPop"],
        "PASS_TO_PASS": ["TestPush"],
        "test_commands": ["go test -v ./..."],
        "report": "go",
        "language": "go",
    },
}
MENDED: dict[str, Files] = {
    "calc": {"calc/core.py": CALC["calc/core.py"].replace("(len(values) + 1)", "len(values)")},
    "textkit": {"src/textkit/words.py": TEXT["src/textkit/words.py"].replace("split(' ')", "split()")},
    "stack": {
        "stack.go": STACK["stack.go"].replace("s.items[0]", "s.items[len(s.items)-1]").replace(
            "s.items[1:]", "s.items[:len(s.items)-1]"
        )
    },
}  # fmt: skip


def diff(before: Mapping[str, str], after: Mapping[str, str | None]) -> str:
    """A unified diff that gives files these texts; None takes one away."""
    parts = []
    for name, text in after.items():
        old, new = before.get(name), text
        lines = difflib.unified_diff(
            (old or "").splitlines(keepends=True), (new or "").splitlines(keepends=True),
            "/dev/null" if old is None else f"a/{name}", "/dev/null" if new is None else f"b/{name}",
        )  # fmt: skip
        parts.append("".join(lines))
    return "".join(parts)
