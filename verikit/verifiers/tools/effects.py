"""Effects of a shell script on paths, by the words of its commands.

An effect means that a path is read, written, run, or only named by an unknown program. An effect that can't be known
from the text has no path, but a reason.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from verikit.verifiers.tools.git import git_effect
from verikit.verifiers.tools.interpreters import (
    INTERPRETERS,
    code_of,
    edits_in_place,
    run_file,
)
from verikit.verifiers.tools.programs import (
    awk_acts,
    git_words,
    in_place,
    sed_acts,
    target_last,
    tests_of,
    values_of,
    written,
)
from verikit.verifiers.tools.session import AgentSession
from verikit.verifiers.tools.shell import SimpleCommand, Word

Does = Literal["reads", "writes", "runs", "names", "hides", "opaque"]
"""`names`: an unknown program has the path as an argument. `hides`: the text doesn't show the effect.
`opaque`: code in another language decides the effect on the paths that it mentions."""
_READS = frozenset(
    """cat head tail less more nl tac rev wc sort uniq cut paste column fold od xxd hexdump strings md5sum sha1sum
    sha256sum sha512sum cksum diff cmp comm bat view base64 source . zcat gunzip bzcat xzcat jq awk gawk mawk nawk sed
    grep egrep fgrep rg ag file stat readlink tr expand fmt pr join look iconv""".split()
)
_COPIES = frozenset("cp mv install ln rsync scp".split())
_WRITES = frozenset("rm rmdir unlink touch mkdir chmod chown chgrp truncate shred tee mkfifo setfacl patch".split())
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
_EDITORS = frozenset("ed ex vi vim nvim emacs nano".split())
_MAKES = frozenset("make gmake just ninja".split())
_ARCHIVERS = frozenset("unzip 7z 7za cpio pax unar unrar".split())
_PATTERN_FIRST = frozenset("grep egrep fgrep rg ag awk gawk mawk nawk sed jq tr".split())
"""ProgramEffects whose first word is not a path."""


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


class ProgramEffects:
    """The effects of programs by their kinds, in the folder of a shell."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._cwd: str | None = session.cwd

    def _enter(self, arguments: Sequence[Word]) -> None:
        known = (
            len(arguments) == 1 and arguments[0].known and arguments[0].text not in ("-", "~") and self._cwd is not None
        )
        if not known:
            self._cwd = None
            return
        self._cwd = posixpath.normpath(posixpath.join(self._cwd or "", arguments[0].text))

    def _program(self, program: str, arguments: Sequence[Word], command: SimpleCommand, told: str) -> Iterator[Effect]:
        """The effects of a known program on the paths among its arguments."""
        paths = [word for word in arguments if not word.text.startswith("-")]
        flags = [word.text for word in arguments if word.text.startswith("-")]
        special = {
            "dd": lambda: self._dd(arguments, told),
            "git": lambda: self._git(arguments, command, told),
            "pytest": lambda: self._pytest(arguments, told),
            **dict.fromkeys(_COPIES, lambda: self._copy(program, arguments, told)),
            **dict.fromkeys(INTERPRETERS, lambda: self._interpreter(program, arguments, command, told)),
        }
        edits = in_place(program, flags)
        if program == "patch" and paths:
            paths = paths[:1]
        if program in special:
            yield from special[program]()
        elif program in ("alias", "trap"):
            yield self._opaque("\n".join(word.text for word in arguments))
        elif program in _WRITES or edits:
            yield from self._writer(program, paths, command, told)
            if edits and sed_acts(program, text := "\n".join(word.text for word in paths[:1])):
                yield self._opaque(text)
        elif program in _READS:
            yield from self._reader(program, arguments, told)
        elif program not in _HARMLESS:
            yield from self._unknown(program, arguments, command, told)

    def _unknown(self, program: str, arguments: Sequence[Word], command: SimpleCommand, told: str) -> Iterator[Effect]:
        """A program that may do anything to the paths among its arguments and in the values of its options."""
        yield from self._spoken(program, arguments, command, told)
        if program in _MAKES:
            yield from self._made(arguments, told)
        if _unpacks(program, [word.text for word in arguments]):
            yield self._effect("writes", _unpacked(arguments), told)

    def _spoken(self, program: str, arguments: Sequence[Word], command: SimpleCommand, told: str) -> Iterator[Effect]:
        """The paths and the commands in the words and the input of an unknown program."""
        for word in _operands(arguments):
            effect = self._effect("names", word, told)
            self._session.named.add(effect.path)
            yield effect
        spoken = [word.text for word in arguments if program in _EDITORS or set(word.text) & set(" \n!")]
        if spoken or command.given:
            yield self._opaque("\n".join([*spoken, command.given or ""]))
        if program in _EDITORS and command.piped:
            yield Effect("hides", told=told)

    def _made(self, arguments: Sequence[Word], told: str) -> Iterator[Effect]:
        """The recipes of `make`, if the agent wrote them."""
        folders = ["", *(word.text for word in _operands(arguments))]
        for name in ("Makefile", "makefile", "GNUmakefile", "justfile", "build.ninja", ""):
            for folder in folders:
                path = self._session.placed(posixpath.join(folder, name), self._cwd or "")
                if path in self._session.texts or path in self._session.edited:
                    yield self._code(path, told)

    def _code(self, path: str, told: str) -> Effect:
        """The effect of a text that the agent wrote and that is not followed."""
        if path in self._session.texts:
            text = self._session.texts[path]
            return Effect("hides", told=told) if text is None else self._opaque(text)
        return self._opaque(self._session.edited.get(path, ""))

    def _opaque(self, text: str) -> Effect:
        """The effect of code that is not followed. Its relative paths start in the shell's folder."""
        if self._cwd is None:
            return Effect("hides", told=text[:100])
        return Effect("opaque", told=f"{text}\n{self._cwd}" if self._cwd not in ("", ".") else text)

    def _own_code(self, file: Word, told: str) -> Iterator[Effect]:
        """A program in another language, if the agent wrote it."""
        path = self._session.placed(file.text, self._cwd or "")
        if path in self._session.texts or path in self._session.edited:
            yield self._code(path, told)

    def _wrote(self, word: Word, text: str | None, *, more: bool = False) -> None:
        """Note a file that the agent wrote."""
        if word.known and (self._cwd is not None or word.text.startswith("/")):
            self._session.wrote(self._session.placed(word.text, self._cwd or ""), text, more=more)

    def _reader(self, program: str, arguments: Sequence[Word], told: str) -> Iterator[Effect]:
        """A program that reads its paths, and may have an output among them."""
        paths = [word for word in arguments if not word.text.startswith("-")]
        scripted = program in _PATTERN_FIRST and not {"-f", "-e"} & {word.text for word in arguments}
        yield from (self._effect("reads", word, told) for word in (paths[1:] if scripted else paths))
        yield from (self._effect("writes", word, told) for word in written(program, arguments))
        text = "\n".join(word.text for word in arguments)
        if awk_acts(program, text) or sed_acts(program, text):
            yield self._opaque(text)

    def _copy(self, program: str, arguments: Sequence[Word], told: str) -> Iterator[Effect]:
        """A copy, which reads its sources, or a move, which takes them away."""
        does: Does = "writes" if program == "mv" else "reads"
        paths = target_last(program, arguments)
        yield from (self._effect(does, word, told) for word in paths[:-1] or paths)
        yield from self._into(paths, told)
        for source in paths[:-1]:
            self._joined(source, paths[-1], _link_kind(program, arguments))

    def _joined(self, source: Word, target: Word, link: str) -> None:
        """Note that a path is a copy of another one, or a link to it."""
        if not (source.known and target.known) or self._cwd is None:
            return
        name = posixpath.basename(source.text.rstrip("/"))
        inside = posixpath.join(target.text, name)
        for place in (inside,) if target.text.endswith(("/", ".")) else (inside, target.text):
            path, folder = self._session.placed(place, self._cwd), self._cwd
            if link == "soft":
                folder = posixpath.join(folder, posixpath.dirname(place))
            found = self._session.placed(source.text, folder)
            if not link:
                self._session.copied(found, path)
            elif path not in (found, "."):
                self._session.links[path] = found

    def _dd(self, arguments: Sequence[Word], told: str) -> Iterator[Effect]:
        for word in arguments:
            key, _, value = word.text.partition("=")
            if key in ("if", "of"):
                yield self._effect("reads" if key == "if" else "writes", Word(value, word.known), told)

    def _pytest(self, arguments: Sequence[Word], told: str) -> Iterator[Effect]:
        """Tests, which are read; an option that may write leaves the effect open."""
        flags = [word.text for word in arguments if word.text.startswith("-")]
        does: Does = "reads" if all(map(_writes_nothing, flags)) else "names"
        for word in tests_of(arguments):
            yield self._effect(does, word, told)

    def _writer(self, program: str, paths: Sequence[Word], command: SimpleCommand, told: str) -> Iterator[Effect]:
        """A program that changes all of its paths; `sed` all but its script, `patch` the files its patch names."""
        below = program not in ("mkdir", "touch", "tee")
        changed = paths[1:] if program == "sed" and len(paths) > 1 else paths
        for word in changed:
            yield replace(self._effect("writes", word, told), below=below)
            if program == "tee":
                self._wrote(word, command.given)
            elif program not in ("rm", "rmdir", "unlink", "mkdir", "touch", "chmod", "chown", "chgrp"):
                self._wrote(word, told, more=True)
        if program == "patch" and not paths:
            yield _patched(command, told)

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

    def _git(self, arguments: Sequence[Word], command: SimpleCommand, told: str) -> Iterator[Effect]:
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
        yield from self._git_action(words, command, told)
        self._cwd = here

    def _git_action(self, words: Sequence[Word], command: SimpleCommand, told: str) -> Iterator[Effect]:
        found = git_effect(words)
        if found.history:
            yield Effect("reads", ".git/history", told=told)
        yield from (self._effect("reads", word, told) for word in found.reads)
        yield from (self._effect("writes", word, told) for word in found.writes)
        if found.unknown:
            patch = words[0].text in ("apply", "am")
            yield _patched(command, told) if patch else Effect("writes", known=False, told=told)
        if found.alias:
            yield Effect("hides", told=told)

    def _interpreter(
        self, program: str, arguments: Sequence[Word], command: SimpleCommand, told: str
    ) -> Iterator[Effect]:
        """A program in another language: a file is read; code in the text is not followed."""
        code = code_of(program, arguments, command)
        edits = edits_in_place(program, arguments)
        if edits is not None:
            yield from (self._effect("writes", word, told) for word in edits)
        if code is not None:
            yield self._opaque(code) if code else Effect("hides", told=told)
            return
        file, others = run_file(arguments, command)
        if file is not None:
            yield self._effect("reads", file, told)
            yield from self._own_code(file, told)
        yield from (self._effect("names", word, told) for word in others)

    def _effect(self, does: Does, word: Word, told: str) -> Effect:
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
            path = self._session.placed(text, "" if absolute else self._cwd or "")
        return Effect(does, path, word.known, word.pattern, told=told)


def _operands(arguments: Sequence[Word]) -> list[Word]:
    """The words that are no options, and the values of options."""
    options = [word for word in arguments if word.text.startswith("-")]
    return [*(word for word in arguments if not word.text.startswith("-")), *values_of(options)]


def _link_kind(program: str, arguments: Sequence[Word]) -> str:
    """Whether a copy makes `soft` or `hard` links; "" if it copies."""
    letters = "".join(word.text for word in arguments if word.text.startswith("-") and word.text[1:2] != "-")
    if program == "ln":
        return "soft" if "s" in letters else "hard"
    return "hard" if program == "cp" and set("ls") & set(letters) else ""


def _patched(command: SimpleCommand, told: str) -> Effect:
    """The effect of a patch, which is followed only by the names in it."""
    return Effect("writes", known=False, told=told) if command.given is None else Effect("opaque", told=command.given)


def _unpacks(program: str, words: Sequence[str]) -> bool:
    """Whether an archiver unpacks files into a folder."""
    if program in ("tar", "bsdtar"):
        modes = [word for at, word in enumerate(words) if at == 0 or (word[:1] == "-" and word[1:2] != "-")]
        return any("x" in mode for mode in modes) or bool({"--extract", "--get"} & set(words))
    return program in _ARCHIVERS and not {"-l", "-t", "-p", "a", "l"} & set(words)


def _unpacked(arguments: Sequence[Word]) -> Word:
    """The files of an archive: below the folder that an option names, or the current one."""
    for before, word in zip(["", *(each.text for each in arguments)], arguments, strict=False):
        name, _, value = word.text.partition("=")
        if name in ("--directory", "--cd") and value:
            return Word(posixpath.join(value, "$file"), known=False)
        if before in ("-C", "-d", "--directory"):
            return Word(posixpath.join(word.text, "$file"), known=False)
    return Word("./$file", known=False)


def _writes_nothing(flag: str) -> bool:
    """Whether an option of pytest writes nothing."""
    if not flag.startswith("--"):
        return bool(_PYTEST_SHORT.match(flag))
    return flag.partition("=")[0] in _PYTEST_READS or flag.startswith(("--cov=", "--cov-report=term"))


def _before_the_unknown(text: str) -> str:
    """The part of a word before the first character that may be expanded."""
    return text[: min((at for sign in "${`<>" if (at := text.find(sign)) >= 0), default=len(text))]
