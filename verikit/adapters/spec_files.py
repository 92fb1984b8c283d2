"""Specs that start with a file: `reward.py:score` and `judges.toml#main`."""

from __future__ import annotations

from pathlib import Path

from verikit.names.spec import move_files


def split_file(spec: str) -> tuple[Path, str] | None:
    """Return the file that a spec starts with, and the rest with its `:` or `#`. None if there is no such file."""
    mark = ".py:" if ".py:" in spec else ".toml#"
    path, found, rest = spec.partition(mark)
    file = Path(path + mark[:-1])
    return (file, mark[-1] + rest) if found and file.is_file() else None


def absolute(spec: str) -> str:
    """Return a spec that works from any folder: its files get their full paths."""
    named = split_file(spec)
    start, rest = ("", spec) if named is None else (str(named[0].resolve()), named[1])
    return start + move_files(rest, lambda file: str(Path(file).resolve()))
