"""The files that test commands name, by their role.

A script that is run decides the verdict, unless another command reads its output: then it is a program under test.
Files given to compilers, linters and text tools are under test too, unless their names mark them as tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from verikit.verifiers.patch.manifests import MAKEFILES, Makefile, scripts, settings
from verikit.verifiers.patch.shell import Command, commands
from verikit.verifiers.patch.tree import Tree

_TEST_WORDS = frozenset(
    """test tests testing spec specs check checks checker verify verifies verification validate expected golden goldens
    fixture fixtures snapshot snapshots assert asserts""".split()
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SHELLS = frozenset("sh bash dash zsh ksh source .".split())
_INTERPRETERS = re.compile(
    r"python[\d.]*|pypy[\d.]*|node|nodejs|deno|bun|ruby|perl|php|lua[\d.]*|Rscript|julia|tsx|ts-node|java|kotlin|swift|"
    r"groovy|elixir|escript"
)
_RUNNERS = frozenset(
    """pytest py.test unittest nose2 nosetests tox nox mocha jest vitest jasmine ava tap karma rspec minitest phpunit
    prove bats busted cucumber behave robot deno-test node-test""".split()
)
_SOURCE_TOOLS = frozenset(
    """cc c++ gcc g++ clang clang++ rustc javac kotlinc scalac tsc swiftc ghc go gofmt rustfmt ar ld py_compile
    compileall flake8 pylint mypy pyright ruff black isort eslint prettier shellcheck rubocop clippy
    test [ [[ grep egrep fgrep rg cat wc head tail sort uniq cut awk sed jq stat ls file md5sum sha256sum find
    xxd""".split()
)
"""Programs that read or compile their operands."""
_WRITERS = frozenset("rm mv touch mkdir rmdir tee ln patch git tar unzip truncate".split())
_PASS_ON = frozenset("tee cat head tail less more sed awk sort ts".split())
"""Programs that pass on their input: the command before them still decides."""
_COMPARES = frozenset("diff cmp comm".split())
_CODE = ("-c", "-e", "-p", "-r", "--eval", "--print")
_NOT_TESTED = ("--cov", "--ignore", "--exclude", "--deselect", "--omit", "--source", "--include")
"""Options whose values are code under test, or ignored files."""
_SETTINGS = (".mocharc.json", ".jasmine.json", "jest.config.json", "spec/support/jasmine.json")
_SUFFIXES = ("", ".js", ".mjs", ".cjs", ".ts", "/index.js", "/__main__.py", "/__init__.py")
_COMPILED = (".c", ".cc", ".cpp", ".cxx", ".C", ".m", ".f", ".f90", ".s", ".S")
"""Suffixes of sources that make has built-in rules for."""
_BUILD_FILE = re.compile(
    r"CMakeLists\.txt|CMakePresets\.json|CTest\w*\.(?:cmake|txt)|[\w.-]+\.cmake|meson\.build|build\.ninja"
)
_BUILD_WORD = re.compile(r"[^\s()'\",;]+")
_MOST_DEEP = 8


def is_testlike(name: str) -> bool:
    """Whether a word in a file's name or its folders' names marks it as a test file."""
    return any(word.lower() in _TEST_WORDS for word in _WORD.findall(name))


@dataclass(slots=True)
class NamedFiles:
    """The files that the test commands of a row name."""

    tests: set[str] = field(default_factory=set)
    """Files that decide a verdict, whether or not they are in the tree."""
    sources: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    """Folders that a runner searches for tests."""
    patterns: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    """Files that the commands write themselves."""


def named_files(lines: tuple[str, ...], tree: Tree) -> NamedFiles:
    """Read test commands on the tree that has the row's tests."""
    reader = _Reader(tree)
    for line in lines:
        reader.read(line, "", 0)
    found = reader.found
    found.tests |= {name for name in found.sources if is_testlike(name)}
    return found


class _Reader:
    def __init__(self, tree: Tree) -> None:
        self.found = NamedFiles()
        self._tree = tree
        self._folders = {"/".join(name.split("/")[:n]) for name in tree for n in range(1, name.count("/") + 1)}
        self._seen: set[tuple[str, str]] = set()

    def read(self, text: str, folder: str, depth: int) -> None:
        """Read a line or a script that runs in a folder of the tree."""
        if depth > _MOST_DEEP or (text, folder) in self._seen:
            return
        self._seen.add((text, folder))
        every = commands(text)
        for at, command in enumerate(every):
            if command.program == "cd" and len(command.words) > 1:
                folder = _joined(folder, command.words[1])
                continue
            self._redirected(command, folder)
            self._command(command, every[at + 1 :], folder, depth)

    def _redirected(self, command: Command, folder: str) -> None:
        self.found.tests |= {path for word in command.reads if (path := _joined(folder, word)) in self._tree}
        self.found.written |= {_joined(folder, word) for word in command.writes}

    def _command(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        method = _METHODS.get(command.program)
        if method is not None:
            method(self, command, later, folder, depth)
        elif _INTERPRETERS.fullmatch(command.program):
            self._interpreter(command, later, folder, depth)
        elif command.words:
            if "/" in command.words[0]:
                self._run(command.words[0], command, later, folder, depth)
            self._operands(command.words[1:], folder)

    # ---- programs that run scripts ----------------------------------------------------------------------------------

    def _run(self, word: str, command: Command, later: list[Command], folder: str, depth: int) -> None:
        """A script that is run: it decides, unless another command reads its output."""
        tries = [_joined(folder, word + suffix) for suffix in _SUFFIXES]
        held = next((path for path in tries if path in self._tree), tries[0])
        read_on = command.substituted or _is_read(command, later)
        if read_on and not is_testlike(held):
            self.found.sources.add(held)
            return
        self.found.tests |= {held, *tries[: tries.index(held)]}
        text = self._tree[held].content[: 1 << 20].decode("utf-8", "replace") if held in self._tree else ""
        if held.endswith((".sh", ".bash", ".bats")) or re.match(r"#!.{0,80}\b(?:ba|da|z|k)?sh\b", text):
            self.read(text, folder, depth + 1)

    def _shell(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        words = command.words[1:]
        for at, word in enumerate(words):
            if re.fullmatch(r"-\w*c", word):
                for text in words[at + 1 : at + 2]:
                    self.read(text, folder, depth + 1)
                self._operands(words[at + 2 :], folder)
                return
            if not word.startswith(("-", "+")):
                self._run(word, command, later, folder, depth)
                held = self._tree.get(_joined(folder, word))
                if held is not None:
                    self.read(held.content[: 1 << 20].decode("utf-8", "replace"), folder, depth + 1)
                self._operands(words[at + 1 :], folder)
                return

    def _interpreter(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        words = command.words[2:] if command.words[1:2] == ["run"] else command.words[1:]
        if "--test" in words or words[:1] == ["test"]:
            return self._tests([word for word in words if word != "test"], folder)
        at = 0
        while at < len(words):
            word = words[at]
            if word == "-m" and at + 1 < len(words):
                return self._module(words[at + 1], words[at + 2 :], command, later, folder)
            if word in _CODE and not (word == "-r" and command.program.startswith("node")):
                return self._operands(words[at + 2 :], folder)
            if not word.startswith("-"):
                self._run(word, command, later, folder, depth)
                return self._operands(words[at + 1 :], folder)
            self._operands([word], folder)
            at += 1
        return None

    def _module(self, module: str, words: list[str], command: Command, later: list[Command], folder: str) -> None:
        if module in _RUNNERS or module == "doctest":
            self._tests(words, folder)
        elif module in _SOURCE_TOOLS:
            self._looked_at(words, folder)
        else:
            path = module.replace(".", "/")
            tries = (f"{path}.py", f"{path}/__main__.py")
            for held in [name for name in tries if _joined(folder, name) in self._tree][:1]:
                self._run(held, command, later, folder, 0)
            self._operands(words, folder)

    # ---- programs that look for tests -------------------------------------------------------------------------------

    def _tests(self, words: list[str], folder: str) -> None:
        """Files, folders and patterns given to a test runner; dotted names are modules."""
        for word in words:
            path = _joined(folder, word.partition("::")[0])
            if re.fullmatch(r"[\w.]+", word) and "." in word:
                self._add_dotted(path)
            if path in self._folders:
                self.found.folders.add(path)
        self._operands([word.partition("::")[0] for word in words], folder)

    def _runner(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        self._tests(command.words[1:], folder)

    def _package(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        words = command.words[1:]
        names = [word for word in words if not word.startswith("-")]
        for at, word in enumerate(words):
            if word in ("--prefix", "-C", "--cwd") and at + 1 < len(words):
                folder = _joined(folder, words[at + 1])
                names = [name for name in names if name != words[at + 1]]
        names = names[1:] if names[:1] in (["run"], ["run-script"]) else names
        name = {"t": "test", "tst": "test"}.get(names[0], names[0]) if names else "test"
        path = _joined(folder, "package.json")
        self.found.tests.add(path)
        for text in scripts(self._tree.get(path), name):
            self.read(text, folder, depth + 1)
        for other in (path, *(_joined(folder, manifest) for manifest in _SETTINGS)):
            self._operands([text.removeprefix("<rootDir>/") for text in settings(self._tree.get(other))], folder)
        self._operands(names[1:], folder)

    def _make(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        folder, files, targets = _make_words(command.words[1:], folder)
        tries = [_joined(folder, name) for name in files or MAKEFILES]
        self.found.tests.update(tries)
        held = next((path for path in tries if path in self._tree), "")
        makefile = Makefile(self._tree, held)
        self.found.tests.update(makefile.files)
        self._looked_at(targets, folder)
        for line in list(makefile.recipes(targets))[:1000]:
            self.read(line, folder, depth + 1)

    def _build(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        """Programs that build and test from a file with a fixed name."""
        self.found.tests |= {_joined(folder, name) for name in _BUILDS[command.program]}
        self._operands(command.words[1:], folder)

    def _cmake(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        """Build systems with their own file language: each word that is a file is a source."""
        held = [name for name in self._tree if _BUILD_FILE.fullmatch(name.rpartition("/")[2])]
        self.found.tests.update(held)
        for name in held[:100]:
            text = self._tree[name].content[: 1 << 20].decode("utf-8", "replace")
            self._looked_at(_BUILD_WORD.findall(text), name.rpartition("/")[0])
        self._operands(command.words[1:], folder)

    # ---- operands ---------------------------------------------------------------------------------------------------

    def _add_dotted(self, dotted: str) -> None:
        """Add the file of a dotted name: the longest prefix that is a module."""
        path = dotted.replace(".", "/")
        while "/" in path and f"{path}.py" not in self._tree:
            path = path.rpartition("/")[0]
        if f"{path}.py" in self._tree:
            self.found.tests.add(f"{path}.py")

    def _operands(self, words: list[str], folder: str) -> None:
        """Files of the tree among words, including after `--option=`, and file patterns."""
        for word in words:
            if word.startswith(_NOT_TESTED):
                continue
            for part in {word, word.partition("=")[2]} - {""}:
                self._operand(part, _joined(folder, part))

    def _operand(self, word: str, path: str) -> None:
        if path in self._tree:
            self.found.tests.add(path)
        elif path in self._folders:
            self.found.folders |= {path} if is_testlike(path) else set()
        elif any(sign in word for sign in "*?["):
            matched = {name for name in self._tree if fnmatchcase(name, path)}
            self.found.tests |= matched
            self.found.patterns |= {path} if matched else set()

    def _sources(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        words = command.words[1:]
        if command.program == "sed" and any(word.startswith("-i") for word in words):
            self.found.written |= {_joined(folder, word) for word in words}
        self._looked_at(words, folder)

    def _looked_at(self, words: list[str], folder: str) -> None:
        taken = iter(words)
        for word in taken:
            if word == "-o":
                self.found.written.add(_joined(folder, next(taken, "")))
            elif held := self._compiled(_joined(folder, word)):
                self.found.sources.update(held)
            elif is_testlike(word):
                self._operands([word], folder)

    def _compiled(self, path: str) -> list[str]:
        """A file of the tree, or the sources of an object file or a program of this name."""
        if path in self._tree:
            return [path]
        stem = re.sub(r"\.(?:o|obj|lo)$", "", path)
        return [stem + suffix for suffix in _COMPILED if stem + suffix in self._tree]

    def _writer(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        self.found.written |= {_joined(folder, word) for word in command.words[1:]}

    def _mode(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        self._writer(command, later, folder, depth)
        self._operands(command.words[1:], folder)

    def _copy(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        self.found.written |= {_joined(folder, word) for word in command.words[-1:]}
        self._operands(command.words[1:-1], folder)

    def _compared(self, command: Command, later: list[Command], folder: str, depth: int) -> None:
        paths = {path for word in command.words[1:] if (path := _joined(folder, word)) in self._tree}
        marked = {path for path in paths if is_testlike(path)}
        self.found.tests |= marked or paths


_MAVEN = ("pom.xml", ".mvn/maven.config")
_GRADLE = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties")
_BUILDS = {
    "cargo": ("Cargo.toml", ".cargo/config.toml", ".cargo/config"),
    "mvn": _MAVEN, "mvnw": _MAVEN, "gradle": _GRADLE, "gradlew": _GRADLE,
}  # fmt: skip
_Method = Callable[[_Reader, Command, list[Command], str, int], None]
_METHODS: dict[str, _Method] = {
    program: method
    for programs, method in (
        (_SHELLS, _Reader._shell), (("npm", "yarn", "pnpm"), _Reader._package), (("make", "gmake"), _Reader._make),
        (("cmake", "ctest", "meson", "ninja"), _Reader._cmake),
        (_BUILDS, _Reader._build), (_RUNNERS, _Reader._runner), (("chmod",), _Reader._mode), (("cp",), _Reader._copy),
        (_WRITERS, _Reader._writer), (_SOURCE_TOOLS, _Reader._sources), (_COMPARES, _Reader._compared),
    )
    for program in programs
}  # fmt: skip


def _is_read(command: Command, later: list[Command]) -> bool:
    """Whether another command reads a command's output, from a pipe or from the file it is written to."""
    if command.piped:
        return any(not other.piped and other.program not in _PASS_ON for other in later[: _pipe(later) + 1])
    return any(word in command.writes for other in later for word in (*other.words, *other.reads))


def _pipe(later: list[Command]) -> int:
    """The position of the last command of a pipe."""
    at = 0
    while at < len(later) and later[at].piped:
        at += 1
    return at


def _joined(folder: str, word: str) -> str:
    """A path of a command as a path of the tree."""
    parts: list[str] = []
    for part in f"{folder}/{word}".split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/".join(parts)


def _make_words(words: Sequence[str], folder: str) -> tuple[str, list[str], list[str]]:
    """The folder, the makefiles and the targets of a call of make."""
    files: list[str] = []
    targets: list[str] = []
    taken = iter(words)
    for word in taken:
        if word in ("-C", "--directory"):
            folder = _joined(folder, next(taken, ""))
        elif word in ("-f", "--file", "--makefile"):
            files.append(next(taken, ""))
        elif word in ("-j", "-l"):
            continue
        elif not word.startswith("-") and "=" not in word and not word.isdigit():
            targets.append(word)
    return folder, files, targets
