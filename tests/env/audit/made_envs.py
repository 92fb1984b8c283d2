"""Environments of other formats made here: sound ones, planted faults, and near misses.

`make(format, folder, number)` writes a sound one; its names, numbers and make come from `number`. `FAULTS` and
`NEAR_MISSES` have, by format, functions that change one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

DIGEST = "@sha256:" + "cd" * 32
NOUNS = "lantern saddle thimble anchor violin kettle compass ladder mirror pillow".split()
Change = Callable[[Path], None]


def put(folder: Path, path: str, text: str) -> None:
    """Write a file."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)


def change(folder: Path, path: str, old: str, new: str) -> None:
    """Replace a text that is there."""
    text = (folder / path).read_text()
    assert old in text, (path, old)
    (folder / path).write_text(text.replace(old, new))


def add_line(folder: Path, path: str, text: str) -> None:
    """Append to a file."""
    (folder / path).write_text((folder / path).read_text() + text)


def questions(number: int, count: int) -> list[tuple[str, str]]:
    """Questions with their answers, which are different for each number."""
    draw = random.Random(f"rows {number}")
    found = []
    for at in range(count):
        a, b = draw.randrange(1000, 9999), draw.randrange(1000, 9999)
        noun = draw.choice(NOUNS)
        found.append((f"A shop sells {a} {noun}s on day {at} and {b} more at night. How many in all?", str(a + b)))
    return found


PYPROJECT = """[project]
name = "{name}"
version = "0.1.0"
dependencies = [{needs}]

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
"""
OPENENV_SERVER = '''"""The environment."""

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import State

from models import ShopAction, ShopObservation

TASKS = {tasks}


class ShopEnvironment(Environment):
    def __init__(self):
        self._at = 0
        self._answer = ""

    def reset(self, seed=None):
        task = TASKS[(self._at if seed is None else seed) % len(TASKS)]
        self._answer = task["answer"]
        return ShopObservation(question=task["question"], done=False, reward=None)

    def step(self, action: ShopAction):
        told = action.message.strip()
        reward = 1.0 if told == self._answer else 0.0
        return ShopObservation(question="", done=True, reward=reward, correct_answer=self._answer)

    @property
    def state(self):
        return State(step_count=self._at)
'''
OPENENV_APP = """from openenv.core.env_server.http_server import create_app

from models import ShopAction, ShopObservation
from server.shop_environment import ShopEnvironment

app = create_app(ShopEnvironment, ShopAction, ShopObservation)


def main():
    import uvicorn

    uvicorn.run(app, port=8000)
"""
OPENENV_MODELS = """from openenv.core.env_server.types import Action, Observation


class ShopAction(Action):
    message: str


class ShopObservation(Observation):
    question: str = ""
    correct_answer: str | None = None
"""


def openenv(folder: Path, number: int) -> None:
    """An OpenEnv folder."""
    version = "version: 0.1.0\n" if number % 2 else ""
    head = f"spec_version: 1\nname: shop_{number}\n{version}"
    put(folder, "openenv.yaml", f"{head}type: space\nruntime: fastapi\napp: server.app:app\nport: 8000\n")
    put(folder, "pyproject.toml", PYPROJECT.format(name=f"shop-{number}", needs='"openenv-core==0.2.2"'))
    tasks = [{"question": asked, "answer": gold} for asked, gold in questions(number, 3)]
    put(folder, "server/shop_environment.py", OPENENV_SERVER.replace("{tasks}", json.dumps(tasks, indent=1)))
    put(folder, "server/app.py", OPENENV_APP)
    put(folder, "models.py", OPENENV_MODELS)
    image = f"FROM python:3.12-slim{DIGEST}\nWORKDIR /app\nCOPY . /app/env\n"
    if number % 3 == 0:
        put(folder, "server/requirements.txt", "fastapi==0.115.0\n")
        image += "COPY server/requirements.txt /app/\n"
    put(folder, "server/Dockerfile", image + "RUN pip install uvicorn==0.30.1\n")


VERIFIERS = '''"""Sums of a shop."""

import json
import re
from pathlib import Path

import verifiers as vf
from datasets import Dataset, load_dataset

SYSTEM = "Think step by step. End with: The answer is NUMBER."


def load_environment(split: str = "train"):
    rows = [json.loads(line) for line in open(Path(__file__).parent / f"{split}.jsonl")]

    def correct(completion, answer, **kwargs) -> float:
        found = re.findall(r"\\d+", completion[-1]["content"])
        return 1.0 if found and found[-1] == answer else 0.0

    rubric = vf.Rubric(funcs=[correct])
    return vf.SingleTurnEnv(dataset=Dataset.from_list(rows), system_prompt=SYSTEM, rubric=rubric)
'''


def verifiers(folder: Path, number: int) -> None:
    """A package of verifiers: a module, or a package with its data."""
    name = f"shop_{number}"
    put(folder, "pyproject.toml", PYPROJECT.format(name=name.replace("_", "-"), needs='"verifiers==0.1.9"'))
    at = f"{name}/__init__.py" if number % 2 else f"{name}.py"
    put(folder, at, VERIFIERS)
    for split, first in (("train", number), ("test", number + 500)):
        rows = [{"question": asked, "answer": gold} for asked, gold in questions(first, 4)]
        put(folder, f"{name}/{split}.jsonl" if number % 2 else f"{split}.jsonl", lines(rows))


def lines(rows: list[dict[str, Any]]) -> str:
    """JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def module(folder: Path) -> str:
    """The path of a package's module."""
    return next(str(path.relative_to(folder)) for path in folder.rglob("*.py"))


def data(folder: Path, name: str) -> str:
    """The path of a data file."""
    return str(next(folder.rglob(name)).relative_to(folder))


GYM_APP = '''"""Sums of a shop."""

import re

from nemo_gym.base_resources_server import BaseVerifyRequest, BaseVerifyResponse, SimpleResourcesServer


class ShopRequest(BaseVerifyRequest):
    expected_answer: str


class ShopServer(SimpleResourcesServer):
    async def verify(self, body: ShopRequest) -> BaseVerifyResponse:
        text = body.response.output_text
        found = re.findall(r"\\d+", text)
        reward = 1.0 if found and found[-1] == body.expected_answer else 0.0
        return BaseVerifyResponse(**body.model_dump(), reward=reward)


if __name__ == "__main__":
    ShopServer.run_webserver()
'''
GYM_CONFIG = """shop:
  resources_servers:
    shop:
      entrypoint: app.py
{judge}      domain: math
      verified: false
shop_simple_agent:
  responses_api_agents:
    simple_agent:
      entrypoint: app.py
      resources_server: {{type: resources_servers, name: shop}}
      model_server: {{type: responses_api_models, name: policy_model}}
      datasets:
      - name: train
        type: train
        license: Apache 2.0
        jsonl_fpath: resources_servers/{name}/data/train.jsonl
      - name: validation
        type: validation
        license: Apache 2.0
        jsonl_fpath: resources_servers/{name}/data/validation.jsonl
      - name: example
        type: example
        jsonl_fpath: resources_servers/{name}/data/example.jsonl
"""
GYM_JUDGE = """      judge_model_server: {type: responses_api_models, name: judge_model}
      judge_prompt_template_fpath: prompts/judge.txt
      judge_responses_create_params: {input: [], temperature: 0.0}
"""


def nemo_gym(folder: Path, number: int) -> None:
    """A resources server, with a judge or without."""
    put(folder, "app.py", GYM_APP)
    judge = GYM_JUDGE if number % 2 else ""
    put(folder, "configs/shop.yaml", GYM_CONFIG.format(judge=judge, name=folder.name))
    put(folder, "prompts/judge.txt", "Are {a} and {b} the same?\n")
    put(folder, "requirements.txt", "-e nemo-gym[dev] @ ../../\nsympy==1.13.3\n")
    rows = [gym_row(*pair) for pair in questions(number, 12)]
    for at, name in enumerate(("train", "validation")):
        put(folder, f"data/{name}.jsonl", lines(rows[6 * at : 6 * at + 6]))
    put(folder, "data/example.jsonl", lines(rows[:5]))


def gym_row(asked: str, gold: str) -> dict[str, Any]:
    """A task of NeMo-Gym."""
    return {"responses_create_params": {"input": [{"role": "user", "content": asked}]}, "expected_answer": gold}


def rows(folder: Path, number: int) -> None:
    """Rows with workspaces: folders, or mappings of texts."""
    told: list[dict[str, Any]] = []
    for at, (asked, gold) in enumerate(questions(number, 6)):
        sold = f"day,sold\n1,{number}\n2,{at * 37}\n"
        if number % 2:
            put(folder, f"t{at}/before/sales.csv", sold)
        before = f"t{at}/before" if number % 2 else {"sales.csv": sold}
        told.append({"id": f"t{at}", "prompt": f"{asked} Write total.txt.", "answer": gold})
        told[-1]["workspace"] = {"before": before, "outputs": ["total.txt"]}
    put(folder, "train.jsonl", lines(told[:4]))
    put(folder, "test.jsonl", lines(told[4:]))


MAKERS = {"openenv": openenv, "verifiers": verifiers, "nemo-gym": nemo_gym, "rows": rows}


def make(format: str, folder: Path, number: int) -> Path:
    """Write a sound environment."""
    MAKERS[format](folder, number)
    return folder


def edit_row(folder: Path, path: str, number: int, edit: Callable[[dict[str, Any]], object]) -> None:
    """Change one row of a file."""
    held = [json.loads(line) for line in (folder / path).read_text().splitlines()]
    edit(held[number])
    (folder / path).write_text(lines(held))


def copy_row(folder: Path, source: str, target: str) -> None:
    """Append the first row of a file to another."""
    add_line(folder, target, (folder / source).read_text().splitlines()[0] + "\n")
