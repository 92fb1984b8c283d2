"""A mapping for several files: `prompt=question` is for all of them, `chats.jsonl:prompt=messages` for one.

A file is named by its path, by its base name, or by a pattern of either.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from verikit.errors import UsageError
from verikit.readers.layout import ALIASES, FIELDS, OWN, check_mapping

_TEXTS = ("completions", "completion")


def split_files(mapping: Mapping[str, str]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Split a mapping into the part for all files, and the parts for some of them, by the name given.

    Raises:
        UsageError: A part names a field twice, or maps it to nothing.
    """
    shared: dict[str, str] = {}
    by_file: dict[str, dict[str, str]] = {}
    for name, path in mapping.items():
        file, colon, field = name.rpartition(":")
        if colon and (field in FIELDS or field in ALIASES or field.startswith(OWN)):
            by_file.setdefault(file, {})[field] = path
        else:
            shared[name] = path
    return shared, {file: check_mapping(fields) for file, fields in by_file.items()}


def check_files(named: Mapping[str, Mapping[str, str]], files: Sequence[str]) -> None:
    """Check that the files named by parts of a mapping are read.

    Raises:
        UsageError: One is not among the files that are read.
    """
    for name, fields in named.items():
        if not any(_is_named(file, name) for file in files):
            raise UsageError(
                f"--map {name}:{next(iter(fields))}: no file of that name is read",
                hint=f"the files are {', '.join(files[:10])}{', …' if len(files) > 10 else ''}",
            )


def mapping_of(file: str, shared: Mapping[str, str], named: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the mapping of one file. Entries for this file only take precedence."""
    found = dict(shared)
    for name, fields in named.items():
        if _is_named(file, name):
            # A file has a list of completions or single ones: the one mapped for it replaces both.
            replaced = _TEXTS if any(field in _TEXTS for field in fields) else ()
            found = {field: path for field, path in found.items() if field not in replaced} | dict(fields)
    return found


def _is_named(file: str, name: str) -> bool:
    whole, own = os.path.normpath(file), os.path.basename(file)
    return os.path.normpath(name) in (whole, own) or fnmatchcase(whole, name) or fnmatchcase(own, name)
