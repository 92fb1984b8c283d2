"""The view of a run in the terminal: one live line while it trains, and a table with curves at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from verikit.platform.terminal import clock, table
from verikit.trainers.config import Config

LogRow = Mapping[str, Any]
HELD_OUT = "held-out/"
_BARS = "▁▂▃▄▅▆▇█"
_SHOWN = {
    "reward": "reward {:.3f}",
    "passed": "right {:.0%}",
    "loss": "loss {:.3f}",
    "kl": "KL {:.4f}",
    "entropy": "entropy {:.2f}",
    "clip_share": "clip {:.1%}",
    "zero_variance": "same reward {:.0%}",
    "unscored": "unscored {:.0f}",
    "tokens_per_second": "{:,.0f} tok/s",
    "memory_mb": "{:,.0f} MB",
}


class View:
    """Stores the last row of metrics, and formats it as one line of text."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._row: LogRow = {}
        self._held_out = ""

    def __call__(self, row: LogRow) -> str:
        """Process a row of metrics; return a message for held-out metrics or the warm-up's gate, "" for other rows."""
        if not any(name.startswith(HELD_OUT) for name in row):
            self._row = row
            return f"warm-up step {row['step']}: gate {row['gate']:.3f}" if "gate" in row else ""
        told = ", ".join(f"{name.removeprefix(HELD_OUT)} {row[name]:.3f}" for name in row if name.startswith(HELD_OUT))
        self._held_out = told.partition(",")[0]
        return f"step {row['step']}: held-out {told}"

    def describe(self, seconds: float) -> str:
        """Return the live line."""
        row = self._row
        if not row:
            return f"starting {seconds:.0f} s"
        warmup = self._config.warmup if str(row["phase"]).startswith("0") else None
        warming, steps = warmup is not None, self._config.run.steps
        if warmup is not None:
            steps = warmup.steps if int(row["step"]) <= warmup.steps else warmup.last_step
        percent = int(100 * int(row["step"]) / max(1, steps))
        parts = [f"{'warm-up' if warming else 'step'} {row['step']}/{steps} ({percent}%)"]
        hidden = {"reward", "passed", "kl", "clip_share", "zero_variance", "unscored"} if warming else {"loss"}
        parts += [text.format(row[name]) for name, text in _SHOWN.items() if name in row and name not in hidden]
        parts += [f"{name.removeprefix('part/')} {row[name]:.3f}" for name in row if name.startswith("part/")]
        if self._held_out and not warming:
            parts.append(f"held-out {self._held_out}")
        left = (steps - int(row["step"])) * float(row["seconds_step"])
        return " · ".join([*parts, f"{clock(left)} left"])


def _series(rows: Iterable[LogRow]) -> tuple[dict[str, list[float]], list[float]]:
    """Return the held-out metrics, keyed by metric, and the rewards of the training phase, in order."""
    held_out: dict[str, list[float]] = {}
    rewards: list[float] = []
    for row in rows:
        if not str(row["phase"]).startswith("1"):
            continue
        if "reward" in row:
            rewards.append(float(row["reward"]))
        for name in row:
            if name.startswith(HELD_OUT):
                held_out.setdefault(name.removeprefix(HELD_OUT), []).append(float(row[name]))
    return held_out, rewards


def summary(rows: Iterable[LogRow]) -> Iterator[str]:
    """Yield the end of a run: first and last held-out metrics and the reward, each with its curve."""
    held_out, rewards = _series(rows)
    lines = [
        [name, f"{values[0]:.3f}", f"{values[-1]:.3f}", curve(values)] for name, values in held_out.items() if values
    ]
    if len(rewards) > 1:
        lines.append(["reward of a step", f"{rewards[0]:.3f}", f"{rewards[-1]:.3f}", curve(rewards)])
    if lines:
        yield from table(["held out" if held_out else "", "before", "after", "curve"], lines)


def curve(values: Sequence[float], width: int = 24) -> str:
    """Return a line of bars scaled from minimum to maximum. More values than `width` are averaged in runs."""
    size = max(1, -(-len(values) // width))
    means = [sum(run) / len(run) for run in (values[at : at + size] for at in range(0, len(values), size))]
    low, high = min(means), max(means)
    step = (high - low) / (len(_BARS) - 1) or 1.0
    return "".join(_BARS[round((value - low) / step)] for value in means)
