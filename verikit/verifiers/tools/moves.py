"""The folders of a shell after one of its commands: `cd` and the like, scripts within it, and folders that move."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from verikit.verifiers.tools.commands import Script, SimpleCommand, Word, without_assignments
from verikit.verifiers.tools.folders import After, Functions, Walk
from verikit.verifiers.tools.nested import SHELLS, script_text
from verikit.verifiers.tools.places import NONE, UNKNOWN, CurrentFolder, Folders, doubted, entered, normal, surely_there
from verikit.verifiers.tools.programs import git_words, program_name, target_last, unwrapped
from verikit.verifiers.tools.shell import MAX_CHARS, parsed
from verikit.workspaces.names import matches

MAX_NESTED = 8
_SEARCH = "CDPATH"
_SWITCHES = ("lastpipe", "cdable_vars")
"""Options of a shell that change which folder `cd` finds and how long it lasts."""
_NAMES = frozenset("export declare typeset readonly local read printf mapfile readarray let".split())
"""Programs that set a variable, whose name the text may not show."""
_PHYSICAL = re.compile("-[a-zA-Z]*P[a-zA-Z]*")
_UNKNOWN_PART = re.compile(r"[$`{<>]")


class Moves:
    """Follows the folder of a shell. One object per command that the agent sent."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.searched = False
        """Whether `CDPATH` or another `HOME` may be set."""
        self.switched = False
        """Whether an option may be set with which the folders are not known."""
        self._left = 4 * MAX_CHARS
        self._depth = 0
        self._walked: dict[tuple[str, Folders, bool], tuple[After, bool]] = {}

    def walk(self, script: Script, text: str, start: Folders, functions: Functions, *, whole: bool = True) -> Walk:
        """A script with the folders of its commands."""
        words = [word.text for command in script.commands for word in command.words]
        self.searched |= _SEARCH in text.replace("\\\n", "") or any(_SEARCH in word for word in words)
        self.searched |= any(map(_sets_unknown, script.commands)) or any(word.startswith("HOME=") for word in words)
        self.switched |= any(map(_switches, script.commands))
        walk = Walk(script.steps, UNKNOWN if self.switched else start, self._after, functions, whole=whole)
        walk.lost = self.switched
        return walk

    def _after(self, command: SimpleCommand, run: Folders, walk: Walk) -> After:
        """The folders after a command that runs in these folders."""
        outer = without_assignments(command).words
        words, _ = unwrapped(outer)
        stays = After(run, run)
        if not words:
            return stays
        program, arguments = program_name(words[0]), words[1:]
        wrappers = {word.text for word in outer[: len(outer) - len(words)]}
        if program in ("cd", "pushd", "popd", "eval", "trap"):
            return self._builtin(program, arguments, run, walk) if wrappers <= {"command", "builtin", "-p"} else stays
        if program in SHELLS:
            given = None if command.altered else command.given
            self._inner(script_text(program, arguments, given), run, walk)
        elif self._moves_current(program, arguments, run, walk):
            walk.lost = True
        return stays

    def _builtin(self, program: str, arguments: Sequence[Word], run: Folders, walk: Walk) -> After:
        if program == "eval":
            text = script_text(program, arguments, None)
            return After(UNKNOWN, UNKNOWN) if text is None else self._inner(text, run, walk, whole=False)
        if program == "trap":
            walk.lost = walk.lost or any(map(self._may_move, arguments[:1]))
            return After(run, run)
        if program == "popd":
            return After(frozenset(replace(folder, path=None) for folder in run), doubted(run))
        there = entered(run, arguments, self._root, searched=self.searched)
        return After(there, NONE if surely_there(there, self._root) else doubted(run))

    def _inner(self, text: str | None, run: Folders, walk: Walk, *, whole: bool = True) -> After:
        """Go through a script within the command, which may move a folder of the shells around it."""
        if text is None:
            return After(run, run)
        key = text, run, whole
        if key not in self._walked:
            self._left -= len(text)
            self._depth += 1
            if self._left < 0 or self._depth > MAX_NESTED:
                found = After(UNKNOWN, UNKNOWN), True
            else:
                script = parsed(text)
                inner = self.walk(script, text, run, walk.functions if not whole else Functions(), whole=whole)
                after = inner.run()
                found = (After(UNKNOWN, UNKNOWN) if script.problems else after), inner.lost
            self._depth -= 1
            self._walked[key] = found
        after, lost = self._walked[key]
        walk.lost = walk.lost or lost
        return after

    def _may_move(self, word: Word) -> bool:
        """Whether a script may change the folder; `trap` runs it at any time."""
        script = parsed(word.text)
        names = {command.words[0].text for command in script.commands if command.words}
        return bool(names & {"cd", "pushd", "popd", "eval", "mv"}) or bool(script.problems)

    def _moves_current(self, program: str, arguments: Sequence[Word], run: Folders, walk: Walk) -> bool:
        """Whether a command may move a folder that it or a shell around it is in."""
        sources = list(_moved(program, arguments))
        if not sources:
            return False
        current = [self._whole(folder, ".") for folder in walk.around() if folder.path is not None]
        return any(self._covers(source, folder, current) for source in sources for folder in run)

    def _whole(self, folder: CurrentFolder, path: str) -> str:
        return normal(posixpath.join(self._root, folder.path or "", path))

    def _covers(self, source: Word, folder: CurrentFolder, current: Sequence[str]) -> bool:
        """Whether a path may be one of the current folders, or a folder around one."""
        text = source.text
        if folder.path is None and not text.startswith("/"):
            return True
        if not source.known:
            start = self._whole(folder, _UNKNOWN_PART.split(text)[0])
            return ".." in text or any(f"{path}/".startswith(start) for path in current)
        path = self._whole(folder, text)
        around = {ancestor for one in current for ancestor in _with_parents(one)}
        return path in around or (source.pattern and any(matches(path[1:], one[1:]) for one in around))


def _with_parents(path: str) -> list[str]:
    """An absolute path and the folders around it."""
    return [path[:end] for end, sign in enumerate(f"{path}/") if sign == "/" and end]


def _moved(program: str, arguments: Sequence[Word]) -> Iterator[Word]:
    """The paths that a command gives another name."""
    if program == "mv":
        yield from target_last(program, arguments)[:-1]
    elif program == "git":
        words, given = git_words(arguments)
        if words and words[0].text == "mv":
            paths = [word for word in words[1:] if not word.text.startswith("-")][:-1]
            yield from ([Word("$path", known=False)] if given else paths)
    elif program in ("rename", "prename"):
        yield Word("$path", known=False)


def _sets_unknown(command: SimpleCommand) -> bool:
    """Whether a command sets a variable whose name its text doesn't show."""
    words = without_assignments(command).words
    if not words or words[0].text not in _NAMES:
        return False
    names = words[1:3] if words[0].text == "printf" else words[1:]
    return any(not word.known and "$" in word.text.partition("=")[0] for word in names)


def _switches(command: SimpleCommand) -> bool:
    """Whether a command may set an option of the shell that makes folders unknown."""
    texts = [word.text for word in command.words]
    if any(switch in text for text in texts for switch in _SWITCHES):
        return True
    if texts[:1] == ["shopt"] or (texts[:1] == ["set"] and "-o" in texts):
        return "physical" in texts or not all(word.known for word in command.words)
    return texts[:1] == ["set"] and any(map(_PHYSICAL.fullmatch, texts))
