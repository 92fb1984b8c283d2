"""Effects of a shell script on paths, by the words of its commands.

An effect means that a path is read, written, run, or only named by an unknown program. An effect that can't be known
from the text has no path, but a reason.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from verikit.verifiers.tools.programs import (
    actions_of_find,
    awk_acts,
    changes_folder,
    filled,
    found_by,
    git_words,
    in_place,
    module_run,
    program_name,
    sed_acts,
    target_last,
    tests_of,
    unwrapped,
    values_of,
    written,
    xargs_words,
)
from verikit.verifiers.tools.shell import Script, SimpleCommand, Word, parsed, without_assignments

Does = Literal["reads", "writes", "runs", "names", "hides", "opaque"]
"""`names`: an unknown program has the path as an argument. `hides`: the text doesn't show the effect.
`opaque`: code in another language decides the effect on the paths that it mentions."""
MAX_NESTED = 8
SHELLS = frozenset("sh bash zsh dash ksh ash fish".split())
INTERPRETERS = frozenset("python perl ruby node php lua Rscript pypy deno bun".split())
_READS = frozenset(
    """cat head tail less more nl tac rev wc sort uniq cut paste column fold od xxd hexdump strings md5sum sha1sum
    sha256sum sha512sum cksum diff cmp comm bat view base64 source . zcat gunzip bzcat xzcat jq awk gawk mawk nawk sed
    grep egrep fgrep rg ag file stat readlink tr expand fmt pr join look iconv""".split()
)
_COPIES = frozenset("cp mv install ln rsync scp".split())
_WRITES = frozenset("rm rmdir unlink touch mkdir chmod chown chgrp truncate shred tee mkfifo setfacl patch".split())
_EARLIER_FOLDER, _UNNAMED_FOLDER = re.compile(r"~[-+0-9]"), re.compile(r"[-+]|~$|~[-+0-9]")
"""Folders that the shell was in or keeps on its stack, and all arguments of `cd` that do not show the folder."""
_HARMLESS = frozenset(
    """echo printf true false : pwd cd ls exit set export unset which type test [ sleep date whoami id uname hostname
    dirname basename seq wait kill ps df du free env alias unalias shopt read local return break continue shift trap
    umask ulimit history jobs fg bg pushd popd tree""".split()
)
_PYTEST_READS = frozenset(
    """--tb --maxfail --no-header --no-summary --lf --ff --durations --durations-min --disable-warnings --collect-only
    --verbose --quiet --exitfirst --color --timeout --timeout-method --capture --show-capture --showlocals --ignore
    --ignore-glob --deselect --no-cov --co --last-failed --failed-first --sw --stepwise --nf --verbosity
    --strict-markers --full-trace --runxfail --disable-pytest-warnings --reruns --numprocesses --dist""".split()
)
"""Long options of pytest that write nothing."""
_PYTEST_SHORT = re.compile(r"-[qvxsl]*[kmnWr]|-[qvxsl]+$")
_GIT_WRITES = frozenset(
    """checkout restore reset apply am stash
    revert clean merge pull rm mv rebase cherry-pick checkout-index read-tree""".split()
)
_JOINED_CODE = re.compile(r"-[bBdEiIOPqsSuvx]*c")
"""Letters of Python that take no value, then its `-c`."""
_PATTERN_FIRST = frozenset("grep egrep fgrep rg ag awk gawk mawk nawk sed jq tr".split())
"""Programs whose first word is not a path."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one step on one path."""

    does: Does
    path: str = ""
    """Relative in the workspace, absolute outside of it; "" if it is not known."""
    known: bool = True
    pattern: bool = False
    below: bool = True
    """Whether the effect on a folder applies to everything in it."""
    told: str = ""
    """The command; for an opaque effect, the whole text."""
    words: Sequence[Word] = ()
    """The program that runs, with its arguments."""


def normal(path: str) -> str:
    """A path without `.`, `..` and repeated slashes. POSIX keeps two at the start, and Linux treats them as one."""
    found = posixpath.normpath(path)
    return found[1:] if found.startswith("//") else found


def placed(path: str, cwd: str, root: str) -> str:
    """A path relative to the workspace's root; absolute if it is outside."""
    whole = normal(posixpath.join(root, cwd, path))
    base = normal(root)
    if whole == base:
        return "."
    return whole[len(base) :].lstrip("/") if whole.startswith(base.rstrip("/") + "/") else whole


def shell_effects(text: str, root: str) -> Iterator[Effect]:
    """The effects of a script."""
    yield from _Shell(root).script(parsed(text), text, 0)


class _Shell:
    """Goes through the commands of a script, and tracks the folder they run in."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._cwd: str | None = ""

    def script(self, script: Script, text: str, depth: int) -> Iterator[Effect]:
        """All effects of a script, in order."""
        if script.problems:
            yield Effect("opaque", told=f"{script.problems[0]}: {text}")
            if any(not word.known for command in script.commands for word in command.words):
                yield Effect("hides", told=text[:100])
            return
        for command in script.commands:
            yield from self._command(without_assignments(command), depth)

    def _command(self, command: SimpleCommand, depth: int) -> Iterator[Effect]:
        told = " ".join(word.text for word in command.words)[:100]
        for sign, target in command.redirects:
            if target.text != "/dev/null":
                yield self._effect("reads" if sign in ("<", "<&") else "writes", target, told)
        words, options = unwrapped(command.words)
        yield from (self._effect("names", word, told) for word in values_of(options))
        if not words:
            return
        if changes_folder(options):
            here, self._cwd = self._cwd, None
            yield from self._command(replace(command, words=words, redirects=[]), depth + 1)
            self._cwd = here
            return
        program = program_name(words[0])
        # `watch 'git push'` has a script for a program, and `flock f -c …` an option
        if not words[0].known or " " in words[0].text or program.startswith("-") or depth > MAX_NESTED:
            yield Effect("hides", told=told)
            return
        yield Effect("runs", program, told=told, words=words)
        module = module_run(words) if program == "python" else ()
        if module:
            yield Effect("runs", module[0].text, told=told, words=module)
        if module and module[0].text == "pytest":
            program, words = "pytest", list(module)
        yield from self._done_by(program, words[1:], command, told, depth)

    def _done_by(
        self, program: str, arguments: Sequence[Word], command: SimpleCommand, told: str, depth: int
    ) -> Iterator[Effect]:
        """The effects of a program, by its kind."""
        if program == "xargs":
            yield from self._xargs(arguments, depth)
        elif program == "find":
            yield from self._find(arguments, told, depth)
        elif program in SHELLS or program in ("eval", "parallel", "ssh", "docker", "su", "script"):
            yield from self._nested(program, arguments, command, told, depth)
        elif program in ("cd", "pushd", "popd"):
            self._enter(arguments)
        else:
            yield from self._program(program, arguments, command, told)

    def _nested(
        self, program: str, arguments: Sequence[Word], command: SimpleCommand, told: str, depth: int
    ) -> Iterator[Effect]:
        """A program that runs a script: the script is read if the text contains it."""
        file = _script_file(arguments) if program in SHELLS else None
        if file is not None:
            yield self._effect("reads", file, told)
            return
        inner = _script_text(program, arguments, None if command.altered else command.given)
        if inner is None:
            yield Effect("hides", told=told)
            return
        here = self._cwd
        yield from self.script(parsed(inner), inner, depth + 1)
        if program != "eval":
            self._cwd = here

    def _enter(self, arguments: Sequence[Word]) -> None:
        target = arguments[0] if len(arguments) == 1 else Word("", known=False)
        plain = target.known and not target.pattern and not _UNNAMED_FOLDER.match(target.text)
        if not plain or self._cwd is None:
            self._cwd = None
            return
        self._cwd = posixpath.normpath(posixpath.join(self._cwd, target.text))

    def _program(self, program: str, arguments: Sequence[Word], command: SimpleCommand, told: str) -> Iterator[Effect]:
        """The effects of a known program on the paths among its arguments."""
        paths = [word for word in arguments if not word.text.startswith("-")]
        flags = [word.text for word in arguments if word.text.startswith("-")]
        special = {
            "dd": lambda: self._dd(arguments, told),
            "git": lambda: self._git(arguments, told),
            "pytest": lambda: self._pytest(arguments, told),
            **dict.fromkeys(_COPIES, lambda: self._copy(program, arguments, told)),
            **dict.fromkeys(INTERPRETERS, lambda: self._interpreter(arguments, command, told)),
        }
        edits = in_place(program, flags)
        if program in special:
            yield from special[program]()
        elif program in ("alias", "trap"):
            yield Effect("opaque", told="\n".join(word.text for word in arguments))
        elif program in _WRITES or edits:
            yield from self._writer(program, paths, told)
            if edits and sed_acts(program, text := "\n".join(word.text for word in paths[:1])):
                yield Effect("opaque", told=text)
        elif program in _READS:
            yield from self._reader(program, arguments, told)
        elif program not in _HARMLESS:
            yield from (self._effect("names", word, told) for word in paths)

    def _reader(self, program: str, arguments: Sequence[Word], told: str) -> Iterator[Effect]:
        """A program that reads its paths, and may have an output among them."""
        paths = [word for word in arguments if not word.text.startswith("-")]
        scripted = program in _PATTERN_FIRST and not {"-f", "-e"} & {word.text for word in arguments}
        yield from (self._effect("reads", word, told) for word in (paths[1:] if scripted else paths))
        yield from (self._effect("writes", word, told) for word in written(program, arguments))
        text = "\n".join(word.text for word in arguments)
        if awk_acts(program, text) or sed_acts(program, text):
            yield Effect("opaque", told=text)

    def _copy(self, program: str, arguments: Sequence[Word], told: str) -> Iterator[Effect]:
        """A copy, which reads its sources, or a move, which takes them away."""
        does: Does = "writes" if program == "mv" else "reads"
        paths = target_last(program, arguments)
        yield from (self._effect(does, word, told) for word in paths[:-1] or paths)
        yield from self._into(paths, told)

    def _dd(self, arguments: Sequence[Word], told: str) -> Iterator[Effect]:
        for word in arguments:
            key, _, value = word.text.partition("=")
            if key in ("if", "of"):
                yield self._effect("reads" if key == "if" else "writes", Word(value, word.known), told)

    def _find(self, arguments: Sequence[Word], told: str, depth: int) -> Iterator[Effect]:
        """`find`, which lists unless it is to run, write or delete something."""
        found = found_by(arguments)
        for flag, words in actions_of_find(arguments):
            if flag == "-delete":
                yield from (self._effect("writes", path, told) for path in found)
            elif flag.startswith("-f"):
                yield from (self._effect("writes", word, told) for word in words)
            elif not words or words[-1].text not in (";", "+"):
                yield Effect("hides", told=told)
            else:
                here = self._cwd
                self._cwd = None if flag.endswith("dir") else here
                # not for each within another command: it would multiply with every level
                paths = found if depth == 0 or len(found) == 1 else [Word("$file", known=False)]
                for path in paths:
                    yield from self._command(SimpleCommand(filled(words[:-1], "{}", path)), depth + 1)
                self._cwd = here

    def _xargs(self, arguments: Sequence[Word], depth: int) -> Iterator[Effect]:
        """The program that `xargs` runs on words that the text does not show."""
        inner, mark, options = xargs_words(arguments)
        files = any(word.text.startswith(("-a", "--arg-file")) for word in options)
        yield from (self._effect("names", word, "xargs") for word in (values_of(options) if files else []))
        file = Word("$file", known=False)
        if inner:  # it only prints otherwise
            yield from self._command(SimpleCommand(filled(inner, mark, file) if mark else [*inner, file]), depth + 1)

    def _pytest(self, arguments: Sequence[Word], told: str) -> Iterator[Effect]:
        """Tests, which are read; an option that may write leaves the effect open."""
        flags = [word.text for word in arguments if word.text.startswith("-")]
        does: Does = "reads" if all(map(_writes_nothing, flags)) else "names"
        for word in tests_of(arguments):
            yield self._effect(does, word, told)

    def _writer(self, program: str, paths: Sequence[Word], told: str) -> Iterator[Effect]:
        """A program that changes all of its paths; `sed` all but its script, `patch` the files its patch names."""
        below = program not in ("mkdir", "touch", "tee")
        changed = paths[1:] if program == "sed" and len(paths) > 1 else paths
        yield from (replace(self._effect("writes", word, told), below=below) for word in changed)
        if program == "patch":
            yield Effect("writes", known=False, told=told)

    def _into(self, paths: Sequence[Word], told: str) -> Iterator[Effect]:
        """The target of a copy, and the names of its sources in it if it is a folder."""
        if len(paths) < 2:
            return
        target = paths[-1]
        yield replace(self._effect("writes", target, told), below=False)
        for source in paths[:-1]:
            name = posixpath.basename(source.text.rstrip("/"))
            inside = Word(posixpath.join(target.text, name), source.known and target.known, source.pattern)
            yield self._effect("writes", inside, told)

    def _git(self, arguments: Sequence[Word], told: str) -> Iterator[Effect]:
        """`git`, by its action; with `-C`, in another folder."""
        words, given = git_words(arguments)
        here = self._cwd
        for flag, value in given:
            if flag == "-C":
                self._enter([value])
            elif flag != "-c":
                self._cwd = None
            elif value.text.startswith("alias.") or not value.known:
                yield Effect("hides", told=told)
        yield from self._git_action([word for word in words if not word.text.startswith("-")], told)
        self._cwd = here

    def _git_action(self, paths: Sequence[Word], told: str) -> Iterator[Effect]:
        action = paths[0].text if paths else ""
        if action in ("show", "log", "diff", "blame", "cat-file", "grep", "reflog"):
            yield Effect("reads", ".git/history", told=told)
            yield from (self._effect("reads", word, told) for word in paths[1:])
        elif action in _GIT_WRITES:
            named = [word for word in paths[1:] if action in ("checkout", "restore", "rm", "mv")]
            yield from (self._effect("writes", word, told) for word in named)
            if not named:
                yield Effect("writes", known=False, told=told)

    def _interpreter(self, arguments: Sequence[Word], command: SimpleCommand, told: str) -> Iterator[Effect]:
        """A program in another language: a file is read; code in the text is not followed."""
        if _has_code(arguments):
            yield _unread_code(arguments, command, told)
            return
        files = [word for word in arguments if not word.text.startswith("-")]
        if "-m" not in {word.text for word in arguments}:
            yield from (self._effect("reads", word, told) for word in files[:1])
        yield from (self._effect("names", word, told) for word in files[1:])

    def _effect(self, does: Does, word: Word, told: str) -> Effect:
        if _EARLIER_FOLDER.match(word.text):
            return Effect(does, "", known=False, told=told)
        if word.text.startswith("~"):
            return Effect(does, word.text, known=word.known, told=told)
        absolute = word.text.startswith("/")
        if self._cwd is None and not absolute:
            return Effect(does, "", known=False, told=told)
        text = word.text if word.known else _before_the_unknown(word.text)
        if not word.known and ".." in word.text[len(text) :]:
            text = ""
        path = ""
        if text or word.known:
            path = placed(text, "" if absolute else self._cwd or "", self._root)
        return Effect(does, path, word.known, word.pattern, told=told)


def _code_flag(arguments: Sequence[Word]) -> int | None:
    """The position of a shell's `-c`, which may be one of several letters."""
    return next((n for n, word in enumerate(arguments) if word.text.startswith("-") and "c" in word.text), None)


def _script_file(arguments: Sequence[Word]) -> Word | None:
    """The file that a shell runs."""
    files = [word for word in arguments if not word.text.startswith("-")]
    return files[0] if _code_flag(arguments) is None and files and files[0].known else None


def _script_text(program: str, arguments: Sequence[Word], given: str | None) -> str | None:
    """The script that a program runs, from its arguments or its input. None if the text doesn't contain it."""
    if program == "eval":
        return " ".join(word.text for word in arguments) if all(word.known for word in arguments) else None
    if program not in SHELLS:
        return None
    flag = _code_flag(arguments)
    if flag is None:
        return given
    script = arguments[flag + 1 : flag + 2]
    return script[0].text if script and script[0].known else None


def _has_code(arguments: Sequence[Word]) -> bool:
    """Whether an interpreter gets code in its arguments or its input instead of a file."""
    options = takewhile(lambda word: word.text.startswith("-"), arguments)
    joined = any(_JOINED_CODE.match(word.text) for word in options)
    return joined or not arguments or any(word.text in ("-c", "-e", "-r", "-p", "-") for word in arguments)


def _unread_code(arguments: Sequence[Word], command: SimpleCommand, told: str) -> Effect:
    """The effect of code in another language, which is not followed."""
    in_arguments = any(word.text in ("-c", "-e") for word in arguments)
    from_pipe = (command.given is None and command.piped) or (command.altered and _expands(command.given or ""))
    filled_in = any("$file" in word.text and not word.known for word in arguments)
    if (from_pipe and not in_arguments) or filled_in:
        return Effect("hides", told=told)
    return Effect("opaque", told="\n".join([*(word.text for word in arguments), command.given or ""]))


def _expands(text: str) -> bool:
    """Whether the shell may put something else into a here-document."""
    return "$" in text or "`" in text


def _writes_nothing(flag: str) -> bool:
    """Whether an option of pytest writes nothing."""
    if not flag.startswith("--"):
        return bool(_PYTEST_SHORT.match(flag))
    return flag.partition("=")[0] in _PYTEST_READS or flag.startswith(("--cov=", "--cov-report=term"))


def _before_the_unknown(text: str) -> str:
    """The part of a word before the first character that may be expanded."""
    return text[: min((at for sign in "${`<>" if (at := text.find(sign)) >= 0), default=len(text))]
