"""Unified differences as `git apply` reads them."""

from __future__ import annotations

import difflib


def patch_of(path: str, old: str, new: str) -> str:
    """The difference of one file; empty if a patch can't contain its name unescaped."""
    if not path.isprintable() or not path.isascii() or any(mark in path for mark in '" \\'):
        return ""
    found = difflib.unified_diff(_lines(old), _lines(new), f"a/{path}", f"b/{path}")
    told = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in found)
    return f"diff --git a/{path} b/{path}\n{told}" if told else ""


def _lines(text: str) -> list[str]:
    """Lines with their ends. Only a newline ends one."""
    found = [f"{line}\n" for line in text.split("\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]
