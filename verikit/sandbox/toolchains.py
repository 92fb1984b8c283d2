"""Compilers and engines of other languages: how each is found, called and installed.

Each is searched for on PATH, once per process. A toolchain is used only inside the sandbox, and only after it has
built and run a test program there. So a broken or missing toolchain is never a candidate's failure.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

_COMPILERS = ("/usr/bin", "/bin", "/usr/include", "/usr/libexec/gcc", "/usr/lib64", "/etc/alternatives")
"""The files of gcc, its assembler and its linker, beyond the libraries that every sandbox shows."""
JAVA_ENGINE = "verikit-engine"
"""The folder of Java's engine, next to the program. It is not the name of a package."""
_KEPT = "{kept}"
"""Placeholder for the folder of the program, whose name the sandbox sets."""
_LINKED = (f"-specs={_KEPT}/program_fork.specs", f"-B{_KEPT}/")
"""Options of gcc that link a program with its engine."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """How programs of a language are built and run. `{kept}` in a command is their folder."""

    language: str
    source: str
    """The source file's name."""
    run: tuple[str, ...]
    build: tuple[str, ...] = ()
    """Empty if the language needs no compiler."""
    product: str = "out"
    """The folder of the compiler's output."""
    engine: tuple[str, ...] = ()
    """How the native supervisor starts an engine of many cases. Empty if there is no engine."""
    linked: tuple[str, ...] = ()
    """Options of the compiler that link the engine into each program (`native/program_fork.c`)."""
    tools: tuple[str, ...] = ()
    """Paths that building needs to read and execute."""
    run_tools: tuple[str, ...] = ()
    """Paths that running needs."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Of the compiler."""
    run_env: Mapping[str, str] = field(default_factory=dict)
    data_mb: int = 0
    """MiB that a compiler reserves on top of its use. The reserve is allowed, and only used memory is limited."""
    run_data_mb: int = 0
    """The same for the runtime of the program."""
    hello: str = ""
    """A program that reads a line and prints it."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A toolchain that is not on this machine."""

    language: str
    install: str
    """The line that adds it."""


HELLO: dict[str, str] = {
    "c": "#include <stdio.h>\nint main(void){int c;while((c=getchar())!=EOF)putchar(c);}",
    "cpp": "#include <iostream>\nint main(){std::string s;std::cin>>s;std::cout<<s<<std::endl;}",
    "rust": 'use std::io::*;fn main(){let mut s=String::new();stdin().read_line(&mut s).unwrap();print!("{}",s);}',
    "go": 'package main\nimport "fmt"\nfunc main(){var s string;fmt.Scan(&s);fmt.Println(s)}',
    "java": "public class Main{public static void main(String[] a){"
    "System.out.println(new java.util.Scanner(System.in).nextLine());}}",
    "javascript": "console.log(require('fs').readFileSync(0, 'utf8').trim())",
    "typescript": "const s: string = require('fs').readFileSync(0, 'utf8').trim(); console.log(s)",
    "bash": 'read -r s; echo "$s" | cat',
    "lean": "def main : IO Unit := do\n  let s ← (← IO.getStdin).getLine\n  IO.print s",
}
"""In each language a program that reads a line and prints it."""


def _c(language: str, compiler: str, standard: str) -> Toolchain | None:
    found = shutil.which(compiler)
    if found is None:
        return None
    suffix = "c" if language == "c" else "cpp"
    flags = ("-O2", f"-std={standard}", "-pipe", "-static", "-s", "-fno-diagnostics-color", "-fmax-errors=5", "-w")
    build = (found, *flags, f"{_KEPT}/main.{suffix}", "-o", f"{_KEPT}/out/main", "-lm", "-pthread")
    main = (f"{_KEPT}/main",)
    return Toolchain(language, f"main.{suffix}", main, build, engine=main, linked=_LINKED, tools=_COMPILERS,
                     hello=HELLO[language])  # fmt: skip


def _find_c() -> Toolchain | None:
    return _c("c", "gcc", "gnu17")


def _find_cpp() -> Toolchain | None:
    return _c("cpp", "g++", "gnu++20")


def _find_rust() -> Toolchain | None:
    compiler = shutil.which("rustc")
    if compiler is None or shutil.which("cc") is None:
        return None
    root = _asked(compiler, "--print", "sysroot")
    if not root:
        return None
    flags = (
        "--edition", "2021", "-O", "-A", "warnings", "--color", "never", "-C", "target-feature=+crt-static",
        "-C", "relocation-model=static",  # at fixed addresses, which the native supervisor can map
        "-C", "link-arg=-fuse-ld=bfd",  # rustc's own linker reads its path from /proc
        "-C", "strip=symbols",  # they are unused, and each run copies the whole program
    )  # fmt: skip
    return Toolchain(
        "rust", "main.rs", (f"{_KEPT}/main",),
        (f"{root}/bin/rustc", *flags, f"{_KEPT}/main.rs", "-o", f"{_KEPT}/out/main"), tools=(*_COMPILERS, root),
        engine=(f"{_KEPT}/main",), linked=tuple(part for option in _LINKED for part in ("-C", f"link-arg={option}")),
        env={"LD_LIBRARY_PATH": f"{root}/lib"}, data_mb=1024,
        hello=HELLO["rust"],
    )  # fmt: skip


def _find_go() -> Toolchain | None:
    compiler = shutil.which("go") or next(iter(glob.glob("/usr/local/go/bin/go")), None)
    root = _asked(compiler, "env", "GOROOT") if compiler else ""
    if not root:
        return None
    real = os.path.realpath(root)
    env = {
        "GOROOT": root, "GOCACHE": "{work}/cache", "GOPATH": "{work}/go", "GOFLAGS": "-mod=mod", "GO111MODULE": "off",
        "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOMAXPROCS": "2", "HOME": "{work}",
    }  # fmt: skip
    inside = [*glob.glob(f"{real}/*"), *glob.glob(f"{real}/pkg/*")]  # Debian spreads it over links
    parts = tuple(sorted({root, real, *map(os.path.realpath, inside)}))
    return Toolchain(
        "go", "main.go", (f"{_KEPT}/main",),
        (f"{real}/bin/go", "build", "-o", f"{_KEPT}/out/main", f"{_KEPT}/main.go"),
        tools=parts, env=env, data_mb=1024, run_data_mb=128,
        hello=HELLO["go"],
    )  # fmt: skip


def _find_java() -> Toolchain | None:
    compiler, engine = shutil.which("javac"), shutil.which("java")
    if compiler is None or engine is None:
        return None
    homes = [os.path.dirname(os.path.dirname(os.path.realpath(path))) for path in (compiler, engine)]
    tools = tuple(dict.fromkeys([*homes, *glob.glob("/etc/java*")]))
    small = ("-XX:+UseSerialGC", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
    build = (
        f"{homes[0]}/bin/javac", *(f"-J{flag}" for flag in small), "-J-Xmx512m", "-proc:none", "-nowarn", "-encoding",
        "UTF-8", "-d", f"{_KEPT}/out", f"{_KEPT}/Main.java",
    )  # fmt: skip
    start = (
        f"{homes[1]}/bin/java", "-ea", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData",
        "-XX:ActiveProcessorCount=2", "-XX:TieredStopAtLevel=1", "-XX:CICompilerCount=1",
        "-Xss64m", "-XX:ThreadStackSize=16384",  # of the main thread, and in KiB of those that name no size
        "-Xmx{memory}m", "-Dfile.encoding=UTF-8", "-cp",
    )  # fmt: skip
    run = (*start, _KEPT, "{main}")
    shared = f"{_KEPT}/{JAVA_ENGINE}"
    many = (*start, shared, "verikit.Engine", _KEPT, f"{shared}/cases", "{main}", "{exit}", "{threads}")
    libraries = [{"LD_LIBRARY_PATH": f"{home}/lib:{home}/lib/server"} for home in homes]  # no /proc shows its path
    return Toolchain(
        "java", "Main.java", run, build, engine=many, tools=tools, run_tools=tools, data_mb=640, run_data_mb=640,
        env=libraries[0], run_env=libraries[1],
        hello=HELLO["java"],
    )  # fmt: skip


def _node() -> tuple[str, tuple[int, int]] | None:
    """The engine of JavaScript and its version."""
    found = shutil.which("node")
    seen = re.match(r"v(\d+)\.(\d+)\.", _asked(found, "--version")) if found else None
    return (os.path.realpath(found), (int(seen[1]), int(seen[2]))) if found and seen else None


def _run_node(node: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The commands that run main.js: directly, and in an engine that forks (`native/node_engine.js`)."""
    flags = ("--max-old-space-size={memory}", "--stack-size=4000")
    main = f"{_KEPT}/main.js"
    return (node, *flags, main), (node, *flags, "--single-threaded", f"{_KEPT}/node_engine.js", main)


def _find_javascript() -> Toolchain | None:
    node = _node()
    if node is None:
        return None
    run, engine = _run_node(node[0])
    return Toolchain("javascript", "main.js", run, engine=engine, run_tools=(node[0],), run_data_mb=512,
                     hello=HELLO["javascript"])  # fmt: skip


def _find_typescript() -> Toolchain | None:
    node = _node()
    if node is None:
        return None
    if node[1] < (22, 6):
        return _find_transpiler(node[0])
    strip = () if node[1] >= (22, 18) else ("--experimental-strip-types",)
    run = (node[0], "--max-old-space-size={memory}", "--no-warnings", *strip, f"{_KEPT}/main.ts")
    return Toolchain("typescript", "main.ts", run, run_tools=(node[0],), run_data_mb=512, hello=HELLO["typescript"])


_TRANSPILE = (
    "const ts=require('{library}'),fs=require('fs');"
    "const made=ts.transpileModule(fs.readFileSync('{kept}/main.ts','utf8'),"
    "{{compilerOptions:{{target:'es2022',module:'commonjs'}},reportDiagnostics:true}});"
    "if(made.diagnostics.length){{for(const d of made.diagnostics)"
    "console.error(ts.flattenDiagnosticMessageText(d.messageText,'\\n'));process.exit(1)}}"
    "fs.writeFileSync('{kept}/out/main.js',made.outputText)"
)


def _find_transpiler(node: str) -> Toolchain | None:
    """TypeScript for a node that does not strip types: the package `typescript`; types are not checked there either."""
    found = shutil.which("tsc")
    root = os.path.dirname(os.path.dirname(os.path.realpath(found))) if found else ""
    library = f"{root}/lib/typescript.js"
    if not found or not os.path.exists(library):
        return None
    build = (node, "--max-old-space-size=512", "-e", _TRANSPILE.format(library=library, kept=_KEPT))
    run, engine = _run_node(node)
    hello = "const s: string = require('fs').readFileSync(0, 'utf8').trim(); console.log(s)"
    return Toolchain(
        "typescript", "main.ts", run, build, engine=engine, tools=(node, root), run_tools=(node,), data_mb=1024,
        run_data_mb=512, hello=hello,
    )  # fmt: skip


def _find_bash() -> Toolchain | None:
    found = shutil.which("bash")
    if found is None:
        return None
    shown = ("/usr/bin", "/bin", "/etc/alternatives", "/usr/share/awk", "/usr/lib/locale")
    return Toolchain("bash", "main.sh", (found, f"{_KEPT}/main.sh"), run_tools=shown, hello=HELLO["bash"])


def _find_lean() -> Toolchain | None:
    found = shutil.which("lean")
    root = _asked(found, "--print-prefix") if found else ""
    if not root:
        return None
    run = (f"{root}/bin/lean", "--run", f"{_KEPT}/main.lean")
    return Toolchain("lean", "main.lean", run, run_tools=(root,), run_data_mb=2048, hello=HELLO["lean"])


_FIND: dict[str, tuple[Callable[[], Toolchain | None], str]] = {
    "c": (_find_c, "apt-get install gcc libc6-dev"),
    "cpp": (_find_cpp, "apt-get install g++"),
    "java": (_find_java, "apt-get install default-jdk-headless"),
    "javascript": (_find_javascript, "apt-get install nodejs"),
    "typescript": (_find_typescript, "npm install -g typescript@5 (or node 22.18 or newer, https://nodejs.org)"),
    "go": (_find_go, "apt-get install golang-go"),
    "rust": (_find_rust, "apt-get install rustc gcc"),
    "bash": (_find_bash, "apt-get install bash"),
    "lean": (_find_lean, "elan (https://github.com/leanprover/elan): elan default leanprover/lean4:stable"),
}
LANGUAGES: tuple[str, ...] = tuple(_FIND)
"""All languages except Python, which needs no toolchain."""
ALIASES: dict[str, str] = {
    "cc": "cpp", "c++": "cpp", "cxx": "cpp", "cpp17": "cpp", "cpp20": "cpp", "js": "javascript", "node": "javascript",
    "nodejs": "javascript", "mjs": "javascript", "ts": "typescript", "golang": "go", "go_test.go": "go",
    "rs": "rust", "sh": "bash",
    "shell": "bash", "lean4": "lean", "py": "python", "python3": "python", "py3": "python", "python": "python",
    **{name: name for name in _FIND},
}  # fmt: skip
"""Names that rows and fences use for a language, in lower case."""


@cache
def toolchain(language: str) -> Toolchain | Missing:
    """The toolchain of a language, searched for once."""
    find, install = _FIND[language]
    return find() or Missing(language, install)


def _asked(*command: str) -> str:
    """The output of a tool; empty if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
