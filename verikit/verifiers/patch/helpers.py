"""Helpers: files of a repository that only its tests load.

Fixtures and shared test code decide verdicts as tests do. Rows do not name them, so a candidate may change them, and a
passing score reports that. They can't be identified with certainty: a library that only its tests import looks the
same. So a file is a helper only if its name marks it as one, or if the row's own patch does not change it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from verikit.verifiers.patch.commands import is_testlike
from verikit.verifiers.patch.declared import SOURCES, Declared
from verikit.verifiers.patch.judged import belongs
from verikit.verifiers.patch.tree import Tree, folders_of

_HELPS = re.compile(
    r"(?:^|[/._-])(?:helpers?|util(?:s|ities)?|support|factory|factories|mocks?|stubs?|fakes?|dummy|dummies|common|data)"
    r"(?=$|[/._-])"
)
_JS = re.compile(r"""(?:\bfrom|\brequire[ \t]*\(|\bimport[ \t]*\(?)[ \t]*["'](\.{1,2}/[^"'\n]{1,300})["']""")
_JS_ENDS = ("", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".json", "/index.js", "/index.ts")
_MOST_CHARS = 1 << 20


def helpers(tests: Tree, declared: Declared, changed: frozenset[str]) -> list[str]:
    """The helpers among the files that a candidate changed.

    Args:
        tests: the repository as the row's tests have it; only this is read, never a candidate's files.
        declared: the files that the row declares.
        changed: the files that the candidate changed.
    """
    suspects = {name for name in changed & tests.keys() - declared.gold if declared.gold or _is_marked(name)}
    if not suspects:
        return []
    suspects &= _loaded(tests, declared)
    return sorted(name for name in suspects if not _is_used(name, tests, declared))


def _is_marked(name: str) -> bool:
    return is_testlike(name) or _HELPS.search(name.rpartition(".")[0]) is not None


def _is_used(name: str, tests: Tree, declared: Declared) -> bool:
    """Whether a file other than tests and helpers mentions another one's name."""
    stem = name.rpartition("/")[2].partition(".")[0]
    stem = stem if stem not in ("__init__", "index") else name.rpartition("/")[0].rpartition("/")[2]
    others = (
        other for other in tests
        if other != name and not belongs(other, tests, declared) and not _is_marked(other) and _is_code(other)
    )  # fmt: skip
    return not stem or any(stem.encode() in tests[other].content for other in others)


def _is_code(name: str) -> bool:
    return name.endswith((".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx"))


def _loaded(tests: Tree, declared: Declared) -> set[str]:
    """The files that the row's own files load, themselves or through helpers."""
    loaded: set[str] = set()
    waiting = [name for name in tests if name in declared.names or name.rpartition("/")[2] == "conftest.py"]
    while waiting:
        found = _loads(waiting.pop(), tests) - loaded
        loaded |= found
        waiting += [name for name in found if _is_marked(name)]
    return loaded


def _loads(name: str, tree: Tree) -> frozenset[str]:
    """The files of a tree that a file imports or names, and those in folders of tests that it names."""
    if not _is_code(name):
        return frozenset()
    text = tree[name].content[:_MOST_CHARS].decode("utf-8", "replace")
    words = _python(text, name) if name.endswith(".py") else _javascript(text, name)
    found = {path for path in words if path in tree and path != name}
    return frozenset(found.union(_in_test_folders(words, tree)))


def _in_test_folders(words: Iterable[str], tree: Tree) -> Iterator[str]:
    """The code in the given paths that are test folders."""
    below = tuple(f"{word}/" for word in words if word and word not in tree and is_testlike(word))
    return (path for path in tree if below and path.startswith(below) and _is_code(path))


def _javascript(text: str, name: str) -> frozenset[str]:
    folder = name.rpartition("/")[0]
    return frozenset(_below(folder, match[1]) + end for match in _JS.finditer(text) for end in _JS_ENDS)


@lru_cache(maxsize=4096)
def _python(source: str, name: str) -> frozenset[str]:
    """Paths that a Python file may load: modules from the top, `src`, `lib` and its own folder, and its strings."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    folder, above = name.rpartition("/")[0], ["", *folders_of(name)]
    found: set[str] = set()
    for node in nodes:
        for module, level in _imported(node):
            path = module.replace(".", "/")
            tops = [above[-level]] if 0 < level <= len(above) else ["", *SOURCES, folder]
            found |= {_below(top, path) + end for top in tops for end in (".py", "/__init__.py")}
        if text := _possible_path(node):
            found |= {_below(top, text) for top in ("", folder)}
    return frozenset(found)


def _possible_path(node: ast.AST) -> str:
    """A string of a path's length, empty if the node is none."""
    text = node.value if isinstance(node, ast.Constant) else None
    return text if isinstance(text, str) and 2 < len(text) < 300 else ""


def _imported(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Dotted names of modules that a statement may import, and the number of folders up they start at."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, 0) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        yield base, node.level
        yield from ((f"{base}.{alias.name}" if base else alias.name, node.level) for alias in node.names)


def _below(folder: str, word: str) -> str:
    parts: list[str] = []
    for part in f"{folder}/{word}".split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/".join(parts)
