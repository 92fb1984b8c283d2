"""The shape of the code: who may import whom, what an import costs, how big a module may be, what is documented."""

import inspect
import re
import subprocess
import sys

import pytest

import verikit
from tests.conftest import ROOT
from tests.modules import CORE, FOLDERS, MODULES, facts, read

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


def folder_of(name):
    parts = name.split(".")
    return parts[1] if parts[0] == "verikit" and len(parts) > 1 and parts[1] in FOLDERS else parts[0]


def test_the_scan_sees_the_code():
    seen = {str(p.relative_to(ROOT)) for p in MODULES}
    assert {"verikit/types.py", "verikit/cli/list.py", "judges/__init__.py", "evals/__init__.py"} <= seen
    assert not any(name.startswith(("verikit/judges", "verikit/trainers", "verikit/evals")) for name in seen)


def against_the_layers(home, names):
    """Which of the imported names a module of a folder may not import: a bare folder's, or a higher layer's."""
    layers = {name: folder_of(name) for name in names}
    bare = [name for name in names if name.split(".")[0] in ("judges", "trainers", "evals")]
    return bare + [name for name, layer in layers.items() if layer in FOLDERS and layer not in MAY_IMPORT[home]]


def test_imports_point_downwards_and_never_at_a_bare_folder():
    wrong = {path: against_the_layers(path.relative_to(ROOT).parts[0], facts(path).imports) for path in MODULES}
    assert {path: names for path, names in wrong.items() if names} == {}
    assert [path for path in MODULES if facts(path).relative] == []


@pytest.mark.parametrize(
    ("home", "name", "wrong"),
    [
        ("verikit", "verikit.judges.jury", True),
        ("judges", "verikit.trainers", True),
        ("judges", "judges.jury", True),
        ("trainers", "verikit.judges.jury", False),
        ("evals", "verikit.types", False),
    ],
)
def test_an_import_against_the_layers_is_seen(home, name, wrong):
    inner = f"def f():\n    from {name.rpartition('.')[0]} import {name.rpartition('.')[2]}\n"
    assert bool(against_the_layers(home, read(inner).imports)) == wrong


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


def test_imports_inside_the_core_keep_the_direction_of_the_wings():
    wrong = {}
    for path in MODULES:
        if path.is_relative_to(CORE):
            module = path.relative_to(CORE).parts[0].removesuffix(".py")
            wrong[path] = against_the_wings("base" if module == "__init__" else module, facts(path).imports)
    assert {path: names for path, names in wrong.items() if names} == {}


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


def test_no_module_is_longer_than_400_lines():
    assert [path for path in MODULES if facts(path).lines > 400] == []


def test_the_median_module_is_short():
    lengths = sorted(facts(path).lines for path in MODULES)
    assert lengths[len(lengths) // 2] <= 150


def test_broad_excepts_stand_only_where_an_exception_becomes_data():
    found = {str(path.relative_to(ROOT)): len(facts(path).broad_excepts) for path in MODULES}
    assert {path: count for path, count in found.items() if count} == BROAD


@pytest.mark.parametrize(
    ("clause", "ending", "broad"),
    [
        ("except Exception:", "pass", True),
        ("except (OSError, BaseException):", "raise E()", True),
        ("except:", "pass", True),
        ("except Exception:", "raise", False),
        ("except Exception as error:", "raise E() from error", False),
        ("except OSError:", "pass", False),
    ],
)
def test_a_broad_except_is_seen(clause, ending, broad):
    assert bool(read(f"try:\n    f()\n{clause}\n    {ending}\n").broad_excepts) == broad


def test_every_public_function_class_and_module_says_what_it_does():
    silent = {path: facts(path).undocumented for path in MODULES}
    assert {path: names for path, names in silent.items() if names} == {}


def test_what_says_nothing_is_seen():
    source = "def f(): pass\nclass C:\n    def g(self): pass\n    def _h(self): pass\n    def i(self): ...\n"
    assert read(source).undocumented == ["the module", "f", "C", "g"]
    assert read("").undocumented == []


@pytest.mark.parametrize("name", verikit.__all__)
def test_every_public_name_of_verikit_is_documented(name):
    value = getattr(verikit, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value)
    else:
        assert name in {n for path in MODULES if path.parent.name == "verikit" for n in facts(path).constants}


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
