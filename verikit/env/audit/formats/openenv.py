"""OpenEnv folders: `openenv.yaml`, a server that it names, `pyproject.toml` and a Dockerfile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from verikit.env.audit.dockerfile import copied_sources, instructions
from verikit.env.audit.formats.code import PythonCode, code_of, reached
from verikit.env.audit.formats.documents import Unread, inner, place, project, yaml_document
from verikit.env.audit.formats.row_checks import alike_rows, reached_rows
from verikit.env.audit.formats.rows import literal_rows
from verikit.env.audit.formats.shared import data_pins, package_pins, shown_answers, shown_columns
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.schema import linked_outside
from verikit.env.audit.task import AuditedTask
from verikit.workspaces.names import parts, shown

CONFIGS = ("openenv.yaml", "openenv.yml")
_FIELDS = frozenset(
    """spec_version name type runtime app port version description action observation author license tags env
    environment client state reward_range max_steps metadata default_image resources variables""".split()
)
_APP = re.compile(r"[A-Za-z_]\w{0,80}(?:\.[A-Za-z_]\w{0,80}){0,8}:[A-Za-z_]\w{0,80}")
_ELSEWHERE = ("src", "envs", "core")
"""Folders of OpenEnv's own repository that its examples are built from."""


def config_of(task: AuditedTask) -> tuple[str, str]:
    """The path and the text of `openenv.yaml`."""
    path = next((name for name in CONFIGS if task.text(name) is not None), CONFIGS[0])
    return path, task.text(path) or ""


def check_openenv_schema(task: AuditedTask) -> CheckRecord:
    """Compare a folder with OpenEnv's format."""
    path, text = config_of(task)
    try:
        config = yaml_document(text)
    except Unread as missing:
        return CheckRecord("not_run", needs=str(missing))
    except ValueError as error:
        return judged([EnvFinding("wrong", f"it is not YAML: {shown(str(error)[:200])}", path)])
    if not isinstance(config, Mapping):
        return judged([EnvFinding("wrong", "it is not a mapping", path)])
    findings = [*_fields(config, path, text), *_app(task, config, path, text), *_package(task), *_images(task)]
    return judged([*findings, *linked_outside(task)])


def _fields(config: Mapping[str, Any], path: str, text: str) -> Iterator[EnvFinding]:
    for name in config:
        if name not in _FIELDS:
            near = get_close_matches(str(name)[:60], _FIELDS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield EnvFinding(
                "unknown", f"{shown(str(name))} is not a field of the format{hint}", place(path, text, name)
            )
    version = config.get("spec_version", 1)
    if version != 1 or isinstance(version, bool):
        yield EnvFinding("wrong", "spec_version should be 1", place(path, text, "spec_version"))
    told = config.get("name")
    if told is None:
        yield EnvFinding("missing", "there is no name", path)
    elif not isinstance(told, str) or not told.strip():
        yield EnvFinding("wrong", "name should be a string", place(path, text, "name"))
    port = config.get("port", 8000)
    if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65536:
        yield EnvFinding("wrong", "port should be an integer from 1 to 65535", place(path, text, "port"))
    for field in ("type", "runtime"):
        if field in config and not isinstance(config[field], str):
            yield EnvFinding("wrong", f"{field} should be a string", place(path, text, field))


def _app(task: AuditedTask, config: Mapping[str, Any], path: str, text: str) -> Iterator[EnvFinding]:
    """Whether the server that the configuration names is there."""
    app = config.get("app")
    where = place(path, text, "app")
    if app is None:
        if "action" not in config:  # the older form names classes instead
            yield EnvFinding("missing", "there is no app", path)
        return
    if not isinstance(app, str) or not _APP.fullmatch(app):
        yield EnvFinding("wrong", "app should be MODULE:NAME", where)
        return
    module, _, name = app.partition(":")
    file = app_file(task, module)
    if not file:
        yield EnvFinding("missing", f"app names the module {module}, which is not there", where)
        return
    code = code_of(task)
    if file in code.broken:
        yield EnvFinding("wrong", f"the module of app can't be parsed ({code.broken[file]})", shown(file))
    elif file in code.trees and file not in code.defines(name):
        yield EnvFinding("missing", f"app names {name}, which {shown(file)} does not define", where)


def app_file(task: AuditedTask, module: str) -> str:
    """The file of a module, by the last names that match, or ""."""
    names = module.split(".")
    for first in range(len(names)):
        for end in (".py", "/__init__.py"):
            path = "/".join(names[first:]) + end
            if task.text(path) is not None:
                return path
        if len(names) - first <= 2 and first:
            break  # the last name by itself would match any folder
    return ""


def _package(task: AuditedTask) -> Iterator[EnvFinding]:
    try:
        told = project(task)
    except ValueError as error:
        yield EnvFinding("wrong", f"it can't be read: {shown(str(error)[:200])}", "pyproject.toml")
        return
    if not told:
        yield EnvFinding("missing", "there is no pyproject.toml", "pyproject.toml")
    elif not isinstance(inner(told, "project", "name"), str):
        yield EnvFinding("missing", "project.name is missing", "pyproject.toml")


def _images(task: AuditedTask) -> Iterator[EnvFinding]:
    """Dockerfiles, and whether the files that they copy are there."""
    images = [path for path in ("server/Dockerfile", "Dockerfile") if task.text(path) is not None]
    if not images:
        yield EnvFinding("missing", "there is no server/Dockerfile")
    for path in images:
        for line in instructions(task.text(path) or ""):
            for source in copied_sources(line):
                yield from _copied(task, source, f"{shown(path)}:{line.line}")


def _copied(task: AuditedTask, source: str, where: str) -> Iterator[EnvFinding]:
    names = parts(source.lstrip("/"))
    if names is None:
        yield EnvFinding("outside", f"COPY {shown(source)} leaves the build context", where)
    elif names and names[0] not in _ELSEWHERE and not any(mark in source for mark in "$*?["):
        path = "/".join(names)
        there = path in task.tree.manifest or f"server/{path}" in task.tree.manifest
        if not there:
            yield EnvFinding("missing", f"COPY {shown(source)} names a file that is not there", where)


def grader_code(task: AuditedTask) -> PythonCode:
    """The Python files that the server reaches."""
    _, text = config_of(task)
    try:
        app = inner(yaml_document(text), "app")
    except (Unread, ValueError):
        app = None
    code = code_of(task)
    entry = app_file(task, app.partition(":")[0]) if isinstance(app, str) else ""
    return reached(code, [entry] if entry else [path for path in code.trees if path.startswith("server/")])


def check_openenv_pins(task: AuditedTask) -> CheckRecord:
    """Packages, images and data without versions."""
    return judged([*package_pins(task), *data_pins(grader_code(task))])


def check_openenv_reach(task: AuditedTask) -> CheckRecord:
    """Answers in what `reset` returns, and in the prompts of tasks that the code has."""
    code = grader_code(task)
    rows = list(literal_rows(code))
    findings = [*shown_answers(code), *shown_columns(code), *reached_rows(rows)]
    return judged(
        findings, [f"Python that can be parsed in {shown(path)} ({why})" for path, why in code.broken.items()]
    )


def check_openenv_alike(task: AuditedTask) -> CheckRecord:
    """Tasks that the code has twice."""
    rows = list(literal_rows(grader_code(task)))
    if not rows:
        return CheckRecord("not_run", needs="tasks in the folder; this environment makes or loads them when it runs")
    return judged(list(alike_rows(rows)))
