"""A tiny model: made, trained and exported by verikit's own commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from verikit.cli import cli
from verikit.trainers.recipes.tiny_model import make_llama, make_tokenizer

TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<a>{{ m.content }}"
    "{% elif m.role == 'user' %}<u>{{ m.content }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}"
)
"""Turns as `<u>` and `<a>`, without the system's."""


def make_model(folder: Path, words: Sequence[str], seed: int, template: str = TEMPLATE) -> None:
    """Write an untrained Llama of 100,000 parameters and its tokenizer, whose tokens are `words`."""
    tokenizer = make_tokenizer(words)
    tokenizer.chat_template = template
    make_llama(tokenizer, seed, positions=512).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def train(
    folder: Path,
    start: Path,
    rows: Iterable[Mapping[str, Any]] | Path,
    seed: int,
    steps: int,
    batch: int = 32,
    tokens: int = 4096,
    save_every: int = 0,
) -> Path:
    """Train a copy of the model at `start` by `verikit train sft`, and return the run's folder.

    Args:
        folder: For the data, the run, and the model.
        start: The model to begin with.
        rows: To learn from, or a file of them.
        seed: Of the order of rows.
        steps: Batches.
        batch: Rows in each.
        tokens: Most at once, padding included.
        save_every: Steps between checkpoints, which are all kept; 0: only the last.
    """
    folder.mkdir(parents=True)
    if isinstance(rows, Path):
        data = rows
    else:
        data = folder / "data.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    sets = {
        "model.path": start, "options.data": data, "options.batch": batch, "run.steps": steps, "optimizer.lr": 5e-3,
        "optimizer.betas": [0.9, 0.99], "optimizer.warmup_steps": 50, "batch.tokens": tokens,
        "run.save_every": save_every or steps, "run.keep": steps, "run.evaluate_every": 0, "seed": seed,
    }  # fmt: skip
    changes = [part for key, value in sets.items() for part in ("--set", f"{key}={value}")]
    verikit("train", "sft", "-q", "-o", folder / "run", *changes)
    return folder / "run"


def export(run: Path, step: int) -> Path:
    """Write a run's model after some steps beside it, and return its folder."""
    out = run.parent / f"model-{step}"
    verikit("export", run, "-o", out, "--step", step)
    return out


def verikit(*words: object) -> None:
    """Run a command of verikit's, in this process: torch is imported once."""
    cli.main([str(word) for word in words], prog_name="verikit", standalone_mode=False)
