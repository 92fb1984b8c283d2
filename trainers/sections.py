"""The base of the settings' tables, and [advantage]."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

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
