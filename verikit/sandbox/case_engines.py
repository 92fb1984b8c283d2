"""Engines that run many cases of a program after one start: which programs may have one, and its parts.

The native supervisor starts them (`native/engine.h`). JavaScript's forks for each case. Java's runs cases in one
virtual machine, for programs that leave nothing behind there (`java_plain`). That of C, C++ and Rust is linked into
each program and forks before the program begins (`native/program_fork.c`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from verikit.sandbox import java_plain
from verikit.sandbox.toolchains import JAVA_ENGINE, Toolchain

NATIVE = Path(__file__).parent / "native"
NODE = ("node_engine.js", "node_fork.node")
"""The engine's script and the module that it loads."""
LINKED = "program_fork"
"""The engine that is linked into programs. It comes right after what starts a program, followed by the C library.

So the C library's functions are there before those of the program. A program with one of the same name does not link:
it is linked without the engine.
"""
_SPECS = f"""%rename startfile verikit_startfile

*startfile:
%(verikit_startfile) {LINKED}.o%s --wrap=_dl_relocate_static_pie --start-group -lgcc -lgcc_eh -lc --end-group

"""
NOT_LINKED = "collect2: "
"""The linker's word that it failed, as for two functions of one name. What counts is how it fails without engine."""
_QUIET = re.compile(r"weak|linkage|BEGIN_DECLS|BEGIN_EXTERN_C|\bextern\s*\"C\"", re.IGNORECASE)
"""What a source may have functions of the C library's names by, that yield to those without a word."""
_FREESTANDING = (
    "-O2", "-c", "-ffreestanding", "-fno-stack-protector", "-fno-pic", "-fno-pie", "-fcf-protection=none",
    "-fno-tree-loop-distribute-patterns",
)  # fmt: skip
_C_TRIAL = """
long parent;
int one(void) { return 1; }
#ifdef __cplusplus
extern "C"
#endif
int (*pick(void))(void) { __asm__ volatile("syscall" : "=a"(parent) : "a"(110) : "rcx", "r11", "memory"); return one; }
int called(void) __attribute__((ifunc("pick")));
int main(void) { called(); return parent == 1; }
"""
TRIALS = {
    "c": _C_TRIAL, "cpp": _C_TRIAL,
    "rust": "fn main(){std::process::exit((std::os::unix::process::parent_id()==1) as i32)}",
}  # fmt: skip
"""Programs that fail unless an engine forked them, in C before anything of them ran: its parent is not process 1."""
PAYS = 2
"""The minimum number of cases for an engine to save time."""
_MOST_REMEMBERED = 10_000
_NEEDS_THREADS = (b"WebAssembly", b"waitAsync", b"worker_threads")
"""JavaScript programs with these run separately: V8 uses threads for them, which a fork of an engine does not have."""


@dataclass(frozen=True, slots=True)
class CaseEngine:
    """The needs of an engine in addition to the program."""

    files: Mapping[str, bytes]
    env: Mapping[str, str] = field(default_factory=dict)
    fill: Mapping[str, str] = field(default_factory=dict)
    """Values for placeholders in its command."""
    may_fail: bool = False
    """Whether a case that fails in it is rerun separately, and the second result counts."""


class WithoutEngine:
    """Programs with a case that an engine could not run. The attempt took up to a case's seconds, so there is only one.

    A program is remembered by a hash of its files.
    """

    def __init__(self) -> None:
        self._programs: set[int] = set()

    def add(self, files: Mapping[str, bytes]) -> None:
        """Run no more cases of this program in an engine."""
        if len(self._programs) >= _MOST_REMEMBERED:
            self._programs.clear()
        self._programs.add(hash(tuple(files.values())))

    def __contains__(self, files: Mapping[str, bytes]) -> bool:
        return hash(tuple(files.values())) in self._programs


def may_link(text: bytes) -> bool:
    """Whether an engine may be linked into a program: the C library's functions never take the place of its own."""
    return not _QUIET.search(text.decode("utf-8", "replace"))


def needs_of(language: str, files: Mapping[str, bytes]) -> CaseEngine | None:
    """Requirements of an engine for the program of these files, without its own files. None: each case starts alone."""
    if language != "java":
        alone = any(word in content for word in _NEEDS_THREADS for content in files.values())
        preload = {"LD_PRELOAD": f"{{kept}}/{NODE[1]}", "UV_USE_IO_URING": "0"}
        return None if alone else CaseEngine({}, preload)
    found = java_plain.plain(files)
    if found is None:
        return None
    classes = {f"{JAVA_ENGINE}/cases/{name}": content for name, content in found.files.items()}
    how = {"{exit}": "unwind" if found.unwinds else "halt", "{threads}": "threads" if found.threads else "none"}
    return CaseEngine(classes, fill=how, may_fail=True)


def build_command(language: str, chain: Toolchain, c: Toolchain) -> tuple[list[str], str]:
    """What makes the engine's own program, and its source's name."""
    if language == "java":
        return [part.replace(chain.source, "Engine.java") for part in chain.build], "Engine.java"
    if chain.linked:
        return [c.build[0], *_FREESTANDING, f"{{kept}}/{LINKED}.c", "-o", f"{{kept}}/out/{LINKED}.o"], f"{LINKED}.c"
    script, addon = "node_fork.c", NODE[1]
    return [c.build[0], "-O2", "-shared", "-fPIC", f"{{kept}}/{script}", "-o", f"{{kept}}/out/{addon}"], script


def own_files(language: str, made: Mapping[str, bytes]) -> dict[str, bytes]:
    """The engine's own files, from its compiler's output."""
    if language == "java":
        return {f"{JAVA_ENGINE}/{name}": content for name, content in made.items()}
    if language in TRIALS:
        return {**made, f"{LINKED}.specs": _SPECS.encode()}
    return {NODE[0]: (NATIVE / NODE[0]).read_bytes(), NODE[1]: made[NODE[1]]}
