"""The task of a patch row: a repository, tests that have to pass, and how they are run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verikit.sandbox.toolchains import ALIASES
from verikit.verifiers.falsified.changed_tests import changed
from verikit.verifiers.patch import outcomes
from verikit.verifiers.patch.declared import SOURCES, Declared, declared
from verikit.verifiers.patch.judged import JudgedTree, judged
from verikit.verifiers.patch.replies import patched
from verikit.verifiers.patch.tree import PatchError, Tree, TreeFile, read_tree
from verikit.verifiers.patch.unified_diff import FileChange, applied, parse

_GOLDS = ("patch", "gold_patch", "solution_patch")
WANTED = ("FAIL_TO_PASS", "PASS_TO_PASS")
"""The keys of a row that name its tests."""


@dataclass(frozen=True, slots=True)
class PatchTask:
    """The task of a patch row."""

    original: Tree
    tests: Tree
    """The repository with the row's own tests."""
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    before: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    report: str = ""
    reports: tuple[str, ...] = ()
    form: str = "pytest"
    plugins: tuple[str, ...] = ()
    language: str = ""
    gold: str = ""
    declared: Declared = field(default_factory=Declared)
    """The files that are the row's."""

    @property
    def names(self) -> tuple[str, ...]:
        """All tests that are checked."""
        return (*self.fail_to_pass, *self.pass_to_pass)

    def with_gold(self) -> JudgedTree:
        """The tree with the row's own patch, or the unchanged repository, and the row's tests.

        Raises:
            PatchError: The row's own patch does not apply.
        """
        own = patched(self.original, self.gold) if self.gold else self.original
        return judged(self.original, own, self.tests, self.declared)

    def unchanged(self) -> JudgedTree:
        """The tree of a patch that changes nothing."""
        return judged(self.original, self.original, self.tests, self.declared)


def read_task(meta: Mapping[str, Any], root: str = "") -> PatchTask:
    """The task of a row.

    Raises:
        ValueError: The row lacks something, or has unreadable content.
    """
    if "repository" not in meta:
        raise ValueError(f"repository not found in this row (meta has {', '.join(sorted(meta)) or 'nothing'})")
    original = read_tree(meta["repository"], root)
    tests, written = _tests(meta, original)
    fail_to_pass, pass_to_pass = (_names(meta.get(key), key) for key in WANTED)
    if not (fail_to_pass or pass_to_pass):
        raise ValueError("FAIL_TO_PASS and PASS_TO_PASS are both empty")
    commands, report = _texts(meta, "test_commands"), str(meta.get("report") or "")
    if bool(commands) != bool(report) or (report and report not in outcomes.FORMS):
        raise ValueError(f"test_commands and report ({', '.join(outcomes.FORMS)}) go together")
    form = _test_form(meta, (*fail_to_pass, *pass_to_pass))
    language = ALIASES.get(str(meta.get("language") or "").lower(), "")
    gold = gold_of(meta)
    reports = _texts(meta, "report_files")
    own = declared(meta, written, tests, _changed_by(gold), commands, (*fail_to_pass, *pass_to_pass), reports)
    return PatchTask(
        original, tests, fail_to_pass, pass_to_pass, _texts(meta, "before"), commands, report, reports, form,
        _texts(meta, "plugins"), language, gold, own,
    )  # fmt: skip


def gold_of(meta: Mapping[str, Any]) -> str:
    """The row's own patch; empty if it doesn't have one."""
    return next((meta[key] for key in _GOLDS if isinstance(meta.get(key), str) and meta[key].strip()), "")


def _tests(meta: Mapping[str, Any], original: Tree) -> tuple[Tree, set[str]]:
    """The repository with the row's tests, and the files that these write."""
    tests, written = dict(original), set[str]()
    if isinstance(meta.get("test_patch"), str) and meta["test_patch"].strip():
        changes = parse(meta["test_patch"])
        tests = applied(tests, changes)
        written |= _names_of(changes)
    if isinstance(meta.get("tests"), Mapping):
        own = read_tree(meta["tests"])
        tests |= {name: _with_mode_of(tests.get(name), file) for name, file in own.items()}
        written |= own.keys()
    return tests, written


def _with_mode_of(before: TreeFile | None, file: TreeFile) -> TreeFile:
    """A file given as text, with the mode of the one that it replaces."""
    return TreeFile(file.content, before.executable) if before else file


def _names_of(changes: Sequence[FileChange]) -> set[str]:
    return {name for change in changes for name in (change.source, change.target) if name}


def _changed_by(gold: str) -> set[str]:
    """The files that the row's own patch changes; empty if it can't be read."""
    try:
        return _names_of(parse(gold)) if gold else set()
    except PatchError:
        return set()


def _test_form(meta: Mapping[str, Any], names: Sequence[str]) -> str:
    """How the tests are run: as the row states, otherwise by pytest if their names have its form."""
    by_path = any("::" in name for name in names)
    form = str(meta.get("test_form") or ("pytest" if by_path else "unittest"))
    if form not in ("pytest", "unittest"):
        raise ValueError(f"test_form must be pytest or unittest, got {form!r}")
    return form


def _names(value: Any, key: str) -> tuple[str, ...]:
    """A list of tests, or the JSON of one."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError(f"{key} must be a list or JSON") from None
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"{key} is a list of names")
    return tuple(value)


def _texts(meta: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = meta.get(key) or ()
    value = (value,) if isinstance(value, str) else value
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{key} must be a string or a list of strings")
    return tuple(value)


def dotted(name: str) -> str:
    """`test_x (package.module.Class)` as unittest loads it."""
    method, _, owner = name.partition(" (")
    owner = owner.removesuffix(")")
    if not owner:
        return name
    return owner if owner.endswith(f".{method}") else f"{owner}.{method}"


def with_changed_tests(task: PatchTask, tree: Tree, variant: int) -> Tree | None:
    """The tree with other expected values in the Python tests that are checked; None if none can be changed."""
    others: dict[str, TreeFile] = {}
    for name in test_files(task, tree):
        text = changed(tree[name].content.decode("utf-8", "replace"), guarded=False, variant=variant)
        if text:
            others[name] = TreeFile(text.encode("utf-8", "replace"), tree[name].executable)
    return {**tree, **others} if others and not task.commands else None


def test_files(task: PatchTask, tree: Tree) -> set[str]:
    """The files of a task's Python tests."""
    if task.form == "pytest":
        return {name.partition("::")[0] for name in task.names} & tree.keys()
    parts = [dotted(name).split(".") for name in task.names]
    modules = {"/".join(names[:n]) + ".py" for names in parts for n in range(1, len(names))}
    return {name for module in modules for name in (module, *(f"{top}/{module}" for top in SOURCES))} & tree.keys()
