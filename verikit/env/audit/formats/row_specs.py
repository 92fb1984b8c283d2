"""The spec that grades a row: its key `checks`, or the spec that the command gives for all rows.

`checks` is next to `workspace`: one spec, or a list of specs that must all be met. The author of a row is not trusted.
So `checks` can only name the verifiers in `OWN`, and no code, file or engine. A spec of the command can be any spec.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from verikit.base import FunctionVerifier, Verifier, parts_of, walk
from verikit.compose.choose import By
from verikit.errors import SpecError, VerikitError, with_hint
from verikit.names.registry import allowed, registered
from verikit.names.spec import imported_files, load, names_code
from verikit.workspaces.grading import WorkspaceVerifier
from verikit.workspaces.names import shown

CHECKS = "checks"
MAX_SPEC = 10_000
"""Characters of a row's checks."""
OWN = frozenset(
    """all_of answer boxed by cer choice chrf clip column cover_em csv docx exact f1 files first_of fuzzy gate
    harbor_tests json_match language majority math maximum mean minimum numeric pdf pptx refusal regex repetition
    rouge service state table tags toml tool_calls trajectory wer xlsx yaml""".split()
)
"""Verifiers that call no engine, import no code and open no file outside of the workspace."""

MOST = {"seconds": 600.0, "timeout_s": 10.0, "mutations": 50}
"""The largest values that a row may give to options that decide how long a grading takes."""


@dataclass(frozen=True, slots=True)
class RowSpec:
    """The spec of a row."""

    text: str = ""
    """Empty if the row has none."""
    verifier: Verifier | None = None
    problem: str = ""
    """The error of a spec that can't be loaded."""
    foreign: str = ""
    """The requirement of a spec that is only loaded if the command names it."""
    given: bool = False
    """Whether the command names it."""

    files: str = ""
    """SHA-256 of the files of Python that were imported for it."""

    @property
    def identity(self) -> str:
        """The text, and the verifier as it was loaded, because a file of the spec may change."""
        return f"{self.text} {self.verifier!r} {self.files}"

    @property
    def parts(self) -> list[Verifier]:
        """The verifiers that it is made of."""
        return [] if self.verifier is None else list(walk(self.verifier))

    @property
    def judges(self) -> list[Verifier]:
        """The judges among them."""
        return [one for one in self.parts if type(one).__module__.startswith("verikit.judges.")]

    @property
    def of_reply(self) -> str:
        """The first of verikit's verifiers that reads a reply or its steps, not a file. Empty if there is none."""
        return "" if self.verifier is None else next(_of_reply(self.verifier), "")

    @property
    def code(self) -> bool:
        """Whether one of them is code that is not verikit's own."""
        return any(isinstance(one, FunctionVerifier) or type(one).__module__[:8] != "verikit." for one in self.parts)


def _of_reply(verifier: Verifier) -> Iterator[str]:
    """The names of verikit's verifiers that read a reply. Those within a verifier of files read a file."""
    if isinstance(verifier, WorkspaceVerifier):
        return
    own = type(verifier).__module__.startswith("verikit.") and not isinstance(verifier, FunctionVerifier)
    if own and (verifier.reads is not None or verifier.name in ("tool_calls", "trajectory")):
        yield verifier.name
    for part in parts_of(verifier):
        yield from _of_reply(part)


def spec_of_row(row: Mapping[str, Any], given: str = "") -> RowSpec:
    """The spec that grades a row.

    Args:
        row: The row.
        given: The command's spec, which replaces the row's.
    """
    if given:
        found = replace(_loaded(given), given=True)
        return found if found.verifier is None else replace(found, verifier=_of_key(found.verifier, row))
    told = row.get(CHECKS)
    if told is None:
        return RowSpec()
    specs = told if isinstance(told, list) else [told]
    if not specs or not all(isinstance(one, str) and one.strip() for one in specs):
        return RowSpec(problem=f"{CHECKS} must be a spec or a list of specs, got {shown(repr(told)[:80])}")
    return _of_row(tuple(specs))


def _of_key(verifier: Verifier, row: Mapping[str, Any]) -> Verifier:
    """The verifier that `by` selects for a row."""
    chosen = verifier.verifiers.get(str(row.get(verifier.key)), verifier.default) if isinstance(verifier, By) else None
    return verifier if chosen is None else _of_key(chosen, row)


@lru_cache(maxsize=256)
def _loaded(spec: str) -> RowSpec:
    verifier = load(spec)
    try:
        repr(verifier)  # `identity` has it
    except ValueError as error:  # an integer with more digits than Python converts
        raise SpecError(f"the spec can't be shown: {error}") from None
    return RowSpec(spec, verifier, files=_imported())


def _imported() -> str:
    """SHA-256 of the imported files. Empty if there are none."""
    texts = [Path(file).read_bytes() for file in sorted(imported_files()) if os.path.isfile(file)]
    return hashlib.sha256(repr(texts).encode()).hexdigest() if texts else ""


@lru_cache(maxsize=256)
def _of_row(specs: tuple[str, ...]) -> RowSpec:
    text = specs[0] if len(specs) == 1 else f"all_of({', '.join(specs)})"
    if len(text) > MAX_SPEC:
        return RowSpec(text[:80], problem=f"{CHECKS} has more than {MAX_SPEC:,} characters")
    foreign = _foreign(text)
    if foreign:
        return RowSpec(text, foreign=foreign)
    try:
        with allowed(OWN):
            found = _loaded(text)
    except VerikitError as error:
        return RowSpec(text, problem=shown(f"{CHECKS}: {with_hint(str(error), error.hint)}"[:300]))
    if found.judges:
        return RowSpec(text, foreign=_needs("a judge"))
    slow = next((name for one in found.parts for name, most in MOST.items() if getattr(one, name, 0) > most), "")
    return RowSpec(text, foreign=_needs(f"{slow} above {MOST[slow]:g}")) if slow else found


def _needs(what: str) -> str:
    return f"--spec, because {CHECKS} of a row can't name {what}"


def _foreign(spec: str, *, option: bool = False) -> str:
    """The requirement of a spec with names that a row may not have; empty if there is none.

    Args:
        spec: The spec.
        option: It is a string within another spec, so a single word is probably not a verifier.
    """
    # a path such as conf.json looks like the file of a grader, which loading the spec would refuse
    if names_code(spec) and not (option and _is_json_path(spec)):
        return _needs(f"code or a file ({shown(spec[:60])})")
    tree = _parsed(spec)
    if tree is None or (option and isinstance(tree, ast.Name)):
        return ""
    names = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    if other := next((name for name in names if name not in OWN and name in registered("verifiers")), ""):
        return _needs(f"the verifier {other}")
    # an option may be a spec: content={'a.txt': "regex('…')"}
    inner = (one for one in _strings(tree) if one != spec)
    return next(filter(None, (_foreign(one, option=True) for one in inner)), "")


def _is_json_path(text: str) -> bool:
    return text.endswith(".json") and not set(text) & set("#:()")


def _parsed(spec: str) -> ast.expr | None:
    """The tree of a spec; None if it is not an expression."""
    try:
        return ast.parse(spec.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _strings(tree: ast.expr) -> Iterator[str]:
    """The strings of an expression."""
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
