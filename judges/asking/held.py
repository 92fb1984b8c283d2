"""Constrain a judge's reply to its verdicts while it is sampled, if the engine can.

Small models rarely follow a format unaided. A constrained model can write only a verdict, and its opinion of the
answers decides which one.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace

from verikit.engines import Engine, Generation, Output, Request
from verikit.engines.errors import BadRequest, Unsupported
from verikit.engines.types import Structured
from verikit.judges.asking.reply import ReplyFormat

MEMBER = "verdict"
"""Field of the object that a reply is constrained to, if the engine supports only JSON schemas."""
TOKENS = 32
"""Maximum tokens for a verdict and the object around it."""


def generate(
    engine: Engine, requests: Sequence[Request], choices: Sequence[str]
) -> tuple[list[Generation], list[bool]]:
    """Send the requests in one call, with replies constrained to `choices` if the engine can.

    Requests that the engine rejects are sent again without the constraint, with a warning.

    Returns:
        The generations, and for each whether its text was constrained.
    """
    if not requests:
        return [], []
    holds = bool(choices) and "choice" in engine.structured
    form = Structured(choice=tuple(choices)) if holds else None
    generations = engine.generate([replace(request, structured=form) for request in requests])
    held = [holds] * len(requests)
    refused = _refused(generations) if holds else []
    if refused:
        tell_refused(engine, generations[refused[0]], "asked without")
        for i, generation in zip(refused, engine.generate([requests[i] for i in refused]), strict=True):
            generations[i], held[i] = generation, False
    return generations, held


def tell_refused(engine: Engine, generation: Generation, then: str) -> None:
    """Warn, once per batch, that the engine rejected a constrained request, and what happens instead."""
    problem = f"{engine.name} rejected a request whose reply is constrained to its verdicts ({generation.error})"
    warnings.warn(f"{problem}: {then}", stacklevel=3)


def bound(engine: Engine, request: Request, reply: ReplyFormat) -> Request | None:
    """The request with its reply constrained to a verdict. None if the engine can't."""
    kinds, verdicts = engine.structured, reply.verdicts()
    if "choice" in kinds:
        form, logprobs = Structured(choice=verdicts), request.logprobs
    elif "json" in kinds:
        enum = {"type": "string", "enum": list(verdicts)}
        schema = {"type": "object", "properties": {MEMBER: enum}, "required": [MEMBER], "additionalProperties": False}
        form, logprobs = Structured(json=schema), None
    else:
        return None
    return replace(request, structured=form, logprobs=logprobs, max_tokens=max(TOKENS, request.max_tokens))


def unbound(generation: Generation, request: Request) -> Generation | None:
    """The verdict without the object around it. None if the engine rejected the request, which shows nothing."""
    if _refuses(generation):
        return None
    if request.structured is None or request.structured.json is None:
        return generation
    return replace(generation, outputs=tuple(map(_unwrapped, generation.outputs)))


def _unwrapped(output: Output) -> Output:
    try:
        said = json.loads(output.text)[MEMBER]
    except (ValueError, TypeError, KeyError, RecursionError):
        return output
    return replace(output, text=said) if isinstance(said, str) else output


def _refused(generations: Sequence[Generation]) -> list[int]:
    return [i for i, generation in enumerate(generations) if _refuses(generation)]


def _refuses(generation: Generation) -> bool:
    return isinstance(generation.error, (BadRequest, Unsupported))
