"""The best weights of a run by a held-out metric (`run.best`), in `best/` next to `checkpoints/`.

    best/1-train-00000040     the weights after step 40 (torch DCP), without the optimizer

The folder's name is in the next checkpoint's state, and older folders are removed only once that checkpoint is written.
A resumed run removes the folders of later steps. It therefore ends with the same best weights as an uninterrupted run.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verikit.errors import ConfigError
from verikit.platform.numbers import number
from verikit.trainers.checkpoint import save_weights
from verikit.trainers.distributed import World

BEST = "best"
"""The folder of the best weights, in the folder of the run."""


class BestWeights:
    """Saves a policy's weights whenever a held-out metric is better than at all earlier evaluations."""

    def __init__(self, setting: str, run: Path, module: Any, world: World) -> None:
        """Take `run.best`: the name of a metric, or "-" and the name of one that should fall. "" saves nothing."""
        self._setting, self._folder = setting, run / BEST
        self._module, self._world = module, world
        self._value, self._name = -math.inf, ""

    def offer(self, metrics: Mapping[str, float], name: str) -> None:
        """Save the weights under a name if they are the best so far. Of equal ones, the first are kept.

        Raises:
            ConfigError: The metric doesn't exist.
            TrainerError: The weights can't be written.
        """
        if not self._setting:
            return
        metric = self._setting.removeprefix("-")
        if metric not in metrics:
            there = f"are {', '.join(metrics)}" if metrics else "don't exist: the recipe evaluates nothing"
            raise ConfigError(f"run.best = {self._setting!r}, and the held-out metrics {there}")
        value = -metrics[metric] if self._setting.startswith("-") else metrics[metric]
        if value > self._value:
            save_weights(self._folder / name, self._module, self._world)
            self._value, self._name = value, name

    def state(self) -> dict[str, Any]:
        """Return the state to save in a checkpoint."""
        return {"setting": self._setting, "value": self._value, "name": self._name} if self._name else {}

    def settle(self) -> None:
        """Remove the weights that were the best before, once a checkpoint names the current ones."""
        if self._name and self._world.rank == 0:
            for path in saved(self._folder):
                if path.name < self._name:
                    shutil.rmtree(path)

    def restore(self, state: Mapping[str, Any], last: str) -> None:
        """Restore a checkpoint's state. `last` is the checkpoint's name; weights with a later name are removed."""
        if not self._setting:
            return
        if state.get("setting") == self._setting:
            value = number(state["value"])
            if value is None:
                raise ValueError("the best value is not a number")
            self._value, self._name = value, str(state["name"])
        if self._world.rank == 0:
            for path in saved(self._folder):
                if path.name > last:
                    shutil.rmtree(path)
        self._world.barrier()


def saved(folder: Path) -> list[Path]:
    """Return the complete weights in a folder of best weights, oldest first."""
    return sorted(path for path in folder.glob("[!.]*") if path.is_dir()) if folder.is_dir() else []


def best_weights(run: Path) -> Path:
    """Return the folder of a run's best weights.

    Raises:
        ConfigError: The run has none.
    """
    found = saved(run / BEST)
    if not found:
        hint = 'set run.best to a held-out metric before training, as in run.best = "sampled"'
        raise ConfigError(f"{run} kept no best weights", hint=hint)
    return found[-1]
