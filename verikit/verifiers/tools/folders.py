"""The folder of a shell from command to command: subshells, pipes, and `cd` that may fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from verikit.verifiers.tools.shell import SimpleCommand

_IN_CHAIN = ("&&", "|", "|&")
_GUARDED_BY = 4  # commands after `||` among which an `exit` is searched


@dataclass(slots=True)
class Folders:
    """The folders of one script."""

    enters: bool
    """Whether every `cd` succeeds. Otherwise only those that an `&&`, an `exit` or `set -e` requires to."""
    _around: list[tuple[int, str | None]] = field(default_factory=list)
    _back: list[str | None] = field(default_factory=list)
    """The folder after a chain of `&&`."""
    _strict: bool = False

    def around(self, command: SimpleCommand, cwd: str | None) -> str | None:
        """The folder that a command starts in. Subshells before it have ended."""
        while self._around and self._around[-1][0] not in command.within:
            cwd = self._around.pop()[1]
        self._around += [(number, cwd) for number in command.within[len(self._around) :]]
        return cwd

    def after(self, commands: Sequence[SimpleCommand], at: int, here: str | None, cwd: str | None) -> str | None:
        """The folder after a command, from that before it and the one that it changed to."""
        command = commands[at]
        words = [word.text for word in command.words]
        self._strict |= words[:1] == ["set"] and any(one[:1] == "-" and "e" in one for one in words[1:])
        if cwd != here and (command.piped or command.ended in ("|", "|&", "&")):
            return here
        if cwd != here and not self.enters and not self._strict and not _guarded(commands, at):
            self._back.append(here)
        if self._back and command.ended not in _IN_CHAIN:
            cwd = self._back[0]
            self._back.clear()
        return cwd

    def outside(self, cwd: str | None) -> str | None:
        """The folder after the script."""
        return self._around[0][1] if self._around else cwd


def _guarded(commands: Sequence[SimpleCommand], at: int) -> bool:
    """Whether the script ends if a command fails."""
    names = [command.words[0].text for command in commands[at + 1 : at + _GUARDED_BY] if command.words]
    return commands[at].ended == "||" and any(name in ("exit", "return") for name in names)
