"""Queries that recipes send before a run to the services they depend on, and deadlines for foreign verifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from verikit.base import FunctionVerifier, Verifier, walk
from verikit.compose.guards import with_timeout
from verikit.engines.types import Engine, Request
from verikit.errors import EngineError, TrainerError, VerikitError
from verikit.judges.asking.ask import Record
from verikit.judges.asking.judge import Judge
from verikit.scoring.tally import LOST
from verikit.trainers.recipe import Probe, Recipe
from verikit.types import Sample

if TYPE_CHECKING:
    from verikit.trainers.distributed import World

NAMES = {"prompt_tokens": "prompt tokens", "completion_tokens": "sampled tokens"}
"""The reported keys of a judge's usage."""


def engine_probe(engine: Engine) -> str:
    """Request one token from an engine.

    Raises:
        EngineError: It returned none.
    """
    (reply,) = engine.generate([Request("1 + 1 =", max_tokens=1)])
    if reply.error is not None:
        raise reply.error
    return f"{engine.name} answered"


def judge_probes(name: str, verifier: Verifier, sample: Sample) -> Iterator[Probe]:
    """Yield a probe for every judge in a verifier: it judges one sample, without cached results."""
    for part in walk(verifier):
        if isinstance(part, Judge):
            yield f"{name} {part.name}", partial(_judge_probe, part, sample)


def _judge_probe(judge: Judge, sample: Sample) -> str:
    """Query a judge with one real question.

    Raises:
        EngineError: The engine failed.
        TrainerError: The reply lacks a verdict.
    """
    # A cache of generations would hide a judge that is down.
    asked = replace(judge, cache=False, _record=Record())
    (score,) = asked.score([sample])
    if isinstance(score.cause, EngineError):
        raise score.cause
    if score.status in LOST:
        raise TrainerError(f"it gave no verdict: {score.reason}")
    spent = ", ".join(f"{count:,.0f} {NAMES[key]}" for key, count in score.usage.items() if key in NAMES and count)
    limit = f", at most {judge.file.sampling.max_tokens:,} a reply"
    said = "abstained" if score.value is None else f"gave {score.value:g}"
    return f"{said} to one answer" + (f" ({spent}{limit})" if spent else "")


def ask_services(recipe: Recipe, world: World, told: Callable[[str], None]) -> None:
    """Query a run's services from the main process, before spending a step, and pass each answer to the callback.

    Raises:
        TrainerError: A service does not answer. Every process raises it.
    """
    failed = None
    for name, ask in recipe.probes() if world.rank == 0 else ():
        try:
            told(f"{name}: {ask()}")
        except VerikitError as error:
            failed = f"{name}: {error}", error.hint
            break
    failed = world.gather(failed)[0]
    if failed is not None:
        problem, hint = failed
        raise TrainerError(f"before the first step: {problem}", hint=hint)


def guarded(verifier: Verifier, seconds: float) -> Verifier:
    """Give a verifier a deadline, unless all of it is verikit's own, which limits its own work."""
    foreign = any(not _module(part).startswith("verikit.") for part in walk(verifier))
    return with_timeout(verifier, seconds) if foreign and seconds else verifier


def _module(part: Verifier) -> str:
    return part._function.__module__ if isinstance(part, FunctionVerifier) else type(part).__module__
