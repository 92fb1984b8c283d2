"""The options of `absolute-zero`. Defaults are the paper's values; `preset = "azr-repo"` follows its repository."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator

from verikit.verifiers.proposals.proposal import Preset

Task = Literal["deduction", "abduction", "induction", "error"]
Keep = Literal["newest", "oldest", "random"]
Mix = Literal["max_new", "half_new", "uniform_total", "step", "learnable"]
Weights = Literal["uniform", "step"]


class ExtraReward(BaseModel):
    """One more term of the proposer's reward: min(coefficient * measure, maximum)."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    kind: Literal["complexity", "edit_distance", "halstead", "diversity"]
    coefficient: float = 1.0
    maximum: float = 1.0


class AbsoluteZeroOptions(BaseModel):
    """[options] of `absolute-zero`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    tasks: list[Task] = Field(default=["deduction", "abduction", "induction"], min_length=1)
    """Tasks to propose and solve; `error` (name the exception) is the repository's extra."""
    prompts: str = "absolute-zero"
    """A built-in set of prompts, or a FILE.toml."""
    chat: bool = False
    """Use the chat template. False: the prompts' own transcript, whose `<think>` is already open."""
    preset: Preset = "paper"
    """`azr-repo`: induction checks the hidden pairs only; repository's structural rules and penalties."""
    batch: PositiveInt = 64
    """Proposals, and problems to solve, per task and step."""
    seed_factor: PositiveInt = 4
    """The buffers start with `batch * seed_factor` problems proposed by the untrained model."""
    seed_tries: PositiveInt = 32
    """Maximum batches of proposals for seeding. After that, training starts with the problems found."""
    references: int = Field(default=6, ge=0)
    """Problems shown to the proposer; 0 shows none."""
    inputs: int = Field(default=10, ge=2)
    """Inputs of an induction problem; the first half is shown to the solver."""
    estimates: PositiveInt = 8
    """Solutions per proposal to estimate its solve rate."""
    rollouts: PositiveInt = 1
    """Solutions of each problem to train on."""
    reuse: bool = False
    """Train on the solutions that estimated a new problem's solve rate, instead of sampling others."""
    buffer_size: PositiveInt = 16384
    """Maximum problems per buffer."""
    keep: Keep = "newest"
    """Problems to keep when a buffer is full. The repository keeps the oldest."""
    mix: Mix = "max_new"
    """Problems to solve: new ones first, half of them new, uniform samples of all, or samples that favour late steps.

    `learnable`: half of them new, the rest from the buffer, weighted by 4 r (1 - r) of the last solve rate r.
    """
    weights: Weights = "uniform"
    """How to sample references and programs from the buffers."""
    learnability: Literal["paper", "edge"] = "paper"
    """Learnability of a solve rate r: `paper` 1 - r, and 0 at r = 0; `edge` 4 r (1 - r)."""
    extras: list[ExtraReward] = []
    """Further terms x of the proposer's reward, each min(`coefficient` * measure, `maximum`), both 1 by default.

    `kind` is the measure: `complexity`, `edit_distance`, `halstead` or `diversity`.
    """
    combine: Literal["sum", "multiply", "sum_multiply", "multiply_sum"] = "sum"
    """With `extras` x, the reward r is `sum` r + Σx, `multiply` r·Πx, `sum_multiply` r + Πx or `multiply_sum` r·Σx."""
    composite: float = Field(default=0.0, ge=0, le=1)
    """Fraction of deduction and abduction proposals that must build on given functions g_0, g_1, …."""
    composite_functions: PositiveInt = 2
    """Number of given functions in such a proposal."""
    composite_from: int = Field(default=0, ge=0)
    """First step with such proposals. The fraction grows to `composite` over as many steps again."""
    train_proposer: bool = True
    """False trains only the solver."""
    held_out: str = ""
    """Problems to evaluate on: JSON lines from `verikit synth absolute-zero`."""
    evaluate_samples: PositiveInt = 1
    """Sampled completions per held-out problem."""
    max_tokens: PositiveInt = 8096
    """Maximum sampled tokens per completion."""
    max_prompt_tokens: PositiveInt = 5600
    """Longer problems are rejected."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling temperature, in training and for sampled held-out completions."""
    wall_s: float = Field(default=10.0, gt=0)
    """Time limit per program, in seconds."""
    memory_mb: PositiveInt = 512
    """Memory of one program in the sandbox, in MiB."""

    @field_validator("tasks")
    @classmethod
    def _distinct(cls, tasks: list[Task]) -> list[Task]:
        if len(set(tasks)) < len(tasks):
            raise ValueError("a task is listed twice")
        return tasks
