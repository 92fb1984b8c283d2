"""The check `judge`: a judge's model and its sampling are settled, so the same reply gets the same verdict tomorrow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from verikit.env.audit.formats.code import PythonCode, dotted, is_open, keyword
from verikit.env.audit.formats.documents import place, walked
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.workspaces.names import shown

_ALIAS = re.compile(r"(?:[\w.-]{1,40}/)?(?:gpt-(?!oss)|chatgpt|o[134](?:-|\Z)|claude-|gemini-)", re.IGNORECASE)
"""Models of providers who give a name to another model later, unless the name has a date or a number of a version."""
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}|-\d{3,4}(?:\D|\Z)")
_CALLS = (
    "chat.completions.create",
    "chat.completions.parse",
    "responses.create",
    "responses.parse",
    "messages.create",
    "models.generate_content",
)
_PLAIN_CALLS = frozenset("litellm.completion litellm.acompletion acompletion".split())
_JUDGES = re.compile(r"\w*Judge(?:Rubric)?")
_GRADES = re.compile(r"judg|grad(?:e|ing)|verif|scor|reward|rubric|evaluat|is_correct", re.IGNORECASE)
"""Words of functions that grade. Other calls of a model belong to the task, such as calls of a simulated user."""
_MODELS = ("model", "judge_model", "model_name", "judge_model_name")
POLICY = "policy_model"
"""NeMo-Gym's name of the model that is trained."""


def check_judges(code: PythonCode, configs: Mapping[str, tuple[str, Any]] | None = None) -> CheckRecord:
    """Look at each call of a judge in code, and at each judge of a configuration.

    Args:
        code: The code of the grader.
        configs: Configurations of NeMo-Gym, each with its text and its value.
    """
    findings: list[EnvFinding] = []
    undecided: list[str] = []
    for path, tree in code.trees.items():
        known, grading = _constants(tree), _grading(tree, path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _is_judge(node, id(node) in grading):
                where = f"{shown(path)}:{node.lineno}"
                findings += _call(node, known, where, undecided)
    for path, (text, value) in (configs or {}).items():
        findings += _config(path, text, value)
    return judged(findings, undecided)


def _grading(tree: ast.Module, path: str) -> set[int]:
    """The identities of nodes in functions and classes that speak of grading."""
    found: set[int] = set()
    of_file = _GRADES.search(path.rpartition("/")[2]) is not None
    if of_file:
        return {id(one) for one in ast.walk(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            told = ast.unparse(node) if not isinstance(node, ast.ClassDef) else node.name
            if _GRADES.search(told):
                found |= {id(one) for one in ast.walk(node)}
    return found


def _is_judge(call: ast.Call, grading: bool) -> bool:
    name = dotted(call.func)
    if name.endswith(_CALLS) or name in _PLAIN_CALLS:
        return grading
    names = {one.arg for one in call.keywords}
    return _JUDGES.fullmatch(name.rpartition(".")[2]) is not None and bool(names & {*_MODELS, "judge_sampling_args"})


def _call(call: ast.Call, known: Mapping[str, Any], where: str, undecided: list[str]) -> Iterator[EnvFinding]:
    model = next((value for name in _MODELS if (value := keyword(call, name)) is not None), None)
    if model is not None:
        told = _value(model, known)
        if isinstance(told, str):
            yield from model_findings(told, where)
        else:
            undecided.append(f"the judge's model in {where}")
    sampling = keyword(call, "temperature")
    if sampling is None:
        held = next((one.value for one in call.keywords if one.arg in ("judge_sampling_args", "config")), None)
        more = _value(held, known) if held is not None else None
        if held is not None and not isinstance(more, dict):
            undecided.append(f"the judge's sampling in {where}")
        elif isinstance(more, dict) and "temperature" in more:
            yield from _warm(more["temperature"], where)
        elif is_open(call):
            undecided.append(f"the judge's sampling in {where}")
        else:
            yield from _warm(None, where)
        return
    told = _value(sampling, known)
    if isinstance(told, int | float):
        yield from _warm(told, where)
    else:
        undecided.append(f"the judge's temperature in {where}")


def model_findings(model: str, where: str) -> Iterator[EnvFinding]:
    """A judge's model whose name may mean another one later."""
    if "latest" in model.lower() or (_ALIAS.match(model) and not _DATED.search(model)):
        yield EnvFinding("model", f"the judge {shown(model[:80])} has no version, and may be another one later", where)


def _warm(temperature: Any, where: str) -> Iterator[EnvFinding]:
    if temperature is None:
        yield EnvFinding("sampling", "the judge has no temperature, so it samples its verdicts", where)
    elif isinstance(temperature, int | float) and temperature > 0:
        yield EnvFinding("sampling", f"the judge samples at temperature {temperature}", where)


def _constants(tree: ast.Module) -> dict[str, Any]:
    """Names, attributes of `self` and parameters that have one constant value in a file."""
    found: dict[str, Any] = {}
    for name, value in _pairs(tree):
        try:
            held = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            held = None
        found[name] = held if found.get(name, held) == held else None
    return found


def _pairs(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            yield from ((name, node.value) for name in _named(node.targets[0]))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from ((name, node.value) for name in _named(node.target))
        elif isinstance(node, ast.arguments):
            yield from _defaults(node)


def _defaults(told: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """Parameters with their default values."""
    plain = [*told.posonlyargs, *told.args]
    yield from zip([one.arg for one in plain[len(plain) - len(told.defaults) :]], told.defaults, strict=True)
    for one, value in zip(told.kwonlyargs, told.kw_defaults, strict=True):
        if value is not None:
            yield one.arg, value


def _named(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Attribute) and dotted(target) == f"self.{target.attr}":
        yield target.attr


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """The constant value of an expression, or None."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):
        return known.get(node.attr)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _served(value: Any, name: Any, path: str, text: str) -> Iterator[EnvFinding]:
    """The model behind a server that a configuration calls its judge."""
    entry = value.get(name) if isinstance(value, Mapping) and isinstance(name, str) else None
    for key, held, _ in walked(entry):
        if key in ("openai_model", "model") and isinstance(held, str):
            yield from model_findings(held, place(path, text, key))


def _config(path: str, text: str, value: Any) -> Iterator[EnvFinding]:
    """Judges of a NeMo-Gym configuration."""
    for key, held, holder in walked(value):
        if holder.get("should_use_judge") is False:
            continue
        where = place(path, text, key)
        if key == "judge_model_server" and isinstance(held, Mapping):
            name = held.get("name")
            if name == POLICY:
                yield EnvFinding("model", f"the judge is {POLICY}, the model that is trained", where)
            else:
                yield from _served(value, name, path, text)
        elif key == "judge_responses_create_params" and isinstance(held, Mapping):
            yield from _warm(held.get("temperature"), where)
        elif key in ("judge_model", "judge_model_name") and isinstance(held, str):
            yield from model_findings(held, where)
