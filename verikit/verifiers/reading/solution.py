"""The program in a reply: which of its fenced blocks, or which of them together.

Blocks labelled as Python come before unlabelled ones; the last block that defines the names the tests call counts, with
the earlier ones that it uses. A block that only calls or tests the function is not a separate program.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from verikit.verifiers.reading.fences import fenced

PYTHON = frozenset({"python", "py", "python3", "py3", "python2", "ipython", "ipython3"})
"""Labels of programs that can be run."""
LANGUAGES = frozenset(
    """c cpp c++ cc cxx csharp c# cs java javascript js jsx typescript ts tsx go golang rust rs ruby rb php perl pl
    swift kotlin kt scala haskell hs ocaml fsharp f# lua r julia jl matlab octave fortran pascal delphi d dart
    elixir erlang clojure lisp scheme racket prolog cobol ada zig nim crystal groovy objective-c objectivec objc
    vb vbnet sql mysql postgresql sqlite solidity assembly asm nasm apl lean lean4 coq verilog vhdl awk""".split()
)
"""Labels of programs in other languages."""
_NO_PROGRAM = frozenset(
    """output out result results input stdin stdout console terminal log pycon traceback bash sh shell zsh cmd
    powershell bat batch json jsonl json5 yaml yml toml xml html css csv ini diff patch markdown md latex tex
    math mermaid dot example examples test tests pseudocode pseudo algorithm dockerfile makefile""".split()
)
_DEFINES = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_ASSIGNS = re.compile(r"^([A-Za-z_]\w*)[ \t]*(?::[^=\n]{1,80})?=(?!=)", re.MULTILINE)
_IMPORTS = re.compile(r"^(?:from[ \t]+\S+[ \t]+)?import[ \t]+([^\n#]+)", re.MULTILINE)
_READS = re.compile(r"\binput\(|\bstdin\b|\bopen\(0")
_PROGRAM = re.compile(r"^(?:from|import|def|class|async|for|while|if|with|try|@)\b|\b(?:print|input)\(", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_MARK = re.compile(r"^[ \t]*\[(BEGIN|DONE)\](?=\s|\Z|(?<=BEGIN\])\w)", re.MULTILINE)
"""Marks around a program in MBPP's few-shot prompts, each at the start of a line."""
_INDENTED_OR_DEFINITION = re.compile(r"[ \t#@)\]}]|(?:async[ \t]+)?(?:def|class|from|import)\b|[A-Z_]+[ \t]*=")


class SolutionCode(NamedTuple):
    """The code of a reply to run."""

    program: str
    """The program; empty if there isn't one."""
    language: str = ""
    """The language of the only program, if it is one without a runner."""


def solution(reply: str, wanted: Collection[str] = ()) -> SolutionCode:
    """The program of a reply, and with it the blocks it needs.

    Args:
        reply: Without any fence it is the program itself.
        wanted: Names that the tests call; empty if the program reads standard input.
    """
    reply = _between_marks(reply)
    blocks = [(label, content) for label, content in fenced(reply) if content.strip()]
    python = [content for label, content in blocks if label in PYTHON]
    if python:
        return SolutionCode(_joined(python, wanted))
    return _without_python(blocks, wanted) or SolutionCode(reply)


def _without_language(blocks: Sequence[tuple[str, str]]) -> list[str]:
    return [content for label, content in blocks if label not in LANGUAGES and label not in _NO_PROGRAM]


def _without_python(blocks: Sequence[tuple[str, str]], wanted: Collection[str]) -> SolutionCode | None:
    """The program in blocks without a label, or the language of those with another. None if there are neither."""
    foreign = [label for label, _ in blocks if label in LANGUAGES]
    plain = _without_language(blocks)
    programs = [content for content in plain if _PROGRAM.search(content)]
    if foreign and not any(map(_defined, programs)):
        return SolutionCode("", foreign[-1])
    return SolutionCode(_joined(programs or plain, wanted)) if plain else None


def _between_marks(reply: str) -> str:
    """The text between the first `[DONE]` and the last `[BEGIN]` before it; the whole reply if that is empty."""
    start, end = 0, len(reply)
    for mark in _MARK.finditer(reply):
        if mark[1] == "BEGIN":
            start = mark.end()
        elif reply[start : mark.start()].strip():
            end = mark.start()
            break
    return reply[start:end] if reply[start:end].strip() else reply


def _joined(blocks: Sequence[str], wanted: Collection[str]) -> str:
    """The block that counts, after the earlier ones that it uses."""
    if len(blocks) == 1:
        return blocks[0]
    main = _main(blocks, wanted)
    parts = [blocks[main]]
    known, used = named(blocks[main]), words(blocks[main])
    for earlier in reversed(blocks[:main]):
        names = named(earlier)
        if (names - known) & used and not (set(wanted) & names):
            parts.insert(0, earlier)
            known |= names
            used |= words(earlier)
    if not wanted and _only_defines(blocks[main]):
        defined = set(_defined(blocks[main]))
        parts += [block for block in blocks[main + 1 :] if defined & words(block) and not _defined(block)][:1]
    return "\n\n".join(parts)


def _main(blocks: Sequence[str], wanted: Collection[str]) -> int:
    """The last block that defines the required names or reads standard input, or else the last with a definition."""
    numbers = range(len(blocks))
    fitting = [n for n in numbers if (set(wanted) & named(blocks[n]) if wanted else _READS.search(blocks[n]))]
    defining = [n for n in numbers if _defined(blocks[n])]
    return (fitting or defining or numbers)[-1]


def _defined(block: str) -> list[str]:
    return _DEFINES.findall(block)


def named(block: str) -> set[str]:
    """Names that a block binds at its top level."""
    imported = (name for line in _IMPORTS.findall(block) for name in _WORD.findall(line))
    return {*_defined(block), *_ASSIGNS.findall(block), *imported}


def words(block: str) -> set[str]:
    """All names in a block."""
    return set(_WORD.findall(block))


def _only_defines(block: str) -> bool:
    """Whether a block only defines names and does not run anything."""
    return all(not line.strip() or _INDENTED_OR_DEFINITION.match(line) for line in block.split("\n"))
