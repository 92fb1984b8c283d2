"""Graders that draw lots, read the calendar or pay for everything, by their syntax trees.

These are findings of running checks (`replay`, `portable`, `nop`), because many environments can't run here. A
generator with a seed, elapsed time and time stamps do not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from verikit.env.audit.formats.code import PythonCode, dotted
from verikit.env.audit.formats.flow import Function, ModelValues, model_values, own_nodes
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
_STARTS, _STEPS = ("reset", "reset_async"), ("step", "step_async", "verify")


def static_runs(code: PythonCode) -> dict[str, list[EnvFinding]]:
    """Findings of running checks, by check."""
    values = model_values(code)
    found: dict[str, list[EnvFinding]] = {"replay": [], "portable": [], "nop": []}
    seeded = {path for path, node in code.nodes() if isinstance(node, ast.Call) and dotted(node.func) in _SEEDS}
    for path, function in values.functions:
        grades = _grades(function, values)
        if path not in seeded and (grades or getattr(function, "name", "") in _STARTS):
            found["replay"] += _told(path, "reward", "{} has no seed, so a run can't be repeated", _draws(function))
        if grades:
            found["portable"] += _told(path, "clock", "the grader compares with the date ({})", _dates(function))
            found["nop"] += _told(path, "paid", "{}", _paid(function))
    return found


def _grades(function: Function, values: ModelValues) -> bool:
    """Whether a function has a value of the model's."""
    return bool(values.of(function)) or any(values.has(one, function) for one in own_nodes(function))


def _told(path: str, kind: str, what: str, places: Iterable[tuple[str, int]]) -> list[EnvFinding]:
    return [EnvFinding(kind, what.format(name), f"{shown(path)}:{line}") for name, line in places]


def _draws(function: Function) -> Iterator[tuple[str, int]]:
    """Calls of a generator without a seed."""
    modules = _MODULES | {name for name, value in _assigned(function) if dotted(value) in _MODULES}
    for node in own_nodes(function):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            module, _, drawn = name.rpartition(".")
            fresh = name in _FRESH and not node.args and not node.keywords
            if fresh or (module in modules and drawn in _DRAWS):
                yield name, node.lineno


def _assigned(function: Function) -> Iterator[tuple[str, ast.expr]]:
    """Names with the values that a function gives them."""
    for node in own_nodes(function):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                yield target.id, node.value


def _dates(function: Function) -> Iterator[tuple[str, int]]:
    """Calls that read the calendar, in a comparison or with a result that is compared."""
    named = {name: call for name, value in _assigned(function) for call in map(_day, ast.walk(value)) if call}
    for compare in own_nodes(function):
        calls = (_compared(one, named) for one in ast.walk(compare)) if isinstance(compare, ast.Compare) else ()
        call = next(filter(None, calls), None)
        if call is not None:
            yield dotted(call.func), call.lineno


def _compared(node: ast.AST, named: Mapping[str, ast.Call]) -> ast.Call | None:
    return named.get(node.id) if isinstance(node, ast.Name) else _day(node)


def _day(node: ast.AST) -> ast.Call | None:
    """The node, if it is a call that reads the calendar."""
    return node if isinstance(node, ast.Call) and dotted(node.func).endswith(_DAYS) else None


def _paid(function: Function) -> Iterator[tuple[str, int]]:
    """A step whose rewards are all the same positive number."""
    name = getattr(function, "name", "")
    rewards = list(_rewards(function)) if name in _STEPS else []
    values = {one.value if isinstance(one, ast.Constant) else None for one in rewards}
    value = values.pop() if len(values) == 1 else None
    if isinstance(value, int | float) and value > 0:
        yield f"{name} always gives the reward {value:g}", rewards[0].lineno


def _rewards(function: Function) -> Iterator[ast.expr]:
    for node in own_nodes(function):
        if isinstance(node, ast.Call):
            yield from (one.value for one in node.keywords if one.arg == "reward")
