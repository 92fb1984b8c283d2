"""Test files as test forms of `code`: pytest, unittest and doctest, each test scored by its name.

The file runs in its own sandbox and reaches the program through calls that carry plain data, like test programs
(`rows.Driven`). The program never runs in the process of the asserts, so it can't skip, patch or report a test.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from verikit.sandbox import RunResult
from verikit.types import Score
from verikit.verifiers.code.apart.reach import is_installed
from verikit.verifiers.code.rows import free_names

SuiteForm = Literal["pytest", "unittest", "doctest"]
_MODULES = ("solution", "main", "candidate", "submission", "program", "answer", "your_module", "module")
"""Module names that test files use to import the program, regardless of installed packages."""
_RUNNERS = ("pytest", "unittest", "doctest")


@dataclass(frozen=True, slots=True)
class SuiteFile:
    """A test file."""

    form: SuiteForm
    text: str
    functions: tuple[str, ...]
    """Names of the program that the file uses."""
    modules: tuple[str, ...]
    """Modules of the program that it imports."""
    group: str = ""
    """`public` or `hidden` if a row has both."""


def suites(meta: Mapping[str, Any]) -> list[SuiteFile]:
    """The test files of a row: `tests` or `test` (hidden), `public_tests`; empty if its tests have another form.

    Raises:
        ValueError: It names an unknown form.
    """
    said = meta.get("test_form")
    if said is not None and said not in _RUNNERS:
        raise ValueError(f"test_form must be one of {', '.join(_RUNNERS)}, got {said!r}")
    found = []
    for group, keys in (("hidden", ("tests", "test")), ("public", ("public_tests",))):
        text = next((meta[key] for key in keys if isinstance(meta.get(key), str)), "")
        if text and (form := said or form_of(text)):
            found.append((group, form, text))
    groups = len({group for group, _, _ in found}) > 1
    return [_suite(form, text, meta, group if groups else "") for group, form, text in found]


def form_of(text: str) -> SuiteForm | Literal[""]:
    """The form of a test file; empty for asserts and for test programs that call their own tests.

    Raises:
        ValueError: It is nested too deeply to be read.
    """
    try:
        tree = ast.parse(text)
    except (RecursionError, MemoryError) as error:
        raise ValueError(f"a test file that can't be read: {error}") from None
    except (SyntaxError, ValueError):
        return "doctest" if re.search(r"^[^\S\n]*>>> ", text, re.MULTILINE) else ""
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    cases = [node for node in defined if isinstance(node, ast.ClassDef) and _is_case(node)]
    bare = {node.name for node in defined if node.name.lower().startswith("test") and node not in cases}
    if bare & _called(node for node in tree.body if node not in defined) and not cases:
        return ""
    if bare or (cases and "pytest" in _imported(tree)):
        return "pytest"
    return "unittest" if cases else ""


def _called(statements: Iterable[ast.stmt]) -> set[str]:
    """The names of functions that statements call."""
    calls = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


def _is_case(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).rpartition(".")[2].endswith("TestCase") for base in node.bases)


def _imported(tree: ast.Module) -> dict[str, set[str]]:
    """Modules that a file imports, by their first name, with the names it takes from each."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.setdefault(alias.name.partition(".")[0], set())
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.setdefault(node.module.partition(".")[0], set()).update(a.name for a in node.names)
    return found


def _suite(form: SuiteForm, text: str, meta: Mapping[str, Any], group: str) -> SuiteFile:
    try:
        tree = ast.parse(_examples(text) if form == "doctest" else text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"a test file that is not Python: {error}") from None
    imported, free = _imported(tree), free_names(tree)
    own = [name for name in imported if name in _MODULES or name == meta.get("module")]
    absent = [name for name in imported if not (name in own or name in _RUNNERS or is_installed(name))]
    if absent and meta.get("entry_point") in free:  # the program is reached without an import
        raise ValueError(f"they import {absent[0]}, which is not installed here")
    modules = [name for name in imported if name in own or name in absent]
    names = {name for module in modules for name in imported[module]} - {"*"}
    return SuiteFile(form, text, tuple(sorted(names | free)), tuple(modules), group)


def with_imports(suite: SuiteFile, prompts: Iterable[str]) -> SuiteFile:
    """A test file with the imports it uses from a row's prompt, as in BigCodeBench (`plt`).

    The names are the row's and not the program's, so programs can't replace their modules.
    """
    found = {name: line for prompt in prompts for name, line in _imports(prompt).items() if name in suite.functions}
    if not found:
        return suite
    functions = tuple(name for name in suite.functions if name not in found)
    return replace(suite, text="\n".join([*dict.fromkeys(found.values()), suite.text]), functions=functions)


def _imports(prompt: str) -> dict[str, str]:
    """Names that the imports of a prompt bind, each with its own import; empty if the prompt is not Python."""
    try:
        body = ast.parse(prompt).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found = {}
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[(alias.asname or alias.name).partition(".")[0]] = ast.unparse(ast.Import([alias]))
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                found[alias.asname or alias.name] = ast.unparse(ast.ImportFrom(node.module, [alias], node.level))
    return found


def _examples(text: str) -> str:
    """The source of a string's doctest examples, without their output."""
    import doctest

    return "".join(example.source for example in doctest.DocTestParser().get_examples(text))


def wanted(files: Sequence[SuiteFile]) -> set[str]:
    """Names that the program is expected to define."""
    return {name for suite in files for name in suite.functions}


def judged(suite: SuiteFile, result: RunResult, *, met: bool) -> dict[str, Score] | str | Score:
    """Each test's score, keyed by its name; a string if the whole run failed, a score if the row caused that.

    Args:
        suite: the test file that ran.
        result: the result of its run.
        met: whether it reached the program.
    """
    if result.status == "infra_error":
        return Score.error(f"sandbox error: {result.error}")
    if result.status != "ok":
        told = f"{result.status} ({result.error})" if result.error else result.status
        return told if met else Score.error(f"the row's tests can't run: {told}")
    try:
        rows = [(str(name), str(outcome), str(message)) for name, outcome, message in result.value]
    except (TypeError, ValueError):  # in process, the program can write anything
        return "the record of its tests can't be read"
    broken = next((message for _, outcome, message in rows if outcome == "broken"), None)
    if broken is not None:
        return f"the test file fails: {broken}" if met else Score.error(f"the row's tests can't run: {broken}")
    tests = {
        name: Score(float(outcome == "passed"), reason=message or outcome)
        for name, outcome, message in rows
        if outcome != "skipped"
    }
    return tests or Score.error(f"the row's {suite.form} file contains no runnable test")


def without(result: RunResult, found: Mapping[str, str]) -> RunResult:
    """The result of a test file if tests that also pass with other expected values are failures."""
    rows = [
        [name, "failed", found[name]] if outcome == "passed" and name in found else [name, outcome, message]
        for name, outcome, message in result.value
    ]
    rows += [[name, "broken", why] for name, why in found.items() if name == "collection"]
    return replace(result, value=rows)


def total(tests: Mapping[str, Mapping[str, Score]], program: str, *, fraction: bool) -> Score:
    """The score of all test files; the parts are the tests, or `public` and `hidden` with the tests as their parts."""
    every = {f"{group}/{name}" if group else name: s for group, named in tests.items() for name, s in named.items()}
    failed = [f"{name}: {score.reason}" for name, score in every.items() if not score.value]
    passed = len(every) - len(failed)
    reason = f"passes {passed} of {len(every)} tests" + (f"; {failed[0]}" if failed else "")
    value = passed / len(every) if fraction else float(not failed)
    parts = {group: _share(named) for group, named in tests.items()} if len(tests) > 1 else every
    return Score(value, answer=program, reason=reason[:600], parts=parts)


def _share(named: Mapping[str, Score]) -> Score:
    passed = sum(float(score) for score in named.values())
    return Score(passed / len(named), reason=f"passes {passed:g} of {len(named)} tests", parts=named)
