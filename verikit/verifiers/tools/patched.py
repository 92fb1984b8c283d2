"""The files that a patch in OpenAI's format (`*** Begin Patch`) names."""

from __future__ import annotations

import re

PATCH_PROGRAMS = ("apply_patch", "applypatch")
_HEADER = re.compile(r"^[ \t]*\*\*\* (?:(?:Add|Update|Delete) File|Move to):(.*)$", re.MULTILINE)


def patched_files(text: str) -> list[str]:
    """The paths of the files that a patch adds, changes, deletes or moves to."""
    return [path for found in _HEADER.findall(text) if (path := found.strip())]
