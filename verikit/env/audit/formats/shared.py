"""Parts of checks that several formats have in common: pins of packages and data, prompts that code builds, links."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from verikit.env.audit.formats.code import PythonCode, dotted, keyword
from verikit.env.audit.formats.documents import inner, place, project
from verikit.env.audit.formats.flow import Function, ModelValues, model_values, own_nodes
from verikit.env.audit.pins import dockerfile_pins, is_pinned, requirement_pins
from verikit.env.audit.records import EnvFinding
from verikit.env.audit.task import AuditedTask
from verikit.workspaces.names import shown

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "requirements.lock")
_LOADERS = frozenset("load_dataset hf_hub_download snapshot_download load_dataset_builder".split())
_LOCAL = frozenset("json csv parquet text arrow pandas imagefolder audiofolder".split())
_ANSWERS = re.compile(
    r"(?:correct_|expected_|gold_|true_|secret_|target_|hidden_|reference_)?"
    r"(?:answers?|solutions?|gold|ground_truth|secret|target_word|hidden_word|target_answer)"
)
_QUESTIONS = ("question", "prompt", "problem", "instruction", "content")


def package_pins(task: AuditedTask) -> Iterator[EnvFinding]:
    """Requirements without a version of a project, of requirement files and of Dockerfiles."""
    locked = any(task.text(name) is not None for name in LOCKS)
    if not locked:
        yield from _dependencies(task)
    for path in sorted(task.files()):
        name = path.rpartition("/")[2]
        held = task.text(path) if name.startswith(("Dockerfile", "requirements")) else None
        if held is None or "/tests/" in f"/{path}" or name.endswith((".backup", ".lock")):
            continue
        if name == "Dockerfile" or name.startswith("Dockerfile."):
            yield from dockerfile_pins(path, held, [])
        elif name.startswith("requirements") and name.endswith((".txt", ".in")) and not locked:
            yield from requirement_pins(path, held)


def _dependencies(task: AuditedTask) -> Iterator[EnvFinding]:
    """Dependencies of a project that have no version."""
    text = task.text("pyproject.toml") or ""
    needs = inner(_project(task), "project", "dependencies")
    for need in needs if isinstance(needs, list) else ():
        if isinstance(need, str) and not is_pinned(need):
            what = f"{shown(need[:80])} has no version, and there is no lock file"
            yield EnvFinding("package", what, place("pyproject.toml", text, need))


def _project(task: AuditedTask) -> Mapping[str, Any]:
    try:
        return project(task)
    except ValueError:
        return {}


def data_pins(code: PythonCode) -> Iterator[EnvFinding]:
    """Datasets and models that code loads from a hub without a revision."""
    for path, node in code.nodes():
        if isinstance(node, ast.Call) and keyword(node, "revision") is None:
            name, told = dotted(node.func).rpartition(".")[2], _loaded(node)
            if told:
                what = f"{name}({shown(told[:80])!r}) has no revision"
                yield EnvFinding("data", what, f"{shown(path)}:{node.lineno}")


def _loaded(call: ast.Call) -> str:
    """The name that a call loads from a hub; empty if it loads nothing from there."""
    name = dotted(call.func).rpartition(".")[2]
    named = call.args[0] if call.args else keyword(call, "path") or keyword(call, "repo_id")
    told = named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else ""
    if told.startswith((".", "/", "~")) or told.endswith((".json", ".jsonl", ".csv")) or told in _LOCAL:
        return ""
    return told if name in _LOADERS or (name == "from_pretrained" and "/" in told) else ""


def built_prompts(code: PythonCode) -> Iterator[EnvFinding]:
    """Rows that code builds with the answer in the prompt: the same expression in both."""
    for path, node in code.nodes():
        pairs = _items(node)
        answers = {ast.dump(value) for name, value in pairs if _ANSWERS.fullmatch(name) and _is_answer(value)}
        for name, value in pairs if answers else ():
            if name in _QUESTIONS and any(ast.dump(one) in answers for one in _shown_parts(value)):
                where = f"{shown(path)}:{value.lineno}"
                yield EnvFinding("prompt", f"{name} is built with the row's answer", where)


def _items(node: ast.AST) -> list[tuple[str, ast.expr]]:
    """The named values of a mapping or of a call."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [(name, value) for key, value in pairs if (name := _text(key))]
    if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2][:1].isupper():
        return [(one.arg, one.value) for one in node.keywords if one.arg]  # of a class; functions may be judges
    return []


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_answer(value: ast.expr) -> bool:
    """Whether an expression is called an answer itself. Another value may well be part of its question."""
    if isinstance(value, ast.Name):
        return _ANSWERS.fullmatch(value.id) is not None
    if isinstance(value, ast.Attribute):
        return _ANSWERS.fullmatch(value.attr) is not None
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        return isinstance(value.slice.value, str) and _ANSWERS.fullmatch(value.slice.value) is not None
    return False


def _shown_parts(value: ast.expr) -> Iterator[ast.expr]:
    """The pieces of a string that are shown unchanged: of f-strings, sums, `format`, and lists of messages."""
    waiting: list[ast.AST] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name | ast.Attribute | ast.Subscript):
            yield one
        elif isinstance(one, ast.Call):
            if dotted(one.func).rpartition(".")[2] in ("format", "str"):
                waiting += [*one.args, *(arg.value for arg in one.keywords)]
        elif isinstance(one, ast.JoinedStr | ast.FormattedValue | ast.BinOp | ast.List | ast.Dict):
            waiting += ast.iter_child_nodes(one)


def shown_answers(code: PythonCode) -> Iterator[EnvFinding]:
    """Observations of OpenEnv's `reset` that have the answer in a field."""
    for path, node in code.nodes():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name not in ("reset", "reset_async"):
            continue
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and dotted(call.func).rpartition(".")[2].endswith("Observation"):
                for name, value in _observed(call):
                    if _ANSWERS.fullmatch(name) and not _is_empty(value):
                        where = f"{shown(path)}:{value.lineno}"
                        yield EnvFinding("observation", f"reset returns the answer as {shown(name)}", where)
                    elif any(_is_answer(one) for one in _shown_parts(value)) and name not in ("done", "reward"):
                        where = f"{shown(path)}:{value.lineno}"
                        yield EnvFinding("observation", f"reset returns the answer in {shown(name)}", where)


def shown_columns(code: PythonCode) -> Iterator[EnvFinding]:
    """Observations of `reset` with the column of a table that the action is compared with, next to another column.

    `ROWS[i][0]` is the question, `ROWS[i][1]` the answer: `step` compares the second with the action.
    """
    values = model_values(code)
    compared = {ast.dump(one) for _, function in values.functions for one in _compared(function, values)}
    for path, function in values.functions:
        if compared and getattr(function, "name", "") in ("reset", "reset_async"):
            for call in filter(_is_observation, ast.walk(function)):
                answer = _answer_column(call, compared)
                if answer is not None:
                    what = f"reset returns {shown(ast.unparse(answer)[:80])}, which the action is compared with"
                    yield EnvFinding("observation", what, f"{shown(path)}:{answer.lineno}")


def _is_observation(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2].endswith("Observation")


def _answer_column(call: ast.Call, compared: set[str]) -> ast.Subscript | None:
    """The column among others that the action is compared with."""
    columns = [one for _, value in _observed(call) for one in _shown_parts(value) if _is_column(one)]
    answers = [one for one in columns if ast.dump(one) in compared]
    return answers[0] if answers and any(ast.dump(one) not in compared for one in columns) else None


def _compared(function: Function, values: ModelValues) -> Iterator[ast.expr]:
    """Columns that a function requires to equal a value of the model's. `in` and `!=` may use what an agent may see."""
    for node in own_nodes(function):
        if not isinstance(node, ast.Compare) or not all(isinstance(each, ast.Eq) for each in node.ops):
            continue
        sides = [node.left, *node.comparators]
        if any(values.has(side, function) for side in sides):
            for side in sides:
                yield from _outermost_columns(side)


def _outermost_columns(side: ast.expr) -> Iterator[ast.expr]:
    """Columns of an expression that are in no other: of `row["options"][row["answer"]]` not the options."""
    columns = [one for one in ast.walk(side) if isinstance(one, ast.Subscript)]
    inside = {id(part) for column in columns for part in ast.walk(column.value)}
    yield from (one for one in columns if _is_column(one) and id(one) not in inside)


def _is_column(node: ast.AST) -> TypeGuard[ast.Subscript]:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)


def _observed(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The fields of an observation, and the items of its mappings."""
    for name, value in _items(call):
        if isinstance(value, ast.Dict):
            yield from _items(value)
        else:
            yield name, value


def _is_empty(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in (None, "", 0, False)
