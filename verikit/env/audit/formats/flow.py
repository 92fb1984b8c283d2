"""Which values of a grader's code come from the model, followed through its functions by their syntax trees.

A value comes from the model if a parameter has such a name (`completion`, `action`), if it is such an attribute of a
parameter (`body.response`), or if an expression has such a value in it. Assignments and calls of the same files carry
it on. Numbers computed from it (`int`, `float`, `len`) do not.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from verikit.env.audit.formats.code import PythonCode, dotted

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
MODELS = re.compile(
    r"(?:model_|raw_|agent_|llm_|final_|last_|pred_|predicted_)?"
    r"(?:completion|response|action|output|reply|prediction|generation|submission|trace|solution_str|message)s?"
    r"(?:_?(?:text|str|code|content|answer))?"
)
"""Names of values that a model made."""
OWN = re.compile(
    r"(?:model_|raw_|agent_|llm_|final_|last_|pred_|predicted_)?"
    r"(?:completion|action|output|reply|prediction|generation|submission|solution_str)s?"
    r"(?:_?(?:text|str|code|content|answer))?"
)
"""Names among them that only the policy created. A response may be a judge's; a trace has the environment's rewards."""
CLAIMS = re.compile(r"(?:final_|total_|my_)?(?:reward|score)s?")
_NUMBERS = frozenset("int float len bool round hash id isinstance type sum".split())
_CARRIES = frozenset(
    "loads literal_eval str dict get strip lower group search match split items model_dump json float int".split()
)
"""Functions whose result is a part of their argument."""
MAX_ROUNDS = 6


@dataclass
class ModelValues:
    """Functions of a grader, each with the names in it that have a value of the model's."""

    functions: list[tuple[str, Function]] = field(default_factory=list)
    names: dict[int, set[str]] = field(default_factory=dict)
    """By the identity of the function."""
    bare: bool = False
    """Whether only parts of the model's own output count, and not results of functions on it."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The names of the model's values."""
        return OWN if self.bare else MODELS

    def of(self, function: Function) -> set[str]:
        """The names in a function."""
        return self.names[id(function)]

    def has(self, node: ast.AST, function: Function) -> bool:
        """Whether an expression has a value of the model's in it."""
        return self._has(node, self.names[id(function)], _parameters(function))

    def _has(self, node: ast.AST, names: set[str], parameters: list[str]) -> bool:
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if isinstance(one, ast.Name) and one.id in names:
                return True
            if isinstance(one, ast.Attribute | ast.Subscript) and _is_part(one, parameters, self.pattern):
                return True
            if isinstance(one, ast.Call):
                called = dotted(one.func).rpartition(".")[2]
                if called in _NUMBERS and not self.bare:
                    continue
                if self.bare and called not in _CARRIES:
                    continue
            if isinstance(one, ast.Lambda | ast.Compare):
                continue
            waiting += ast.iter_child_nodes(one)
        return False


def model_values(code: PythonCode, *, bare: bool = False) -> ModelValues:
    """Follow the model's values through the functions of some files."""
    found = ModelValues(bare=bare)
    by_name: defaultdict[str, list[Function]] = defaultdict(list)
    for path, node in code.nodes():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found.functions.append((path, node))
            found.names[id(node)] = {name for name in _parameters(node) if found.pattern.fullmatch(name)}
            if not isinstance(node, ast.Lambda):
                by_name[node.name].append(node)
    for _ in range(MAX_ROUNDS):
        before = sum(map(len, found.names.values()))
        for _, function in found.functions:
            _assign(found, function)
            if not bare:
                _call(found, function, by_name)
        if sum(map(len, found.names.values())) == before:
            break
    return found


def _parameters(function: Function) -> list[str]:
    told = function.args
    return [one.arg for one in (*told.posonlyargs, *told.args, *told.kwonlyargs)]


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function, in the order of its text, without functions within it."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        yield node
        waiting += reversed(list(ast.iter_child_nodes(node)))


def _assign(found: ModelValues, function: Function) -> None:
    """Carry values on to the names that are assigned from them."""
    names = found.of(function)
    for node in own_nodes(function):
        value, targets = _assigned(node)
        if value is not None and found.has(value, function):
            every = [one for target in targets for one in ast.walk(target)]
            names |= {one.id for one in every if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _assigned(node: ast.AST) -> tuple[ast.AST | None, list[ast.expr]]:
    """The value of an assignment or a loop, and its targets."""
    if isinstance(node, ast.Assign):
        return node.value, node.targets
    if isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        return node.value, [node.target]
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        return node.iter, [node.target]
    return None, []


def _call(found: ModelValues, function: Function, by_name: dict[str, list[Function]]) -> None:
    """Carry values on to the parameters of functions that are called with them."""
    for node in own_nodes(function):
        if not isinstance(node, ast.Call):
            continue
        for called in by_name.get(dotted(node.func).rpartition(".")[2], ()):
            names = _parameters(called)
            plain = names[1:] if names[:1] in (["self"], ["cls"]) else names
            given = [*zip(plain, node.args, strict=False), *((one.arg or "", one.value) for one in node.keywords)]
            found.of(called).update(name for name, value in given if name in names and found.has(value, function))


def _is_part(node: ast.Attribute | ast.Subscript, parameters: list[str], pattern: re.Pattern[str]) -> bool:
    """Whether an attribute or an item of a parameter is the model's: `body.response`, `state["completion"]`."""
    base: ast.AST = node
    named = False
    while isinstance(base, ast.Attribute | ast.Subscript):
        if isinstance(base, ast.Attribute):
            named = named or pattern.fullmatch(base.attr) is not None
        elif isinstance(base.slice, ast.Constant) and isinstance(base.slice.value, str):
            named = named or pattern.fullmatch(base.slice.value) is not None
        base = base.value
    return named and isinstance(base, ast.Name) and base.id in parameters and base.id not in ("self", "cls")
