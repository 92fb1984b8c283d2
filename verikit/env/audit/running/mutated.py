"""The checks `mutants` and `honest`: wrong outputs lose the reward, and other forms of right ones keep it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.running.box import BoxFile
from verikit.env.audit.running.rehearsal import OutOfTime, Rehearsal
from verikit.env.audit.running.solved import is_full, output_names, solved_here
from verikit.env.audit.running.tampered import CODE
from verikit.env.audit.running.variants import harmless_forms, keyed_forms, wrong_forms
from verikit.env.audit.task import AuditedTask

MAX_OUTPUTS, MAX_LITERALS, MAX_NODES = 6, 24, 50_000
_STRICT = ("byte", "newline", "line break", "line ending", "crlf", "exactly", "trailing", "order", "sorted", "format")
"""Words of an instruction that make the form of an output part of the task."""
_KINDS = {"number": "a number of it one off", "line": "a line of it dropped"}


def check_mutants(rehearsal: Rehearsal) -> CheckRecord:
    """Change the solution's outputs one at a time, and give the grader its own literals."""
    missing = solved_here(rehearsal)
    if missing:
        return CheckRecord("not_run", needs=missing)
    findings: list[EnvFinding] = []
    undecided: list[str] = []
    survivors: list[str] = []
    killed = 0
    try:
        for path in output_names(rehearsal)[:MAX_OUTPUTS]:
            kept = yield_of(rehearsal, path)
            survivors += [told for told, full in kept.values() if full]
            killed += sum(not full for _, full in kept.values())
            findings += _blind(path, kept)
        findings += _keyed(rehearsal)
    except OutOfTime:
        undecided.append("more seconds (--seconds)")
    notes = [f"{killed} of {killed + len(survivors)} changed outputs lose the reward"]
    notes += [f"keeps the full reward: {one}" for one in survivors[:10]]
    return judged(findings, undecided, notes)


def yield_of(rehearsal: Rehearsal, path: str) -> dict[tuple[str, str], tuple[str, bool]]:
    """Each wrong form of an output by kind and words, with whether it keeps the full reward."""
    solved = rehearsal.solve().files
    found = {}
    for kind, words, content in wrong_forms(solved[path].content):
        after = {**solved, path: BoxFile(content, solved[path].executable)}
        graded = rehearsal.grade(after, name=f"{path}, {words}")
        if not graded.needs:
            found[kind, words] = f"{path}, {words}", is_full(graded)
    return found


def _blind(path: str, kept: dict[tuple[str, str], tuple[str, bool]]) -> Iterator[EnvFinding]:
    """Findings of an output whose wrong forms of one kind all keep the full reward."""
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for (kind, _), (_, full) in kept.items():
        by_kind[kind].append(full)
    if all(by_kind["empty"]) and by_kind["empty"]:
        yield EnvFinding("empty", f"{path} can be empty and have the full reward", path)
        return
    if path.endswith(CODE):
        return
    for kind, words in _KINDS.items():
        if by_kind[kind] and all(by_kind[kind]):
            yield EnvFinding(kind, f"{path} with {words} has the full reward in all {len(by_kind[kind])} tries", path)


def _keyed(rehearsal: Rehearsal) -> Iterator[EnvFinding]:
    """Findings of literals of the grader that have the full reward in the place of an output."""
    solved = rehearsal.solve().files
    literals = grader_literals(rehearsal.task, rehearsal.part.tests)
    for path in output_names(rehearsal)[:MAX_OUTPUTS]:
        if path.endswith(CODE):
            continue
        for literal, where in literals.items():
            for content in keyed_forms(solved[path].content, literal):
                graded = rehearsal.grade({**solved, path: BoxFile(content)}, name=f"{path}, literal {literal[:40]!r}")
                if is_full(graded):
                    yield EnvFinding(
                        "keyed", f"{path} with {literal[:60]!r}, a literal of the tests, has the full reward", where
                    )
                    return


def grader_literals(task: AuditedTask, folders: tuple[str, ...]) -> dict[str, str]:
    """Strings and numbers that the tests compare with, each with its place, and words of a shell script's tests."""
    found: dict[str, str] = {}
    for folder in folders:
        for path in task.files(folder):
            text = task.text(path) or ""
            pairs = (
                _python_literals(text)
                if path.endswith(".py")
                else _shell_literals(text)
                if path.endswith(".sh")
                else ()
            )
            for line, literal in pairs:
                if len(found) < MAX_LITERALS and 0 < len(literal) <= 200 and not literal.startswith("/"):
                    found.setdefault(literal, f"{path}:{line}")
    return found


def _python_literals(text: str) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    waiting: list[ast.AST] = [tree]
    for _ in range(MAX_NODES):
        if not waiting:
            return
        node = waiting.pop(0)
        if isinstance(node, ast.Compare):
            for one in [*ast.walk(node)][:60]:
                if isinstance(one, ast.Constant) and isinstance(one.value, str | int | float):
                    yield one.lineno, str(one.value)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("startswith", "endswith")
        ):
            for one in node.args:
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    yield one.lineno, one.value
        waiting.extend(ast.iter_child_nodes(node))


def _shell_literals(text: str) -> Iterator[tuple[int, str]]:
    """Words of `[ … ]` tests and of `grep`, as they stand."""
    for number, line in enumerate(text.splitlines(), 1):
        if "[ " in line or "[[ " in line or "grep" in line:
            for quote in ("'", '"'):
                for word in line.split(quote)[1::2]:
                    if "$" not in word:
                        yield number, word


def check_honest(rehearsal: Rehearsal) -> CheckRecord:
    """Write the solution's outputs in other forms that mean the same."""
    missing = solved_here(rehearsal)
    if missing:
        return CheckRecord("not_run", needs=missing)
    asked = (rehearsal.task.text(rehearsal.part.instruction) or "").casefold()
    strict = [word for word in _STRICT if word in asked]
    if strict:
        return CheckRecord("pass", notes=(f"no form was changed: the instruction has {strict[0]!r}",))
    findings: list[EnvFinding] = []
    undecided: list[str] = []
    solved = rehearsal.solve().files
    forms = 0
    try:
        for path in output_names(rehearsal)[:MAX_OUTPUTS]:
            for kind, words, content in harmless_forms(path, solved[path].content):
                graded = rehearsal.grade({**solved, path: BoxFile(content)}, name=f"{path}, {words}")
                forms += 1
                if graded.needs:
                    undecided.append(graded.needs)
                elif not is_full(graded):
                    findings.append(EnvFinding(kind, f"{path} {words}: the reward is {graded.told()}", path))
    except OutOfTime:
        undecided.append("more seconds (--seconds)")
    return judged(findings, undecided, [f"{forms} other forms"])
