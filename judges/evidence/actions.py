"""Detect criteria that mention actions. The result only triggers a warning, so a list of words is enough."""

from __future__ import annotations

import re

_VERBS = {
    *("call", "change", "commit", "create", "delete", "edit", "execute", "install", "invoke", "modify", "move", "open"),
    *("overwrite", "query", "read", "remove", "rename", "run", "search", "use", "write", "ran", "wrote", "leave"),
}
_THINGS = {
    *("api", "code", "command", "database", "directory", "file", "folder", "function", "page", "program", "repository"),
    *("script", "server", "shell", "suite", "test", "tool", "workspace"),
}
_WORD = re.compile(r"[a-z]{2,20}")


def speaks_of_actions(criterion: str) -> bool:
    """Whether a criterion contains a verb of action and an object that it may apply to."""
    words = {stem for word in _WORD.findall(criterion.lower()[:10_000]) for stem in _stems(word)}
    return bool(words & _VERBS) and bool(words & _THINGS)


def _stems(word: str) -> set[str]:
    """A word and its possible base forms."""
    found = {word}
    for end in ("s", "es", "d", "ed", "ing", "n", "ted", "ning"):
        if word.endswith(end):
            found |= {word[: -len(end)], word[: -len(end)] + "e"}
    return found | ({word[:-3] + "y"} if word.endswith(("ies", "ied")) else set())
