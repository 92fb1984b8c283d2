"""The files next to a TOML file that its specs name, such as the recording of `rubric('replay:judge.jsonl')`.

A verifier class lists its options that may name a file of this machine as `local_files`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from verikit.names.registry import registered


def with_neighbours(
    make: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any], folder: Path
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, with the paths of files in `folder` where the callee's `local_files` name such files.

    Other arguments are unchanged: most paths in a spec are those of an agent's files. The callee must accept them all.
    """
    taken: Sequence[str] = getattr(make, "local_files", ())
    if not taken:
        return list(args), dict(options)
    names = [*signature(make).parameters][: len(args)]
    moved = [_moved(value, folder) if name in taken else value for name, value in zip(names, args, strict=True)]
    return moved, {name: _moved(value, folder) if name in taken else value for name, value in options.items()}


def _moved(value: Any, folder: Path) -> Any:
    """A path in `folder` if that file exists, otherwise the value. Models of an engine (`hf:DIR`) can be folders."""
    if not isinstance(value, str) or not value:
        return value
    kind, colon, path = value.partition(":")
    if colon and path and kind in registered("engines"):
        near = os.path.join(folder, path)
        return f"{kind}:{near}" if os.path.exists(near) else value
    near = os.path.join(folder, value)
    return near if os.path.isfile(near) else value
