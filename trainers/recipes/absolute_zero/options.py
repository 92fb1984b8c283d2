"""The options of `absolute-zero`: the paper's values by default; `preset = "azr-repo"` is its repository's reading."""

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
    """What is proposed and solved; `error` (name the exception) is the repository's extra."""
    prompts: str = "absolute-zero"
    """A set of prompts that comes with verikit, or a FILE.toml."""
    chat: bool = False
    """Ask through the chat template; False: the prompts' own transcript, whose `<think>` is already open."""
    preset: Preset = "paper"
    """`azr-repo`: induction checks the hidden pairs only; repository's structural rules and penalties."""
    batch: PositiveInt = 64
    """Proposals, and problems solved, of each task a step."""
    seed_factor: PositiveInt = 4
    """The buffers start with `batch * seed_factor` problems proposed by the untrained model."""
    seed_tries: PositiveInt = 32
    """Batches of proposals after which seeding goes on with what there is."""
    references: int = Field(default=6, ge=0)
    """Problems shown to the proposer; 0 shows none."""
    inputs: int = Field(default=10, ge=2)
    """Inputs of an induction problem; the first half is shown to the solver."""
    estimates: PositiveInt = 8
    """Solutions from which a proposal's solve rate is estimated."""
    rollouts: PositiveInt = 1
    """Solutions of each problem that are trained on."""
    reuse: bool = False
    """Train on the solutions that estimated a new problem's solve rate, instead of sampling others."""
    buffer_size: PositiveInt = 16384
    keep: Keep = "newest"
    """Which problems stay when a buffer is full; the repository keeps the oldest."""
    mix: Mix = "max_new"
    """What is solved: the new problems first, half of them, uniform draws of all, or draws that favour late steps.
    `learnable`: half of them, the rest from the buffer by how much each still taught when last solved, 4 r (1 - r)."""
    weights: Weights = "uniform"
    """How references and programs are drawn from the buffers."""
    learnability: Literal["paper", "edge"] = "paper"
    """Of a solve rate r: `paper` 1 - r, and 0 at r = 0; `edge` 4 r (1 - r)."""
    extras: list[ExtraReward] = []
    combine: Literal["sum", "multiply", "sum_multiply", "multiply_sum"] = "sum"
    composite: float = Field(default=0.0, ge=0, le=1)
    """Share of deduction and abduction proposals that must build on given functions g_0, g_1, …"""
    composite_functions: PositiveInt = 2
    composite_from: int = Field(default=0, ge=0)
    """First step with such proposals; the share grows to `composite` over as many steps again."""
    train_proposer: bool = True
    """False trains the solver alone."""
    held_out: str = ""
    """Problems to evaluate on: JSON lines as `verikit synth absolute-zero` writes them."""
    evaluate_samples: PositiveInt = 1
    max_tokens: PositiveInt = 8096
    max_prompt_tokens: PositiveInt = 5600
    """Longer problems are not kept."""
    temperature: float = Field(default=1.0, gt=0)
    wall_s: float = Field(default=10.0, gt=0)
    """Seconds for one program."""
    memory_mb: PositiveInt = 512

    @field_validator("tasks")
    @classmethod
    def _distinct(cls, tasks: list[Task]) -> list[Task]:
        if len(set(tasks)) < len(tasks):
            raise ValueError("a task is listed twice")
        return tasks
