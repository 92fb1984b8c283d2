"""In the sandbox: stands in for `openenv`, as far as an environment resets and steps in this process."""

import inspect
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

MADE: list[tuple[Callable[[], Any], Any]] = []
"""The factory of environments and the class of actions of each app."""


class Strict(BaseModel):
    """A model that refuses other fields."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, arbitrary_types_allowed=True)


class Action(Strict):
    """A step of the agent."""

    metadata: dict[str, Any] = Field(default_factory=dict)


class Observation(Strict):
    """What the agent sees after a step."""

    done: bool = False
    reward: bool | int | float | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class OpenState(BaseModel):
    """The state of an episode."""

    model_config = ConfigDict(extra="allow", validate_assignment=True, arbitrary_types_allowed=True)
    episode_id: str | None = None
    step_count: int = 0


class EnvironmentMetadata(OpenState):
    """A description of an environment."""


class ConcurrencyConfig(OpenState):
    """Settings of a server."""


class Subscripted:
    """A class that takes type parameters."""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


class OpenRubric(Subscripted):
    """Computes a reward."""

    last_score: float | None = None

    def __call__(self, action: Any, observation: Any) -> Any:
        """The reward of a step."""
        self.last_score = self.forward(action, observation)
        return self.last_score

    def forward(self, action: Any, observation: Any) -> Any:
        """For subclasses."""
        raise NotImplementedError("openenv, for a rubric without forward")

    def reset(self) -> None:
        """Nothing to forget."""


class OpenEnvironment(Subscripted):
    """An environment."""

    SUPPORTS_CONCURRENT_SESSIONS = False

    def __init__(self, transform: Any = None, rubric: Any = None) -> None:
        self.transform, self.rubric = transform, rubric

    def _apply_transform(self, observation: Any) -> Any:
        return self.transform(observation) if self.transform is not None else observation

    def _apply_rubric(self, action: Any, observation: Any) -> Any:
        return self.rubric(action, observation) if self.rubric is not None else 0.0

    async def _apply_rubric_async(self, action: Any, observation: Any) -> Any:
        found = self._apply_rubric(action, observation)
        return await found if inspect.isawaitable(found) else found

    def _reset_rubric(self) -> None:
        if self.rubric is not None:
            self.rubric.reset()

    async def _reset_rubric_async(self) -> None:
        self._reset_rubric()

    def close(self) -> None:
        """Nothing is open."""


class StandInApp:
    """The app of a server that never starts. Its routes are not called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **options: lambda function: function


def create_app(env: Callable[[], Any], action_cls: Any = None, *more: Any, **options: Any) -> StandInApp:
    """Keep what makes an environment, and its actions."""
    MADE.append((env, action_cls))
    return StandInApp()


Environment, Transform, State, Rubric = OpenEnvironment, Subscripted, OpenState, OpenRubric
create_fastapi_app = create_web_interface_app = create_app


class UnknownClass(Subscripted):
    """Any other class of the package. It can be named and subclassed, not made."""

    def __init__(self, *given: Any, **options: Any) -> None:
        raise NotImplementedError(f"openenv, for {type(self).__mro__[-4].__name__}")


def __getattr__(name: str) -> Any:
    """Another class of the package."""
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (UnknownClass,), {})
