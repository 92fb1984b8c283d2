"""Modules that have moved. Their old names work for one release, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_FROM_THE_TOP = {
    "compose": ("choose", "combine", "conversation", "guards", "second_opinion"),
    "names": ("named_call", "option_docs", "registry", "reward_functions", "settings", "spec"),
    "platform": ("folders", "numbers", "secrets", "system", "terminal", "tracing"),
    "replies": ("text", "unseen"),
    "verifiers": ("echo",),
}
_FROM_THE_VERIFIERS = {
    "documents": ("csv", "json_schema", "structured", "toml", "xml", "yaml"),
    "overlap": ("cover_em", "exact", "f1", "fuzzy", "references", "rouge", "sacrebleu", "wer"),
    "proposals": ("program", "proposal", "shared_runs"),
    "reading": ("fences", "gold", "json_reply", "solution", "stated"),
    "style": ("cosine_length", "language", "length", "refusal", "repetition", "soft_overlong", "token_count"),
    "tools": ("bfcl_multi_turn", "tool_calls", "trajectory"),
}
_FROM_THE_ANSWERS = {
    "algebra": (
        *("analytic", "chains", "compare", "equality", "evaluate", "identity", "matrices", "modular"),
        *("normal", "samples", "scalar", "sets", "vectors"),
    ),
    "claims": ("closing", "extract", "json_answers", "json_fields", "statements"),
    "families": ("text",),
    "parser": ("clean", "connectives", "letters", "lexer", "tree", "units"),
}
_FROM_THE_JUDGES = {
    "asking": ("ask", "asserted", "held", "judge", "prompt", "reply", "scaled", "shares"),
    "evidence": ("shown", "special_tokens"),
    "match": ("call", "cli", "page"),
}


def _moved(package: str, rooms: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Map old names to new ones for a package's modules that moved into its subpackages."""
    return {f"{package}.{name}": f"{package}.{room}.{name}" for room, names in rooms.items() for name in names}


MOVED = {
    "verikit.reply": "verikit.replies.split",
    "verikit.trainers.sft": "verikit.trainers.recipes.sft",
    "verikit.judges.calibration.labels": "verikit.judges.match.labels",
    **_moved("verikit", _FROM_THE_TOP),
    **_moved("verikit.verifiers", _FROM_THE_VERIFIERS),
    **_moved("verikit.answers", _FROM_THE_ANSWERS),
    **_moved("verikit.judges", _FROM_THE_JUDGES),
}
"""Maps the old name of a module to its new one."""


class _OldName(Loader):
    """Replaces the module of the old name with that of the new one."""

    def __init__(self, new: str) -> None:
        self._new = new

    def create_module(self, spec: ModuleSpec) -> None:
        """Python's own empty module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(self._new)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        new = MOVED.get(fullname)
        if new is None:
            return None
        text = f"{fullname} has moved to {new}; the old name ends with the next release"
        warnings.warn(text, DeprecationWarning, stacklevel=2)  # frames of the import system are not counted
        return ModuleSpec(fullname, _OldName(new))


def install() -> None:
    """Make the old names importable. The finder is called last, so it costs nothing if a module exists."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
