"""A Python completion with its prompt as one program (HumanEval, BigCodeBench).

A reply has the whole function, or continues the prompt. Models often lose indents and line breaks at the seam, so there
are several ways to join the two. The first that compiles in the sandbox is used.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verikit.sandbox import LocalSandbox, RunLimits
from verikit.sandbox.guest import source
from verikit.types import Prompt
from verikit.verifiers.reading.fences import fenced
from verikit.verifiers.reading.solution import named, words

_PROMPTS = ("prompt", "complete_prompt", "code_prompt")
"""Keys of rows for the code that a completion continues."""
_TOP_LEVEL = re.compile(r"^(?![ \t\r\n#)\]}])", re.MULTILINE)


def ways_to_join(program: str, prompt: Prompt, meta: Mapping[str, Any]) -> list[str]:
    """Programs that define the row's `entry_point`, with the code they need from the prompt, most likely one first.

    Args:
        program: the candidate's program.
        prompt: the sample's prompt.
        meta: the row's meta.
    """
    entry = meta.get("entry_point")
    if not isinstance(entry, str) or not entry:
        return [program]
    opened = [text for text in prompts(prompt, meta) if _defines(entry, text)]
    if not opened:
        return [program]
    if _defines(entry, program):
        return [_with_imports(program, entry, opened)]
    opened += [block for text in opened for _, block in fenced(text) if _defines(entry, block)]
    return list(dict.fromkeys(way for text in opened for way in _joined(text, program)))


def prompts(prompt: Prompt, meta: Mapping[str, Any]) -> list[str]:
    """The strings of a row that a program may continue."""
    texts = [text for text in (prompt, *(meta.get(key) for key in _PROMPTS)) if isinstance(text, str)]
    return list(dict.fromkeys(texts))


def _defines(entry: str, text: str) -> bool:
    name = re.escape(entry)
    return re.search(rf"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b|^{name}[ \t]*=", text, re.M) is not None


def _joined(prompt: str, program: str) -> Iterator[str]:
    """The prompt and its continuation: unchanged, then with lost indents or line breaks restored, or extra ones cut."""
    head = prompt if prompt.endswith("\n") else f"{prompt}\n"
    last = prompt.rstrip().rpartition("\n")[2]
    indent = last[: len(last) - len(last.lstrip())] + ("    " if last.rstrip().endswith(":") else "")
    yield prompt + program
    yield head + program
    yield f"{head}{indent}{program.lstrip()}"
    yield head + textwrap.indent(textwrap.dedent(program), indent)
    body = program.lstrip("\n")
    end = _TOP_LEVEL.search(body, 1)
    if end:  # a base model continues until it is cut off
        yield head + body[: end.start()]


def first_compiled(ways: Sequence[str], box: LocalSandbox, limits: RunLimits) -> str:
    """The first string that is Python; the first of all if none of them is.

    Args:
        ways: at least one string.
        box: compiles them.
        limits: the limits of that compilation.
    """
    if len(ways) == 1:
        return ways[0]
    asked = [["compiled", way] for way in ways]
    result = box.run(source("reading"), call=("several", [asked], {}), limits=limits)
    if result.status != "ok" or not isinstance(result.value, list):
        return ways[0]
    return next((way for way, found in zip(ways, result.value, strict=False) if found), ways[0])


def _with_imports(program: str, entry: str, prompts: Sequence[str]) -> str:
    """A program preceded by the prompt's imports and helpers that it uses and lacks."""
    if "from __future__" in program:
        return program
    missing = words(program) - named(program) - {entry}
    given = next((body for prompt in prompts if (body := _body(prompt))), [])
    kept = [node for node in given if _names(node) & missing and entry not in _names(node)]
    return f"{ast.unparse(ast.Module(kept, []))}\n{program}" if kept else program


def _body(prompt: str) -> list[ast.stmt]:
    """The statements of a prompt, whose last function may lack a body; empty if the prompt is not code."""
    for text in (prompt, f"{prompt.rstrip()}\n    pass"):
        try:
            return ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return []


def _names(node: ast.stmt) -> set[str]:
    """The names that a statement binds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
