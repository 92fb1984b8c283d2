"""Engine specs: `openai:http://host:8000/v1#model`, `vllm:PATH`, `hf:PATH`, `replay:FILE`, or your own class.

A registered name is followed by a colon and the argument of its class. `package.module:Name` and `file.py:Name` are
classes (or functions) called without an argument, or engines used directly.
"""

from __future__ import annotations

from typing import Any

from verikit.engines.cache import Cache, CachedEngine
from verikit.engines.types import Engine
from verikit.errors import SpecError, nearest
from verikit.names.registry import find, misfit, registered
from verikit.names.spec import import_object, names_object
from verikit.platform.folders import check_code


def load_engine(spec: str, *, cache: Cache | None = None, **options: Any) -> Engine:
    """Create an engine from its spec, behind a cache if one is given. `options` are those of the engine's class.

    Raises:
        SpecError: The spec is invalid, or the engine has no such option.
        MissingExtra: The engine's packages are not installed.
    """
    kind, _, rest = spec.partition(":")
    if is_engine(spec):
        engine = _make(kind, find("engines", kind), [rest], options)
    elif names_object(spec):
        check_code(spec)
        made = _imported(spec, kind)
        engine = made if isinstance(made, Engine) else _make(spec, made, [], options)
    else:
        forms = f"one of {engine_forms()}"
        hint = forms if kind in registered("engines") else nearest(kind, registered("engines"), forms)
        raise SpecError(f"{spec!r} is not an engine", hint=hint)
    return engine if cache is None else CachedEngine(engine, cache)


def _imported(spec: str, kind: str) -> Any:
    try:
        return import_object(spec)
    except SpecError as error:  # perhaps an engine's name, mistyped
        raise SpecError(str(error), hint=nearest(kind, registered("engines"), error.hint)) from None


def is_engine(spec: str) -> bool:
    """Whether a spec starts with a registered engine's name."""
    kind, _, rest = spec.partition(":")
    return bool(rest) and kind in registered("engines")


def engine_forms() -> str:
    """Return the formats of an engine's spec, for messages."""
    engines = [find("engines", name) for name in registered("engines")]
    forms = [
        getattr(getattr(engine, "__self__", engine), "form", "") for engine in engines
    ]  # OpenAI.from_spec: its class
    return ", ".join([*filter(None, forms), "package.module:Name", "file.py:Name"])


def _make(name: str, make: Any, args: list[str], options: dict[str, Any]) -> Engine:
    if not callable(make):
        raise SpecError(f"{name} is a {type(make).__name__}, not an engine")
    problem, hint = misfit(make, args, options)
    if problem:
        raise SpecError(f"engine {name}: {problem}", hint=hint)
    made = make(*args, **options)
    if not isinstance(made, Engine):
        raise SpecError(f"{name} makes a {type(made).__name__}, not an engine")
    return made
