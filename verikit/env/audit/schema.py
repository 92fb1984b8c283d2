"""The check `schema`: fields of `task.toml` by its version, files that have to be there, paths that stay inside."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from copy import deepcopy
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from verikit.env.audit.dockerfile import copied_sources, instructions
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.schema_fields import HarborTaskFields
from verikit.env.audit.task import CONFIG, AuditedTask, TaskPart, table
from verikit.workspaces.names import has_wildcards, matches, parts, shown

KNOWN = (1, 4)
"""The newest version whose fields this module has."""
RENAMED_IN = (1, 3)
"""The first version in which an old name of a field is an error."""
_OLD_ENVIRONMENT = {"memory": "memory_mb", "storage": "storage_mb", "allow_internet": "network_mode"}
_FIELDS = """schema_version task metadata verifier agent environment solution source steps artifacts name version
    multi_step_reward_strategy timeout_sec env user environment_mode collect network_mode allowed_hosts docker_image
    build_timeout_sec os cpus memory_mb storage_mb gpus gpu_types tpu mcp_servers skills_dir healthcheck workdir
    command service min_reward source destination exclude description authors keywords""".split()
MAX_FINDINGS = 50
"""Of wrong fields."""


def check_schema(task: AuditedTask) -> CheckRecord:
    """Compare a task with Harbor's format."""
    config = deepcopy(dict(task.config))
    version = _version(config)
    findings: list[EnvFinding] = []
    if version is None:
        findings.append(EnvFinding("wrong", "schema_version should be a string such as '1.4'", CONFIG))
    elif version > KNOWN:
        return CheckRecord("not_run", needs=f"fields of schema {version[0]}.{version[1]}; verikit has those up to 1.4")
    old = list(_renamed(config))
    late = version is not None and version >= RENAMED_IN
    if late:
        findings += [EnvFinding("deprecated", one, CONFIG) for one in old]
    findings += list(_fields(config))[:MAX_FINDINGS]
    for part in task.parts:
        findings += _files_of(task, part)
    findings += _environment(task)
    findings += linked_outside(task)
    return judged(findings, notes=() if late else old)


def _version(config: Mapping[str, Any]) -> tuple[int, int] | None:
    told = config.get("schema_version", config.get("version", "1.4"))
    if not isinstance(told, str):
        return None
    major, _, minor = told.partition(".")
    if not (major.isascii() and major.isdecimal() and len(told) < 12):
        return None
    minor = minor.partition(".")[0] or "0"
    return (int(major), int(minor)) if minor.isascii() and minor.isdecimal() else None


def _renamed(config: dict[str, Any]) -> Iterator[str]:
    """Take the old names of fields out of a configuration, and yield a sentence for each."""
    if "version" in config:
        config.setdefault("schema_version", config.pop("version"))
        config.pop("version", None)
        yield "version is the old name of schema_version"
    if config.pop("multi_step_reward_mode", None) is not None:
        yield "multi_step_reward_mode is the old name of multi_step_reward_strategy"
    steps = config.get("steps")
    holders = [config, *(step for step in steps if isinstance(step, dict))] if isinstance(steps, list) else [config]
    verifiers = [holder["verifier"] for holder in holders if isinstance(holder.get("verifier"), dict)]
    for holder in (config, *verifiers):
        environment = holder.get("environment")
        for name, new in _OLD_ENVIRONMENT.items():
            if isinstance(environment, dict) and name in environment:
                del environment[name]
                yield f"environment.{name} is the old name of environment.{new}"


def _fields(config: Mapping[str, Any]) -> Iterator[EnvFinding]:
    try:
        HarborTaskFields.model_validate(config)
    except ValidationError as error:
        for one in error.errors(include_url=False, include_context=False, include_input=False):
            path = ".".join(str(name) for name in one["loc"] if not str(name).startswith(("function-", "_Artifact")))
            if one["type"] == "extra_forbidden":
                near = get_close_matches(str(one["loc"][-1])[:60], _FIELDS, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                yield EnvFinding("unknown", f"{shown(path)} is not a field of the format{hint}", CONFIG)
            else:
                told = one["msg"].removeprefix("Value error, ")
                yield EnvFinding("wrong", f"{shown(path)}: {shown(told)}" if path else shown(told), CONFIG)
    except RecursionError:
        yield EnvFinding("wrong", "tables are nested too deeply", CONFIG)


def _files_of(task: AuditedTask, part: TaskPart) -> Iterator[EnvFinding]:
    """Files that Harbor needs for a part."""
    if parts(part.instruction) is None:
        return  # a wrong name of a step, which its field's finding reports
    text = task.text(part.instruction)
    if text is None:
        yield EnvFinding("missing", "the instruction is missing or unreadable", shown(part.instruction))
    elif not text.strip():
        yield EnvFinding("missing", "the instruction is empty", shown(part.instruction))
    environment = part.verifier.get("environment")
    image = isinstance(environment, Mapping) and bool(environment.get("docker_image"))
    bundled = image or any(task.text(f"{folder}/Dockerfile") is not None for folder in part.tests)
    windows = str(table(task.config, "environment").get("os", "")).lower() == "windows"
    script = "test.bat" if windows else "test.sh"
    if task.script(part.tests, script) is None and not (part.separate and bundled):
        yield EnvFinding("missing", f"there is no test script: {shown(part.tests[-1])}/{script}")


def _environment(task: AuditedTask) -> Iterator[EnvFinding]:
    """The source of the agent's box, and whether the files that it copies exist."""
    image = table(task.config, "environment").get("docker_image")
    dockerfile = task.text("environment/Dockerfile")
    compose = task.text("environment/docker-compose.yaml")
    if not image and dockerfile is None and compose is None:
        yield EnvFinding("missing", "there is neither environment/Dockerfile nor environment.docker_image")
    for path in ("environment/Dockerfile", *(f"{folder}/Dockerfile" for part in task.parts for folder in part.tests)):
        text = task.text(path)
        if text is not None:
            yield from _copies(task, path, text)


def _copies(task: AuditedTask, path: str, text: str) -> Iterator[EnvFinding]:
    folder = path.rpartition("/")[0]
    inside = [name[len(folder) + 1 :] for name in task.tree.manifest if name.startswith(f"{folder}/")]
    there = frozenset(inside)
    for line in instructions(text):
        where = f"{shown(path)}:{line.line}"
        for source in copied_sources(line):
            names = parts(source.lstrip("/"))
            if names is None:
                yield EnvFinding("outside", f"{line.word} {shown(source)} leaves the build context", where)
            elif "$" in source or any(mark in source for mark in "[]"):
                continue
            elif has_wildcards(source):
                if not any(matches("/".join(names), name) for name in inside):
                    yield EnvFinding("missing", f"{line.word} {shown(source)} matches no file", where)
            elif names and "/".join(names) not in there:
                yield EnvFinding("missing", f"{line.word} {shown(source)} names a file that is not there", where)


def linked_outside(task: AuditedTask) -> Iterator[EnvFinding]:
    """Links that lead out of the task, and things that are neither file nor folder."""
    for path, entry in task.tree.manifest.items():
        if entry.kind == "link":
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), entry.target))
            if entry.target.startswith("/") or target.split("/")[0] == "..":
                yield EnvFinding("outside", "the link leads out of the task", shown(path))
        elif entry.kind not in ("file", "folder"):
            yield EnvFinding("wrong", f"a {entry.kind} cannot be copied into an image", shown(path))
        elif entry.problem:
            yield EnvFinding("missing", shown(entry.problem), shown(path))
