"""Check the availability of the sampling engine before a model is loaded."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx

from verikit.engines.load import load_engine
from verikit.errors import ConfigError, MissingExtra
from verikit.trainers.config import Config
from verikit.trainers.probes import engine_probe

NEEDED = "/collective_rpc"
"""The path of a vLLM server that accepts new weights. It exists only with VLLM_SERVER_DEV_MODE=1."""


def ask_engine(config: Config) -> str:
    """Return a description of the engine that will sample.

    Raises:
        ConfigError: Options are missing, or the server doesn't accept new weights.
        EngineError: The server doesn't answer.
        MissingExtra: vLLM is not installed.
    """
    kind = config.engine.kind
    if kind == "hf":
        return f"hf decodes up to {config.engine.rows} completions at once with the policy's own weights"
    if kind == "vllm":
        if find_spec("vllm") is None:
            raise MissingExtra("engine.kind = vllm", "vllm")
        try:
            return f"vllm {version('vllm')} is installed"
        except PackageNotFoundError:
            return "vllm is installed"
    return _ask_server(config.engine.options)


def _ask_server(options: dict[str, Any]) -> str:
    if missing := {"url", "folder"} - options.keys():
        raise ConfigError(f"engine.options.{min(missing)} is missing", hint="kind = server needs url and folder")
    folder = Path(options["folder"])
    above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not os.access(above, os.W_OK):
        raise ConfigError(f"engine.options.folder: can't write to {above}", hint="the server reads weights from there")
    engine = load_engine(f"openai:{options['url']}", **{k: v for k, v in options.items() if k not in ("url", "folder")})
    try:
        told = engine_probe(engine)
    finally:
        engine.close()
    root = str(options["url"]).partition("#")[0].rstrip("/").removesuffix("/v1")
    paths = _paths_of(root)
    if isinstance(paths, dict) and NEEDED not in paths:
        hint = "start it with VLLM_SERVER_DEV_MODE=1"
        raise ConfigError(f"{root} takes no new weights: it has no {NEEDED}", hint=hint)
    return told


def _paths_of(root: str) -> Any:
    """Return the paths that a server documents, or None if it documents none."""
    try:
        reply = httpx.get(f"{root}/openapi.json", timeout=10)
        return reply.json().get("paths") if reply.status_code == 200 else None
    except (httpx.HTTPError, ValueError, AttributeError):
        return None
