"""What recipes ask before a run of the services they depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from verikit.base import Verifier, score_all, walk
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
"""What of a judge's usage is told."""


def engine_probe(engine: Engine) -> str:
    """Ask an engine for one token.

    Raises:
        EngineError: it gave none.
    """
    (reply,) = engine.generate([Request("1 + 1 =", max_tokens=1)])
    if reply.error is not None:
        raise reply.error
    return f"{engine.name} answered"


def judge_probes(name: str, verifier: Verifier, sample: Sample) -> Iterator[Probe]:
    """Have every judge that a verifier is made of judge one sample; nothing stored answers for it."""
    for part in walk(verifier):
        if isinstance(part, Judge):
            yield f"{name} {part.name}", partial(_judge_probe, part, sample)


def _judge_probe(judge: Judge, sample: Sample) -> str:
    """Put one real question.

    Raises:
        EngineError: the engine gave nothing.
        TrainerError: the reply holds no verdict.
    """
    # A cache of generations would answer for a judge that is down.
    asked = replace(judge, cache=False, _record=Record())
    (score,) = score_all(asked, [sample])
    if isinstance(score.cause, EngineError):
        raise score.cause
    if score.status in LOST:
        raise TrainerError(f"it gave no verdict: {score.reason}")
    spent = ", ".join(f"{count:,.0f} {NAMES[key]}" for key, count in score.usage.items() if key in NAMES and count)
    limit = f", at most {judge.file.sampling.max_tokens:,} a reply"
    said = "abstained" if score.value is None else f"gave {score.value:g}"
    return f"{said} to one answer" + (f" ({spent}{limit})" if spent else "")


def ask_services(recipe: Recipe, world: World, told: Callable[[str], None]) -> None:
    """Have the main process ask what a run depends on, before a step is paid for; `told` is given what came.

    Raises:
        TrainerError: something does not answer; every process raises it.
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
