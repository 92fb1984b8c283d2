"""The files of a repository that belong to the row's tests, and not to a candidate.

They are the files of the row's tests, the files that the names of its tests lead to, and the files that its test
commands name. By their names, all tests and their configuration belong to it too, and so do files that Python or a
runner would load instead of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from verikit.verifiers.patch.commands import is_testlike, named_files
from verikit.verifiers.patch.tree import Tree, folders_of

CONFIGURES = frozenset(
    """conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini setup.cfg pyproject.toml sitecustomize.py
    usercustomize.py noxfile.py .noserc unittest.cfg .npmrc .yarnrc .yarnrc.yml .rspec phpunit.xml phpunit.xml.dist
    karma.conf.js jasmine.json go.work .taprc .mocharc .nycrc .babelrc""".split()
).union(
    f"{name}.{end}"
    for name in "jest.config vitest.config ava.config babel.config cypress.config .mocharc .nycrc".split()
    for end in "js cjs mjs ts cts mts json jsonc yml yaml".split()
)
"""Names of files that configure test runs, in any folder."""
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "__tests__", "node_modules"})
_CARGO = ".cargo"
_TEST_FILE = re.compile(
    r"test_.*\.(?:py|rb|c|cc|cpp|lua|sh)|.*_tests?\.(?:py|go|c|cc|cpp|rs|rb|exs|dart|lua|sh)|tests?\.(?:py|rs|[cm]?jsx?|tsx?|sh)|"
    r".*Tests?\.(?:java|kt|php|cs|swift|scala|groovy)|.*[._-](?:test|spec)\.[cm]?[jt]sx?|.*[a-z]Spec\.[cm]?[jt]sx?|"
    r".*_spec\.(?:rb|lua)|.*\.bats"
)
_LOADED = re.compile(r".*\.(?:pyc|pyo|pth)|.*\.(?:egg-info|dist-info|egg-link)")
"""Files that Python loads automatically, or that pytest finds plugins through."""
SOURCES = ("src", "lib")
"""Folders, in addition to the top one, that modules are imported from."""
_OPEN = "solution_files"
_PIECES = re.compile(r"::|[\s>#(),]+")
_LINES = re.compile(r"(.+?):\d+(?::\d+)?$")
_CLASSES = (".java", ".kt", ".scala", ".groovy")


@dataclass(frozen=True, slots=True)
class Declared:
    """The files that a row declares as files of its tests."""

    names: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    written: frozenset[str] = frozenset()
    """Files of `tests` and `test_patch`."""
    outputs: frozenset[str] = frozenset()
    """Files that the row's own commands write while they run."""
    open: frozenset[str] = frozenset()
    """Files that only a command or a test's name leads to, and that the row's own patch changes too."""
    allowed: tuple[str, ...] = ()
    """Patterns of files that the row leaves to a candidate."""
    gold: frozenset[str] = frozenset()
    """Files that the row's own patch changes."""
    folded: frozenset[str] = frozenset()
    """The names in one case."""
    with_scripts: frozenset[str] = frozenset()
    """Folders that contain declared JavaScript files, at any depth."""

    def owns(self, name: str, original: Tree) -> bool:
        """Whether a file is the row's; new names that differ only by case are the row's too."""
        if name in self.names:
            return True
        if name in self.open:
            return False
        if name not in original and name.casefold() in self.folded:
            return True
        if any(fnmatchcase(name, pattern) for pattern in self.patterns):
            return True
        return self._in_folder_of_tests(name)

    def _in_folder_of_tests(self, name: str) -> bool:
        """Whether a file is in a folder of the row, and either looks like a test."""
        tops = [name[:at] for at, sign in enumerate(name) if sign == "/"]
        return any(top in self.folders and (is_testlike(top) or is_testlike(name)) for top in tops)

    def leaves(self, name: str) -> bool:
        """Whether the row leaves a file to the candidate, regardless of its name or any command."""
        return name not in self.written and any(fnmatchcase(name, pattern) for pattern in self.allowed)

    def shadows(self, name: str, original: Tree) -> bool:
        """Whether a new file would be loaded instead of a declared one: a package next to its module, or a manifest."""
        if name in original:
            return False
        folder, _, last = name.rpartition("/")
        if last == "package.json":
            return folder in self.with_scripts
        return any(f"{name[:at]}.py" in self.names for at, sign in enumerate(name) if sign == "/")


def is_test(name: str) -> bool:
    """Whether a file's name and folders mark it as a test, test configuration, or automatically loaded."""
    parts = name.split("/")
    return (
        parts[-1] in CONFIGURES or bool(_TEST_FOLDERS.intersection(parts[:-1])) or _CARGO in parts[:-1]
        or _TEST_FILE.fullmatch(parts[-1]) is not None
        or any(part == "__pycache__" or _LOADED.fullmatch(part) for part in parts)
    )  # fmt: skip


def _is_script(name: str) -> bool:
    return re.search(r"\.[cm]?[jt]sx?$", name) is not None


def declared(
    meta: Mapping[str, Any], written: Iterable[str], tests: Tree, gold: Iterable[str], commands: Sequence[str],
    ids: Sequence[str], reports: Sequence[str],
) -> Declared:  # fmt: skip
    """The files that a row declares.

    Args:
        meta: the row; its `solution_files` are files or patterns of files that a candidate may change.
        written: files of `tests` and `test_patch`: always the row's.
        tests: the repository as the row's tests have it.
        gold: files that the row's own patch changes.
        commands: the test commands.
        ids: the names of its tests.
        reports: files that the commands write.
    """
    own = frozenset(written)
    named = named_files(tuple(commands), tests)
    led = named.tests | of_ids([name for name in ids if name not in commands], tests)
    allowed = meta.get(_OPEN) or ()
    allowed = (allowed,) if isinstance(allowed, str) else tuple(str(pattern) for pattern in allowed)
    changed = set(gold)
    free = (led & changed) - own
    names = frozenset((led - free) | own)
    scripts = {folder for name in names if _is_script(name) for folder in ("", *folders_of(name))}
    return Declared(
        names, frozenset(named.folders), tuple(sorted(named.patterns)), own, frozenset(named.written | set(reports)),
        frozenset(free), allowed, frozenset(changed), frozenset(name.casefold() for name in names), frozenset(scripts),
    )  # fmt: skip


def of_ids(ids: Sequence[str], tree: Tree) -> set[str]:
    """The files that test names lead to: a path, a Python or Rust module, or a Java or Kotlin class."""
    found: set[str] = set()
    by_class = _by_class(tree)
    for test in ids:
        pieces = [piece for piece in _PIECES.split(test[:2000].partition("[")[0]) if piece]
        for piece in (test, *pieces):
            path = _path_of(piece)
            if path in tree and ("." in path or "/" in path or path == test):
                found.add(path)
        for piece in pieces:
            found |= _of_dotted(piece, tree, by_class)
        found |= _of_rust(pieces, tree)
    return found


def _by_class(tree: Tree) -> dict[str, list[str]]:
    """Java and Kotlin files by their class name."""
    files: dict[str, list[str]] = {}
    for name in tree:
        if name.endswith(_CLASSES):
            files.setdefault(name.rpartition("/")[2].rpartition(".")[0], []).append(name)
    return files


def _path_of(piece: str) -> str:
    """A part of a test's name as a path, without its line number."""
    line = _LINES.match(piece.rstrip(":"))
    return (line[1] if line else piece.rstrip(":")).removeprefix("./")


def _of_dotted(piece: str, tree: Tree, by_class: Mapping[str, Sequence[str]]) -> set[str]:
    """`package.module.Class.test` as the longest module of the tree, and as a class's file."""
    parts = re.split(r"[.$]", piece)
    if len(parts) < 2 and piece not in by_class:
        return set()
    for n in range(len(parts), 0, -1):
        path = "/".join(parts[:n])
        modules = {f"{top}{path}.py" for top in ("", *(f"{name}/" for name in SOURCES))} & tree.keys()
        held = modules or _in_package(by_class.get(parts[n - 1], ()), "/".join(parts[: n - 1]))
        if held:
            return held
    return set()


def _in_package(files: Sequence[str], package: str) -> set[str]:
    below = f"/{package}" if package else ""
    return {name for name in files if f"/{name.rpartition('/')[0]}".endswith(below)}


def _of_rust(pieces: Sequence[str], tree: Tree) -> set[str]:
    """`module::tests::name` as a file of tests; a module's own file contains the code, too."""
    for n in range(len(pieces), 0, -1):
        path = "/".join(pieces[:n])
        held = {
            name for end in (".rs", "/mod.rs") for top in ("", "src/", "tests/")
            if (name := f"{top}{path}{end}") in tree and is_testlike(pieces[n - 1])
        }  # fmt: skip
        if held:
            return held
    return set()
