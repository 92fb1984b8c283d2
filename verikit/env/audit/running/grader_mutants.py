"""Mutants of a grader: its branches flipped and its asserts removed, one at a time.

A flipped branch that pays wrong work shows which condition pays. The strings of such a condition are then tried as
outputs. A mutant that changes no reward shows a part of the grader that decides nothing about the tried outputs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from verikit.env.audit.running.box import BoxFile, Files
from verikit.env.audit.running.literals import constant_text
from verikit.env.audit.running.rehearsal import Rehearsal
from verikit.env.audit.running.solved import is_full, is_paid

MAX_NODES, MAX_MUTANTS = 50_000, 12
"""Nodes of a file, and mutants of a grader, that are looked at."""


@dataclass(frozen=True, slots=True)
class GraderMutant:
    """One change of a file of the tests."""

    where: str
    """The file with the line."""
    change: str
    """`flipped`, or `removed` for an assert."""
    path: str
    """The file in the box."""
    text: str
    literals: tuple[str, ...]
    """Strings of the condition."""


@dataclass(slots=True)
class GraderMutants:
    """Results of a grader's mutants."""

    paying: dict[str, str] = field(default_factory=dict)
    """Strings of conditions that pay wrong work if they are flipped, each with its place."""
    survivors: list[str] = field(default_factory=list)
    count: int = 0


def graded_mutants(rehearsal: Rehearsal, wrong: Files) -> GraderMutants:
    """Grade undone work, a wrong output and the solution with each mutant.

    Raises:
        OutOfTime: The check has no time left.
    """
    found = GraderMutants()
    files = (("nop", rehearsal.before), ("a wrong output", wrong), ("oracle", rehearsal.solve().files))
    for mutant in islice(_mutants(rehearsal), MAX_MUTANTS):
        changed = False
        for name, after in files:
            usual = rehearsal.grade(after, name=name)
            told = f"{name}, {mutant.where} {mutant.change}"
            graded = rehearsal.grade(after, name=told, tests={mutant.path: BoxFile(mutant.text.encode())})
            changed = changed or graded.value != usual.value
            if is_full(graded) and not is_paid(usual) and mutant.change == "flipped":
                found.paying.update(dict.fromkeys(mutant.literals, mutant.where))
        found.count += 1
        if not changed:
            found.survivors.append(f"{mutant.where} {mutant.change}")
    return found


def _mutants(rehearsal: Rehearsal) -> Iterator[GraderMutant]:
    for folder in rehearsal.part.tests:
        for path in rehearsal.task.files(folder):
            text = rehearsal.task.text(path) if path.endswith(".py") else None
            if text is not None:
                for line, change, mutated, literals in mutated_texts(text):
                    place = f"/tests/{path[len(folder) + 1 :]}"
                    yield GraderMutant(f"{path}:{line}", change, place, mutated, literals)


def mutated_texts(text: str) -> Iterator[tuple[int, str, str, tuple[str, ...]]]:
    """Each mutant of Python code: the line, the change, the code, and the strings of the condition."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    nodes = list(islice(ast.walk(tree), MAX_NODES))
    named = _constants(nodes)
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    data = text.encode()
    for node in nodes:
        if not isinstance(node, ast.If | ast.IfExp | ast.Assert):
            continue
        part = node if isinstance(node, ast.Assert) else node.test
        begin, end = _span(part, starts)
        inner = b"pass" if isinstance(node, ast.Assert) else b"(not (" + data[begin:end] + b"))"
        mutated = (data[:begin] + inner + data[end:]).decode("utf-8", "replace")
        change = "removed" if isinstance(node, ast.Assert) else "flipped"
        yield node.lineno, change, mutated, condition_strings(node.test, named)


def _span(node: ast.stmt | ast.expr, starts: list[int]) -> tuple[int, int]:
    """The first byte of a node and the byte after it."""
    end_line, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return starts[node.lineno - 1] + node.col_offset, starts[end_line - 1] + end


def _constants(nodes: list[ast.AST]) -> dict[str, ast.expr]:
    """Names with one value in a file."""
    found: dict[str, ast.expr] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, node.value)
    return found


def condition_strings(test: ast.AST, named: dict[str, ast.expr]) -> tuple[str, ...]:
    """Strings and numbers of a condition, also of the names in it."""
    found: dict[str, None] = {}
    for node in islice(ast.walk(test), 60):
        held = named.get(node.id) if isinstance(node, ast.Name) else node
        inner = ast.walk(held) if isinstance(node, ast.Name) and held is not None else iter((held,))
        for one in islice(inner, 60):
            told = constant_text(one)
            if told is not None:
                found.setdefault(told)
    return tuple(found)
