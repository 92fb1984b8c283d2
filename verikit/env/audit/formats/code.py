"""Python files of an environment as syntax trees. They are never imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from verikit.env.audit.task import AuditedTask

MAX_FILES = 80
MAX_NODES = 300_000
"""Of all files of an environment."""
_ASIDE = ("tests", "test", "scripts", "examples", "docs", "benchmarks", "notebooks", ".venv", "build", "dist")
_TOOLS = ("setup.py", "conftest.py", "client.py", "inference.py", "baseline.py")
"""Files that no grader imports by their usual name."""


@dataclass
class PythonCode:
    """The syntax trees of some files."""

    trees: dict[str, ast.Module] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    """Files that are not Python, each with the reason."""
    left_out: list[str] = field(default_factory=list)
    """Files over the limits."""

    def nodes(self) -> Iterator[tuple[str, ast.AST]]:
        """Each node with its file."""
        for path, tree in self.trees.items():
            for node in ast.walk(tree):
                yield path, node

    def defines(self, name: str) -> list[str]:
        """The files that define or import a name at their top level."""
        return [path for path, tree in self.trees.items() if name in top_names(tree)]


@lru_cache(maxsize=1)
def code_of(task: AuditedTask) -> PythonCode:
    """Read the Python files of an environment, except tests, scripts and clients. The last result is cached."""
    found = PythonCode()
    nodes = 0
    for path in task.files():
        names = path.split("/")
        if not path.endswith(".py") or names[-1] in _TOOLS or any(name in _ASIDE for name in names[:-1]):
            continue
        text = task.text(path)
        if text is None or len(found.trees) >= MAX_FILES or nodes > MAX_NODES:
            found.left_out.append(path)
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            found.broken[path] = f"line {error.lineno}" if isinstance(error, SyntaxError) else type(error).__name__
            continue
        nodes += sum(1 for _ in ast.walk(tree))
        found.trees[path] = tree
    return found


def reached(code: PythonCode, entries: Iterable[str]) -> PythonCode:
    """The files that these entries import, and the entries themselves; all files if there is no entry."""
    waiting = [path for path in entries if path in code.trees or path in code.broken]
    if not waiting:
        return code
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        for name in _imports(code.trees[path]) if path in code.trees else ():
            for other in {*code.trees, *code.broken} - seen:
                if _is_module(other, name):
                    seen.add(other)
                    waiting.append(other)
    trees = {path: tree for path, tree in code.trees.items() if path in seen}
    broken = {path: why for path, why in code.broken.items() if path in seen}
    return PythonCode(trees, broken, code.left_out)


def _imports(tree: ast.Module) -> Iterator[str]:
    """The last names of modules that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.rpartition(".")[2] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").rpartition(".")[2]
            yield from (alias.name for alias in node.names)


def _is_module(path: str, name: str) -> bool:
    return bool(name) and f"/{path}".endswith((f"/{name}.py", f"/{name}/__init__.py"))


def top_names(tree: ast.Module) -> set[str]:
    """Names that a module's top level defines, imports or assigns, also within `if` and `try`."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
        elif isinstance(node, ast.If | ast.Try | ast.With):
            waiting += [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt | ast.ExceptHandler)]
        elif isinstance(node, ast.ExceptHandler):
            waiting += node.body
    return found


def dotted(node: ast.AST) -> str:
    """A name with its attributes: `client.chat.completions.create`. Anything else in front of them is `*`."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    names.append(node.id if isinstance(node, ast.Name) else "*")
    return ".".join(reversed(names))


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument."""
    return next((one.value for one in call.keywords if one.arg == name), None)


def is_open(call: ast.Call) -> bool:
    """Whether a call takes keyword arguments from a mapping (`**more`)."""
    return any(one.arg is None for one in call.keywords)
