"""The warm-up of a run: imitate the recipe's demonstrations until its gate is reached."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from verikit.errors import TrainerError
from verikit.trainers.experience import supervised

if TYPE_CHECKING:
    from verikit.trainers.grpo import Trainer

WARMUP, TRAIN = "0-warmup", "1-train"
"""The phases of a run. Their names sort in order."""


def warm_up(trainer: Trainer) -> None:
    """Train on demonstrations until the gate is reached, then set the trainer to the start of training.

    Raises:
        TrainerError: The gate is not reached by the last step of the warm-up.
    """
    warmup = trainer.config.warmup
    assert warmup is not None
    trainer.engine.rest()
    reached = False
    while not reached:
        began = time.perf_counter()
        trainer.step += 1
        metrics = trainer.learner.learn(supervised(trainer.recipe.demonstrations(trainer.step)).rows, trainer.step)
        if warmup.measures_gate(trainer.step):
            metrics["gate"] = _measure_gate(trainer)
            reached = metrics["gate"] >= warmup.gate
        trainer._log(metrics, began)
        if not reached and trainer.step >= warmup.last_step:
            raise TrainerError(
                f"the warm-up reached {metrics['gate']:.3f} after {trainer.step:,} steps, and training starts at"
                f" warmup.gate = {warmup.gate}",
                hint="raise warmup.max_steps if `gate` in metrics.jsonl still rises, or change warmup.optimizer",
            )
        if not reached and trainer.step % (10 * trainer.config.run.save_every) == 0:
            trainer._save()
    trainer.engine.refresh(changed=False)
    trainer.learner, trainer.step = trainer._learner(TRAIN), 0
    trainer._save()


def _measure_gate(trainer: Trainer) -> float:
    trainer.engine.refresh()
    trainer.sampler.at(0)
    reached = trainer.recipe.gate(trainer.sampler)
    trainer.engine.rest()
    return reached
