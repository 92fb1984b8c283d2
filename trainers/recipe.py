"""The interface of recipes: a recipe owns rollouts, rewards and its own state; the trainer owns the optimisation.

To write one, subclass `Recipe`, give it `name` and (optionally) a pydantic `Options`, and register it in pyproject
under `[project.entry-points."verikit.recipes"]` (or name it `package.module:Class` in the config). A config is TOML: at
the top `recipe = "<name>"`, and a table `[options]` that your `Options` reads. The other tables ([model], [loss],
[optimizer], …) are the trainer's (`verikit.trainers.config`). Configs are in `trainers/configs/`, or next to the recipe
in `trainers/recipes/<name>/configs/`. They are package data, found by file name: `verikit train absolute-zero-tiny`.

Many processes: `collect` and `evaluate` run on every rank with the same state and must do the same on each. `Sampler`
runs each rollout on one rank and gathers the results. Its methods are `roll_out`, and `generate`, `generate_then` and
`map`, which use it. So write a recipe as for one process. A rollout is a generator (`verikit.engines.rollouts`).
Compute results that may differ between runs in a rollout: a sandbox's verdict near its time limit, a server's reply.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from verikit.base import Verifier
from verikit.engines.rollouts import Rollout, Work
from verikit.engines.types import Engine, EnginePrompt, Generation, Output, Request, StructuredKind
from verikit.errors import ConfigError
from verikit.trainers.costs import StepCost
from verikit.trainers.sections import Credit
from verikit.types import Score

Probe = tuple[str, Callable[[], str]]
"""A dependency's name, and a function that queries it and returns the answer or raises a VerikitError."""
Item = TypeVar("Item")
Result = TypeVar("Result")


class StepReward(NamedTuple):
    """A reward inside a trajectory: of a turn, of its tool calls, or of a step of a solution."""

    end: int
    """Index in the trajectory's `ids` of the last token that it judges."""
    value: float | None
    """None: unscored. It enters no mean and adds nothing. An error is never a zero."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One sequence to train on. `ids`, `mask` and `logprobs` are parallel, and ids are never encoded again."""

    ids: Sequence[int]
    mask: Sequence[bool]
    """True for tokens that the policy sampled. Prompts, evidence and tool text are False and get no gradient."""
    logprobs: Sequence[float]
    """Log-probabilities under the sampling distribution; 0 if the mask is False."""
    reward: float | None
    """None: unscored. The trajectory is dropped from the batch and counted. An error is never a zero."""
    group: Hashable
    """Trajectories to compare with one another; advantages are computed within (role, group)."""
    role: str = "policy"
    task: str = ""
    """TRR++ normalises within (role, task)."""
    finished: bool = True
    """False if the length limit truncated it."""
    temperature: float = 1.0
    """The sampling temperature. The loss computes the policy's log-probabilities at the same one."""
    weight: float = 1.0
    """Factor on the advantage, such as a role's weight in the objective."""
    labels: Sequence[int] = ()
    """Target classes at the masked positions, parallel to `ids`, for a head over classes. Empty for other models."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Components of the reward, for the log."""
    step_rewards: Sequence[StepReward] = ()
    """Rewards inside the trajectory, in order. They are used with `advantage.credit` = turn or step."""
    prompt: str = ""
    completion: str = ""
    answer: str = ""
    """These three are for the log of samples only."""

    def __post_init__(self) -> None:
        if not len(self.ids) == len(self.mask) == len(self.logprobs):
            raise ValueError(
                f"ids, mask and logprobs must have equal lengths, got {len(self.ids)}, "
                f"{len(self.mask)}, {len(self.logprobs)}"
            )
        ends = [0, *(step.end for step in self.step_rewards), len(self.ids) - 1]
        if self.step_rewards and ends != sorted(ends):
            raise ValueError(f"step_rewards end inside the ids, in order, not at {ends[1:-1]} of {len(self.ids)}")


class Transcript:
    """A growing sequence. The mask is recorded as tokens are appended."""

    def __init__(self, prompt_ids: Sequence[int]) -> None:
        self.ids: list[int] = []
        self.mask: list[bool] = []
        self.logprobs: list[float] = []
        self.foreign(prompt_ids)

    def foreign(self, ids: Sequence[int]) -> None:
        """Append tokens that the policy did not sample: a prompt, evidence, a tool's output."""
        self.ids += ids
        self.mask += [False] * len(ids)
        self.logprobs += [0.0] * len(ids)

    def sampled(self, output: Output) -> None:
        """Append an output of the policy. The request must have had `logprobs=0`."""
        self.ids += output.ids
        self.mask += [True] * len(output.ids)
        self.logprobs += output.logprobs

    def trajectory(self, reward: float | None, group: Hashable, **others: Any) -> Trajectory:
        """Return the sequence as a trajectory; `others` are further fields of `Trajectory`."""
        return Trajectory(tuple(self.ids), tuple(self.mask), tuple(self.logprobs), reward, group, **others)


class Sampler(Engine):
    """The live policy as an engine: token ids in and out, log-probabilities at the sampling temperature.

    Random numbers are a function of the request's seed (and of the row), so use `seed` to create it. The same group
    then samples the same tokens on any number of processes and after a resume. An unseeded request is keyed by the
    run's seed, the step, and the numbers of its call, rollout and request.
    """

    tokenizer: Any
    local: Engine
    """Only this process's engine. It divides and gathers nothing, so functions passed to `map` may call it."""

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """The kinds of constraints on replies that the engine supports."""
        return self.local.structured

    @abstractmethod
    def encode(self, prompt: EnginePrompt) -> list[int]:
        """Return a prompt's ids: a string with special tokens, messages by the chat template, ids unchanged."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Return ids as text, without special tokens."""

    @abstractmethod
    def seed(self, *key: int | str) -> int:
        """Return a request's seed for this run, this step and `key`, such as the group's number."""

    @abstractmethod
    def roll_out(self, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
        """Run rollouts, each on one process. Every process gets all results in order (by pickle)."""

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return one result per request, in order, on every process."""
        return self.roll_out([_reply(request) for request in requests])

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Yield the results in order, once all are available."""
        yield from enumerate(self.generate(requests))

    def generate_then(
        self, requests: Sequence[Request], then: Callable[[int, Generation], Result]
    ) -> list[tuple[Generation, Result]]:
        """Generate, and pass each (index, result) to `then` in a worker thread while the others are being generated.

        Rewards are computed this way. `then` runs on the process that generated.
        """
        return self.roll_out([_judged(index, request, then) for index, request in enumerate(requests)])

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Apply a function to items in turn, each on one process only. Every process gets all results, in order."""
        return self.roll_out([_applied(function, item) for item in items])


def _reply(request: Request) -> Rollout[Generation]:
    generation: Generation = yield request
    return generation


def _judged(
    index: int, request: Request, then: Callable[[int, Generation], Result]
) -> Rollout[tuple[Generation, Result]]:
    generation = yield request
    result: Result = yield Work(then, (index, generation))
    return generation, result


def _applied(function: Callable[[Item], Result], item: Item) -> Rollout[Result]:
    yield []
    return function(item)


@dataclass(frozen=True, slots=True)
class Setting:
    """The arguments that a recipe is created with."""

    tokenizer: Any
    seed: int
    folder: Path
    """The folder that relative paths in the options start from."""
    credit: Credit = "trajectory"
    """`advantage.credit`: whether rewards by turn or step are used."""


class NoOptions(BaseModel):
    """For a recipe without options."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


class Recipe(ABC):
    """Makes trajectories from the live policy, and evaluates the policy.

    Its state is everything that makes the next `collect` differ from the first: buffers, ratings, positions in the
    data. Key random numbers by (seed, step), as in `random.Random(f"{seed} {step}")`. Never use a generator that lives
    on.
    """

    name: ClassVar[str]
    Options: ClassVar[type[BaseModel]] = NoOptions
    model_class: ClassVar[str] = "AutoModelForCausalLM"
    """The class of transformers that loads `model.path`."""

    gives_step_rewards: ClassVar[bool] = False
    """Whether its trajectories have `step_rewards`."""

    options: Any
    setting: Setting

    def __init__(self, options: Any, setting: Setting) -> None:
        self.options, self.setting = options, setting
        if setting.credit != "trajectory" and not self.gives_step_rewards:
            raise ConfigError(
                f"advantage.credit = {setting.credit!r} needs rewards by turn or step, not given by recipe {self.name}",
                hint="the recipes tools and step-rewards have them",
            )

    @classmethod
    def make_model(cls, options: Any, seed: int) -> tuple[Any, Any] | None:
        """Return (model, tokenizer) of a recipe with its own tiny model; None: the config sets the model."""
        return None

    def demonstrations(self, step: int) -> list[Trajectory]:
        """Return a batch to imitate at a step of the warm-up (a config with a `[warmup]` table); rewards are ignored.

        Tokens with a True mask are trained on, each trajectory with its `weight`.
        """
        raise ConfigError(f"recipe {self.name} has no demonstrations to warm up on", hint="take [warmup] out")

    def gate(self, sampler: Sampler) -> float:
        """Return the number that must reach `warmup.gate` before training starts."""
        return 1.0

    def probes(self) -> Iterator[Probe]:
        """Yield the probes of `verikit train --check`: data, judge, retriever. They must not need the policy."""
        yield from ()

    def step_cost(self) -> StepCost | None:
        """Return the bounds of one training step for `verikit train --check`; None: unknown."""
        return None

    @abstractmethod
    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Return one step's trajectories: whole groups."""

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return held-out metrics. The terminal shows the first one."""
        return {}

    def gold_rows(self) -> int:
        """Return the number of held-out rows that `gold_scores` scores.

        Raises:
            ConfigError: The recipe has none, or trains on some of them.
        """
        hint = "single-turn, arithmetic, step-rewards and tools support it"
        raise ConfigError(f"recipe {self.name} does not support run.gold", hint=hint)

    def gold_scores(self, sampler: Sampler, gold: Verifier, samples: int) -> list[list[tuple[Score, Score]]]:
        """Sample completions of each held-out row; return the reward's and `gold`'s score of each completion."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return the state to save in a checkpoint, as JSON-serialisable values."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `state` returned."""
        return

    def metrics(self) -> dict[str, float]:
        """Return metrics of the last `collect` for the log."""
        return {}

    def close(self) -> None:
        """Release processes and connections."""
        return
