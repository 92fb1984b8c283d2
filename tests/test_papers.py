"""docs/papers.md: every test that it names exists."""

import ast
import re

import pytest

from tests.conftest import ROOT

NAMED = re.findall(r"^\| [^|]+ \| `([\w/]+\.py)::(\w+)` \|$", (ROOT / "docs" / "papers.md").read_text("utf-8"), re.M)


def test_the_page_has_a_row_per_ability():
    assert len(NAMED) == 90 == len(set(NAMED))


@pytest.mark.parametrize("path", sorted({path for path, _ in NAMED}))
def test_every_named_test_is_there(path):
    tests = {
        node.name
        for node in ast.parse((ROOT / "tests" / path).read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert {name for where, name in NAMED if where == path} <= tests
