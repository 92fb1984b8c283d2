"""The model of a run, by its spec: one of verikit's engines, stored outputs, or one of lm-eval's own names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lm_eval.api.model import CachingLM
from lm_eval.api.registry import get_model

from verikit.cli.options import read_options as read_options
from verikit.engines import Cache
from verikit.engines.cache import default_path
from verikit.engines.load import engine_forms, is_engine, load_engine
from verikit.errors import SchemaError, UsageError
from verikit.evals.data import rows
from verikit.evals.left import StoredFiles
from verikit.evals.lm import EngineLM, Told
from verikit.evals.ranker import Ranker
from verikit.evals.stored import Stored
from verikit.evals.typed import LM
from verikit.names.spec import load, names_object
from verikit.retrieval import load_retriever
from verikit.types import PASS_MARK


@contextmanager
def opened_model(
    spec: str,
    options: Mapping[str, Any],
    *,
    seed: int = 0,
    retriever: str | None = None,
    cached: bool = True,
    told: Told,
) -> Iterator[LM]:
    """Yield an lm-eval model, and release its resources at the end.

    Args:
        spec: `openai:…`, `vllm:PATH`, `hf:PATH`, `file.py:Name`; `replay:FILE`, a recording of requests or rows with
            outputs; `replay:FOLDER`, the files that agents left; a verifier with its parentheses (`rm('hf:DIR')`), for
            tasks that score replies; or a name of lm-eval's registry (`hf`, `vllm`, `local-completions`).
        options: Options of the engine or of lm-eval's model.
        seed: Seed for sampled requests.
        retriever: A retriever's spec, for the tasks that search.
        cached: Cache generations in the user's cache folder and reuse them.
        told: Receives the number of finished requests and the total.

    Raises:
        UsageError: The model does not exist, or can't be created with these options.
        MissingExtra: Its packages are not installed.
    """
    kind, _, rest = spec.partition(":")
    if kind == "replay" and os.path.isdir(rest):
        yield StoredFiles(rest)
    elif kind == "replay" and rest and not is_recording(rest):
        yield Stored(rest)
    elif is_verifier(spec):
        yield Ranker(load(spec), threshold=_threshold(options), told=told)
    elif is_engine(spec) or names_object(spec):
        cache = Cache(default_path()) if cached and kind != "replay" else None
        finder = load_retriever(retriever) if retriever else None
        with load_engine(spec, cache=cache, **options) as engine:
            yield EngineLM(engine, seed=seed, retriever=finder, told=told)
    else:
        made = _registered(spec, options)
        yield CachingLM(made, str(default_path().with_name("lm-eval"))) if cached else made


def is_verifier(spec: str) -> bool:
    """Whether a model's spec is a verifier's: it is written with its parentheses."""
    return spec.endswith(")") and "(" in spec


def _threshold(options: Mapping[str, Any]) -> Any:
    """Return the only option of a verifier that is a model."""
    if other := set(options) - {"threshold"}:
        raise UsageError(f"a verifier has no option {min(other)!r} as a model", hint="its own options go into its spec")
    return options.get("threshold", PASS_MARK)


def _registered(name: str, options: Mapping[str, Any]) -> LM:
    try:
        made: LM = get_model(name).create_from_arg_obj(dict(options))
        return made
    except (KeyError, ValueError, TypeError, ImportError) as error:
        hint = f"an engine is one of {engine_forms()}"
        raise UsageError(f"lm-eval can't make a model {name!r}: {error}", hint=hint) from None


def is_recording(path: str) -> bool:
    """Whether a file is a recording of requests with generations, not rows with outputs.

    Raises:
        UsageError: The file can't be read.
        SchemaError: Its first row is not an object.
    """
    for _, row in rows(path):
        return "request" in row and "generation" in row
    raise SchemaError("the file has no rows", file=path)


def default_folder(spec: str, tasks: Sequence[str]) -> str:
    """The name of a run's folder, from its model and its tasks."""
    if is_verifier(spec):
        spec = re.sub(r"[^\w.-]+", "-", spec).strip("-")
    kind, _, rest = spec.partition(":")
    path = rest or kind
    model = path.rpartition("#")[2] if "#" in path else Path(path).name.removesuffix(".jsonl")
    names = [Path(task).stem.removeprefix("verikit_") for task in tasks]
    return "-".join(("eval", Path(model or kind).name, *names))[:120]
