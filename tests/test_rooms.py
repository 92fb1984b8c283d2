"""The rooms of the package: what lies loose, what lies beside the verifiers, circles of packages, old names."""

import importlib
import subprocess
import sys
import tomllib

import pytest

from tests.conftest import ROOT
from tests.modules import CORE, MODULES, facts, read
from verikit.moved import MOVED

LOOSE = 14
"""Modules of `verikit/` itself: the concepts that everything is written in, and no more than a person remembers."""


def test_few_modules_lie_loose_in_the_package():
    loose = {path.name for path in CORE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert len(loose) <= LOOSE, sorted(loose)


def test_every_module_beside_the_verifiers_is_a_verifier():
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["verikit.verifiers"]
    registered = {value.partition(":")[0] for value in points.values()}
    beside = {f"verikit.verifiers.{path.stem}" for path in (CORE / "verifiers").glob("*.py")} - {
        "verikit.verifiers.__init__"
    }
    assert beside <= registered, sorted(beside - registered)


def package_imports():
    """Which packages each package imports when it is imported; rooms below a package's rooms count with them."""
    names = {}
    for path in MODULES:
        parts = path.relative_to(ROOT).with_suffix("").parts
        parts = parts if parts[0] == "verikit" else ("verikit", *parts)
        names[".".join(parts).removesuffix(".__init__")] = path
    packages = {name for name, path in names.items() if path.name == "__init__.py"}
    imports = {}
    for name, path in names.items():
        home = room(name, packages)
        targets = {room(target, packages) for target in facts(path).ours_at_import}
        imports.setdefault(home, set()).update(targets - {home, "verikit"})
    return imports


def room(name, packages):
    """The package of a module, at most three names deep."""
    parts = name.split(".")
    return max((package for i in range(1, 4) if (package := ".".join(parts[:i])) in packages), key=len)


def circles(imports):
    """The groups of packages that reach each other."""
    reached = {home: set(targets) for home, targets in imports.items()}
    for _ in imports:
        for targets in reached.values():
            targets |= {further for target in targets for further in reached.get(target, ())}
    groups = {frozenset({home, *(t for t in targets if home in reached[t])}) for home, targets in reached.items()}
    return {group for group in groups if len(group) > 1}


def test_a_circle_of_packages_is_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == {frozenset({"b", "c"})}
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == set()


def test_no_packages_import_each_other_in_a_circle():
    assert circles(package_imports()) == set()


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_name_is_the_module_of_the_new_one(old):
    pytest.importorskip("torch") if ".trainers." in old else None
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} has moved to {MOVED[old]}"):
        assert importlib.import_module(old) is importlib.import_module(MOVED[old])


def test_the_warning_points_at_the_line_that_imports(tmp_path):
    script = tmp_path / "theirs.py"
    script.write_text("import verikit\n\nfrom verikit.verifiers.exact import Exact\nprint(Exact.__module__)\n")
    done = subprocess.run([sys.executable, "-W", "default", script], capture_output=True, text=True, check=True)
    assert done.stdout == "verikit.verifiers.overlap.exact\n"
    assert f"{script}:3: DeprecationWarning" in done.stderr


TWO_MEANINGS = {"Refusal", "Trajectory"}
"""A verifier and an error, and a verifier and what the trainer learns from, go by the field's word both times."""


def test_a_public_class_name_means_one_thing():
    homes = {}
    for path in MODULES:
        for name in facts(path).classes:
            if not name.startswith("_"):
                homes.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in homes.items() if len(where) > 1 and name not in TWO_MEANINGS} == {}


def test_no_conditional_expression_stands_in_another():
    nested = {path: facts(path).nested_conditionals for path in MODULES}
    assert {path: lines for path, lines in nested.items() if lines} == {}


def test_a_conditional_expression_in_another_is_seen():
    assert read("a = b if c else d if e else f\ng = h if i else (j, k if l else m)\n").nested_conditionals == [1]


LARGE = 10
"""Complexity above which a function counts as large."""
MOST_LARGE = 0.0495
"""The share of large functions; it may only go down."""


def test_complexity_counts_branches_and_none_of_inner_functions():
    source = "def f(a):\n    if a and [b for b in a if b]:\n        return lambda: 1 if a else 2\n"
    assert read(source).complexities == [5]


def test_few_functions_are_large():
    complexities = [complexity for path in MODULES for complexity in facts(path).complexities]
    large = sum(complexity > LARGE for complexity in complexities)
    assert large / len(complexities) <= MOST_LARGE, f"{large} of {len(complexities)}"
