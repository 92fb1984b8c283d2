"""Which language a program is in, and the program of that language in a reply."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from verikit.sandbox.toolchains import ALIASES
from verikit.verifiers.reading.fences import fenced
from verikit.verifiers.reading.solution import LANGUAGES

_FENCES = {label: language for label, language in ALIASES.items() if language not in ("python", "bash")} | {"c": "c"}
"""Labels that identify the language on their own; a block of shell lines next to an answer is not a program."""
_CODE = re.compile(r"[a-z]{2}")
"""Codes of spoken languages, as rows have them under the same keys: `cs` is Czech, `pl` Polish."""
_STARTS = {
    "c": re.compile(r"\bmain[ \t]*\("), "cpp": re.compile(r"\bmain[ \t]*\("), "rust": re.compile(r"\bfn[ \t]+main\b"),
    "go": re.compile(r"\bfunc[ \t]+main\b"), "java": re.compile(r"\bstatic[ \t]+(?:final[ \t]+)?void[ \t]+main\b"),
    "lean": re.compile(r"\bdef[ \t]+main\b"),
}  # fmt: skip


def row_language(meta: Mapping[str, Any]) -> str:
    """The language that a row names in `language`, `lang` or HumanEval-X's `task_id` (`CPP/0`); empty if missing."""
    for key in ("language", "lang"):
        name = meta.get(key)
        if isinstance(name, str) and name.strip().lower() in ALIASES:
            return ALIASES[name.strip().lower()]
    task = meta.get("task_id")
    if isinstance(task, str) and "declaration" in meta:
        return ALIASES.get(task.partition("/")[0].lower(), "")
    return ""


def unknown_language(meta: Mapping[str, Any]) -> str:
    """The language that a row names and that can't be run; empty if it names none, or names a spoken one (`de`)."""
    names = (meta.get(key) for key in ("language", "lang"))
    texts = (name.strip().lower() for name in names if isinstance(name, str))
    return next((name for name in texts if name in LANGUAGES - ALIASES.keys() and not _CODE.fullmatch(name)), "")


def fence_language(reply: str) -> str:
    """The language of a reply's only programs: empty if there is Python among them, or the labels don't show it."""
    labels = [label for label, content in fenced(reply) if content.strip()]
    if any(ALIASES.get(label) == "python" for label in labels):
        return ""
    return next((_FENCES[label] for label in reversed(labels) if label in _FENCES), "")


def program(reply: str, language: str, wanted: Sequence[str] = ()) -> str:
    """The program of a reply: the last block of the language that starts a program or defines the required names.

    Blocks of that label come before unlabelled ones; without any fence the whole reply is the program.

    Args:
        reply: the model's reply.
        language: a language of `ALIASES`.
        wanted: names that the tests call; empty if the program reads standard input.
    """
    blocks = [(label, content) for label, content in fenced(reply) if content.strip()]
    if not blocks:
        return reply
    of_language = _of_language(blocks, language)
    if not of_language:
        return ""
    return (_fitting(of_language, language, wanted) or of_language)[-1]


def _of_language(blocks: Sequence[tuple[str, str]], language: str) -> list[str]:
    """The contents of blocks labelled as the language, or of unlabelled blocks if there aren't any."""
    labelled = [content for label, content in blocks if _of(label, language)]
    return labelled or [content for label, content in blocks if not label]


def _fitting(blocks: Sequence[str], language: str, wanted: Sequence[str]) -> list[str]:
    """The blocks that define the required names, or those that start a program if names are not required."""
    if wanted:
        words = set(wanted)
        return [content for content in blocks if words & set(re.findall(r"\w+", content))]
    start = _STARTS.get(language)
    return [content for content in blocks if start.search(content)] if start else []


def _of(label: str, language: str) -> bool:
    """Whether a fence's label means a language; C++ is often called C, and TypeScript JavaScript."""
    said = ALIASES.get(label, "")
    return said == language or (said, language) in (("c", "cpp"), ("javascript", "typescript"), ("cpp", "c"))
