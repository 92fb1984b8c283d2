"""Environment packages from a verifier and a data file: `verikit adapter write verifiers-env|openenv|nemo-gym`.

The user's input (prompts, references, the spec) is written as JSON next to the code and read at run time. The code only
contains a name, which must be a Python identifier.
"""

from __future__ import annotations

import json
import keyword
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from verikit.adapters import env_files as files
from verikit.adapters.env_rows import TASKS, VERIFIER, packed
from verikit.adapters.spec_files import absolute
from verikit.adapters.stacks import Stack
from verikit.errors import UsageError, VerikitError
from verikit.names.spec import load
from verikit.types import Group

_ASK = [{"role": "user", "content": "What is 17 + 25? End with the answer in \\boxed{}."}]
PACKAGES = {
    "verifiers-env": Stack(
        "verifiers 0.4.0",
        "pip install ./DIR && vf-eval NAME --env.agent.runtime.type subprocess --env.agent.harness.id null\n"
        "(vf-eval samples from Prime's models; -m MODEL --client.base-url URL --client.api-key-var VAR name others. "
        "In prime-rl, set env.taskset.id = NAME)",
        {"task": {"idx": 0, "prompt": _ASK[0]["content"], "number": 0}, "trace": "<verifiers.v1.Trace>"},
        "a float, awaited; a rollout without a score raises, and verifiers keeps its reward as missing",
        (),
    ),
    "openenv": Stack(
        "openenv 0.10.0",
        "pip install ./DIR && server --port 8000\n(NAME.client connects)",
        {"reset": {"index": 0}, "step": {"message": "17 + 25 = 42, so the answer is \\boxed{42}."}},
        "an observation with reward and done; without a score the reward is None, and metadata says why",
        (),
    ),
    "nemo-gym": Stack(
        "nemo-gym 0.7.0",
        "the folder as resources_servers/NAME of a checkout, its configs/NAME.yaml among config_paths",
        {"responses_create_params": {"input": _ASK}, "response": {"output": []}, "expected_answer": "42"},
        "the rollout with reward; without a score it raises JudgeError, which NeMo-Gym masks and retries on resuming",
        (),
    ),
}
"""Stack -> what its package is used for. Formats are those that the contract tests load."""
_TAKEN = frozenset(("verikit", "verifiers", "openenv", "nemo_gym", "server", "client", "models", "tests", "app"))


def write_package(stack: str, spec: str, problems: Sequence[Group], folder: Path, name: str, *, force: bool) -> str:
    """Write a package, and return the command to run next.

    Args:
        stack: A key of `PACKAGES`.
        spec: The verifier that rewards. Files that it names are written as absolute paths.
        problems: The tasks.
        folder: The target folder, which is created if missing.
        name: The package's name. "" uses the folder's.
        force: Write into a folder that is not empty.

    Raises:
        UsageError: The name is invalid, there are no tasks, or the folder is not empty.
        SpecError: The spec can't be parsed.
        VerikitError: A file can't be written.
    """
    load(spec)
    name = package_name(name or folder.name)
    if not problems:
        raise UsageError("an environment requires tasks, but the data is empty")
    check_target(folder, force=force)
    texts = {
        "verifiers-env": _verifiers,
        "openenv": _openenv,
        "nemo-gym": _nemo_gym,
    }[stack](name, problems)
    verifier = json.dumps({"spec": absolute(spec)}) + "\n"
    inside = {VERIFIER: verifier} if stack == "nemo-gym" else {TASKS: packed(problems), VERIFIER: verifier}
    texts |= {path if stack == "nemo-gym" else f"{name}/{path}": text for path, text in inside.items()}
    kind = "".join(part.capitalize() for part in name.split("_")) or "Env"
    for path, text in texts.items():
        if not path.endswith((".json", ".jsonl")):
            text = text.replace("@NAME@", name).replace("@CLASS@", kind).replace("@DIST@", name.replace("_", "-"))
        _write(folder / path.replace("@NAME@", name), text)
    where = os.path.join(".", folder)  # without a slash, pip reads a package's name
    return PACKAGES[stack].hook.replace("NAME", name).replace("./DIR", shlex.quote(where))


def check_target(folder: Path, *, force: bool) -> None:
    """Check that a folder may be written.

    Raises:
        UsageError: It is a file or not empty, and `force` is not set.
    """
    if folder.exists() and not force and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already exists", hint="--force writes into it")


def package_name(text: str) -> str:
    """Convert a string to a package name: lower case, with underscores.

    Raises:
        UsageError: It is not a Python identifier, or is already taken.
    """
    name = text.strip().lower().replace("-", "_").replace(".", "_")
    letters = name.isascii() and name.isidentifier() and name[0].isalpha()
    if not letters or keyword.iskeyword(name) or name in _TAKEN or name in sys.stdlib_module_names:
        raise UsageError(f"{text!r} can't be a package's name", hint="--name my_env: letters, digits, underscores")
    return name


def _project(needs: str, extra: str, *packages: str) -> str:
    listed = ", ".join(f'"{package}"' for package in packages)
    text = files.PYPROJECT.replace("@NEEDS@", f'"{needs}"').replace("@PACKAGES@", listed)
    return text.replace("@EXTRA@", extra)


def _verifiers(name: str, problems: Sequence[Group]) -> dict[str, str]:
    return {
        "pyproject.toml": _project("verifiers>=0.4", "", "@NAME@"),
        "@NAME@/__init__.py": files.VERIFIERS_INIT,
        "@NAME@/taskset.py": files.VERIFIERS_TASKSET,
    }


def _openenv(name: str, problems: Sequence[Group]) -> dict[str, str]:
    scripts = '\n[project.scripts]\nserver = "@NAME@.server.app:main"\n'
    return {
        "pyproject.toml": _project("openenv>=0.10", scripts, "@NAME@", "@NAME@.server"),
        "openenv.yaml": files.OPENENV_YAML,
        "@NAME@/__init__.py": files.OPENENV_INIT,
        "@NAME@/models.py": files.OPENENV_MODELS,
        "@NAME@/client.py": files.OPENENV_CLIENT,
        "@NAME@/server/__init__.py": "",
        "@NAME@/server/app.py": files.OPENENV_APP,
        "@NAME@/server/environment.py": files.OPENENV_ENVIRONMENT,
    }


def _nemo_gym(name: str, problems: Sequence[Group]) -> dict[str, str]:
    return {
        "app.py": files.GYM_APP,
        "configs/@NAME@.yaml": files.GYM_CONFIG,
        "requirements.txt": "-e nemo-gym[dev] @ ../../\nverikit\n",
        "data/example.jsonl": "".join(json.dumps(_gym_row(problem), default=str) + "\n" for problem in problems),
    }


def _gym_row(problem: Group) -> dict[str, object]:
    """Return a task in NeMo-Gym's format. Its own fields are nested, so they can't collide with NeMo-Gym's names."""
    prompt = [{"role": "user", "content": problem.prompt}] if isinstance(problem.prompt, str) else list(problem.prompt)
    row: dict[str, object] = {"responses_create_params": {"input": prompt}, "expected_answer": problem.answer}
    return row | {"verifier_metadata": dict(problem.meta)}


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise VerikitError(f"can't write {path}: {error.strerror}") from None
