"""What a recipe is: it owns rollouts, rewards and its own state; the trainer owns the optimisation.

To write one, subclass `Recipe`, give it `name` and (optionally) a pydantic `Options`, and register it in pyproject
under `[project.entry-points."verikit.recipes"]` (or name it `package.module:Class` in the config). A config is TOML: at
the top `recipe = "<name>"`, and a table `[options]` that your `Options` reads; the other tables ([model], [loss],
[optimizer], …) are the trainer's (`verikit.trainers.config`). Configs lie in `trainers/configs/`, or beside the recipe
in `trainers/recipes/<name>/configs/`; they are package data, found by file name: `verikit train absolute-zero-tiny`.

Many processes: `collect` and `evaluate` run on every rank with the same state and must do the same on each. `Sampler`
runs rollouts, each on one of them, and gathers what they return (`roll_out`, and `generate`, `generate_then`, `map`
made of it), so a recipe is written as for one process. A rollout is a generator (`verikit.engines.rollouts`).
What may differ between two runs (a sandbox's verdict near its time limit, a server's reply) is made in a rollout.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from verikit.engines.rollouts import Rollout, Work
from verikit.engines.types import Engine, EnginePrompt, Generation, Output, Request, StructuredKind
from verikit.errors import ConfigError
from verikit.trainers.costs import StepCost
from verikit.trainers.sections import Credit

Probe = tuple[str, Callable[[], str]]
"""What a recipe depends on, by its name, and what asks it and says what came, or raises a VerikitError."""
Item = TypeVar("Item")
Result = TypeVar("Result")


class StepReward(NamedTuple):
    """A reward inside a trajectory: of a turn, of its tool calls, or of a step of a solution."""

    end: int
    """Index in the trajectory's `ids` of the last token that it judges."""
    value: float | None
    """None: unscored. It is left out of every mean and adds nothing; an error is never a zero."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One sequence to learn from. `ids`, `mask` and `logprobs` are parallel; ids are never encoded again."""

    ids: Sequence[int]
    mask: Sequence[bool]
    """True where the policy sampled the token; prompts, evidence and tool text are False and get no gradient."""
    logprobs: Sequence[float]
    """Log-probabilities under the distribution sampled from; 0 where the mask is False."""
    reward: float | None
    """None: unscored. The trajectory leaves the batch and is counted; an error is never a zero."""
    group: Hashable
    """Trajectories that are compared with one another; advantages are taken within (role, group)."""
    role: str = "policy"
    task: str = ""
    """TRR++ normalises within (role, task)."""
    finished: bool = True
    """False where the length limit cut it off."""
    temperature: float = 1.0
    """What it was sampled at; the loss takes the policy's log-probabilities at the same."""
    weight: float = 1.0
    """Factor on the advantage, such as a role's share in the objective."""
    labels: Sequence[int] = ()
    """Classes to learn at the masked positions, parallel to `ids`, for a model with a head over classes; else empty."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Components of the reward, for the log."""
    step_rewards: Sequence[StepReward] = ()
    """Rewards inside the trajectory, in order; learnt from with `advantage.credit` = turn or step."""
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
    """A sequence while it grows; the mask is recorded as tokens are appended."""

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
        """Append what the policy sampled; the request must have asked for `logprobs=0`."""
        self.ids += output.ids
        self.mask += [True] * len(output.ids)
        self.logprobs += output.logprobs

    def trajectory(self, reward: float | None, group: Hashable, **others: Any) -> Trajectory:
        """Close the sequence; `others` are further fields of `Trajectory`."""
        return Trajectory(tuple(self.ids), tuple(self.mask), tuple(self.logprobs), reward, group, **others)


class Sampler(Engine):
    """The live policy as an engine: token ids in and out, log-probabilities at the temperature sampled from.

    Random numbers are a function of the request's seed (and of the row), so ask `seed` for it: the same group then
    samples the same tokens on any number of processes and after a resume. An unseeded request is keyed by the run's
    seed, the step, and by which request of which rollout of which call it is.
    """

    tokenizer: Any
    local: Engine
    """This process's engine alone, with nothing divided or gathered: what a function given to `map` may call."""

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """What the engine can hold a reply to."""
        return self.local.structured

    @abstractmethod
    def encode(self, prompt: EnginePrompt) -> list[int]:
        """Return a prompt's ids: text with special tokens, messages by the chat template, ids as they are."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Return ids as text, without special tokens."""

    @abstractmethod
    def seed(self, *key: int | str) -> int:
        """Return a request's seed for this run, this step and `key`, such as the group's number."""

    @abstractmethod
    def roll_out(self, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
        """Run rollouts, each on one process; every process gets what all returned (by pickle), in order."""

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return one result per request, in order, on every process."""
        return self.roll_out([_reply(request) for request in requests])

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Yield the results in order, once all are there."""
        yield from enumerate(self.generate(requests))

    def generate_then(
        self, requests: Sequence[Request], then: Callable[[int, Generation], Result]
    ) -> list[tuple[Generation, Result]]:
        """Generate, and hand each (index, result) to `then` in a worker thread while the others are being generated.

        Rewards are made so. `then` runs on the process that generated.
        """
        return self.roll_out([_judged(index, request, then) for index, request in enumerate(requests)])

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Apply a function to items in turn, each on one process only; every process gets all results, in order."""
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
    """What a recipe is told when it is made."""

    tokenizer: Any
    seed: int
    folder: Path
    """What relative paths in the options start from."""
    credit: Credit = "trajectory"
    """`advantage.credit`: whether rewards by turn or step are learnt from."""


class NoOptions(BaseModel):
    """For a recipe without options."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


class Recipe(ABC):
    """Makes trajectories from the live policy, and says how good the policy is.

    Its state is whatever makes the next `collect` differ from the first: buffers, ratings, positions in the data.
    Draws of its own are keyed by (seed, step), never by a generator that lives on (`random.Random(f"{seed} {step}")`).
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
                f"advantage.credit = {setting.credit!r} needs rewards by turn or step; recipe {self.name} has none",
                hint="the recipes tools and step-rewards have them",
            )

    @classmethod
    def make_model(cls, options: Any, seed: int) -> tuple[Any, Any] | None:
        """Return (model, tokenizer) for a world that makes its own tiny ones; None: the config names a model."""
        return None

    def demonstrations(self, step: int) -> list[Trajectory]:
        """Return a batch to imitate at a step of the warm-up (a config with a `[warmup]` table); rewards are ignored.

        Tokens whose mask is True are learnt, each trajectory with its `weight`.
        """
        raise ConfigError(f"recipe {self.name} has no demonstrations to warm up on", hint="take [warmup] out")

    def gate(self, sampler: Sampler) -> float:
        """Return the number that must reach `warmup.gate` before training starts."""
        return 1.0

    def probes(self) -> Iterator[Probe]:
        """Yield what `verikit train --check` is to ask: data, judge, retriever. Nothing of it may need the policy."""
        yield from ()

    def step_cost(self) -> StepCost | None:
        """Return the bounds of one training step for `verikit train --check`; None: not known."""
        return None

    @abstractmethod
    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Return one step's trajectories: whole groups."""

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return held-out metrics; the first is the one the terminal shows."""
        return {}

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint must hold, as JSON can write it."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take a state that `state` returned."""
        return

    def metrics(self) -> dict[str, float]:
        """Return metrics of the last `collect` for the log."""
        return {}

    def close(self) -> None:
        """Give back processes and connections."""
        return
