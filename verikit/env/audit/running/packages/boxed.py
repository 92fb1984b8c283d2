"""In the sandbox: import an environment's code and grade replies with it. The standard library and pydantic only.

`job.json` next to this file has the format, the name and the mode. Results are files below `/logs/verifier`, which the
audit reads as hostile. The frameworks are replaced by the modules in `stand/`.
"""

import asyncio
import importlib
import importlib.abc
import importlib.machinery
import inspect
import json
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path("/tests")
OUT = Path("/logs/verifier")
FRAMEWORKS = ("verifiers", "datasets", "nemo_gym")
Grade = Callable[[int, str], float]


class OneModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Each module of a framework is the one stand-in."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module of a framework."""
        known = fullname.partition(".")[0] in FRAMEWORKS and "." in fullname
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if known else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The stand-in."""
        return sys.modules[spec.name.partition(".")[0]]

    def exec_module(self, module: ModuleType) -> None:
        """It was run before."""


def main() -> None:
    """Do one job."""
    job = json.loads((HERE / "job.json").read_text())
    sys.path[:0] = [str(HERE / "stand"), *job["paths"]]
    for name in FRAMEWORKS:
        importlib.import_module(name).__path__ = []
    sys.meta_path.insert(0, OneModule())
    try:
        rows, grade = FORMATS[job["format"]](job)
        DONE[job["mode"]](job, rows, grade)
    except BaseException as error:  # noqa: BLE001 - whatever the environment's code raises
        traceback.print_exc()
        (OUT / "broken.txt").write_text(f"{type(error).__name__}: {error}"[:400], errors="replace")


def of_verifiers(job: dict[str, Any]) -> tuple[list[dict[str, Any]], Grade]:
    """The rows of a package's environment, and its rubric."""
    frame = sys.modules["verifiers"]
    env = importlib.import_module(job["module"]).load_environment()
    if type(env) is not frame.SingleTurnEnv:
        raise NotImplementedError(f"an environment of one turn, not {type(env).__name__}")
    rows = env.rows()[: job["rows"]]
    weights = sum(max(weight, 0.0) for weight in env.rubric.weights) or 1.0
    return rows, lambda number, reply: asyncio.run(env.rubric.reward(rows[number], reply)) / weights


def of_nemo_gym(job: dict[str, Any]) -> tuple[list[dict[str, Any]], Grade]:
    """The example rows of a server, and its method `verify`."""
    frame = sys.modules["nemo_gym"]
    module = importlib.import_module(job["module"])
    held = [
        one for one in vars(module).values() if isinstance(one, type) and issubclass(one, frame.SimpleResourcesServer)
    ]
    (server,) = [one for one in held if one.__module__ == module.__name__]
    made = frame.served(server, job["settings"])
    lines = Path(job["data"]).read_text().splitlines()[: job["rows"]]
    rows = [json.loads(line) for line in lines if line.strip()]

    def grade(number: int, reply: str) -> float:
        answer = made.verify(frame.verify_request(made.verify, rows[number], reply))
        return float((asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer).reward)

    return rows, grade


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


def list_rows(job: dict[str, Any], rows: list[dict[str, Any]], grade: Grade) -> None:
    """Write the rows."""
    (OUT / "rows.json").write_text(json.dumps(rows, default=str))


def try_forms(job: dict[str, Any], rows: list[dict[str, Any]], grade: Grade) -> None:
    """Write the reward of each form of each row's expected value. A form that breaks the grader has none."""
    found: list[list[float | None]] = []
    for number, forms in enumerate(job["forms"]):
        found.append([])
        for form in forms:
            try:
                found[-1].append(grade(number, form))
            except Exception:  # noqa: BLE001 - of the environment's code
                found[-1].append(None)
    (OUT / "forms.json").write_text(json.dumps(found))


def write_reward(job: dict[str, Any], rows: list[dict[str, Any]], grade: Grade) -> None:
    """Write the mean of the rewards of the replies; a reward outside of 0 to 1 instead, if there is one."""
    rewards = []
    for at, number in enumerate(job["picked"]):
        reply = Path(job["replies"][at])
        rewards.append(grade(number, reply.read_text(errors="replace") if reply.exists() else ""))
    odd = [one for one in rewards if not -1e-6 <= one <= 1 + 1e-6]
    (OUT / "graded.json").write_text(json.dumps({"reward": odd[0] if odd else sum(rewards) / len(rewards)}))


FORMATS = {"verifiers": of_verifiers, "nemo-gym": of_nemo_gym}
DONE = {"rows": list_rows, "forms": try_forms, "grade": write_reward}

if __name__ == "__main__":
    main()
