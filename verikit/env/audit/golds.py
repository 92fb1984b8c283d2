"""Expected values of a task: constants that its tests compare, strings that its solution writes, answer files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from verikit.env.audit.scripts import placed
from verikit.env.audit.task import AuditedTask

MAX_VALUES = 400
"""Of a task."""
MAX_VALUE = 400
"""Maximum characters of a value to search for."""
MAX_NODES = 100_000
_ANSWER_NAME = re.compile(
    r"(?:^|[^a-z])(?:expect(?:ed)?|answers?|golds?|golden|solutions?|solve|oracle|reference|truth|correct|fix(?:ed)?|want(?:ed)?)"
    r"(?:[^a-z]|$)"
)
_NAMES_ANSWER = re.compile(r"expect|answer|gold|truth|correct|solution|want|target", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class ExpectedValues:
    """The expected values of a task."""

    values: dict[str, str] = field(default_factory=dict)
    """Each value with the file that has it."""
    files: dict[str, str] = field(default_factory=dict)
    """Contents of files of answers, without whitespace, each with its path."""

    def add(self, value: str, where: str) -> None:
        """Take in a value."""
        told = value.strip()
        if told and len(told) <= MAX_VALUE and len(self.values) < MAX_VALUES:
            self.values.setdefault(told, where)


def is_answer_name(path: str) -> bool:
    """Whether a file's name announces an answer."""
    return _ANSWER_NAME.search(path.rpartition("/")[2].lower().replace("_", " ")) is not None


def squeezed(text: str) -> str:
    """A string without its whitespace."""
    return "".join(text.split())


@lru_cache(maxsize=1)
def golds_of(task: AuditedTask) -> ExpectedValues:
    """Read the expected values of all parts of a task. The last task's result is cached."""
    golds = ExpectedValues()
    for part in task.parts:
        for folder in dict.fromkeys((*part.tests, *part.solutions)):
            solves = folder in part.solutions
            for path in task.files(folder):
                text = task.text(path)
                if text is not None:
                    _read(golds, path, text, solves)
    return golds


def _read(golds: ExpectedValues, path: str, text: str, solves: bool) -> None:
    name = path.rpartition("/")[2]
    runs = name in ("test.sh", "solve.sh") or (name.startswith("test") and name.endswith(".py"))
    content = squeezed(text)
    if len(content) >= 12 and (runs or solves or is_answer_name(path)):
        golds.files.setdefault(content, path)
    if path.endswith(".py") and not solves:
        for value in _compared(text):
            golds.add(value, path)
    elif path.endswith(".sh"):
        for value in _written(text) if solves else ():
            golds.add(value, path)
    elif is_answer_name(path) and name not in ("Dockerfile",):
        for line in text.splitlines()[:MAX_VALUES]:
            golds.add(line, path)
            for match in _NUMBER.findall(line[:2000]):
                golds.add(match, path)


def _compared(text: str) -> Iterator[str]:
    """Constants that a Python text compares with, or gives a name such as `EXPECTED`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for number, node in enumerate(ast.walk(tree)):
        if number > MAX_NODES:
            return
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                yield from _constants(side)
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if any(map(_NAMES_ANSWER.search, names)):
                yield from _constants(node.value)


def _constants(node: ast.AST) -> Iterator[str]:
    """Strings and numbers of a constant, or of a list, a set or a mapping of constants."""
    waiting = [node]
    for _ in range(MAX_VALUES):
        if not waiting:
            return
        one = waiting.pop()
        if (
            isinstance(one, ast.Constant)
            and isinstance(one.value, str | int | float)
            and one.value not in (True, False)
        ):
            yield _shown_constant(one.value)
        elif isinstance(one, ast.List | ast.Tuple | ast.Set):
            waiting += one.elts
        elif isinstance(one, ast.Dict):
            waiting += one.values
        elif isinstance(one, ast.UnaryOp):
            waiting.append(one.operand)
        elif isinstance(one, ast.Call) and one.args:
            waiting += [arg for arg in one.args if isinstance(arg, ast.Constant)]


def _shown_constant(value: str | int | float) -> str:
    """A constant as a file would have it."""
    if isinstance(value, int) and abs(value) >= 10**400:
        return ""
    return str(value)


def _written(text: str) -> Iterator[str]:
    """Strings that a shell script writes into files."""
    for one in placed(text):
        if not any(">" in sign for sign, _ in one.command.redirects) and one.program != "tee":
            continue
        if one.command.given:
            yield from one.command.given.splitlines()[:MAX_VALUES]
        if one.program in ("echo", "printf"):
            words = [word.text for word in one.arguments if not word.text.startswith("-")]
            yield " ".join(words).replace("\\n", "")


def bits(value: str, known: frozenset[str]) -> float:
    """How unlikely it is to meet a value by chance, in bits, from its shape. Known words and marks add nothing.

    >>> bits("42", frozenset()) < bits("5417.25", frozenset()) < bits("kZ81-qq0_x7", frozenset())
    True
    """
    total = 0.0
    for word in _WORD.findall(value):
        low = word.lower()
        if low in known:
            continue
        if word.isdecimal():
            total += 3.3 * len(word.strip("0") or "0")
        elif word.isalpha():
            total += min(1.5 * len(word), 14.0)
        else:
            total += 3.0 * len(word)
    return total


def words_of(text: str) -> frozenset[str]:
    """The words of a string, in lower case."""
    return frozenset(word.lower() for word in _WORD.findall(text))
