"""The check `alike`: tasks that are the same task, within a split and between splits.

Two tasks are the same if their instructions have the same question, and the expected values and the agent's data are
equal. Tasks of one template with other data or other values are different. The index stores only hashes. The few tasks
with a hash in common are read again and compared.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from verikit.audit.rows import AuditRow
from verikit.audit.twins import QuestionIndex, question
from verikit.env.audit.golds import golds_of, squeezed
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.task import AuditedTask, table
from verikit.errors import WorkspaceError
from verikit.workspaces.names import shown

SPLITS = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "eval": "test",
    "evaluation": "test",
    "heldout": "test",
    "held_out": "test",
    "holdout": "test",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "dev": "validation",
}
"""Names of folders that are splits."""
SKETCH = 24
"""Hashes that the index keeps of a task."""
MAX_SHARED = 60
"""Tasks with a hash in common. A hash of more tasks is of no use."""
MAX_COMPARED = 6
"""Tasks that one task is compared with."""
LIKE = 0.5
"""Least fraction of words that two instructions have in common."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class TaskEssence:
    """The parts of a task that identify it."""

    text: str
    """The instructions."""
    golds: frozenset[str]
    data: frozenset[str]
    """Hashes of the files that the agent receives, without whitespace, and the names of images."""
    tests: str
    """Hash of the tests, without whitespace."""


def essence(task: AuditedTask) -> TaskEssence:
    """Read a task for comparison.

    Raises:
        WorkspaceError: Its configuration can't be read.
    """
    text = "\n".join(task.text(part.instruction) or "" for part in task.parts)
    data = {path for path in task.files("environment") if not path.endswith(("/Dockerfile", ".dockerignore"))}
    tests = sorted(path for part in task.parts for folder in part.tests for path in task.files(folder))
    found = {_hash_of(task, path) for path in data if "/.git/" not in path}
    if task.text("environment/Dockerfile") is not None and not found:
        found.add(_hash_of(task, "environment/Dockerfile"))
    image = table(task.config, "environment").get("docker_image")
    return TaskEssence(
        text,
        frozenset(golds_of(task).values),
        frozenset(found | {f"image {image}"} if image else found),
        hashlib.sha256("\0".join(_hash_of(task, path) for path in tests).encode()).hexdigest(),
    )


def _hash_of(task: AuditedTask, path: str) -> str:
    text = task.text(path)
    if text is None:
        return task.tree.manifest[path].sha256
    return hashlib.sha256(squeezed(text).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class AlikeTasks:
    """Tasks by hashes of their words and data."""

    reread: Callable[[tuple[str, ...]], AuditedTask]
    """Opens a task that was seen before."""
    _tasks: list[tuple[str, ...]] = field(default_factory=list)
    _same: array[int] = field(default_factory=lambda: array("Q"))
    """Hashes of data and expected values, which equal tasks have in common."""
    _keys: dict[int, array[int]] = field(default_factory=dict)

    def check(self, task: AuditedTask) -> CheckRecord:
        """Compare a task with those before it, and keep it."""
        own = essence(task)
        keys, same = _sketch(own), _number(f"{sorted(own.data)} {sorted(own.golds)}")
        findings: list[EnvFinding] = []
        for within in self._near(keys, same):
            try:
                other = essence(self.reread(within))
            except (WorkspaceError, OSError):
                continue  # it went away since it was audited
            if _is_same(own, other):
                findings.append(_finding(task.within, within))
                break
        self._add(task.within, keys, same)
        return judged(findings)

    def _near(self, keys: Iterable[int], same: int) -> list[tuple[str, ...]]:
        shared: Counter[int] = Counter()
        for key in keys:
            held = self._keys.get(key, ())
            if len(held) <= MAX_SHARED:
                shared.update(number for number in held if self._same[number] == same)
        return [self._tasks[number] for number, _ in shared.most_common(MAX_COMPARED)]

    def _add(self, within: tuple[str, ...], keys: Iterable[int], same: int) -> None:
        number = len(self._tasks)
        self._tasks.append(within)
        self._same.append(same)
        for key in keys:
            held = self._keys.setdefault(key, array("L"))
            if len(held) <= MAX_SHARED:
                held.append(number)


def _sketch(own: TaskEssence) -> list[int]:
    """The least hashes of the instruction's word pairs, and one of each thing that equal tasks have in common."""
    words = [word.lower() for word in _WORD.findall(own.text[:100_000])]
    pairs = sorted({_number(f"{a} {b}") for a, b in pairwise(words)})[: SKETCH - 3]
    whole = [_number(f"{sorted(held)}") for held in (own.data, own.golds) if held]
    return [*pairs, *whole, _number(f"tests {own.tests}")]


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _is_same(a: TaskEssence, b: TaskEssence) -> bool:
    if a.data != b.data or a.golds != b.golds:
        return False
    has_words = bool(a.text.strip() or b.text.strip())
    has_values = bool(a.golds or a.data)
    if a.tests != b.tests and not (has_words and has_values):
        return False
    if squeezed(a.text).lower() == squeezed(b.text).lower():
        return True
    index = QuestionIndex()
    index.add(question(_row(a.text)))
    if index.nearest(question(_row(b.text)))[0] is not None:
        return True
    return bool(a.golds) and _overlap(a.text, b.text) >= LIKE


def _row(text: str) -> AuditRow:
    return AuditRow(1, "", text, "")


def _overlap(a: str, b: str) -> float:
    """The fraction of words, as multisets, that two strings have in common; 0 if their numbers differ."""
    first, second = (Counter(_WORD.findall(text.lower()[:100_000])) for text in (a, b))
    numbers = [{word for word in words if word.isdecimal()} for words in (first, second)]
    most = max(first.total(), second.total())
    return (first & second).total() / most if most and numbers[0] == numbers[1] else 0.0


def _finding(within: tuple[str, ...], other: tuple[str, ...]) -> EnvFinding:
    here, there = _split(within), _split(other)
    told = shown("/".join(other)) or "."
    if here and there and here != there:
        return EnvFinding("leak", f"the task of the split {here} is {told} of the split {there}", "instruction.md")
    return EnvFinding("duplicate", f"the task is the same as {told}", "instruction.md")


def _split(within: tuple[str, ...]) -> str:
    """The split that a folder on a task's path names, or ""."""
    return next((SPLITS[name.lower()] for name in within[:-1] if name.lower() in SPLITS), "")
