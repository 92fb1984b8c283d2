"""The shape of the code: who may import whom, what an import costs, how big a module may be, what is documented."""

import ast
import inspect
import re
import subprocess
import sys
from itertools import pairwise

import pytest

import verikit
from tests.conftest import ROOT

CORE = ROOT / "verikit"
FOLDERS = ("verikit", "judges", "trainers", "evals")
MAY_IMPORT = {
    "verikit": {"verikit"},
    "judges": {"verikit", "judges"},
    "trainers": {"verikit", "judges", "trainers"},
    "evals": {"verikit", "judges", "evals"},
}
HEAVY = (
    "torch",
    "transformers",
    "sympy",
    "vllm",
    "ray",
    "faiss",
    "lm_eval",
    "numpy",
    "pyarrow",
    "pebble",
    "jsonschema",
)
BROAD = {
    "verikit/answers/tail.py": 1,  # sympy raises whatever an answer brings about
    "verikit/artifacts/readers/calculate.py": 2,  # spreadsheet engines raise whatever a formula brings about
    "verikit/base.py": 1,  # the scoring boundary, where an exception becomes data
    "verikit/engines/vllm.py": 1,  # what reading an output raises is told to who waits for it, in another thread
    "verikit/engines/vllm_loop.py": 1,  # whatever vLLM raises is told to all that wait for it
    "verikit/env/audit/run.py": 2,  # a task's files may break any reader, and the other checks go on
    "verikit/env/audit/running/run.py": 2,  # the same of checks that run them
    "verikit/env/audit/running/packages/boxed.py": 2,  # in the box: an environment's code raises whatever it likes
    "verikit/env/audit/running/packages/boxed_openenv.py": 2,  # the same
    "verikit/helper.py": 1,  # a helper process's main: whatever a function raises is its reply
    "verikit/sandbox/proxies/peer.py": 3,  # whatever an operation on an object raises is its answer
    "verikit/sandbox/runner.py": 3,  # the program under test raises whatever it likes, also while it is reported
    "verikit/sandbox/server.py": 1,  # a forked child that can't be restricted reports and dies
    "verikit/sandbox/foreign.py": 1,  # reading a value may run the program's own code
    "verikit/sandbox/records.py": 1,  # whatever reading a record runs into, the record is the program's
    "verikit/sandbox/guest/bfcl.py": 2,  # BFCL's services raise whatever a model's arguments bring about
    "verikit/sandbox/guest/gym_score.py": 2,  # reasoning_gym's scorers raise whatever an answer or a row brings about
    "verikit/sandbox/guest/suite.py": 1,  # a row's test file raises whatever it likes when it is loaded
    "verikit/sandbox/guest/witness.py": 2,  # a repository under test raises whatever it likes
    "verikit/tracking/trackers.py": 1,  # a tracker's package raises whatever it likes, and the run goes on
    "verikit/verifiers/code/python_cases.py": 1,  # whatever comparing a value runs into, the value is the candidate's
    "trainers/ahead.py": 1,  # what collecting raises, in another thread, is raised where the batch is waited for
    "trainers/recipes/tools/functions.py": 1,  # a user's function raises whatever the model's arguments bring about
    "verikit/verifiers/tools/trajectory.py": 1,  # a user's function raises whatever the model's arguments bring about
}
"""Broad excepts by file, those aside that raise again or raise an error that says more: the scoring boundary, and where
a worker process runs code of others. Nothing else may have one."""


def modules():
    """Every Python file of the four folders, each once: the links in verikit/ are not followed."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).parts
            if not any((ROOT / "/".join(parts[:i])).is_symlink() for i in range(1, len(parts))):
                yield path


MODULES = list(modules())


def tree_of(path):
    return ast.parse(path.read_text("utf-8"))


def imported(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def folder_of(name):
    parts = name.split(".")
    return parts[1] if parts[0] == "verikit" and len(parts) > 1 and parts[1] in FOLDERS else parts[0]


def test_the_scan_sees_the_code():
    seen = {str(p.relative_to(ROOT)) for p in MODULES}
    assert {"verikit/types.py", "verikit/cli/list.py", "judges/__init__.py", "evals/__init__.py"} <= seen
    assert not any(name.startswith(("verikit/judges", "verikit/trainers", "verikit/evals")) for name in seen)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_downwards_and_never_at_a_bare_folder(path):
    home = path.relative_to(ROOT).parts[0]
    for name in imported(path):
        assert name.split(".")[0] not in ("judges", "trainers", "evals"), f"bare import of {name}"
        if folder_of(name) in FOLDERS:
            assert folder_of(name) in MAY_IMPORT[home], f"{home} imports {name}"


WING = re.compile(r"^- (\w+) \(([\w, ]*)\): ((?:`\w+`[,:]\s+)+)", re.MULTILINE)
"""A wing in the package's docstring: its name, what it may import from, and its modules."""


def wings():
    """The wing of each module or package of `verikit/`, and the wings that a wing may import from."""
    wing_of, may_import = {}, {}
    for wing, others, names in WING.findall(verikit.__doc__):
        may_import[wing] = {wing, *others.split(", ")} - {""}
        for name in re.findall(r"\w+", names):
            assert name not in wing_of, f"{name} is in two wings"
            wing_of[name] = wing
    return wing_of, may_import


def against_the_wings(module, names):
    """Which of the imported names a module of `verikit/` (by its name below it) may not import."""
    wing_of, may_import = wings()
    allowed = may_import[wing_of[module]]
    parts = [name.split(".") for name in names]
    return [".".join(p) for p in parts if p[0] == "verikit" and wing_of.get(p[1], "core") not in allowed]


def test_every_module_of_the_core_is_in_a_wing():
    names = {path.relative_to(ROOT).parts[1].removesuffix(".py") for path in MODULES if path.is_relative_to(CORE)}
    assert names - {"__init__"} == set(wings()[0])


@pytest.mark.parametrize("path", [p for p in MODULES if p.is_relative_to(CORE)], ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_inside_the_core_keep_the_direction_of_the_wings(path):
    module = path.relative_to(CORE).parts[0].removesuffix(".py")
    assert against_the_wings("base" if module == "__init__" else module, imported(path)) == []


@pytest.mark.parametrize(
    ("module", "name", "wrong"),
    [
        ("replies", "verikit.readers.read", True),
        ("verifiers", "verikit.scoring.rows", True),
        ("scoring", "verikit.cli.options", True),
        ("engines", "verikit.answers", True),
        ("cli", "verikit.answers.gold", False),
        ("search", "verikit.retrieval", False),
        ("cli", "verikit.Sample", False),
        ("replies", "re", False),
    ],
)
def test_an_import_against_the_wings_is_seen(module, name, wrong):
    assert bool(against_the_wings(module, [name])) == wrong


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_is_longer_than_400_lines(path):
    assert len(path.read_text("utf-8").splitlines()) <= 400


def test_the_median_module_is_short():
    lengths = sorted(len(path.read_text("utf-8").splitlines()) for path in MODULES)
    assert lengths[len(lengths) // 2] <= 150


def test_broad_excepts_stand_only_where_an_exception_becomes_data():
    found = {}
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ExceptHandler) and not (
                isinstance(node.body[-1], ast.Raise) and (not node.body[-1].exc or node.body[-1].cause)
            ):
                caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
                if any(
                    c is None or (isinstance(c, ast.Name) and c.id in ("Exception", "BaseException")) for c in caught
                ):
                    name = str(path.relative_to(ROOT))
                    found[name] = found.get(name, 0) + 1
    assert found == BROAD


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_public_function_class_and_module_says_what_it_does(path):
    tree = tree_of(path)
    assert ast.get_docstring(tree) or not tree.body
    for node in tree.body:
        members = [node, *(node.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_") else [])]
        for member in members:
            if isinstance(member, (ast.FunctionDef, ast.ClassDef)) and not member.name.startswith("_"):
                declared = (
                    isinstance(member.body[-1], ast.Expr) and ast.unparse(member.body[-1]) == "..."
                )  # overload, protocol
                assert declared or ast.get_docstring(member), f"{member.name} says nothing"


def documented_constants(path):
    body = tree_of(path).body
    for node, after in pairwise(body):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(after, ast.Expr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (t.id for t in targets if isinstance(t, ast.Name))


@pytest.mark.parametrize("name", verikit.__all__)
def test_every_public_name_of_verikit_is_documented(name):
    value = getattr(verikit, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value)
    else:
        assert name in {n for path in MODULES if path.parent.name == "verikit" for n in documented_constants(path)}


def test_all_is_sorted_and_complete():
    assert len(set(verikit.__all__)) == len(verikit.__all__)
    assert verikit.__all__ == sorted(verikit.__all__, key=lambda name: (not name.isupper(), name.islower(), name))
    assert set(verikit.__all__) <= set(dir(verikit))


@pytest.mark.parametrize(
    "code",
    [
        "import verikit",
        "import verikit.names.spec, verikit.compose.choose, verikit.compose.guards",
        "import atexit, sys, verikit.cli; sys.argv[1:] = ['--help']; atexit.register(check); verikit.cli.main()",
    ],
    ids=["import", "core", "help"],
)
def test_a_fresh_interpreter_loads_nothing_heavy(code):
    check = (
        "def check():\n"
        "    import sys\n"
        f"    loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "    print('LOADED', loaded)\n"
    )
    ending = "" if "atexit" in code else "\ncheck()"
    done = subprocess.run([sys.executable, "-c", check + code + ending], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("LOADED []")


def test_importing_verikit_starts_no_thread_and_prints_nothing():
    code = "import threading, verikit; assert threading.active_count() == 1"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""
