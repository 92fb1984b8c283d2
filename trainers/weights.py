"""What samples from the policy, and how it gets the weights after an update."""

from __future__ import annotations

from typing import Any

from verikit.engines.hf.engine import HF
from verikit.engines.types import Engine
from verikit.trainers.config import Config
from verikit.trainers.distributed import World


class LiveEngine:
    """transformers on the policy itself: nothing to copy in one process."""

    def __init__(self, policy: Any, tokenizer: Any, world: World, rows: int) -> None:
        self._policy, self._world = policy, world
        self.engine: Engine = HF.of(world.sampling_model(policy), tokenizer, rows=rows, tempered=True)

    def refresh(self) -> None:
        """Bring the engine's weights up to date; every process calls it after each update."""
        self._world.refresh(self._policy)

    def close(self) -> None:
        """Give back what the engine holds."""
        self.engine.close()


def make_engine(config: Config, policy: Any, tokenizer: Any, world: World) -> LiveEngine:
    """Return what samples from the policy."""
    return LiveEngine(policy, tokenizer, world, config.engine.rows)
