"""Read model-written text as Python data or structure, without running it: Absolute Zero's inputs and programs."""

from __future__ import annotations

import ast
from typing import Any


def literal(text: str) -> Any:
    """The value of a literal; ValueError or SyntaxError for anything else."""
    return ast.literal_eval(text.strip())


def arguments(text: str) -> list[Any]:
    """`[positional, keyword]` of an argument list of literals, as in `'a', [1], k=2`.

    The text is parsed as the arguments of one call and must be nothing else. Closing the call early gives another tree,
    which is rejected.
    """
    call = ast.parse(f"f(\n{text}\n)", mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError("not an argument list")
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        raise ValueError("not an argument list of literals")
    return [
        [ast.literal_eval(argument) for argument in call.args],
        {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords},
    ]


def pairs(texts: list[list[str]]) -> list[list[Any]]:
    """`[arguments, output]` of each (input, output) text."""
    return [[arguments(given), literal(result)] for given, result in texts]


def structure(code: str) -> dict[str, Any]:
    """The imports, definitions and accessed names of a program, judged only by its syntax."""
    tree = ast.parse(code)
    imports: set[str] = set()
    attributes: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imports |= {f"{node.module or ''}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.add(f"{node.value.id}.{node.attr}")
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        "imports": sorted(imports),
        "attributes": sorted(attributes),
        "names": sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}),
        "functions": len(functions),
        "has_f": any(isinstance(node, ast.FunctionDef) and node.name == "f" for node in tree.body),
        "returns": any(
            isinstance(inner, ast.Return) and inner.value is not None
            for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "f"
            for inner in ast.walk(node)
        ),
    }  # fmt: skip


def compiled(code: str) -> bool:
    """True for a program; SyntaxError or ValueError for anything else."""
    compile(code, "<program>", "exec", dont_inherit=True)
    return True


def several(asked: list[list[Any]]) -> list[list[Any]]:
    """`[[value]]` of each `[function, text]`, by the names in this program; `[]` if the text can't be read."""
    found: list[list[Any]] = []
    for how, given in asked:
        try:
            found.append([globals()[how](given)])
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            found.append([])
    return found
