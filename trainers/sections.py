"""The base of the settings' tables, and [advantage], [distill], [precision], [distributed] and [run.gold]."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

Credit = Literal["trajectory", "turn", "step"]
"""How tokens get credit: see `verikit.trainers.credit`."""


class Section(BaseModel):
    """A table of the settings: unknown keys are errors, and values are also checked on assignment."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", validate_assignment=True, use_attribute_docstrings=True
    )


class AdvantageSection(Section):
    """[advantage]: from rewards to advantages."""

    kind: Literal["grpo", "dr-grpo", "rloo", "reinforce++", "reinforce++-baseline", "trr++", "gdpo"] = "grpo"
    """The estimator that turns a group's rewards into advantages."""
    epsilon: float = Field(default=1e-6, ge=0)
    """Added to GRPO's and GDPO's standard deviations."""
    weights: dict[str, float] = {}
    """gdpo: the weight of each part of the reward after normalisation. {}: 1 for every part."""
    credit: Credit = "trajectory"
    """`turn` and `step` add rewards inside a trajectory, for the tokens up to them.

    `turn` compares the k-th reward with the k-th rewards of its group. `step` compares all rewards of the group.
    """
    step_weight: float | None = Field(default=None, gt=0)
    """Factor on the advantage by turn or step. Default: 1."""
    outcome_weight: float | None = Field(default=None, ge=0)
    """Factor on the advantage of the trajectory's own reward. Default: 1. 0: only turns or steps."""

    @model_validator(mode="after")
    def _read(self) -> AdvantageSection:
        if self.weights and self.kind != "gdpo":
            raise ValueError(f"advantage.weights are for kind = gdpo: {self.kind} takes the reward's own sum")
        if self.credit == "trajectory":
            if self.step_weight is not None or self.outcome_weight is not None:
                raise ValueError('advantage.step_weight and outcome_weight need credit = "turn" or "step"')
        elif self.kind not in ("grpo", "dr-grpo", "rloo"):
            raise ValueError(f"advantage.credit = {self.credit!r} needs kind = grpo, dr-grpo or rloo, got {self.kind}")
        return self


class DistillSection(Section):
    """[distill]: a teacher's log-probabilities as advantages; see `verikit.trainers.distill`."""

    teacher: str
    """Its engine: `hf:PATH`, `vllm:PATH` or `openai:http://host:8000/v1#MODEL` of a vLLM server."""
    options: dict[str, Any] = {}
    """Options of the engine's class."""
    tokenizer: str = ""
    """The folder or Hugging Face name of its tokenizer. "": the name in `teacher`."""
    coefficient: float = Field(default=1.0, gt=0)
    """Factor on the teacher's term."""
    reward: float = Field(default=0.0, ge=0)
    """Factor on the advantage of the reward. 0: learn from the teacher only."""


class PrecisionSection(Section):
    """[precision]: number formats and memory; see `verikit.trainers.precision`."""

    master: Literal["auto", "same", "float32", "stochastic"] = "auto"
    """Format of the weights that the optimizer updates. `same`: the folder's. `float32`: fp32, with bf16 products.

    `auto`: fp32, with bf16 products if they are fast. `stochastic`: bf16, for `optimizer.kind = "adamw-stochastic"`.
    """
    checkpointing: bool = False
    """Compute activations again in the backward pass instead of keeping them."""
    compile: bool = False
    """Compile the model's forward and backward pass with `torch.compile`."""
    lora_rank: int = Field(default=0, ge=0)
    """Rank of LoRA's adapters. 0: train all weights."""
    lora_alpha: float = 32.0
    """LoRA's scale: adapters are multiplied by `lora_alpha / lora_rank`."""
    lora_targets: list[str] = Field(default_factory=list)
    """Names of the modules that get adapters. []: every linear layer but the head."""
    lora_merged: bool = True
    """Sample from a copy of the adapted weights with the adapters merged. False: sample through the adapters.

    That needs no copy, and more products per token. It needs `engine.kind = "hf"`, and frozen weights that are not
    rounded for sampling.
    """

    @model_validator(mode="after")
    def _fits(self) -> PrecisionSection:
        if self.lora_merged:
            return self
        if not self.lora_rank:
            raise ValueError("precision.lora_merged = false needs adapters: set precision.lora_rank")
        if self.master == "float32":
            raise ValueError('precision.lora_merged = false needs precision.master = "auto": "float32" samples in bf16')
        return self


class DistributedSection(Section):
    """[distributed]: how torchrun's processes divide the model."""

    kind: Literal["ddp", "fsdp2"] = "ddp"
    """`ddp`: every process has the whole model. `fsdp2`: the processes share its weights."""
    shards: int = Field(default=0, ge=0)
    """fsdp2: processes that shard one model; more groups of that size are replicas (HSDP). 0: all processes.

    Use the processes of one machine, if machines are joined by slow links.
    """
    whole_gradients: bool = False
    """fsdp2: keep gradients unsharded between micro-batches. One exchange per step, four more bytes per weight."""

    @model_validator(mode="after")
    def _read(self) -> DistributedSection:
        if self.kind != "fsdp2" and (self.shards or self.whole_gradients):
            raise ValueError("distributed.shards and distributed.whole_gradients are for kind = fsdp2")
        return self


class GoldSection(Section):
    """[run.gold]: a second verifier on the held-out rows; see `verikit.trainers.gold`."""

    verifier: str
    """Its spec. Training never uses it."""
    samples: PositiveInt = 1
    """Completions per held-out row and evaluation, sampled as in training."""
    z: float = Field(default=2.0, gt=0)
    """Standard errors that gold must fall by at the first comparison. Later comparisons require more."""
    action: Literal["stop", "lower", "warn"] = "stop"
    """`stop` ends the run. `lower` multiplies the learning rate by `factor`. `warn` continues."""
    factor: float = Field(default=0.5, gt=0, lt=1)
    """Factor on the learning rate with `action = "lower"`."""
    timeout: float = Field(default=60.0, ge=0)
    """Time limit per score of a verifier outside verikit, in seconds. 0: no limit."""
