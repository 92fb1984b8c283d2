"""The commands behind a test command: scripts of `package.json`, recipes of makefiles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from verikit.verifiers.patch.tree import Tree, TreeFile

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""Names of makefiles, in the order of make's search."""
TEST_KEYS = """scripts jest mocha ava tap jasmine vitest nyc c8 babel workspaces browserslist wallaby cypress config
    pre-commit""".split()
"""Keys of `package.json` that configure test runs."""
_SETS = re.compile(r"([A-Za-z_][\w.]{0,80})[ \t]*(?:[:?+]|::)?=[ \t]*(.{0,2000})")
_RULE = re.compile(r"([^\s:=#][^:=#]{0,500}?)[ \t]*::?(?!=)(.{0,2000})")
_REFERENCE = re.compile(r"\$[({]([A-Za-z_][\w.]{0,80})[)}]")


def package(file: TreeFile | None) -> dict[str, Any]:
    """The content of a `package.json`; empty if it can't be read."""
    try:
        read = json.loads(file.content) if file else {}
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def scripts(file: TreeFile | None, name: str) -> list[str]:
    """A script of a `package.json` with its pre and post scripts."""
    held = package(file).get("scripts")
    held = held if isinstance(held, Mapping) else {}
    return [held[key] for key in (f"pre{name}", name, f"post{name}") if isinstance(held.get(key), str)]


def settings(file: TreeFile | None) -> list[str]:
    """The strings of a `package.json`'s test keys, or of a settings file without such keys."""
    held = package(file)
    of_tests = [value for key, value in held.items() if key in TEST_KEYS[1:]]
    waiting: list[Any] = of_tests or ([] if "scripts" in held else list(held.values()))
    found: list[str] = []
    while waiting and len(found) < 1000:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
    return found


def _of_tests(package: Mapping[str, Any]) -> dict[str, Any]:
    """The scripts and the settings of tests."""
    return {key: package[key] for key in TEST_KEYS if key in package}


def with_scripts_of(own: TreeFile, candidate: TreeFile) -> TreeFile:
    """A candidate's `package.json` with the row's scripts and test settings; the row's if it can't be read."""
    mine, theirs = package(own), package(candidate)
    if not theirs:
        return own
    kept = {key: value for key, value in theirs.items() if key not in TEST_KEYS}
    kept |= _of_tests(mine)
    if _of_tests(theirs) == _of_tests(mine):
        return TreeFile(candidate.content, own.executable)
    return TreeFile(json.dumps(kept, indent=2).encode() + b"\n", own.executable)


class Makefile:
    """Rules and variables of a makefile and those that it includes."""

    def __init__(self, tree: Tree, path: str) -> None:
        self.files: list[str] = []
        self._variables: dict[str, str] = {}
        self._rules: dict[str, tuple[list[str], list[str]]] = {}
        self._first = ""
        self._read(tree, path)

    def recipes(self, targets: list[str]) -> Iterator[str]:
        """The lines that make runs for targets and their prerequisites; without targets, for the first one.

        Before the lines of a rule comes `cc` with the rule's prerequisites: `$^` and make's built-in rules compile
        them.
        """
        waiting = targets or [self._first]
        seen: set[str] = set()
        while waiting:
            target = waiting.pop(0)
            if target in seen or target not in self._rules:
                continue
            seen.add(target)
            needed, lines = self._rules[target]
            waiting += needed
            yield f"cc {' '.join(needed)}"
            yield from (self._expanded(line).lstrip("@-+ ") for line in lines)

    def _read(self, tree: Tree, path: str) -> None:
        if path in self.files or path not in tree or len(self.files) > 20:
            return
        self.files.append(path)
        targets: list[str] = []
        for line in tree[path].content.decode("utf-8", "replace").replace("\\\n", " ").split("\n"):
            if line.startswith("\t"):
                for target in targets:
                    self._rules[target][1].append(line.strip())
            elif line.startswith(("include ", "-include ")):
                for name in self._expanded(line).split()[1:]:
                    self._read(tree, name.removeprefix("./"))
            elif found := _SETS.match(line):
                self._variables[found[1]] = found[2].strip()
            elif found := _RULE.match(line):
                targets = self._rule(self._expanded(found[1]).split(), self._expanded(found[2]))

    def _rule(self, targets: list[str], text: str) -> list[str]:
        needed, _, recipe = text.partition(";")
        for target in targets:
            rule = self._rules.setdefault(target, ([], []))
            rule[0].extend(needed.split())
            if recipe.strip():
                rule[1].append(recipe.strip())
            if not self._first and not target.startswith("."):
                self._first = target
        return targets

    def _expanded(self, text: str) -> str:
        for _ in range(4):
            found = _REFERENCE.sub(lambda match: self._variables.get(match[1], _BUILT_IN.get(match[1], "")), text)
            if found == text or len(found) > 20_000:
                break
            text = found
        return text.replace("$$", "$")


_BUILT_IN = {"MAKE": "make", "CC": "cc", "CXX": "c++", "SHELL": "/bin/sh"}
