"""In the sandbox: import an environment's code and grade replies with it. The standard library and pydantic only.

`job.json` next to this file has the format, the name and the mode. The result is a file below `/logs/verifier`, which
the audit reads as hostile. It has the word from stdin, so a file that the environment wrote itself is not a result.
The frameworks are replaced by the modules in `stand/`.
"""

import asyncio
import importlib
import importlib.abc
import importlib.machinery
import inspect
import json
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

HERE = Path("/tests")
OUT = Path("/logs/verifier")
FRAMEWORKS = ("verifiers", "datasets", "nemo_gym", "openenv")
OLDER = {"openenv_core": "openenv"}
"""Older names of frameworks."""
Grade = Callable[[int, str], float | None]


class PackageGrader(NamedTuple):
    """An environment that can grade."""

    rows: list[dict[str, Any]]
    grade: Grade
    of_form: float = 0.0
    """The share of the reward that the framework's own functions give to the form of a reply."""
    ignored_seed: Callable[[str], str] = lambda path: ""
    """Different values at a path for the same seed; empty if there are none."""


class OneModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Each module of a framework is the one stand-in."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module of a framework."""
        known = fullname.partition(".")[0] in (*FRAMEWORKS, *OLDER) and "." in fullname
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if known else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The stand-in."""
        return sys.modules[spec.name.partition(".")[0]]

    def exec_module(self, module: ModuleType) -> None:
        """It was run before."""


def main() -> None:
    """Do one job."""
    word = sys.stdin.read()
    job = json.loads((HERE / "job.json").read_text())
    sys.path[:0] = [str(HERE / "stand"), *job["paths"]]
    for name in FRAMEWORKS:
        importlib.import_module(name).__path__ = []
    sys.modules.update({older: sys.modules[name] for older, name in OLDER.items()})
    sys.meta_path.insert(0, OneModule())
    try:
        result = DONE[job["mode"]](job, FORMATS[job["format"]](job))
    except BaseException as error:  # noqa: BLE001 - whatever the environment's code raises
        traceback.print_exc()
        result = {"broken": _missing(error)[:400]}
    (OUT / "result.json").write_text(json.dumps({"word": word, "result": result}, default=str))


def _missing(error: BaseException) -> str:
    """What a grader lacks that raised an error. The stand-ins tell it in their own."""
    if isinstance(error, NotImplementedError):
        return str(error) or "a method that is implemented"
    return f"a grader that runs here: {type(error).__name__}, {error}"


def _tasks(rows: list[dict[str, Any]]) -> Any:
    """What is asked and expected, as the audit gets it."""
    return json.loads(json.dumps([(row.get("prompt"), row.get("answer")) for row in rows], default=str))


def of_verifiers(job: dict[str, Any]) -> PackageGrader:
    """The rows of a package's environment, and its rubric."""
    frame = sys.modules["verifiers"]
    env = importlib.import_module(job["module"]).load_environment()
    if type(env) is not frame.SingleTurnEnv:
        raise NotImplementedError(f"an environment of one turn, not {type(env).__name__}")
    if type(env.rubric) is not frame.SummedRubric:
        raise NotImplementedError(f"a rubric of functions, not {type(env.rubric).__name__}")
    total = sum(max(weight, 0.0) for weight in env.rubric.weights)
    if not total:
        raise NotImplementedError("a function with a weight above 0")
    rows = env.rows()[: job["rows"]]
    if "listed" in job and _tasks(rows) != _tasks(job["listed"]):
        raise NotImplementedError("the same rows each time the package is loaded")

    def grade(number: int, reply: str) -> float:
        return float(asyncio.run(env.rubric.reward(rows[number], reply)) / total)

    return PackageGrader(rows, grade, env.rubric.weight_of_form() / total)


def of_nemo_gym(job: dict[str, Any]) -> PackageGrader:
    """The given rows of a server, and its method `verify`."""
    frame = sys.modules["nemo_gym"]
    module = importlib.import_module(job["module"])
    held = [
        one for one in vars(module).values() if isinstance(one, type) and issubclass(one, frame.SimpleResourcesServer)
    ]
    (server,) = [one for one in held if one.__module__ == module.__name__]
    made = frame.served(server, job["settings"])
    rows = job["given"]

    def grade(number: int, reply: str) -> float:
        answer = made.verify(frame.verify_request(made.verify, rows[number], reply))
        return float((asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer).reward)

    return PackageGrader(rows, grade)


def of_openenv(job: dict[str, Any]) -> PackageGrader:
    """The tasks of an environment, and the last reward of an episode."""
    import boxed_openenv  # type: ignore[import-not-found]

    boxed_openenv.prepare()
    episodes, rows = boxed_openenv.of_openenv(job)

    def grade(number: int, reply: str) -> float | None:
        row = rows[number]
        told = episodes.play(boxed_openenv.EpisodeTask(row["seed"], row["resets"]), reply, row["prompt"])
        return 0.0 if told is None else told.reward

    return PackageGrader(rows, grade, ignored_seed=lambda path: boxed_openenv.ignored_seed(episodes, path))


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


def list_rows(job: dict[str, Any], env: PackageGrader) -> Any:
    """The rows."""
    return env.rows


def try_forms(job: dict[str, Any], env: PackageGrader) -> Any:
    """The reward of each form of each row's expected value. None: it breaks the grader, or comes too late."""
    forms = job["forms"]
    found: list[list[float | None]] = [[None] * len(one) for one in forms]
    until = time.monotonic() + job["tries_s"]
    for at in range(max(map(len, forms), default=0)):
        for number in (row for row, one in enumerate(forms) if at < len(one)):
            if time.monotonic() > until:
                return found
            try:
                found[number][at] = env.grade(number, forms[number][at])
            except Exception:  # noqa: BLE001 - of the environment's code
                continue
    return found


def replies_graded(job: dict[str, Any], env: PackageGrader) -> Any:
    """The rewards of the replies, and the share that is for their form."""
    rewards = []
    for at, number in enumerate(job["picked"]):
        reply = Path(job["replies"][at])
        rewards.append(env.grade(number, reply.read_text(errors="replace") if reply.exists() else ""))
    return {"rewards": rewards, "of_form": env.of_form}


def seed_tried(job: dict[str, Any], env: PackageGrader) -> Any:
    """Different right values for the same seed."""
    return env.ignored_seed(job["path"])


FORMATS = {"verifiers": of_verifiers, "nemo-gym": of_nemo_gym, "openenv": of_openenv}
DONE = {"rows": list_rows, "forms": try_forms, "grade": replies_graded, "seed": seed_tried}

if __name__ == "__main__":
    main()
