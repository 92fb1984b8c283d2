"""Packages of verifiers: `pyproject.toml` and a module with `load_environment`, or a taskset of its version 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verikit.env.audit.formats.code import PythonCode, code_of, dotted
from verikit.env.audit.formats.documents import inner, place, project
from verikit.env.audit.formats.row_checks import alike_rows, reached_rows
from verikit.env.audit.formats.rows import EnvRow, env_row, json_rows, literal_rows, split_of
from verikit.env.audit.formats.shared import built_prompts, data_pins, package_pins
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.schema import linked_outside
from verikit.env.audit.task import AuditedTask
from verikit.workspaces.names import parts, shown

LOADER = "load_environment"


def check_verifiers_schema(task: AuditedTask) -> CheckRecord:
    """Compare a package with verifiers' format."""
    text = task.text("pyproject.toml") or ""
    try:
        told = project(task)
    except ValueError as error:
        return judged([EnvFinding("wrong", f"it can't be read: {shown(str(error)[:200])}", "pyproject.toml")])
    findings: list[EnvFinding] = []
    name = inner(told, "project", "name")
    if not isinstance(name, str) or not name.strip():
        findings.append(EnvFinding("missing", "project.name is missing", "pyproject.toml"))
        name = ""
    if inner(told, "project", "version") is None and "version" not in (inner(told, "project", "dynamic") or ()):
        findings.append(EnvFinding("missing", "project.version is missing", place("pyproject.toml", text, "[project]")))
    findings += _included(task, text, told)
    code = code_of(task)
    findings += [EnvFinding("wrong", f"it can't be parsed ({why})", shown(path)) for path, why in code.broken.items()]
    if not code.broken:
        findings += _loader(task, code, name)
    return judged([*findings, *linked_outside(task)])


def _included(task: AuditedTask, text: str, told: object) -> Iterator[EnvFinding]:
    """Files and packages that the build includes."""
    wheel = ("tool", "hatch", "build", "targets", "wheel")
    named = [inner(told, *wheel, "packages"), inner(told, "tool", "hatch", "build", "include")]
    named += [inner(told, "tool", "setuptools", "packages"), inner(told, *wheel, "include")]
    for entry in (one for held in named if isinstance(held, list) for one in held if isinstance(one, str)):
        names = parts(entry.lstrip("/"))
        where = place("pyproject.toml", text, entry)
        if names is None:
            yield EnvFinding("outside", f"{shown(entry)} leaves the package", where)
        elif not any(mark in entry for mark in "*?[") and not _is_there(task, "/".join(names)):
            yield EnvFinding("missing", f"{shown(entry)} is not there", where)


def _is_there(task: AuditedTask, path: str) -> bool:
    dotted_path = path.replace(".", "/") if path.count("/") == 0 and not path.endswith(".py") else path
    return any(one in task.tree.manifest for one in (path, dotted_path, f"src/{dotted_path}", f"{path}.py"))


def _loader(task: AuditedTask, code: PythonCode, name: str) -> Iterator[EnvFinding]:
    """Whether verifiers finds the environment under the package's name."""
    if _has_taskset(code):
        return
    holders = code.defines(LOADER)
    module = name.replace("-", "_")
    if not holders:
        yield EnvFinding("missing", f"no module defines {LOADER} or a Taskset")
        return
    wanted = (f"{module}.py", f"{module}/__init__.py", f"src/{module}/__init__.py", f"src/{module}.py")
    if module and not any(path in wanted or path == "__init__.py" for path in holders):
        told = ", ".join(shown(path) for path in holders[:3])
        yield EnvFinding("missing", f"the module {shown(module)} has no {LOADER}, which is in {told}", "pyproject.toml")


def _has_taskset(code: PythonCode) -> bool:
    """Whether a class is a taskset or a harness of verifiers' version 1.

    `Env` is version 1's class. The older `SingleTurnEnv` and `MultiTurnEnv` need a `load_environment`.
    """
    ends = ("Taskset", "Harness", "Judge")
    for _, node in code.nodes():
        if isinstance(node, ast.ClassDef):
            bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
            names = [dotted(base).rpartition(".")[2] for base in bases]
            if any(name == "Env" or name.endswith(ends) for name in names):
                return True
    return False


def rows_of(task: AuditedTask) -> tuple[list[EnvRow], list[str]]:
    """The rows of a package's data files and literals, and what of them can't be read."""
    found = list(literal_rows(code_of(task)))
    undecided: list[str] = []
    for path in sorted(task.files()):
        if not path.endswith(".jsonl") or "/outputs/" in f"/{path}":
            continue
        for number, row in json_rows(task, path):
            if isinstance(row, ValueError):
                undecided.append(f"the row {shown(path)}:{number} ({row})")
            else:
                found.append(env_row(row, f"{shown(path)}:{number}", split_of(path)))
    return found, undecided


def check_verifiers_pins(task: AuditedTask) -> CheckRecord:
    """Packages and data without versions."""
    return judged([*package_pins(task), *data_pins(code_of(task))])


def check_verifiers_reach(task: AuditedTask) -> CheckRecord:
    """Prompts that have their own answer."""
    rows, undecided = rows_of(task)
    return judged([*built_prompts(code_of(task)), *reached_rows(rows)], undecided[:5])


def check_verifiers_alike(task: AuditedTask) -> CheckRecord:
    """Duplicate rows, including duplicates across splits."""
    rows, undecided = rows_of(task)
    if not rows:
        return CheckRecord("not_run", needs="rows in the package; this environment loads them when it runs")
    return judged(list(alike_rows(rows)), undecided[:5])
