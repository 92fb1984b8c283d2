"""Measures of a program's text. They run inside the sandbox: the text is a model's, and parsing it can crash.

The measures come from Absolute Zero's repository: cognitive complexity, distance of syntax trees, Halstead's mix.
"""

from __future__ import annotations

import ast
from collections import Counter
from difflib import SequenceMatcher
from math import log2

LONGEST_DUMP = 20_000
"""Maximum characters of a syntax tree to compare. difflib is quadratic at worst."""


def names(code: str) -> dict[str, list[str]]:
    """Return the names that a program binds in any scope, and names that it calls."""
    nodes = list(ast.walk(ast.parse(code)))
    bound = {name for node in nodes for name in _bound(node)}
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return {"bound": sorted(bound), "called": sorted(called)}


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    if isinstance(node, ast.Global | ast.Nonlocal):
        return node.names
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        return [node.name]
    return []


def complexity(code: str) -> float:
    """Cognitive complexity: 1 for each break of the flow and 1 more for each level of nesting."""
    breaks = (ast.If, ast.For, ast.While, ast.Try, ast.IfExp, ast.comprehension, ast.Match)

    def count(node: ast.AST, depth: int) -> int:
        total = 0
        for child in ast.iter_child_nodes(node):
            broken = isinstance(child, breaks)
            total += (1 + depth if broken else 0) + (1 if isinstance(child, ast.BoolOp) else 0)
            total += count(child, depth + (1 if broken or isinstance(child, ast.Lambda) else 0))
        return total

    return float(count(ast.parse(code), 0))


def edit_distance(code: str, references: list[str]) -> float:
    """Mean distance of the program's syntax tree from the references' syntax trees, from 0 (same) to 1."""
    own = ast.dump(ast.parse(code))[:LONGEST_DUMP]
    others = [ast.dump(ast.parse(reference))[:LONGEST_DUMP] for reference in references]
    if not others:
        return 0.0
    return sum(1 - SequenceMatcher(None, own, other, autojunk=False).ratio() for other in others) / len(others)


def halstead(code: str) -> float:
    """0.5 min(effort / 10⁴, 1) + 0.3 min(cyclomatic / 10, 1) + 0.2 min(volume / 500, 1)."""
    operators: Counter[str] = Counter()
    operands: Counter[str] = Counter()
    cyclomatic = 1
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.operator | ast.unaryop | ast.boolop | ast.cmpop):
            operators[type(node).__name__] += 1
        elif isinstance(node, ast.Name):
            operands[node.id] += 1
        elif isinstance(node, ast.Constant):
            operands[repr(node.value)] += 1
        elif isinstance(node, ast.Call | ast.Subscript | ast.Attribute | ast.Assign | ast.AugAssign | ast.Return):
            operators[type(node).__name__] += 1
        if isinstance(node, ast.If | ast.For | ast.While | ast.IfExp | ast.ExceptHandler | ast.comprehension):
            cyclomatic += 1
        elif isinstance(node, ast.BoolOp):
            cyclomatic += len(node.values) - 1
    length, vocabulary = operators.total() + operands.total(), len(operators) + len(operands)
    volume = length * log2(vocabulary) if vocabulary > 1 else 0.0
    difficulty = len(operators) / 2 * operands.total() / len(operands) if operands else 0.0
    effort = volume * difficulty
    return 0.5 * min(effort / 1e4, 1) + 0.3 * min(cyclomatic / 10, 1) + 0.2 * min(volume / 500, 1)
