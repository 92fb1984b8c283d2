"""The Python files of the four folders, and what the tests of the code's shape read in them.

There are more than a thousand, so each is parsed once in a process, and its tree isn't kept.
"""

import ast
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from tests.conftest import ROOT

CORE = ROOT / "verikit"
FOLDERS = ("verikit", "judges", "trainers", "evals")


def modules():
    """Every Python file of the four folders, each once: the links in verikit/ are not followed."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).parts
            if not any((ROOT / "/".join(parts[:i])).is_symlink() for i in range(1, len(parts))):
                yield path


MODULES = list(modules())


@dataclass(frozen=True)
class Facts:
    """What a module holds: full names for imports, line numbers for what has no name."""

    lines: int
    imports: list[str]
    """All of them, lazy ones too."""
    ours_at_import: list[str]
    """Those of verikit that importing the module runs."""
    relative: list[int]
    broad_excepts: list[int]
    """Those that raise nothing at their end."""
    undocumented: list[str]
    constants: list[str]
    """Those with a text below that says what they are."""
    classes: list[str]
    nested_conditionals: list[int]
    complexities: list[int]
    """One per function."""


@cache
def facts(path):
    """The facts of a file."""
    return read(path.read_text("utf-8"))


def read(source):
    """The facts of a module's source."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    from_imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    ours = [
        node
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "verikit"
    ]
    return Facts(
        lines=len(source.splitlines()),
        imports=[alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        + [f"{node.module}.{alias.name}" for node in from_imports for alias in node.names],
        ours_at_import=[f"{node.module}.{alias.name}" for node in ours for alias in node.names],
        relative=[node.lineno for node in from_imports if node.level],
        broad_excepts=[node.lineno for node in nodes if isinstance(node, ast.ExceptHandler) and is_broad(node)],
        undocumented=list(undocumented(tree)),
        constants=list(documented_constants(tree.body)),
        classes=[node.name for node in tree.body if isinstance(node, ast.ClassDef)],
        nested_conditionals=[
            part.lineno
            for node in nodes
            if isinstance(node, ast.IfExp)
            for part in (node.body, node.orelse)
            if isinstance(part, ast.IfExp)
        ],
        complexities=[complexity(node) for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)],
    )


def is_broad(handler):
    """Whether an `except` catches everything, and neither raises it again nor an error that says more."""
    last = handler.body[-1]
    if isinstance(last, ast.Raise) and (not last.exc or last.cause):
        return False
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(c is None or (isinstance(c, ast.Name) and c.id in ("Exception", "BaseException")) for c in caught)


def undocumented(tree):
    """The public functions and classes of a module, and of its classes, without a docstring; an empty file has none."""
    if tree.body and not ast.get_docstring(tree):
        yield "the module"
    for node in tree.body:
        members = [node, *(node.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_") else [])]
        for member in members:
            if isinstance(member, ast.FunctionDef | ast.ClassDef) and not member.name.startswith("_"):
                last = member.body[-1]
                declared = isinstance(last, ast.Expr) and ast.unparse(last) == "..."  # overload, protocol
                if not (declared or ast.get_docstring(member)):
                    yield member.name


def documented_constants(body):
    """The names that are assigned in front of a text."""
    for node, after in pairwise(body):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(after, ast.Expr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (t.id for t in targets if isinstance(t, ast.Name))


def complexity(function):
    """One more than the branches of a function, without those of functions and classes within it."""
    branches, nodes = 0, list(ast.iter_child_nodes(function))
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.BoolOp):
            branches += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            branches += 1 + len(node.ifs)
        branches += isinstance(node, BRANCHES)
        nodes += ast.iter_child_nodes(node)
    return 1 + branches


BRANCHES = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler),
    *(ast.IfExp, ast.Assert, ast.match_case),
)
