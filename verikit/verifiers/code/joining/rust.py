"""A Rust program joined to a row's prompt: missing crates, imports of both, and the program's own main."""

from __future__ import annotations

import re

from verikit.verifiers.code.joining.brackets import blanked

_USE = re.compile(r"^[ \t]*use[ \t]+(?:::)?(\w+)[^;]{0,2000};", re.MULTILINE)
_HERE = frozenset({"std", "core", "alloc", "crate", "self", "super"})
_MAIN = re.compile(r"\bfn[ \t\n]+main\b")
_FIRST = re.compile(r"\A(?:\s*(?:#!\[[^\n]*\]|//[^\n]*(?:\n|\Z)))*")
"""Attributes and comments of a whole file, which come before everything else."""


def without_crates(prompt: str, program: str, tests: str) -> tuple[str, str]:
    """A prompt and a program without the prompt's imports of external crates.

    Raises:
        ValueError: The tests use one.
    """
    crates = {found[1] for found in _USE.finditer(prompt)} - _HERE
    if needed := sorted(crate for crate in crates if re.search(rf"\b{crate}::", tests)):
        raise ValueError(f"they use the crate {needed[0]}, which is not on this machine")

    def kept(found: re.Match[str]) -> str:
        return "" if found[1] in crates else found[0]

    return _USE.sub(kept, prompt), _USE.sub(kept, program)


def with_imports(prompt: str, program: str) -> str:
    """A program that may use the prompt's imports; its own imports of the same names take precedence."""
    uses = [found[0].strip() for found in _USE.finditer(prompt)]
    if not uses:
        return program
    given = "\n".join(f"    pub {use}" for use in uses)
    end = found.end() if (found := _FIRST.match(program)) else 0
    return f"{program[:end]}\nmod verikit_given {{\n{given}\n}}\nuse verikit_given::*;\n{program[end:]}"


def renamed_main(program: str) -> str:
    """A program whose own main has another name: the tests have one."""
    for found in reversed(list(_MAIN.finditer(blanked("rust", program)))):
        program = f"{program[: found.end() - 4]}verikit_main{program[found.end() :]}"
    return program
