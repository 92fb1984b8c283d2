"""The tree that is run: a candidate's, with the row's files restored."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from itertools import chain

from verikit.sandbox import paths
from verikit.verifiers.patch.declared import SOURCES, Declared, is_test
from verikit.verifiers.patch.manifests import with_scripts_of
from verikit.verifiers.patch.tree import PatchError, Tree, TreeFile, folders_of

_RUNNERS = frozenset({"pytest", "_pytest", "pluggy", "py", "iniconfig", "unittest", "doctest"})
MOST_CHANGED = 5_000
"""Maximum files that a candidate may change."""


@dataclass(frozen=True, slots=True)
class JudgedTree:
    """A tree to be run."""

    files: Tree
    put_back: tuple[str, ...] = ()
    """Restored files, whose content differs from the candidate's version."""
    changed: frozenset[str] = frozenset()
    """Files in it that the candidate changed."""
    helpers: tuple[str, ...] = ()
    """The changed files that only tests load."""


def judged(original: Tree, candidate: Tree, tests: Tree, declared: Declared) -> JudgedTree:
    """The tree that is run.

    Args:
        original: the repository.
        candidate: the same with the candidate's changes.
        tests: the repository as the row's tests have it.
        declared: the files that the row declares.

    Raises:
        PatchError: A candidate's file has the path of a folder that the tests need.
    """
    changed = {name for name in {*candidate, *original} if candidate.get(name) != original.get(name)}
    if len(changed) > MOST_CHANGED:
        raise PatchError(f"the patch changes more than {MOST_CHANGED} files")
    put_back = _rows_own(changed, original, declared)
    merged = {name for name in changed & candidate.keys() & tests.keys() if _has_scripts(name, declared)}
    tree = _restored(candidate, original, tests, put_back - merged)
    for name in merged:
        tree[name] = with_scripts_of(tests[name], candidate[name])
    put_back = put_back - merged | {name for name in merged if tree[name] != candidate[name]}
    if clash := set(chain.from_iterable(map(folders_of, tree))) & tree.keys():
        raise PatchError(f"{min(clash)} is a file, but the tests need a folder of that name")
    return JudgedTree(tree, tuple(sorted(put_back)), frozenset(changed - put_back))


def _rows_own(changed: set[str], original: Tree, declared: Declared) -> set[str]:
    """The changed files that are the row's, or would be loaded instead of modules that the row's tests load."""
    imports = _Imports(original, declared)
    return {
        name for name in changed
        if belongs(name, original, declared) or declared.shadows(name, original) or imports.hidden_by(name)
    }  # fmt: skip


def _restored(candidate: Tree, original: Tree, tests: Tree, put_back: set[str]) -> dict[str, TreeFile]:
    """A candidate's tree with the row's tests, and with the row's version of some files."""
    tree = dict(candidate)
    of_tests = {name for name in {*tests, *original} if tests.get(name) != original.get(name)}
    for name in put_back | of_tests:
        tree.pop(name, None)
        if name in tests:
            tree[name] = tests[name]
    return tree


def _has_scripts(name: str, declared: Declared) -> bool:
    """Whether a file is a `package.json` whose test scripts and settings are the row's, and nothing else."""
    of_row = name in declared.written or name in declared.open or declared.leaves(name)
    return name.rpartition("/")[2] == "package.json" and not of_row


def belongs(name: str, original: Tree, declared: Declared) -> bool:
    """Whether a file is the row's: by the row's declarations or by its name."""
    return not declared.leaves(name) and (declared.owns(name, original) or is_test(name))


class _Imports:
    """The folders that tests import from, and the modules of a repository in them."""

    def __init__(self, original: Tree, declared: Declared) -> None:
        self._original = original
        self._folders = {folder for name in original for folder in folders_of(name)}
        own = {name.rpartition("/")[0] for name in declared.names if name.endswith(".py")}
        self._tops = {"", *SOURCES, *own}

    def hidden_by(self, name: str) -> bool:
        """Whether a new file would be imported instead of one of Python's own or an installed module."""
        if name in self._original or not name.endswith((".py", ".so")):
            return False
        above = ["", *(f"{folder}/" for folder in folders_of(name) if folder in self._tops)]
        return any(self._hides(name, top) for top in above)

    def _hides(self, name: str, above: str) -> bool:
        module = name[len(above) :].partition("/")[0].partition(".")[0]
        known = f"{above}{module}.py" in self._original or f"{above}{module}" in self._folders
        return not known and (module in _RUNNERS or _is_installed(module))


def _is_installed(module: str) -> bool:
    return module in sys.stdlib_module_names or PathFinder.find_spec(module, paths.readable()) is not None
