"""The folder of a shell that lasts over several calls of a tool, as far as it is certain.

Only plain moves are followed (`cd tests && pytest`). After anything else that may move the shell, the folder is not
known until a plain move to an absolute path. After anything that may give `cd` another meaning, it stays unknown.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from verikit.verifiers.tools.programs import program_name, unwrapped
from verikit.verifiers.tools.shell import Script, SimpleCommand, Word, parsed, without_assignments

Change = Literal["stays", "moves", "other"]
"""`stays`: the shell surely stays where it is. `other`: `cd` may be another command from now on."""
_MOVES = frozenset("cd chdir pushd popd dirs exit logout return suspend kill pkill killall".split())
"""Commands that move the shell or end it."""
_OTHERS = frozenset(
    """. source eval exec alias unalias trap set shopt setopt unsetopt enable autoload emulate bind complete compgen
    compopt mapfile readarray fc jobs history hash zle add-zsh-hook newgrp ln""".split()
)
"""Commands after which others may mean something else, and links, which lead elsewhere."""
_SETS = frozenset("export declare typeset local readonly read let getopts unset printf".split())
"""Commands that set variables."""
_VARIABLES = re.compile(r"CDPATH|cdpath|PROMPT_COMMAND|TMOUT|chpwd|precmd|preexec|\bPWD=|\$!\w|BASH_ENV|FUNCNEST")
"""Variables that change where `cd` leads, or what the shell runs on its own, and names that variables have."""
_MOVE = re.compile(r"""[ \t]*(?:(popd)|(cd|pushd)[ \t]+(?:([\w./][\w./@,+-]*)|'([\w./ ]+)'|"([\w./ ]+)"))[ \t]*""")
_JOIN = re.compile(r"&&[ \t]*\n?|;|\n+|\Z")
_SUBSHELL = re.compile(r"\s*\([^()'\"\\`$#<\n]*\)\s*")
"""A whole call in a subshell."""
_SHELL_ENDED = re.compile(r"timed? ?-?out|restart|terminated|killed", re.IGNORECASE)
_FAILED = re.compile(
    r"\b(?:cd|chdir|pushd|popd):|(?:syntax|parse) error"
    r"|(?:exit(?:ed)?|return)(?:[ _]with)?[ _]?(?:code|status)?\W{0,3}[1-9]",
    re.IGNORECASE,
)
_MOST_RESULT = 100_000
"""Characters of a result in which an error of a move is looked for."""
_MOST_PATH = 4096
"""Characters of a path. Linux has no longer ones."""
_UNFINISHED = ("\\", "&&", "||", "|")
"""Ends of a call that the next one may continue."""
_NEXT = ("&&", "|", "|&")
"""Operators after which a command runs only if the moves before it succeeded."""


class CallResult(NamedTuple):
    """The result of a call, as the transcript has it."""

    text: str
    failed: bool


class KeptShell:
    """The folder of a shell, from call to call: relative to the workspace's root, or absolute. None: unknown."""

    def __init__(self) -> None:
        self._folder: str | None = ""
        self._pushed: list[str | None] = []
        self._is_other = False

    def start(self, text: str) -> str | None:
        """The folder in which a call starts; None if it is unknown and matters."""
        first = _MOVE.match(text)
        absolute = first is not None and _target(first).startswith("/") and _moves_of(text) is not None
        return "" if absolute and not self._is_other and self._folder is None else self._folder

    def ran(self, text: str, result: CallResult | None) -> None:
        """Follow a call that has run."""
        moves = _moves_of(text)
        change = _change_of(text) if moves is None else "stays"
        if change == "other":
            self._is_other = True
        if change != "stays" or (result is not None and _SHELL_ENDED.search(result.text)):
            self.lose()
        elif moves is not None:
            self._move(moves, _shows_success(result))

    def lose(self) -> None:
        """Forget the folder."""
        self._folder, self._pushed = None, []

    def _move(self, moves: Sequence[str | None], sure: bool) -> None:
        """Carry out moves: targets of `cd`, targets of `pushd` after a `+`, or None for `popd`."""
        for move in moves:
            if move is None:
                self._folder = self._pushed.pop() if self._pushed else None
                continue
            if move.startswith("+"):
                self._pushed.append(self._folder)
            self._folder = self._joined(move.removeprefix("+"))
        if not sure or self._is_other:
            self.lose()

    def _joined(self, path: str) -> str | None:
        if self._folder is None and not path.startswith("/"):
            return None
        found = posixpath.normpath(posixpath.join(self._folder or "", path))
        return found if len(found) <= _MOST_PATH else None


def may_move(text: str) -> bool:
    """Whether a call may leave its shell in another folder."""
    return _moves_of(text) is not None or _change_of(text) != "stays"


def _shows_success(result: CallResult | None) -> bool:
    """Whether a result is there and has no error of a move. Shells print the command's name before it."""
    return (
        result is not None
        and not result.failed
        and len(result.text) <= _MOST_RESULT
        and not _FAILED.search(result.text)
    )


def _moves_of(text: str) -> list[str | None] | None:
    """The moves of a call of plain moves, or of one that goes on only if its moves succeed. None: another call."""
    moves: list[str | None] = []
    at, joins, last = 0, set[str](), ""
    while move := _MOVE.match(text, at):
        join = _JOIN.match(text, move.end())
        if join is None:
            return None
        moves.append(None if move[1] else "+" * (move[2] == "pushd") + _target(move))
        last = join[0].strip() or ";"
        joins.add(last)
        at = join.end()
        if at == len(text):
            break
        if joins == {"&&"} and not _MOVE.match(text, at):
            return moves if _goes_on(text[at:]) else None
    return moves if moves and not text[at:].strip() and last != "&&" else None


def _target(move: re.Match[str]) -> str:
    return move[3] or move[4] or move[5] or ""


def _goes_on(text: str) -> bool:
    """Whether all commands run only if those before them succeed, in the shell itself, and stay in its folder."""
    script = parsed(text)
    commands = [command for command in script.commands if not command.inner]
    joined = all(command.ended in _NEXT for command in commands[:-1]) and commands[-1:]
    plain = not any(command.lead for command in commands)
    return bool(joined) and plain and commands[-1].ended in ("", "\n", ";") and _change_in(script, text) == "stays"


def _change_of(text: str) -> Change:
    return "stays" if _SUBSHELL.fullmatch(text) else _change_in(parsed(text), text)


def _change_in(script: Script, text: str) -> Change:
    """How a script without plain moves may change its shell."""
    if script.problems or _VARIABLES.search(text) or text.rstrip(" \t\n").endswith(_UNFINISHED):
        return "other"
    found: Change = "stays"
    for command in script.commands:
        change = _change_by(command)
        if change == "other":
            return "other"
        found = "moves" if change == "moves" else found
    return found


def _change_by(command: SimpleCommand) -> Change:
    texts = [word.text for word in [*command.words, *(target for _, target in command.redirects)]]
    if any(map(_VARIABLES.search, texts)):
        return "other"
    own = without_assignments(command).words
    if not own:
        return "stays"
    inner, _ = unwrapped(own)
    wrappers = own[: max(len(own) - len(inner), 1)]
    names = {program_name(word) for word in [*wrappers, *inner[:1]]}
    programs = [own[0], *inner[:1]]
    if command.ended == "(" or names & _OTHERS or not all(map(_is_plain, programs)) or _sets_unknown(names, own):
        return "other"
    return "moves" if names & _MOVES else "stays"


def _is_plain(program: Word) -> bool:
    return program.known and not program.pattern and not program.text.startswith(("!", "^", "%"))


def _sets_unknown(names: set[str], words: Sequence[Word]) -> bool:
    """Whether a command sets a variable whose name its text does not show, or a reference to one."""
    if not names & _SETS:
        return False
    if "printf" in names and not any(word.text.startswith("-v") for word in words):
        return False
    unknown = any(not word.known and set("$`({") & set(word.text.partition("=")[0]) for word in words)
    return unknown or any(word.text.startswith("-") and "n" in word.text for word in words[1:])
