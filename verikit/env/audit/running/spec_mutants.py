"""Mutants of a row's spec: one option, part, or entry left out, or one expected number off by one.

A mutant that changes no reward shows a part of the spec that decides nothing about the tried outputs.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from verikit.env.audit.running.box import Files
from verikit.env.audit.running.grader_mutants import GraderMutants
from verikit.env.audit.running.row_runs import RowRehearsal

_Change = Callable[[ast.AST], None]
MAX_MUTANTS, MAX_MADE, MAX_NODES = 12, 48, 600
"""Mutants that are graded, those that are made, since some can't be loaded, and nodes of a spec that has mutants."""
MAX_WORDS = 60
"""Characters of the changed part in a note."""


def graded_specs(rehearsal: RowRehearsal, wrong: Files) -> GraderMutants:
    """Grade undone work, a wrong output and the solution with each mutant.

    Raises:
        OutOfTime: The check has no time left.
    """
    found = GraderMutants()
    files = (("nop", rehearsal.before), ("a wrong output", wrong), ("oracle", rehearsal.solve().files))
    for words, text in islice(mutated_specs(rehearsal.spec.text), MAX_MADE):
        rehearsal.check_time()
        mutant = rehearsal.with_spec(text)
        if mutant is None:
            continue
        changes = _changes_reward(rehearsal, mutant, files, words)
        if changes is None:
            continue
        found.count += 1
        if not changes:
            found.survivors.append(words)
        if found.count == MAX_MUTANTS:
            break
    return found


def _changes_reward(
    rehearsal: RowRehearsal, mutant: RowRehearsal, files: Sequence[tuple[str, Files]], words: str
) -> bool | None:
    """Whether a mutant changes the reward of any files. None if it has no value where the spec has one."""
    changes = False
    for name, after in files:
        usual = rehearsal.grade(after, name=name)
        changed = mutant.grade(after, name=f"{name}, spec: {words}")
        if changed.needs or (changed.value is None and usual.value is not None):
            return None
        changes = changes or changed.value != usual.value
    return changes


def mutated_specs(text: str) -> Iterator[tuple[str, str]]:
    """Each mutant of a spec: the change in words, and the text. None of a large spec, or one that chooses by a key."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
        if _name(tree.body) == "by" or len(list(islice(ast.walk(tree), MAX_NODES + 1))) > MAX_NODES:
            return
        for at, node in enumerate(ast.walk(tree)):
            for words, change in _changes(node):
                mutant = copy.deepcopy(tree)
                change(next(islice(ast.walk(mutant), at, None)))
                yield words, ast.unparse(mutant)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return


def _changes(node: ast.AST) -> Iterator[tuple[str, _Change]]:
    """The changes of one node of a spec."""
    if isinstance(node, ast.Call):
        for place, keyword in enumerate(node.keywords):
            yield f"{_name(node)} without {keyword.arg}", _without("keywords", place)
    parts = {ast.Call: "args", ast.List: "elts", ast.Tuple: "elts", ast.Dict: "keys"}.get(type(node), "")
    inner = getattr(node, parts, []) if parts else []
    for place, one in enumerate(inner if len(inner) > 1 else []):
        names = (parts, "values") if parts == "keys" else (parts,)
        yield f"without {_shown(one)}", _without(names[0], place, *names[1:])
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        yield f"{_shown(node)} off by one", _one_more


def _without(name: str, place: int, *more: str) -> _Change:
    def change(node: ast.AST) -> None:
        for one in (name, *more):
            del getattr(node, one)[place]

    return change


def _one_more(node: ast.AST) -> None:
    assert isinstance(node, ast.Constant)
    node.value += 1  # type: ignore[operator]


def _name(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _shown(node: ast.AST | None) -> str:
    return ast.unparse(node)[:MAX_WORDS] if node is not None else ""
