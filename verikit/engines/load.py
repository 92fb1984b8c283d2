"""Engine specs: `openai:http://host:8000/v1#model`, `vllm:PATH`, `hf:PATH`, `replay:FILE`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from verikit.engines.cache import Cache, Cached
from verikit.engines.types import Engine
from verikit.errors import SpecError
from verikit.registry import misfit

ENGINES = {
    "openai": ("verikit.engines.openai:OpenAI.from_spec", "openai:http://host:8000/v1#model"),
    "vllm": ("verikit.engines.vllm:VLLM", "vllm:PATH"),
    "hf": ("verikit.engines.hf.engine:HF", "hf:PATH"),
    "replay": ("verikit.engines.replay:Replay", "replay:FILE"),
}
"""Kind -> (where it lives, the form of its spec)."""


def load_engine(spec: str, *, cache: Cache | None = None, **options: Any) -> Engine:
    """Make an engine from its spec, behind a cache where one is given; `options` are those of the engine's class.

    Raises:
        SpecError: the spec is none, or the engine has no such option.
        MissingExtra: the engine's packages are not installed.
    """
    kind, _, rest = spec.partition(":")
    if kind not in ENGINES or not rest:
        forms = ", ".join(form for _, form in ENGINES.values())
        raise SpecError(f"{spec!r} is not an engine", hint=f"one of {forms}")
    module, _, path = ENGINES[kind][0].partition(":")
    made: Any = import_module(module)
    for part in path.split("."):
        made = getattr(made, part)
    problem, hint = misfit(made, [rest], options)
    if problem:
        raise SpecError(f"engine {kind}: {problem}", hint=hint)
    engine: Engine = made(rest, **options)
    return engine if cache is None else Cached(engine, cache)
