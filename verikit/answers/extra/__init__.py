"""Rare families of answers. Each is imported when a gold answer looks like one of its kind.

Families are found through the entry point group `verikit.answer_families`, so other packages can add their own. The
entry is an `Extra`: a cheap test of gold answers, and the module to import if a gold answer passes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from importlib import import_module

from verikit.answers.families.base import Family


class Extra:
    """The families in a module's `FAMILIES`, imported when they are needed.

    Args:
        module: The module's import name.
        looks_like: Whether a gold answer may belong to one of them. It is called for every gold answer that is more
            than a number.
        before: The name of the family in `verikit.answers.families` that comes after them.
    """

    def __init__(self, module: str, looks_like: Callable[[str], object], before: str = "number") -> None:
        self._module, self.looks_like, self.before = module, looks_like, before

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The families, from their module."""
        found: tuple[Family, ...] = import_module(self._module).FAMILIES
        return found


_PARAMETER = re.compile(r"(?:^|[^a-zA-Z])[tsuvrk](?![a-zA-Z])|lambda|mu|λ|μ|=.{1,60}=")
CASES = re.compile(r"cases|array|\b(?:if|for)\b|\bwhen\b|otherwise|\||\\max|\\min|sgn|vert")
"""Signs of a function defined by cases, in gold answers and answers."""
_CONSTANT = re.compile(r"C|K|c_|k_|const|\+\s{0,3}c\s*$")
_FORMULA = re.compile(r"[A-Z][a-z]?(?![a-z])|[a-z]{3}[- ]\d|[1-7]\s?[spdf]\s?(?:\^|\d)")
_GENES = re.compile(
    r"^\W*(?:\\(?:text|mathrm|mathit)\{)?([a-zA-Z])\s?(?i:\1)|[XIi]\s?\^"
    r"|\d.{0,80}(?:[:,;]| and | to ).{0,80}[^\W\d_]|[^\W\d_]\s?:.{1,80}=",
    re.DOTALL,
)
_CLOCK = re.compile(
    r"\d\s?[:h]\s?\d\d|\d.{0,8}[AaPp]\.?\s?[mM]\b|oon\b|idnight|idday|o.clock|\buhr\b|past |quarter ", re.IGNORECASE
)


def _has_parts(text: str) -> bool:
    return ")" in text or "art " in text or "1." in text


def _is_flat(text: str) -> bool:
    apart = "(" in text or "," in text or "begin" in text or text.count("=") > 1
    return apart and _PARAMETER.search(text) is not None


CHEMISTRY = Extra("verikit.answers.extra.chemistry", _FORMULA.search, "date")
CONSTANTS = Extra("verikit.answers.extra.constants", _CONSTANT.search, "assignments")
FLATS = Extra("verikit.answers.extra.flats", _is_flat, "assignments")
GENOTYPES = Extra("verikit.answers.extra.genotypes", _GENES.search, "date")
PARTS = Extra("verikit.answers.extra.parts", _has_parts, "progressions")
PERMUTATIONS = Extra("verikit.answers.extra.permutations", re.compile(r"\(\d").search, "assignments")
PIECEWISE = Extra("verikit.answers.extra.piecewise", CASES.search, "progressions")
TIMES = Extra("verikit.answers.extra.times", _CLOCK.search, "range")
