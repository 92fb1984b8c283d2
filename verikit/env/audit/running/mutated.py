"""The checks `mutants` and `honest`: wrong outputs lose the reward, and other forms of right ones keep it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from verikit.env.audit.running.box import BoxFile
from verikit.env.audit.running.findings import RunFindings
from verikit.env.audit.running.grader_mutants import graded_mutants
from verikit.env.audit.running.rehearsal import Rehearsal
from verikit.env.audit.running.solved import is_full, output_names
from verikit.env.audit.running.tampered import CODE
from verikit.env.audit.running.variants import harmless_forms, keyed_forms, wrong_forms

MAX_OUTPUTS, MAX_LITERALS, MAX_LITERAL = 6, 24, 200
_STRICT = ("byte", "newline", "line break", "line ending", "crlf", "exactly", "trailing", "format")
"""Words of an instruction that make the form of an output part of the task."""
_ORDERED = ("order", "sorted")
"""Words that make the order of a JSON output's keys part of the task."""
_KINDS = {"number": "one of its numbers off by one", "line": "one of its lines dropped"}


def check_mutants(rehearsal: Rehearsal, found: RunFindings) -> None:
    """Change the solution's outputs one at a time, and give the grader its own literals."""
    names = output_names(rehearsal)[:MAX_OUTPUTS]
    changed: dict[str, bool] = {}
    for path in names:
        kept = wrong_outputs(rehearsal, path)
        changed.update(kept.values())
        for finding in _blind(path, kept):
            found.add(*finding)
    literals = rehearsal.literals()
    for finding in _keyed(rehearsal, names, literals):
        found.add(*finding)
    survivors = [words for words, full in changed.items() if full]
    found.notes.append(f"{len(changed) - len(survivors)} of {len(changed)} changed outputs lose the reward")
    found.notes += [f"keeps the full reward: {words}" for words in survivors[:10]]
    if not changed:
        found.undecided.append("an output of the solution that the tests get")
        return
    found.enough = True
    _of_grader(rehearsal, found, names, literals)


def _of_grader(rehearsal: Rehearsal, found: RunFindings, names: list[str], literals: dict[str, str]) -> None:
    """Change the grader, and try the strings of conditions that pay."""
    solved = rehearsal.solve().files
    forms = {kind: content for kind, _, content in wrong_forms(solved[names[0]].content)}
    wrong = next((forms[kind] for kind in ("number", "line") if kind in forms), b"")
    graders = graded_mutants(rehearsal, {**solved, names[0]: BoxFile(wrong, solved[names[0]].executable)})
    more = {one: where for one, where in graders.paying.items() if one not in literals}
    for finding in _keyed(rehearsal, names, more):
        found.add(*finding)
    if graders.count:
        killed = graders.count - len(graders.survivors)
        found.notes.append(f"{killed} of {graders.count} changed branches and asserts of the tests change a reward")
        found.notes += [f"changes no reward: {words}" for words in graders.survivors[:10]]


def wrong_outputs(rehearsal: Rehearsal, path: str) -> dict[tuple[str, str], tuple[str, bool]]:
    """Each wrong form of an output by kind and words, with whether it keeps the full reward."""
    solved = rehearsal.solve().files
    found = {}
    for kind, words, content in wrong_forms(solved[path].content):
        after = {**solved, path: BoxFile(content, solved[path].executable)}
        graded = rehearsal.grade(after, name=f"{path}, {words}")
        if not graded.needs:
            found[kind, words] = f"{path}, {words}", is_full(graded)
    return found


def _blind(path: str, kept: dict[tuple[str, str], tuple[str, bool]]) -> Iterator[tuple[str, str, str]]:
    """Findings of an output if all its wrong variants of a kind get the full reward."""
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for (kind, _), (_, full) in kept.items():
        by_kind[kind].append(full)
    if all(by_kind["empty"]) and by_kind["empty"]:
        yield "empty", f"{path} can be empty and have the full reward", path
        return
    if path.endswith(CODE):
        return
    for kind, words in _KINDS.items():
        if by_kind[kind] and all(by_kind[kind]):
            yield kind, f"{path} with {words} has the full reward in all {len(by_kind[kind])} tries", path


def _keyed(rehearsal: Rehearsal, names: list[str], literals: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Findings of literals of the grader that get the full reward instead of an output."""
    tried = [one for one in literals if 0 < len(one) <= MAX_LITERAL and not one.startswith("/")][:MAX_LITERALS]
    for path in names:
        content = rehearsal.solve().files[path].content
        tries = ((one, form) for one in tried if not path.endswith(CODE) for form in keyed_forms(content, one))
        for literal, form in tries:
            after = {**rehearsal.solve().files, path: BoxFile(form)}
            if is_full(rehearsal.grade(after, name=f"{path}, literal {literal[:40]!r}")):
                what = f"{path} with {literal[:60]!r}, a literal of the tests, has the full reward"
                yield "keyed", what, literals[literal]
                return


def check_honest(rehearsal: Rehearsal, found: RunFindings) -> None:
    """Write the solution's outputs in other forms that mean the same."""
    asked = rehearsal.prompt.casefold()
    strict = [word for word in _STRICT if word in asked]
    if strict:
        found.notes.append(f"no form was changed: the instruction has {strict[0]!r}")
        return
    solved = rehearsal.solve().files
    forms = 0
    given = {one.content for one in rehearsal.before.values()}
    # a copy of a given file has only one form
    outputs = [path for path in output_names(rehearsal) if solved[path].content not in given]
    for path in outputs[:MAX_OUTPUTS]:
        for kind, words, content in harmless_forms(path, solved[path].content):
            if kind == "json" and any(word in asked for word in _ORDERED):
                continue
            graded = rehearsal.grade({**solved, path: BoxFile(content)}, name=f"{path}, {words}")
            forms += 1
            found.undecided.append(graded.needs)
            if not graded.needs and not is_full(graded):
                found.add(kind, f"{path} {words}: the reward is {graded.told()}", path)
    found.notes.append(f"other forms that were graded: {forms}")
