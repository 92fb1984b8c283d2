"""Effects of a shell script: its commands in order, with those of nested shells, `find`, `xargs` and own scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from verikit.verifiers.tools.effects import Effect, ProgramEffects
from verikit.verifiers.tools.folders import Folders
from verikit.verifiers.tools.interpreters import is_shell, output_of
from verikit.verifiers.tools.programs import (
    actions_of_find,
    changes_folder,
    filled,
    found_by,
    module_run,
    program_name,
    unwrapped,
    values_of,
    xargs_words,
)
from verikit.verifiers.tools.session import AgentSession
from verikit.verifiers.tools.shell import Script, SimpleCommand, Word, parsed, without_assignments

MAX_NESTED = 8
SHELLS = frozenset("sh bash zsh dash ksh ash fish".split())


def shell_effects(text: str, root: str | AgentSession) -> Iterator[Effect]:
    """The effects of a script. A session remembers what lasts."""
    session = AgentSession(root) if isinstance(root, str) else root
    shell = Shell(session)
    yield from shell.script(parsed(text), text, 0)
    shell.end()


class Shell(ProgramEffects):
    """Goes through the commands of a script, and tracks the folder they run in."""

    def end(self) -> None:
        """Note the folder for the next call."""
        self._session.moved |= self._cwd != self._session.cwd
        if self._session.keeps:
            self._session.cwd = self._cwd

    def script(self, script: Script, text: str, depth: int) -> Iterator[Effect]:
        """All effects of a script, in order."""
        if script.problems:
            yield Effect("opaque", told=f"{script.problems[0]}: {text}")
            if any(not word.known for command in script.commands for word in command.words):
                yield Effect("hides", told=text[:100])
            return
        folders = Folders(self._session.enters)
        for at, command in enumerate(script.commands):
            here = self._cwd = folders.around(command, self._cwd)
            yield from self._command(without_assignments(command), depth)
            self._cwd = folders.after(script.commands, at, here, self._cwd)
        self._cwd = folders.outside(self._cwd)

    def _command(self, command: SimpleCommand, depth: int) -> Iterator[Effect]:
        told = " ".join(word.text for word in command.words)[:100]
        for sign, target in command.redirects:
            if target.text != "/dev/null":
                yield self._effect("reads" if sign in ("<", "<&") else "writes", target, told)
            if sign not in ("<", "<&"):
                self._wrote(target, output_of(command), more=sign in (">>", "&>>"))
        words, options = unwrapped(command.words)
        yield from (self._effect("names", word, told) for word in values_of(options))
        if not words:
            return
        if changes_folder(options):
            here, self._cwd = self._cwd, None
            yield from self._command(replace(command, words=words, redirects=[]), depth + 1)
            self._cwd = here
            return
        if words[0].known and (ran := self._own_program(words[0], told, depth)) is not None:
            yield Effect("runs", words[0].text, told=told, words=words)
            yield from ran
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
        elif program == "cd" or program == "pushd":
            self._enter(arguments)
        elif program in (".", "source") and arguments:
            yield self._effect("reads", arguments[0], told)
            yield from self._run(arguments[0], told, depth, here=True)
        else:
            yield from self._program(program, arguments, command, told)

    def _nested(
        self, program: str, arguments: Sequence[Word], command: SimpleCommand, told: str, depth: int
    ) -> Iterator[Effect]:
        """A program that runs a script: the script is read if the text contains it."""
        file = _script_file(arguments, command) if program in SHELLS else None
        if file is not None:
            yield self._effect("reads", file, told)
            yield from self._run(file, told, depth)
            return
        inner = _script_text(program, arguments, command.given)
        if inner is None:
            yield Effect("hides", told=told)
            return
        here = self._cwd
        yield from self.script(parsed(inner), inner, depth + 1)
        if program != "eval":
            self._cwd = here

    def _own_program(self, word: Word, told: str, depth: int) -> Iterator[Effect] | None:
        """The effects of a program that the agent wrote or built; None if it is another one."""
        if "/" not in word.text:
            return None
        path = self._session.placed(word.text, self._cwd or "")
        if path in self._session.texts or path in self._session.edited:
            return self._run(word, told, depth)
        if path in self._session.named and (texts := self._session.all_texts()):
            return iter((Effect("opaque", told=texts),))
        return None

    def _run(self, file: Word, told: str, depth: int, *, here: bool = False) -> Iterator[Effect]:
        """A script file: its effects, if the agent wrote it. `here`: in this shell, whose folder it may change."""
        path = self._session.placed(file.text, self._cwd or "")
        text = self._session.texts.get(path)
        if path not in self._session.texts and path not in self._session.edited:
            return
        if text is None or not is_shell(text):
            yield self._code(path, told)
        elif depth > MAX_NESTED:
            yield Effect("hides", told=told)
        else:
            before = self._cwd
            yield from self.script(parsed(text), text, depth + 1)
            self._cwd = self._cwd if here else before

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


def _code_flag(arguments: Sequence[Word]) -> int | None:
    """The position of a shell's `-c`, which may be one of several letters."""
    return next((n for n, word in enumerate(arguments) if word.text.startswith("-") and "c" in word.text), None)


def _script_file(arguments: Sequence[Word], command: SimpleCommand) -> Word | None:
    """The file that a shell runs."""
    files = [word for word in arguments if not word.text.startswith("-")]
    if _code_flag(arguments) is None and not files:
        return next((word for sign, word in command.redirects if sign == "<" and word.known), None)
    return files[0] if _code_flag(arguments) is None and files[0].known else None


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
