"""Run a program like LiveCodeBench's own runner does: on standard input, or for a call of one of its functions.

A program that reads standard input becomes the body of a function, its imports before it, below the runner's preamble.
There it meets the runner's substitutes. `sys.stdin` can't be iterated, and its `buffer` returns its first line again
and again. An imported `stdin` returns lines without their ends. `sys.stdout` has no `buffer`, and its `close()`
raises. Text for an imported `stdout` is lost. Only the content of its `sys.stdout` when the function ends counts.
Output to descriptors, by exit handlers or by threads that are not waited for does not count.
"""

import ast
import atexit
import builtins
import contextlib
import io
import os
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

STARRED = (
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json"
)
PREAMBLE = "".join(
    [f"from {name} import *\n" for name in f"{STARRED} builtins typing".split()]
    + [f"import {name}\n" for name in STARRED.split()]
    + ["sys.setrecursionlimit(50000)\n"]
)
UNREADABLE = (SyntaxError, ValueError, IndexError, AttributeError, RecursionError, MemoryError)
"""Exceptions when splitting a program. The program is then left unchanged."""


class StdinBuffer:
    """`sys.stdin.buffer`."""

    def __init__(self, text: str) -> None:
        self.data = text.encode("utf-8")

    def read(self, *args: Any) -> bytes:
        """All of it, each time."""
        return self.data

    def readline(self, *args: Any) -> bytes:
        """The first line, each time."""
        return self.data.split(b"\n")[0] + b"\n"


class StdinText:
    """`sys.stdin`."""

    def __init__(self, text: str) -> None:
        self.text, self.stream, self.buffer = text, io.StringIO(text), StdinBuffer(text)

    def read(self, *args: Any) -> str:
        """All of it, each time."""
        return self.text

    def readline(self, *args: Any) -> str:
        """The next line."""
        return self.stream.readline(*args)

    def readlines(self, *args: Any) -> list[str]:
        """All lines without their ends."""
        return self.text.split("\n")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def without_guard(code: str) -> str:
    """The program. If its last statement is the usual main guard, the guard's body replaces it."""
    try:
        body = ast.parse(code).body
        last = body[-1]
        if isinstance(last, ast.If) and ast.unparse(last.test).strip() == "__name__ == '__main__'":
            return unparsed(body[:-1]) + "\n" + unparsed(last.body)
    except UNREADABLE:
        pass
    return code


def as_function(code: str) -> str:
    """The program as the body of a function, its top-level imports before it."""
    try:
        body = ast.parse(code).body
        imports: list[ast.stmt] = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        rest = [node for node in body if not isinstance(node, ast.Import | ast.ImportFrom)]
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        function = ast.FunctionDef(name="wrapped_function", args=nothing, body=rest, decorator_list=[], lineno=-1)
        return PREAMBLE + "\n" + unparsed(imports) + "\n" + unparsed([function]) + "\n"
    except UNREADABLE:
        return code


def unparsed(body: list[ast.stmt]) -> str:
    """Statements as text."""
    return "\n".join(map(ast.unparse, body))


def made(code: str) -> Any:
    """The owner of the program's functions: an instance of its class Solution, or the module."""
    module = types.ModuleType("tmp_sol", "")
    exec(code, module.__dict__)  # noqa: S102 - what this process is for
    return module.Solution() if "class Solution" in code else module


def piped(program: str) -> None:
    """Run a program on standard input. Only its output to the `sys.stdout` of the run goes out."""
    out = silenced()
    text, real = sys.stdin.buffer.read().decode("utf-8", "surrogatepass"), sys.stdout
    lines: Iterator[str] = iter(text.split("\n"))
    imported: Any = io.TextIOWrapper(io.BytesIO(), "utf-8")
    sys.stdout, sys.stdin = io.StringIO(), imported
    function = made(as_function(without_guard(program))).wrapped_function
    imported.read, imported.readline = lambda *args: text, lambda *args: next(lines)
    imported.readlines = lambda *args: text.split("\n")
    written: Any = io.StringIO()
    written.close = lambda _: None  # as there: without an argument it raises
    sys.stdin, sys.stdout = StdinText(text), written
    with contextlib.suppress(SystemExit):
        function()
    sys.stdout, left = real, memoryview(written.getvalue().encode("utf-8", "surrogatepass"))
    while left:
        left = left[os.write(out, left) :]
    # The verdict is given there before threads are waited for and exit handlers run.
    atexit._clear()
    threading._shutdown = lambda: None  # type: ignore[attr-defined]


def silenced() -> int:
    """Discard output to the descriptors of standard output and error. Returns a copy of the first."""
    out, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return out


def run(program: str, function: str) -> Any:
    """Run a program; with a function's name, return that function instead of reading standard input."""
    builtins.quit = None  # type: ignore[assignment]
    if function:
        os.close(silenced())
        return getattr(made(PREAMBLE + "\n\n" + program), function)
    piped(program)
    return None
