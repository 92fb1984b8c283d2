"""What the sandbox has to know about an environment's code, by format. The code is read, never imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from verikit.env.audit.formats import nemo_gym, openenv
from verikit.env.audit.formats.code import PythonCode, code_of
from verikit.env.audit.formats.documents import Unread, inner, project, walked, yaml_document
from verikit.env.audit.formats.rows import json_rows
from verikit.env.audit.formats.verifiers import LOADER
from verikit.env.audit.task import AuditedTask
from verikit.workspaces.names import shown

ENTRY = "app.py"
ENV = "/tests/env"
USUAL_APP = "server.app"
"""The module of an OpenEnv server if the configuration names none."""
TRIED = 8
"""Rows whose expected values are tried."""


class DescribedCode(NamedTuple):
    """An environment's code."""

    code: PythonCode
    job: dict[str, Any]
    """For `boxed.py`."""
    missing: str
    """What it lacks; empty if it can run."""


def _package(task: AuditedTask) -> DescribedCode:
    """A verifiers package."""
    code, folder = code_of(task), f"{ENV}/package"
    module = _loader(task, code)
    told = {"format": "verifiers", "folder": folder, "paths": [folder, f"{folder}/src", ENV], "module": module}
    return DescribedCode(code, told, "" if module else f"a module with {LOADER}")


def _server(task: AuditedTask) -> DescribedCode:
    """A NeMo-Gym server. Its rows are read here, so its code can't change them."""
    name, settings, code = _name(task), _settings(task), nemo_gym.grader_code(task)
    folder = f"{ENV}/resources_servers/{name}"
    told = {"format": "nemo-gym", "folder": folder, "paths": [folder, ENV], "module": f"resources_servers.{name}.app"}
    entry = settings.get("entrypoint", ENTRY)
    if not name.isidentifier():
        return DescribedCode(code, told, f"a folder that Python can import, not {shown(name)}")
    if entry != ENTRY:
        return DescribedCode(code, told, f"the entry point {ENTRY}, not {shown(str(entry)[:80])}")
    if ENTRY not in code.trees:
        return DescribedCode(code, told, f"a file {ENTRY} that can be parsed")
    lines = json_rows(task, nemo_gym.EXAMPLE) if nemo_gym.EXAMPLE in task.tree.manifest else ()
    rows = list(islice((row for _, row in lines if isinstance(row, dict)), TRIED))
    job = {**told, "settings": settings, "given": rows}
    return DescribedCode(code, job, "" if rows else f"rows in {nemo_gym.EXAMPLE}")


def _episodes(task: AuditedTask) -> DescribedCode:
    """An OpenEnv folder. Its server is imported as a module of the folder, or of a package of the folder's name."""
    code = openenv.grader_code(task)
    try:
        config = yaml_document(openenv.config_of(task)[1])
    except (Unread, ValueError) as error:
        return DescribedCode(code, {}, f"an openenv.yaml that can be read ({error})"[:200])
    app, named = inner(config, "app"), str(inner(config, "name"))
    file = openenv.app_file(task, app.partition(":")[0] if isinstance(app, str) else USUAL_APP)
    name = next((one for one in (named, _name(task)) if one.isidentifier()), "environment")
    folder = f"{ENV}/{name}"
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    modules = [module, f"{name}.{module}"]
    job = {"format": "openenv", "folder": folder, "paths": [folder, ENV], "module": module, "modules": modules}
    return DescribedCode(code, job, "" if file in code.trees else "an app whose module can be parsed")


DESCRIBED: Mapping[str, Callable[[AuditedTask], DescribedCode]] = {
    "verifiers": _package,
    "nemo-gym": _server,
    "openenv": _episodes,
}


def _name(task: AuditedTask) -> str:
    """The name of the folder."""
    return task.within[-1] if task.within else os.path.basename(os.path.abspath(task.root))


def _settings(task: AuditedTask) -> Mapping[str, Any]:
    """The settings of the server by its name."""
    configs, _, _ = nemo_gym.configs_of(task)
    for _, value in configs.values():
        for key, held, _ in walked(value):
            entry = held.get(_name(task)) if key == "resources_servers" and isinstance(held, Mapping) else None
            if isinstance(entry, Mapping):
                return {str(name): one for name, one in entry.items()}
    return {}


def _loader(task: AuditedTask, code: PythonCode) -> str:
    """The module that defines the environment."""
    try:
        name = inner(project(task), "project", "name")
    except ValueError:
        name = None
    own = str(name).replace("-", "_")
    paths = [path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__") for path in code.defines(LOADER)]
    modules = ["package" if path == "__init__" else path.replace("/", ".") for path in paths]
    return own if own in modules else next(iter(modules), "")
