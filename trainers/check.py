"""`verikit train --check`: check a run's dependencies before loading a model, and estimate the cost of a step.

It checks settings, data, judges (a real question), retriever (a query), sandbox, engine, trackers, memory and window.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sized
from pathlib import Path
from typing import Any

import torch

from verikit.errors import ConfigError, VerikitError, with_hint
from verikit.tracking import read_trackers
from verikit.trainers.activations import micro_batch_bytes
from verikit.trainers.config import Config, find_recipe
from verikit.trainers.costs import StepCost
from verikit.trainers.distill import check_tokenizer
from verikit.trainers.engine_check import ask_engine
from verikit.trainers.gold import GoldWatch
from verikit.trainers.memory import expected_memory
from verikit.trainers.policy import load_tokenizer, refuse_quantised
from verikit.trainers.precision import computes_in_bf16, prepare_model, refuse_uneven
from verikit.trainers.recipe import Setting


def check(config: Config, processes: int) -> Iterator[tuple[bool, str]]:
    """Run one check after another; yield whether it passed, and a line that describes the check and its result.

    A check is skipped if it needs the result of one that failed. All others run, so one call reports everything
    missing.
    """
    kind = find_recipe(config.recipe)
    options = kind.Options.model_validate(config.options)
    made: dict[str, Any] = {}

    def tokenizer() -> str:
        made["tokenizer"] = _NoTokenizer()
        own = None if config.model.path else kind.make_model(options, config.seed)
        made["own"], made["tokenizer"] = own, own[1] if own else _tokenizer(config)
        return config.model.path or f"made by {config.recipe}"

    def recipe() -> str:
        folder, credit = Path(config.folder or "."), config.advantage.credit
        made["recipe"] = kind(options, Setting(made["tokenizer"], config.seed, folder, credit))
        return config.recipe

    try:
        for name, ask in (("tokenizer", tokenizer), ("recipe", recipe)):
            yield _tried(name, ask)
        distill = config.distill
        if distill is not None:
            yield _tried("teacher", lambda: f"{check_tokenizer(distill, made['tokenizer'])} has the policy's tokenizer")
        if "recipe" in made:
            for name, ask in made["recipe"].probes():
                yield _tried(name, ask)
            if isinstance(corpus := getattr(made["recipe"], "corpus", None), Sized):
                yield True, f"corpus: {len(corpus):,} documents; the first of each file can be read"
            if config.run.gold is not None:
                yield _tried("gold", lambda: _gold(config.run.gold, made["recipe"]))
        yield _tried("engine", lambda: ask_engine(config))
        if config.run.track:
            yield _tried("trackers", lambda: ", ".join(spec.key for spec in read_trackers(config.run.track)))
        counts = "recipe" in made and not isinstance(made["tokenizer"], _NoTokenizer)
        cost: Any = made["recipe"].step_cost() if counts else None
        if config.model.path or "own" in made:
            yield _tried("memory", lambda: _memory(config, kind.model_class, made.get("own"), processes, cost))
        if cost is not None:
            if config.model.path:
                yield _tried("window", lambda: _window(config, cost))
            yield True, f"cost: {cost.told(config.run.steps)}"
    finally:
        if "recipe" in made:
            made["recipe"].close()


def _gold(section: Any, recipe: Any) -> str:
    """Load the gold verifier and count the rows that it scores."""
    return f"{section.verifier} on {GoldWatch(section, recipe).rows:,} held-out rows at each evaluation"


class _NoTokenizer:
    """Replaces a tokenizer that can't be loaded. Checks that need it fail with an error, and all others still run."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ConfigError("this check requires the tokenizer, which could not be loaded")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        raise ConfigError("this check requires the tokenizer, which could not be loaded")


def _tried(name: str, ask: Callable[[], str]) -> tuple[bool, str]:
    try:
        return True, f"{name}: {ask()}"
    except VerikitError as error:
        return False, f"{name}: {with_hint(str(error), error.hint)}"


def _tokenizer(config: Config) -> Any:
    if not config.model.path:
        raise ConfigError(f"recipe {config.recipe} does not build a model", hint="set model.path")
    return load_tokenizer(config)


def _model_settings(config: Config) -> Any:
    import transformers

    try:
        return transformers.AutoConfig.from_pretrained(config.model.path, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.path {config.model.path!r}: {' '.join(str(error).split())[:300]}") from None


def _window(config: Config, cost: StepCost) -> str:
    """Compare a prompt of mean length plus the longest completion with the model's number of positions.

    Raises:
        ConfigError: They don't fit.
    """
    window = getattr(_model_settings(config).get_text_config(), "max_position_embeddings", None)
    needed = math.ceil(cost.prompt_tokens) + cost.tokens
    told = f"prompts of about {cost.prompt_tokens:,.0f} and completions of {cost.tokens:,} tokens"
    if isinstance(window, int) and needed > window:
        raise ConfigError(
            f"{told} exceed the model's window of {window:,}",
            hint="lower the recipe's limits of tokens in [options], or choose a model with a longer window",
        )
    return f"{told} fit" + (f" the model's window of {window:,}" if window else ", the model names no window")


def _memory(config: Config, model_class: str, own: Any, processes: int, cost: StepCost | None) -> str:
    """Compare weights, gradients, optimizer state and the largest micro-batch with the free memory.

    Raises:
        ConfigError: They don't fit.
    """
    import transformers

    if own:
        model = own[0]
    else:
        settings = _model_settings(config)
        refuse_quantised(settings, config.model.path)
        dtype = settings.dtype if config.model.dtype == "auto" else getattr(torch, config.model.dtype)
        with torch.device("meta"):
            model = getattr(transformers, model_class).from_config(settings, dtype=dtype or torch.float32)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    bf16 = computes_in_bf16(model, config, device)
    length = math.ceil(cost.prompt_tokens) + cost.tokens if cost else config.batch.tokens
    activations = _activations(model, config, length, bf16=bf16, device=device)
    policy = prepare_model(model, config, device)
    if config.distributed.kind == "fsdp2":
        refuse_uneven(policy, config.optimizer, config.distributed.shards or processes)
    estimate = expected_memory(policy, config, processes, bf16=bf16)
    numbers = sum(parameter.numel() for parameter in model.parameters())
    free = _free(1 if torch.cuda.is_available() else processes)
    learning = estimate.learning + activations
    if activations and config.distributed.kind != "fsdp2":
        learning -= estimate.gathered  # the bf16 copies are already part of the micro-batch's memory
    rows = f"from {max(config.batch.tokens, length):,} tokens at a time" if activations else "before activations"
    told = (
        f"{numbers:,} parameters take {learning / 2**30:.1f} GiB while learning {rows}, and"
        f" {estimate.sampling / 2**30:.1f} GiB while sampling"
    )
    if max(learning, estimate.sampling) > free:
        raise ConfigError(
            f"{told}. {free / 2**30:.1f} GiB are free",
            hint=f"{_without_copy(config)}, or optimizer.kind = adamw8bit, or distributed.kind = fsdp2, or lower"
            " batch.tokens with precision.checkpointing = true",
        )
    return f"{told}. {free / 2**30:.1f} GiB are free"


def _without_copy(config: Config) -> str:
    """Return the setting that saves the most memory in one process."""
    samples_a_copy = config.precision.lora_rank and config.precision.lora_merged and config.engine.kind == "hf"
    return "set precision.lora_merged = false" if samples_a_copy else "set precision.lora_rank = 16"


def _activations(model: Any, config: Config, length: int, *, bf16: bool, device: torch.device) -> float:
    """Return the extra bytes of training on a micro-batch, or 0 if the model's family does not support counting."""
    try:
        return micro_batch_bytes(model, config, length, bf16=bf16, device=device)
    except (AttributeError, IndexError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return 0.0  # each family needs tensor values, or rejects a changed number of layers, in its own way


def _free(sharing: int) -> float:
    """Return the free bytes for one process: of its GPU, or its part of this machine's memory."""
    if torch.cuda.is_available():
        return float(torch.cuda.mem_get_info()[0])
    try:
        with open("/proc/meminfo", encoding="ascii") as stream:
            lines = dict(line.split(":", 1) for line in stream)
        free = 1024.0 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        free = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return free / sharing
