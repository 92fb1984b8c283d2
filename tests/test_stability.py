"""docs/stability.md: the names that it promises exist, and pages and examples use no others."""

import ast
import importlib
import inspect
import json
import re
import textwrap

import pytest

import verikit
from tests.conftest import ROOT
from verikit.names.registry import registered

PAGE = (ROOT / "docs" / "stability.md").read_text("utf-8")
PROMISED = {
    (module, name)
    for module, names in re.findall(r"^\| `(verikit[\w.]*)` \| (.*) \|$", PAGE, re.MULTILINE)
    for name in re.findall(r"`(\w+)`", names)
}
FIXTURE = ("verikit.testing", "verikit_score")
REGISTERED = {("verikit", name) for name in (*registered("verifiers"), "selectors")}
"""Verifiers, what combines them, and the module of selectors. The page refers to docs/verifiers.md for them."""
MOST = 150
"""Names in the page's tables. Each is a promise, so this goes up only for what users cannot do without."""
INTERNAL = {
    "docs/engines.md": {"verikit.engines.hf.decoder", "verikit.engines.hf.sampler"},
    "examples/genprm/policy.py": {"verikit.guided.critic", "verikit.judges.genprm"},
    "examples/genprm/tiny.py": {"verikit.cli"},
    "examples/workspace/make.py": {"verikit.convert"},
}
"""Modules that a page or an example shows although they may change: a decoder's parts, and proofs of verikit itself."""
USERS = sorted(
    path
    for pattern in ("docs/*.md", "README.md", "examples/**/*.md", "examples/**/*.ipynb", "examples/**/*.py")
    for path in ROOT.glob(pattern)
)


def code_of(path):
    """The Python code of a page, notebook or script, one text per block."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return [textwrap.dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```", text, re.DOTALL | re.M)]
    if path.suffix == ".ipynb":
        return ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return [text]


def imports_of(code):
    """The names of verikit that code imports, with their modules."""
    # An import is one statement, so a block with `…` in it is read all the same.
    for found in re.findall(r"^ *(from verikit[\w.]* import (?:\([^)]*\)|[^\n(]+)|import verikit\.[^\n]+)", code, re.M):
        node = ast.parse(found).body[0]
        for name in node.names:
            yield (node.module, name.name) if isinstance(node, ast.ImportFrom) else (name.name, "")


@pytest.mark.parametrize("module", sorted({module for module, _ in PROMISED}))
def test_every_promised_name_exists_and_has_a_docstring(module):
    pytest.importorskip("torch") if ".trainers." in module else None
    for name in sorted(name for home, name in PROMISED if home == module and (home, name) != FIXTURE):
        promised = getattr(importlib.import_module(module), name)
        assert promised.__doc__ or not (inspect.isroutine(promised) or inspect.isclass(promised)), name


def test_every_name_of_the_package_is_promised():
    assert {("verikit", name) for name in verikit.__all__} <= PROMISED | REGISTERED


@pytest.mark.parametrize("path", USERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_and_examples_use_only_what_is_promised(path):
    internal = INTERNAL.get(str(path.relative_to(ROOT)), set())
    modules = {module for module, _ in PROMISED} | {f"{module}.{name}" for module, name in PROMISED}
    for code in code_of(path):
        for module, name in imports_of(code):
            known = (module, name) in PROMISED | REGISTERED or (module if not name else f"{module}.{name}") in modules
            assert known or module.startswith(tuple(internal) or "-"), f"{module}: {name}"


def test_the_list_is_short_enough_to_be_kept():
    assert len(PROMISED) <= MOST


def test_an_import_that_is_not_promised_is_seen():
    code = "from verikit.base import (\n    walk,\n)\nimport verikit.scoring.pool\nx = …\n"
    assert list(imports_of(code)) == [("verikit.base", "walk"), ("verikit.scoring.pool", "")]
