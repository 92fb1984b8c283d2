"""Programs that know no answer and try to pass a problem's tests, made from the names that the tests use."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable

from tests.objects.corpus import Problem
from tests.objects.forged_values import ACTIONS, ANY, ENDINGS, LOOK, VALUES

NAMED = ("answers everything", "metaclass", "getattribute", "MagicMock", "copies the other operand", "class lies str")
"""Values that can be called, so that the program's functions and classes themselves can be these."""
ERROR = """
class _Meta(type):
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
    def __eq__(cls, other): return True
    def __hash__(cls): return 0
"""
"""A metaclass whose exception classes claim to be every exception."""


def forged(problem: Problem) -> list[tuple[str, str]]:
    """Kind and program of every forgery; those written by hand for the problem come first."""
    found = [(f"own: {label}", program) for label, program in problem.forged]
    tree = ast.parse(problem.right[0])
    for kind, code in VALUES.items():
        found.append((f"returns {kind}", code + _program(tree, _always("return forge()"))))
        if kind in NAMED:
            found.append((f"is {kind}", code + _named(tree, "forge()")))
    for kind, body in ACTIONS.items():
        found.append((kind, LOOK + _program(tree, _always(body))))
    for kind, code in ENDINGS.items():
        value = VALUES["answers everything"] + _program(tree, _always("return forge()"))
        found.append((f"on import: {kind}", f"{value}{code}\n"))
    found += _classes(tree)
    return found


def _always(body: str) -> Callable[[str], str]:
    """One body for functions of every name."""
    return lambda name: body


def sample(problem: Problem, n: int) -> list[tuple[str, str]]:
    """Forgeries of a problem, always the same, that differ from problem to problem."""
    found = forged(problem)
    return random.Random(problem.name).sample(found, min(n, len(found)))


def _classes(tree: ast.Module) -> list[tuple[str, str]]:
    """Forgeries by the classes of a program: exceptions that catch everything, methods that swallow."""
    answer = VALUES["answers everything"]
    raising = _program(tree, _always("return forge()"), error="Exception, metaclass=_Meta")
    swallowing = _program(tree, lambda name: "return True" if "exit__" in name else "return args[0] if args else self")
    keeping = _program(tree, _always("return args[0] if args else forge()"))
    whole = "\n".join(f"class {name}(Any): pass" for name in _class_names(tree))
    return [
        ("exceptions that catch everything", answer + ERROR + raising),
        ("exceptions that catch AssertionError", answer + _program(tree, _always("return forge()"), "AssertionError")),
        ("exceptions that catch BaseException", answer + _program(tree, _always("return forge()"), "BaseException")),
        ("raises what is expected", answer + ERROR + _raising(tree)),
        ("methods return self", answer + swallowing),
        ("arguments, or all", answer + keeping),
        ("classes equal to everything", ANY + "def forge(): return Any()\n" + _named(tree, "forge()") + "\n" + whole),
    ]


def _raising(tree: ast.Module) -> str:
    """Every function raises the program's own exception, which claims to be every other."""
    own = next((node.name for node in tree.body if isinstance(node, ast.ClassDef) and _is_error(node)), "ValueError")
    return _program(tree, _always(f"raise {own}()"), error="Exception, metaclass=_Meta")


def _program(tree: ast.Module, body: Callable[[str], str], error: str = "Exception") -> str:
    """The program's names with other bodies, which are chosen by a function's name."""
    lines: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines += _function(node, body(node.name))
        elif isinstance(node, ast.ClassDef) and _is_error(node):
            lines.append(f"class {node.name}({error}):\n    def __init__(self, *args, **kwargs): pass")
        elif isinstance(node, ast.ClassDef):
            lines += _class(node, body)
        else:
            lines += [f"try: {name} = forge()\nexcept NameError: {name} = None" for name in _assigned(node)]
    return "\n".join(lines) + "\n"


def _class(node: ast.ClassDef, body: Callable[[str], str]) -> list[str]:
    """A class with the same methods; its properties are left to `__getattr__`, so that they can be set, too."""
    lines = [f"class {node.name}:", "    def __init__(self, *args, **kwargs): pass"]
    lines += ["    def __getattr__(self, name):"]
    lines += ["        if name.startswith('__'): raise AttributeError(name)"]
    lines += ["        args, kwargs = (), {}", *_indented(body("__getattr__"), 8)]
    for part in node.body:
        lines += [f"    {name} = None" for name in _assigned(part)]
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) or part.name == "__init__":
            continue
        marks = set(map(ast.unparse, part.decorator_list))
        if marks & {"classmethod", "staticmethod"}:
            lines += ["    @classmethod"]
        if "property" not in marks and not any(mark.endswith(".setter") for mark in marks):
            lines += _indented("\n".join(_function(part, body(part.name), "self, ")), 4)
    return lines


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, body: str, first: str = "") -> list[str]:
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return [f"{word} {node.name}({first}*args, **kwargs):", *_indented(body, 4)]


def _named(tree: ast.Module, value: str) -> str:
    """Every name of the program is bound to one value."""
    return "".join(f"{name} = {value}\n" for node in tree.body for name in _defined(node))


def _class_names(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not _is_error(node)]


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    return _assigned(node)


def _assigned(node: ast.stmt) -> list[str]:
    """Names to which an assignment binds a value."""
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_error(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith(("Error", "Exception")) for base in node.bases)


def _indented(code: str, by: int) -> list[str]:
    return [" " * by + line for line in code.split("\n")]
