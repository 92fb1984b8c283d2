"""Graders that draw lots, read the calendar or pay for everything, by their syntax trees.

These are findings of running checks (`replay`, `portable`, `nop`), because many environments can't run here. A
generator with a seed, elapsed time and time stamps do not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verikit.env.audit.formats.code import PythonCode, dotted
from verikit.env.audit.formats.flow import Function, model_values, own_nodes
from verikit.env.audit.records import EnvFinding
from verikit.workspaces.names import shown

_DRAWS = frozenset(
    "random randint randrange choice choices sample shuffle uniform gauss normalvariate rand randn permutation".split()
)
_MODULES = frozenset(("random", "np.random", "numpy.random"))
_FRESH = frozenset("random.Random np.random.default_rng numpy.random.default_rng np.random.RandomState".split())
"""Generators. Without a seed they differ from run to run."""
_SEEDS = frozenset("random.seed np.random.seed numpy.random.seed set_seed seed_everything".split())
_DAYS = (
    "datetime.now", "datetime.today", "datetime.utcnow", "date.today", "time.localtime", "time.gmtime", "time.strftime",
)  # fmt: skip
_STARTS = ("reset", "reset_async")


def static_runs(code: PythonCode) -> dict[str, list[EnvFinding]]:
    """Findings of running checks, by check."""
    values = model_values(code)
    found: dict[str, list[EnvFinding]] = {"replay": [], "portable": [], "nop": []}
    seeded = {path for path, node in code.nodes() if isinstance(node, ast.Call) and dotted(node.func) in _SEEDS}
    for path, function in values.functions:
        grades = bool(values.of(function)) or any(values.has(one, function) for one in own_nodes(function))
        starts = not isinstance(function, ast.Lambda) and function.name in _STARTS
        if path not in seeded and (grades or starts):
            found["replay"] += [
                EnvFinding("reward", f"{name} has no seed, so a run can't be repeated", f"{shown(path)}:{line}")
                for name, line in _draws(function)
            ]
        if grades:
            found["portable"] += [
                EnvFinding("clock", f"the grader compares with the date ({name})", f"{shown(path)}:{line}")
                for name, line in _dates(function)
            ]
            found["nop"] += _paid(path, function)
    return found


def _draws(function: Function) -> Iterator[tuple[str, int]]:
    """Calls of a generator without a seed."""
    nodes = list(own_nodes(function))
    same = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and dotted(node.value) in _MODULES
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            module, _, drawn = name.rpartition(".")
            draws = drawn in _DRAWS and (module in _MODULES or module in same)
            if draws or (name in _FRESH and not node.args and not node.keywords):
                yield name, node.lineno


def _dates(function: Function) -> Iterator[tuple[str, int]]:
    """Calls that read the calendar, in a comparison or with a result that is compared."""
    nodes = list(own_nodes(function))
    named: dict[str, ast.Call] = {}
    for node in nodes:
        call = _day(node.value) if isinstance(node, ast.Assign) else None
        if call is not None and isinstance(node, ast.Assign):
            named.update({target.id: call for target in node.targets if isinstance(target, ast.Name)})
    for compare in (node for node in nodes if isinstance(node, ast.Compare)):
        for one in ast.walk(compare):
            call = named.get(one.id) if isinstance(one, ast.Name) else _day(one, deep=False)
            if call is not None:
                yield dotted(call.func), call.lineno
                break


def _day(node: ast.AST, *, deep: bool = True) -> ast.Call | None:
    """A call that reads the calendar, in an expression or as the expression itself."""
    nodes = ast.walk(node) if deep else [node]
    calls = (one for one in nodes if isinstance(one, ast.Call) and dotted(one.func).endswith(_DAYS))
    return next(calls, None)


def _paid(path: str, function: Function) -> Iterator[EnvFinding]:
    """A step whose rewards are all the same positive number."""
    if isinstance(function, ast.Lambda) or function.name not in ("step", "step_async", "verify"):
        return
    rewards = [
        one.value
        for node in own_nodes(function)
        if isinstance(node, ast.Call)
        for one in node.keywords
        if one.arg == "reward"
    ]
    values = {one.value for one in rewards if isinstance(one, ast.Constant) and isinstance(one.value, int | float)}
    if len(values) == 1 and all(isinstance(one, ast.Constant) for one in rewards) and min(values) > 0:
        where = f"{shown(path)}:{rewards[0].lineno}"
        yield EnvFinding("paid", f"{function.name} always gives the reward {min(values):g}", where)
