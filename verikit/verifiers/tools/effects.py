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

from verikit.verifiers.tools.commands import Script, SimpleCommand, Word, without_assignments
from verikit.verifiers.tools.folders import Functions
from verikit.verifiers.tools.moves import MAX_NESTED, Moves
from verikit.verifiers.tools.nested import (
    INTERPRETERS,
    SHELLS,
    has_code,
    script_file,
    script_text,
    shown_code,
    writes_nothing,
)
from verikit.verifiers.tools.patched import PATCH_PROGRAMS, patched_files
from verikit.verifiers.tools.places import UNKNOWN, CurrentFolder, Folders, entered, placed
from verikit.verifiers.tools.programs import (
    actions_of_find,
    awk_acts,
    changes_folder,
    filled,
    found_by,
    git_words,
    in_place,
    linked_paths,
    links,
    makes_links,
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
from verikit.verifiers.tools.shell import parsed

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
_EARLIER_FOLDER = re.compile(r"~[-+0-9]|~.*\.\.", re.DOTALL)
"""Folders that the shell was in or keeps on its stack, and those around the user's."""
_HARMLESS = frozenset(
    """echo printf true false : pwd cd ls exit set export unset which type test [ sleep date whoami id uname hostname
    dirname basename seq wait kill ps df du free env alias unalias shopt read local return break continue shift trap
    umask ulimit history jobs fg bg pushd popd tree""".split()
)
_GIT_WRITES = frozenset(
    """checkout restore reset apply am stash
    revert clean merge pull rm mv rebase cherry-pick checkout-index read-tree""".split()
)
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
    doubted: bool = False
    """Whether it has this path only if an earlier `cd` failed."""
    elsewhere: Sequence[Effect] = ()
    """The same effect on other paths, from the other folders that the command may run in."""
    told: str = ""
    """The command; for an opaque effect, the whole text."""
    words: Sequence[Word] = ()
    """The program that runs, with its arguments."""


def shell_effects(text: str, root: str) -> Iterator[Effect]:
    """The effects of a script."""
    yield from _Shell(root).script(parsed(text), text, 0)


class _Shell:
    """Goes through the commands of a script, and tracks the folder they run in."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._here: Folders = frozenset({CurrentFolder(".")})
        self._moves = Moves(root)
        self._functions = Functions()
        self._links = 0
        """The commands that make links, after which `..` may lead elsewhere."""

    def script(self, script: Script, text: str, depth: int) -> Iterator[Effect]:
        """All effects of a script, in order. Parts that could not be read leave its writes open."""
        if not script.problems:
            yield from self._commands(script, text, depth)
            return
        yield Effect("opaque", told=f"{script.problems[0]}: {text}")
        if any(not word.known for command in script.commands for word in command.words):
            yield Effect("hides", told=text[:100])
        yield from (named(effect) for effect in self._commands(script, text, depth) if effect.does == "writes")

    def _commands(self, script: Script, text: str, depth: int) -> Iterator[Effect]:
        before = self._here
        walk = self._moves.walk(script, text, before, self._functions)
        walk.run()
        self._links += sum(map(makes_links, script.commands))
        for command, folders in zip(script.commands, walk.folders, strict=True):
            trapped = command.words[:1] and command.words[0].text == "trap"
            self._here = walk.everywhere() if trapped else folders
            yield from self._command(without_assignments(command), depth)
        self._here = before

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
            here, self._here = self._here, UNKNOWN
            yield from self._command(replace(command, words=words, redirects=[]), depth + 1)
            self._here = here
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
        elif program == "trap":
            yield from self._trap(arguments, told, depth)
        else:
            yield from self._program(program, arguments, command, told)

    def _nested(
        self, program: str, arguments: Sequence[Word], command: SimpleCommand, told: str, depth: int
    ) -> Iterator[Effect]:
        """A program that runs a script: the script is read if the text contains it."""
        file = script_file(arguments) if program in SHELLS else None
        if file is not None:
            yield self._effect("reads", file, told)
            return
        inner = script_text(program, arguments, None if command.altered else command.given)
        if inner is None:
            yield Effect("hides", told=told)
            return
        functions = self._functions
        self._functions = functions if program == "eval" else Functions()
        yield from self.script(parsed(inner), inner, depth + 1)
        self._functions = functions

    def _trap(self, arguments: Sequence[Word], told: str, depth: int) -> Iterator[Effect]:
        """A script that runs at any time. Paths in it that are not known are left open only if it mentions them."""
        yield Effect("opaque", told="\n".join(word.text for word in arguments))
        if arguments and arguments[0].known and depth < MAX_NESTED:
            text = arguments[0].text
            found = self.script(parsed(text), text, depth + 1)
            yield from (named(effect) for effect in found if effect.does == "writes" and effect.known)

    def _program(self, program: str, arguments: Sequence[Word], command: SimpleCommand, told: str) -> Iterator[Effect]:
        """The effects of a known program on the paths among its arguments."""
        paths = [word for word in arguments if not word.text.startswith("-")]
        flags = [word.text for word in arguments if word.text.startswith("-")]
        special = {
            "dd": lambda: self._dd(arguments, told),
            "git": lambda: self._git(arguments, told),
            "pytest": lambda: self._pytest(arguments, told),
            **dict.fromkeys(_COPIES, lambda: self._copy(program, arguments, told)),
            **dict.fromkeys(PATCH_PROGRAMS, lambda: self._apply_patch(arguments, command, told)),
            **dict.fromkeys(INTERPRETERS, lambda: self._interpreter(arguments, command, told)),
        }
        edits = in_place(program, flags)
        if program in special:
            yield from special[program]()
        elif program == "alias":
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
        """A copy, which reads its sources, a move, which takes them away, or a link to them."""
        does: Does = "writes" if program == "mv" else "reads"
        paths = target_last(program, arguments)
        yield from (self._effect(does, word, told) for word in paths[:-1] or paths)
        if links(program, arguments):
            self._links -= 1  # the link is not there yet
            yield from (self._effect("names", word, told) for word in linked_paths(paths))
            self._links += 1
        yield from self._into(paths, told, alone=links(program, arguments))

    def _apply_patch(self, arguments: Sequence[Word], command: SimpleCommand, told: str) -> Iterator[Effect]:
        """The files that a patch names, in its argument or a here-document. Without one, any file may change."""
        given = [Word(command.given, known=not command.altered)] if command.given is not None else []
        patches = [*arguments, *given]
        paths = [path for patch in patches for path in patched_files(patch.text)]
        yield from (self._effect("writes", Word(path), told) for path in paths)
        if not paths or not all(patch.known for patch in patches):
            yield Effect("writes", known=False, told=told)

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
                here = self._here
                self._here = UNKNOWN if flag.endswith("dir") else here
                # not for each within another command: it would multiply with every level
                paths = found if depth == 0 or len(found) == 1 else [Word("$file", known=False)]
                for path in paths:
                    yield from self._command(SimpleCommand(filled(words[:-1], "{}", path)), depth + 1)
                self._here = here

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
        does: Does = "reads" if all(map(writes_nothing, flags)) else "names"
        for word in tests_of(arguments):
            yield self._effect(does, word, told)

    def _writer(self, program: str, paths: Sequence[Word], told: str) -> Iterator[Effect]:
        """A program that changes all of its paths; `sed` all but its script, `patch` the files its patch names."""
        below = program not in ("mkdir", "touch", "tee")
        changed = paths[1:] if program == "sed" and len(paths) > 1 else paths
        yield from (self._effect("writes", word, told, below=below) for word in changed)
        if program == "patch":
            yield Effect("writes", known=False, told=told)

    def _into(self, paths: Sequence[Word], told: str, *, alone: bool) -> Iterator[Effect]:
        """The target of a copy, and the names of its sources in it if it is a folder.

        A link without a target is made in the current folder. A word that is not known may be several.
        """
        if len(paths) < 2:
            if alone:
                paths = [*paths, Word(".")]
            else:
                yield from (self._effect("writes", word, told) for word in paths if not word.known)
                return
        target = paths[-1]
        yield self._effect("writes", target, told, below=False)
        for source in paths[:-1]:
            name = posixpath.basename(source.text.rstrip("/"))
            inside = Word(posixpath.join(target.text, name), source.known and target.known, source.pattern)
            yield self._effect("writes", inside, told)

    def _git(self, arguments: Sequence[Word], told: str) -> Iterator[Effect]:
        """`git`, by its action; with `-C`, in another folder."""
        words, given = git_words(arguments)
        here = self._here
        for flag, value in given:
            if flag == "-C":
                self._here = entered(self._here, [value], self._root)
            elif flag != "-c":
                self._here = UNKNOWN
            elif value.text.startswith("alias.") or not value.known:
                yield Effect("hides", told=told)
        yield from self._git_action([word for word in words if not word.text.startswith("-")], told)
        self._here = here

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
        if has_code(arguments):
            code = shown_code(arguments, command)
            yield Effect("hides", told=told) if code is None else Effect("opaque", told=code)
            return
        files = [word for word in arguments if not word.text.startswith("-")]
        if "-m" not in {word.text for word in arguments}:
            yield from (self._effect("reads", word, told) for word in files[:1])
        yield from (self._effect("names", word, told) for word in files[1:])

    def _effect(self, does: Does, word: Word, told: str, *, below: bool = True) -> Effect:
        """The effect on a path, from each folder that the command may run in."""
        if _EARLIER_FOLDER.match(word.text) or (self._links > 0 and ".." in word.text):
            return Effect(does, "", known=False, told=told)
        if word.text.startswith("~"):
            return Effect(does, word.text, known=word.known, below=below, told=told)
        absolute = word.text.startswith("/")
        found = dict[Effect, None]()
        for folder in [CurrentFolder("")] if absolute else sorted(self._here, key=_order):
            effect = Effect(does, "", known=False, doubted=folder.doubted, told=told)
            if folder.path is not None:
                path = self._path(word, folder.path)
                effect = replace(effect, path=path, known=word.known, pattern=word.pattern, below=below)
            found[effect] = None
        first, *others = found
        return replace(first, elsewhere=tuple(others))

    def _path(self, word: Word, cwd: str) -> str:
        """The path of a word; the part before the unknown if it is not known."""
        text = word.text if word.known else _before_the_unknown(word.text)
        if not word.known and ".." in word.text[len(text) :]:
            text = ""
        return placed(text, cwd, self._root) if text or word.known else ""


def named(effect: Effect) -> Effect:
    """A write that may occur, or another effect unchanged."""
    if effect.does != "writes":
        return effect
    return replace(effect, does="names", elsewhere=[replace(one, does="names") for one in effect.elsewhere])


def _order(folder: CurrentFolder) -> tuple[bool, str]:
    """The order in which folders are listed: the intended ones first."""
    return folder.doubted, folder.path or ""


def _before_the_unknown(text: str) -> str:
    """The part of a word before the first character that may be expanded."""
    return text[: min((at for sign in "${`<>" if (at := text.find(sign)) >= 0), default=len(text))]
