"""The files of written environment packages.

`@NAME@` is a Python identifier, `@CLASS@` the same in capitals, `@DIST@` a distribution's name. No other user input is
in the code: tasks and the verifier's spec are JSON files next to it.
"""

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "@DIST@"
version = "0.1.0"
description = "Tasks rewarded by a verikit verifier."
requires-python = ">=3.11"
dependencies = ["verikit", @NEEDS@]
@EXTRA@
[tool.setuptools]
packages = [@PACKAGES@]

[tool.setuptools.package-data]
"@NAME@" = ["*.json", "*.jsonl"]
"""

VERIFIERS_INIT = '''\
"""Tasks rewarded by a verikit verifier, as a taskset of verifiers."""

from @NAME@.taskset import @CLASS@Taskset

__all__ = ["@CLASS@Taskset"]
'''

VERIFIERS_TASKSET = '''\
"""The taskset: tasks.jsonl holds its rows, verifier.json what rewards them."""

from importlib.resources import files
from typing import Any

import verifiers.v1 as vf
from verikit.adapters.env_rows import EnvironmentRows
from verikit.errors import Unscored

ROWS = EnvironmentRows(files(__package__))


class @CLASS@Data(vf.TaskData):
    """One task; `number` is its line in tasks.jsonl, which holds the reference."""

    number: int


class @CLASS@Task(vf.Task[@CLASS@Data]):
    """Rewarded by the verifier, with a metric per part; a rollout without a score is an error, not a 0."""

    @vf.reward(weight=1.0)
    async def verikit(self, trace: vf.Trace) -> float:
        """Score the last reply."""
        score = await ROWS.reward.score_sample(ROWS.trace_sample(self.data.number, trace))
        trace.metrics.update(ROWS.reward.part_values(score))
        trace.info["verikit"] = ROWS.reward.details(score)
        if score.value is None:
            raise Unscored(f"{score.status}: {score.reason}")
        return score.value


class @CLASS@Config(vf.TasksetConfig):
    """No settings of its own."""


class @CLASS@Taskset(vf.Taskset[@CLASS@Task, @CLASS@Config]):
    """All tasks of tasks.jsonl, in order."""

    def load(self) -> list[@CLASS@Task]:
        """Make the tasks."""
        return [self._task(number, row) for number, row in enumerate(ROWS.rows)]

    def _task(self, number: int, row: dict[str, Any]) -> @CLASS@Task:
        turns = row["prompt"]
        system = turns[0]["content"] if turns[0]["role"] == "system" else None
        rest = turns[1:] if system is not None else turns
        prompt = rest[0]["content"] if len(rest) == 1 and rest[0]["role"] == "user" else rest
        data = @CLASS@Data(id=row["id"], prompt=prompt, system_prompt=system, number=number)
        return @CLASS@Task(data, self.config.task)
'''

OPENENV_MODELS = '''\
"""What the environment is told and what it tells."""

from typing import Any

from openenv.core.env_server.types import Action, Observation
from pydantic import Field


class @CLASS@Action(Action):
    """The completion."""

    message: str


class @CLASS@Observation(Observation):
    """The task's messages after reset; after the step its reward, or none and the reason in `metadata`."""

    task_id: str = ""
    messages: list[dict[str, Any]] = Field(default_factory=list)
'''

OPENENV_ENVIRONMENT = '''\
"""One step: the completion is scored, and the episode is done."""

from importlib.resources import files
from typing import Any
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import State

from @NAME@.models import @CLASS@Action, @CLASS@Observation
from verikit.adapters.env_rows import EnvironmentRows

ROWS = EnvironmentRows(files("@NAME@"))
SPLIT = "train"


class @CLASS@Environment(Environment):
    """Tasks by `reset(index=…)`, or one after the other; `seed` chooses where nothing else does."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._index = -1
        self._done = True
        self._state = State(episode_id=str(uuid4()), step_count=0)

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, index: int | None = None, **given: Any
    ) -> @CLASS@Observation:
        """Begin a task."""
        if index is None:
            index = (seed if seed is not None else self._index + 1) % len(ROWS)
        row = ROWS.rows[self._checked(index)]
        self._index, self._done = index, False
        self._state = State(episode_id=episode_id or str(uuid4()), step_count=0)
        return @CLASS@Observation(task_id=row["id"], messages=row["prompt"], done=False, reward=None)

    def step(self, action: @CLASS@Action, timeout_s: float | None = None, **given: Any) -> @CLASS@Observation:
        """Score the completion; `reward` is None where it has no score."""
        if self._done:
            raise RuntimeError("reset begins an episode, and one step ends it")
        score = ROWS.score(self._index, action.message)
        self._done = True
        self._state.step_count += 1
        told = ROWS.reward.details(score)
        return @CLASS@Observation(
            task_id=ROWS.rows[self._index]["id"], done=True, reward=score.value, metadata={"verikit": told}
        )

    @property
    def state(self) -> State:
        """The episode and its steps."""
        return self._state

    def list_splits(self) -> list[str]:
        """The one split."""
        return [SPLIT]

    def num_tasks(self, split: str) -> int:
        """How many tasks there are."""
        return len(self.get_task_range(split))

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """All tasks."""
        return self.get_task_range(split)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """A task without its reference."""
        return self.get_task_range(split, self._checked(index), index + 1)[0]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Tasks without their references."""
        if split != SPLIT:
            raise ValueError(f"there is no split {split!r}")
        numbers = range(len(ROWS))[start:stop]
        return [{"id": ROWS.rows[n]["id"], "index": n, "prompt": ROWS.rows[n]["prompt"]} for n in numbers]

    def _checked(self, index: int) -> int:
        if not 0 <= index < len(ROWS):
            raise IndexError(f"there is no task {index}: they are 0 to {len(ROWS) - 1}")
        return index
'''

OPENENV_APP = '''\
"""The server: `server`, or `uvicorn @NAME@.server.app:app`."""

from openenv.core.env_server.http_server import create_app

from @NAME@.models import @CLASS@Action, @CLASS@Observation
from @NAME@.server.environment import @CLASS@Environment

app = create_app(
    @CLASS@Environment, @CLASS@Action, @CLASS@Observation, env_name="@NAME@", max_concurrent_envs=64
)


def main() -> None:
    """Serve on this machine alone; containers pass --host 0.0.0.0."""
    import argparse

    import uvicorn

    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    uvicorn.run(app, host=given.host, port=given.port)


if __name__ == "__main__":
    main()
'''

OPENENV_CLIENT = '''\
"""The client; `.sync()` makes it one without await."""

from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.types import State

from @NAME@.models import @CLASS@Action, @CLASS@Observation


class @CLASS@Env(EnvClient[@CLASS@Action, @CLASS@Observation, State]):
    """Talks to a running server: reset, then step with the completion."""

    def _step_payload(self, action: @CLASS@Action) -> dict[str, Any]:
        return {"message": action.message}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[@CLASS@Observation]:
        told = dict(payload.get("observation") or {})
        told |= {key: payload[key] for key in ("reward", "done", "metadata") if payload.get(key) is not None}
        seen = @CLASS@Observation.model_validate(told)
        return StepResult(observation=seen, reward=seen.reward, done=seen.done)

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State.model_validate(payload)
'''

OPENENV_INIT = '''\
"""Tasks rewarded by a verikit verifier, as an environment of OpenEnv."""

from @NAME@.client import @CLASS@Env
from @NAME@.models import @CLASS@Action, @CLASS@Observation

__all__ = ["@CLASS@Action", "@CLASS@Env", "@CLASS@Observation"]
'''

OPENENV_YAML = """\
spec_version: 1
name: @NAME@
version: 0.1.0
type: space
runtime: fastapi
app: @NAME@.server.app:app
port: 8000
"""

GYM_APP = '''\
"""A resources server of NeMo-Gym that rewards by a verikit verifier (verifier.json)."""

from pathlib import Path
from typing import Any, ClassVar

from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseRunRequest,
    BaseVerifyRequest,
    BaseVerifyResponse,
    ReverifyMode,
    SimpleResourcesServer,
)
from nemo_gym.judge import JudgeError
from pydantic import ConfigDict

from verikit.adapters.env_rows import stored_reward
from verikit.adapters.nemo_gym import rollout_sample

REWARD = stored_reward(Path(__file__).parent)


class @CLASS@Config(BaseResourcesServerConfig):
    """Nothing is kept between requests, so stored rollouts may be verified again."""

    REVERIFY_MODE: ClassVar[ReverifyMode] = ReverifyMode.STATELESS


class @CLASS@VerifyRequest(BaseVerifyRequest, BaseRunRequest):
    """A rollout with its task's fields."""

    model_config = ConfigDict(extra="allow")


class @CLASS@VerifyResponse(BaseVerifyResponse):
    """The same with its reward."""

    model_config = ConfigDict(extra="allow")


class @CLASS@ResourcesServer(SimpleResourcesServer):
    """Scores rollouts."""

    config: @CLASS@Config

    async def verify(self, body: @CLASS@VerifyRequest) -> @CLASS@VerifyResponse:
        """Score one; what has no score is a failure that NeMo-Gym masks, never a 0."""
        given: dict[str, Any] = body.model_dump()
        score = await REWARD.score_sample(rollout_sample(given))
        if score.value is None:
            raise JudgeError(f"{score.status}: {score.reason}")
        told = {"reward": score.value, "extracted_answer": score.answer, "verikit": REWARD.details(score)}
        return @CLASS@VerifyResponse(**(given | told))


if __name__ == "__main__":
    @CLASS@ResourcesServer.run_webserver()
'''

GYM_CONFIG = """\
@NAME@:
  resources_servers:
    @NAME@:
      entrypoint: app.py
      domain: other
      verified: false
      description: Tasks rewarded by a verikit verifier
@NAME@_simple_agent:
  responses_api_agents:
    simple_agent:
      entrypoint: app.py
      resources_server:
        type: resources_servers
        name: @NAME@
      model_server:
        type: responses_api_models
        name: policy_model
      datasets:
      - name: example
        type: example
        jsonl_fpath: resources_servers/@NAME@/data/example.jsonl
@NAME@_environment_server:
  environment_servers:
    legacy_agent:
      entrypoint: app.py
      agent_server:
        type: responses_api_agents
        name: @NAME@_simple_agent
"""
