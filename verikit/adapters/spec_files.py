"""Specs that start with a file: `reward.py:score` and `judges.toml#main`."""

from __future__ import annotations

from pathlib import Path


def split_file(spec: str) -> tuple[Path, str] | None:
    """Return the file that a spec starts with, and the rest with its `:` or `#`. None if there is no such file."""
    mark = ".py:" if ".py:" in spec else ".toml#"
    path, found, rest = spec.partition(mark)
    file = Path(path + mark[:-1])
    return (file, mark[-1] + rest) if found and file.is_file() else None


def absolute(spec: str) -> str:
    """Return a spec that works from any folder: a file that it starts with gets its full path."""
    named = split_file(spec)
    return spec if named is None else f"{named[0].resolve()}{named[1]}"
