"""What recipes ask before a run of the services they depend on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from verikit.base import Verifier, walk
from verikit.engines.types import Engine, Request
from verikit.judges.judge import Judge
from verikit.trainers.recipe import Probe


def engine_probe(engine: Engine) -> str:
    """Ask an engine for one token.

    Raises:
        EngineError: it gave none.
    """
    (reply,) = engine.generate([Request("1 + 1 =", max_tokens=1)])
    if reply.error is not None:
        raise reply.error
    return f"{engine.name} answered"


def judge_probes(name: str, verifier: Verifier) -> Iterator[Probe]:
    """Ask the engine of every judge that a verifier is made of."""
    for part in walk(verifier):
        if isinstance(part, Judge):
            yield f"{name} {part.name}", partial(_judge_probe, part)


def _judge_probe(judge: Judge) -> str:
    return engine_probe(judge.connected())
