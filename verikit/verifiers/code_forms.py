"""Test programs of other languages: rows whose tests are appended to the program (MultiPL-E, HumanEval-X).

The verdict is computed in the program's own process, so a determined program can forge it; scores say so. What ends the
process before its tests, redefines `assert` or prints a guess does not pass: a word that is made for the row and this
process must be the last line written, and the tests' own part writes it after the last of them.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from typing import Any

_KEY = secrets.token_bytes(16)
_WRITE = {
    "c": 'puts("{word}"); fflush(stdout);', "cpp": 'puts("{word}"); fflush(stdout);',
    "java": 'System.out.println("{word}");', "rust": 'println!("{word}");',
}  # fmt: skip
_LAST = {
    "javascript": 'console.log("{word}");',
    "typescript": 'console.log("{word}");',
    "bash": "printf '\\n%s\\n' {word}",
}
_GUARD = {
    "c": "\n#undef assert\n#undef NDEBUG\n#include <assert.h>\n#include <stdio.h>\n",
    "cpp": "\n#undef assert\n#undef NDEBUG\n#include <cassert>\n#include <cstdio>\n",
}  # fmt: skip
_END = {
    "c": re.compile(r"(?:return[ \t]+0[ \t]*;\s*)?\}\s*\Z"), "cpp": re.compile(r"(?:return[ \t]+0[ \t]*;\s*)?\}\s*\Z"),
    "java": re.compile(r"\}\s*\}\s*\Z"), "rust": re.compile(r"\}\s*\Z"),
}  # fmt: skip
_HEAD = re.compile(r"^[ \t]*(?:#include|import|using|use|package|const .*require)\b[^\n]*", re.MULTILINE)
_NAME = re.compile(r"([A-Za-z_]\w*)[ \t]*(?:<[^<>\n]*>)?[ \t]*\(")
FORMS = frozenset({*_WRITE, *_LAST})
"""Languages whose test programs are run."""


def test_program(meta: Mapping[str, Any]) -> str:
    """The row's test program: `tests` (MultiPL-E) or `test` (HumanEval-X) as a text; empty if there is none."""
    for key in ("tests", "test"):
        if isinstance(meta.get(key), str) and meta[key].strip():
            return str(meta[key])
    return ""


def defined(prompt: str, language: str) -> str:
    """The name of the function that a prompt opens; empty if none is seen."""
    if language == "bash":
        return next(iter(re.findall(r"^(\w+)[ \t]*\(\)", prompt, re.MULTILINE)[-1:]), "")
    lines = [line for line in prompt.rstrip().split("\n") if line.rstrip().endswith(("{", "=>"))]
    found = _NAME.search(lines[-1]) if lines else None
    return found[1] if found else ""


def whole(language: str, prompt: str, program: str, tests: str) -> tuple[str, str]:
    """The program with its tests, and the word that must be written last.

    Args:
        language: one of `FORMS`.
        prompt: what the program goes on with, unless it defines the prompt's function itself.
        program: the candidate's.
        tests: the row's.
    """
    word = hashlib.blake2b("\0".join([program, tests]).encode("utf-8", "replace"), key=_KEY, digest_size=12).hexdigest()
    name = defined(prompt, language)
    if name and re.search(rf"\b{name}[ \t]*(?:<[^<>\n]*>)?[ \t]*\(", program):
        text, tests = _alone(language, prompt, program), _opened(tests)
    else:
        text = prompt + program
    end = _END.get(language)
    if end is None:
        return f"{text}\n{tests}\n{_LAST[language].format(word=word)}\n", word
    closing = end.search(tests)
    at = closing.start() if closing else len(tests)
    tests = f"{tests[:at]}\n{_WRITE[language].format(word=word)}\n{tests[at:]}"
    guard = _GUARD.get(language, "")
    if guard and tests.lstrip().startswith("}"):  # it closes the function first
        before, tests = tests[: tests.index("}") + 1], tests[tests.index("}") + 1 :]
        return f"{text}{before}{guard}{tests}\n", word
    return f"{text}\n{guard}{tests}\n", word


def _alone(language: str, prompt: str, program: str) -> str:
    """A program that has the whole function: with the prompt's imports; a class stays open for the tests."""
    missing = [line for line in _HEAD.findall(prompt) if line.strip() not in program]
    if language == "java":
        program = program.rstrip()
        opening = re.search(r"\bclass[ \t]+(\w+)[^{]*\{", prompt)
        if opening and not re.search(rf"\bclass[ \t]+{opening[1]}\b", program):
            program = f"{opening[0]}\n{program}"
        else:
            program = program.removesuffix("}")
    return "\n".join([*missing, program])


def _opened(tests: str) -> str:
    """Tests without the brace that closes the function."""
    stripped = tests.lstrip()
    return stripped[1:] if stripped.startswith("}") else tests
