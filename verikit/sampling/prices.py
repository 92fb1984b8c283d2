"""Token prices from a user's table: TOML or JSON, prices per million tokens by the model's name.

[my-model]
prompt = 0.5
completion = 1.5
cached = 0.05      # of prompt tokens from the server's prefix cache (default: as `prompt`)
batch = 0.5        # fraction of these prices that the provider's batch interface charges (default: a half)

A model is identified by the engine's whole spec, by the part after its `#`, or by the part after its first colon.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from verikit.errors import ConfigError, nearest

KEYS = ("prompt", "completion", "cached", "batch")


@dataclass(frozen=True, slots=True)
class ModelPrices:
    """Prices of one model, per million tokens."""

    prompt: float
    completion: float
    cached: float | None = None
    """The price of prompt tokens from the server's prefix cache. None: as other prompt tokens."""
    batch: float = 0.5
    """The fraction of these prices that a batch interface charges."""

    def cost(
        self, prompt_tokens: float, completion_tokens: float, *, prompt_cached: float = 0.0, batch: bool = False
    ) -> float:
        """Return the cost of this many tokens. `prompt_cached` of the prompt tokens are from the server's cache."""
        cached = self.prompt if self.cached is None else self.cached
        sent = (prompt_tokens - prompt_cached) * self.prompt + prompt_cached * cached
        whole = (sent + completion_tokens * self.completion) / 1e6
        return whole * self.batch if batch else whole


def read_prices(path: str | Path, engine: str) -> ModelPrices:
    """Read the prices of an engine's model.

    Args:
        path: The table, TOML or JSON.
        engine: The engine's name or spec.

    Raises:
        ConfigError: The table can't be read, has no such model, or a price is not a number.
    """
    table = _table(Path(path))
    names = [engine, *(part for sign in ("#", ":") if (part := engine.partition(sign)[2]))]
    for name in names:
        if name in table:
            return _prices(table[name], path, name)
    model = [*names, engine][1]
    raise ConfigError(f"{path} has no prices of {model}", hint=nearest(model, sorted(table)) or "the table is empty")


def prices_in(path: str | Path, spec: str) -> ModelPrices:
    """Read the prices of the one model that a judge's or a verifier's spec names: `pairwise('openai:http://…#judge')`.

    Raises:
        ConfigError: As for `read_prices`. Or the spec names none of the table's models, or several, whose tokens are
            counted together.
    """
    table = _table(Path(path))
    names = [name for name in table if re.search(rf"[#:]{re.escape(name)}(?=['\"),\s]|$)", spec)]
    if len(names) != 1:
        told = f"{spec} names {' and '.join(names) or 'none of its models'}"
        raise ConfigError(
            f"cost can't be determined from {path}: {told}", hint=f"available: {', '.join(sorted(table)[:8])}"
        )
    return _prices(table[names[0]], path, names[0])


def check_prices(path: str | Path) -> None:
    """Check a whole table, before a run spends anything.

    Raises:
        ConfigError: It can't be read, or a model's prices are wrong.
    """
    for name, entry in _table(Path(path)).items():
        _prices(entry, path, name)


def _table(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text("utf-8")
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"can't read the prices in {path}: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path} must be a table of prices by model")
    return found


def _prices(entry: Any, path: str | Path, name: str) -> ModelPrices:
    if not isinstance(entry, Mapping) or not {"prompt", "completion"} <= entry.keys() <= {*KEYS}:
        got = f"the keys {', '.join(entry)}" if isinstance(entry, Mapping) else f"{entry!r:.80}"
        hint = f"[{name}] needs prompt and completion, each a price per million tokens. It may have cached and batch"
        raise ConfigError(f"{path}: {name} must have prompt and completion, got {got}", hint=hint)
    for key, value in entry.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value) or value < 0:
            raise ConfigError(f"{path}: {name}: {key} must be a number >= 0, got {value!r}")
    return ModelPrices(**entry)
