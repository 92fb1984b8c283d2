"""The folders that each command of a script may run in.

A `cd` succeeds or fails, so a command may run in several folders. `&&` and `||` select among them. The folder of a
subshell, of a part of a pipeline and of a background job ends with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from verikit.verifiers.tools.commands import SimpleCommand
from verikit.verifiers.tools.places import NONE, UNKNOWN, Folders, doubted, limited

MAX_OPEN = 100
"""Lists within each other; the folders in more are not known."""
MAX_PASSES = 8
"""Readings of a script until the folders of its loops and functions no longer change."""
_ERREXIT = re.compile("-[a-z]*e[a-z]*")


@dataclass(frozen=True, slots=True)
class After:
    """The folders after a command, by its exit status."""

    ok: Folders
    failed: Folders


@dataclass(slots=True)
class _Frame:
    """A list of commands, and the list or compound command around it."""

    opened: str
    at: int
    run: Folders
    """Folders that the next command runs in."""
    list_start: Folders = NONE
    pipe_start: Folders = NONE
    ok: Folders = NONE
    failed: Folders = NONE
    """Folders after the last pipeline, by its exit status."""
    passed_ok: Folders = NONE
    passed_failed: Folders = NONE
    """Folders of the runs that skip the next pipeline."""
    waits: bool = False
    """Whether an operator such as `&&` needs another command."""
    piped: bool = False
    negated: bool = False
    other: Folders = NONE
    """Folders of the branch that comes next, if the condition is false."""
    ended_ok: Folders = NONE
    ended_failed: Folders = NONE
    """Folders after the branches before, and after a loop."""
    function: str = ""

    def __post_init__(self) -> None:
        self.start(self.run)

    def start(self, run: Folders) -> None:
        """Begin a list."""
        self.run = self.list_start = self.pipe_start = self.ok = self.failed = limited(run)
        self.passed_ok = self.passed_failed = NONE
        self.waits = self.piped = self.negated = False

    def element(self, after: After) -> None:
        """A command of a pipeline is over."""
        self.ok, self.failed = limited(after.ok), limited(after.failed)
        self.waits = False

    def settle(self) -> None:
        """A pipeline is over."""
        if self.piped:  # each part is a subshell
            self.ok = self.failed = self.pipe_start
        if self.negated:
            self.ok, self.failed = self.failed, self.ok
        self.ok, self.failed = limited(self.ok | self.passed_ok), limited(self.failed | self.passed_failed)
        self.passed_ok = self.passed_failed = NONE
        self.piped = self.negated = False

    def both(self) -> Folders:
        """The folders after the list."""
        return limited(self.ok | self.failed)

    def is_first(self) -> bool:
        """Whether the command runs in any case."""
        return not (self.piped or self.passed_ok or self.passed_failed)

    def operator(self, sign: str) -> None:
        """Go to the next command of the list."""
        if sign in ("|", "|&"):
            self.piped = self.waits = True
            self.run = self.ok = self.failed = self.pipe_start
            return
        self.settle()
        if sign in ("&&", "||"):
            self.run = self.ok if sign == "&&" else self.failed
            self.passed_ok, self.passed_failed = (NONE, self.failed) if sign == "&&" else (self.ok, NONE)
            self.waits = True
        elif sign == "&":
            self.ok = self.failed = self.list_start
            self.run = self.list_start
        else:
            self.run = self.list_start = self.both()
        self.pipe_start = self.run


@dataclass(slots=True)
class Functions:
    """The functions that a script defines: the folders that each is called in, and those after it."""

    calls: dict[str, Folders] = field(default_factory=dict)
    exits: dict[str, Folders] = field(default_factory=dict)


class Walk:
    """Goes through a script, with the folders of each command."""

    def __init__(
        self,
        steps: Sequence[SimpleCommand | str],
        start: Folders,
        done: Callable[[SimpleCommand, Folders, Walk], After],
        functions: Functions,
        *,
        whole: bool = True,
    ) -> None:
        self._steps, self._start, self._done, self.functions = steps, start, done, functions
        self._whole = whole
        """Whether the script has a shell of its own, so that `set -e` can stop it."""
        self._stops = False
        self.folders: list[Folders] = []
        """The folders of each command, in their order."""
        self.lost = False
        """Whether a folder that a command may run in has another name now."""
        self._back: dict[int, Folders] = {}
        """The folders at the end of a loop's body, by its position."""
        self._stack: list[_Frame] = []
        self._around: list[Folders] = []
        self._reached = NONE
        self._defined = ""
        """The function whose body comes next."""

    def run(self) -> After:
        """Go through it until nothing changes; return the folders at its end."""
        for _ in range(MAX_PASSES):
            before = self._state()
            after = self._once()
            if self._state() == before or not (self._back or self.functions.calls):
                return after
        self.folders = [UNKNOWN] * len(self.folders)
        self.lost = True
        return After(UNKNOWN, UNKNOWN)

    def _state(self) -> tuple[object, ...]:
        return dict(self._back), dict(self.functions.calls), dict(self.functions.exits)

    def everywhere(self) -> Folders:
        """All folders that are reached."""
        return limited(self._start | self._reached)

    def _once(self) -> After:
        self._stack, self._around, self.folders = [_Frame("", -1, self._start)], [NONE], []
        self._stops = False
        skip = 0
        for at, step in enumerate(self._steps):
            if skip:
                skip -= 1
            elif not isinstance(step, str):
                skip = self._command(at, step)
            else:
                self._mark(at, step)
        while len(self._stack) > 1:
            self._pop()
        self._top.settle()
        return After(self._top.ok, self._top.failed)

    @property
    def _top(self) -> _Frame:
        return self._stack[-1]

    def around(self) -> Folders:
        """The folders of the command and of the shells around it."""
        return limited(self._around[-1] | self._top.run)

    def _push(self, kind: str, at: int, run: Folders) -> None:
        name = ""
        if self._defined and kind != "$(":
            name, self._defined = self._defined, ""
            run = run | self.functions.calls.get(name, NONE)
        self.lost = self.lost or len(self._stack) > MAX_OPEN
        self._around.append(self.around())
        self._stack.append(_Frame(kind, at, limited(run), function=name))

    def _pop(self) -> None:
        """A compound command is over."""
        frame = self._stack.pop()
        self._around.pop()
        if frame.opened == "$(":
            return
        frame.settle()
        here = self._top.run
        after = After(here, here) if frame.opened == "(" else self._after(frame)
        if frame.function:
            ends = After(here, here) if frame.opened == "(" else after
            known = self.functions.exits.get(frame.function, NONE)
            self.functions.exits[frame.function] = limited(known | ends.ok | ends.failed)
            after = After(here, NONE)
        self._top.element(after)

    def _after(self, frame: _Frame) -> After:
        if frame.opened == "if":
            return After(frame.ok | frame.ended_ok | frame.other, frame.failed | frame.ended_failed)
        if frame.opened in _LOOPS:
            ends = frame.ended_ok | frame.both()
            return After(ends, ends)
        return After(frame.ok, frame.failed)

    def _mark(self, at: int, sign: str) -> None:
        top = self._top
        if sign in _OPENS:
            self._push(sign, at, top.run | self._back.get(at, NONE))
        elif sign in _CLOSES:
            self._close(sign)
        elif sign in ("then", "elif", "else") and top.opened == "if":
            self._branch(sign)
        elif sign == "do" and top.opened in _LOOPS:
            self._body()
        elif sign in ("!", "coproc"):
            top.negated = top.negated != (sign == "!")
            top.piped = top.piped or sign == "coproc"
        elif sign in _OPERATORS and not (sign == "\n" and top.waits):
            top.operator(sign)

    def _body(self) -> None:
        """The condition of a loop is over."""
        top = self._top
        top.settle()
        passes, ends = (top.failed, top.ok) if top.opened == "until" else (top.ok, top.failed)
        top.ended_ok = limited(top.ended_ok | ends)
        top.start(passes)

    def _branch(self, sign: str) -> None:
        top = self._top
        top.settle()
        if sign == "then":
            top.other = top.failed
            top.start(top.ok)
            return
        top.ended_ok, top.ended_failed = limited(top.ended_ok | top.ok), limited(top.ended_failed | top.failed)
        other, top.other = top.other, NONE
        top.start(other)

    def _close(self, sign: str) -> None:
        if self._top.opened not in _CLOSES[sign]:
            if sign != "$)":
                return  # bash rejects the text
            while self._top.opened != "$(":
                self._stack.pop()
                self._around.pop()
        if sign == "done":
            at = self._top.at
            self._top.settle()
            self._back[at] = limited(self._back.get(at, NONE) | self._top.both())
        self._pop()

    def _command(self, at: int, command: SimpleCommand) -> int:
        """Go over one command; return how many of the next steps belong to it."""
        top = self._top
        run = UNKNOWN if self.lost or not top.run else top.run
        self.folders.append(run)
        words = command.words
        if command.ended == "(" and len(words) == 1 and list(self._steps[at + 1 : at + 3]) == ["(", ")"]:
            self._defined = words[0].text
            self.functions.calls.setdefault(self._defined, NONE)
            return 2
        if not words:
            top.failed = limited(top.failed | doubted(run))  # a redirection, which may fail
            return 0
        after = self._done_by(command, run)
        self._reached = limited(self._reached | run | after.ok | after.failed)
        if words[0].text == "set":
            self._stops = _sets_errexit(command) and self._whole and self._alone(command) and top.is_first()
        top.element(After(after.ok, NONE) if self._stops and self._alone(command) else after)
        return 0

    def _done_by(self, command: SimpleCommand, run: Folders) -> After:
        """The folders after a command: a function, `exit` and the like, or a program."""
        name = command.words[0].text
        if not self._top.run:
            return After(NONE, NONE)  # never reached, as after `exit`
        if name in self.functions.calls:
            after = self._called(name, run)
        else:
            after = self._left(command, run) or self._done(command, run, self)
        return After(UNKNOWN, UNKNOWN) if self.lost else after

    def _alone(self, command: SimpleCommand) -> bool:
        """Whether the script sees the exit status of a command, and no condition does."""
        return len(self._stack) == 1 and not self._top.negated and command.ended in (";", "\n", "")

    def _called(self, name: str, run: Folders) -> After:
        calls, exits = self.functions.calls, self.functions.exits
        calls[name] = limited(calls[name] | run)
        ends = exits.get(name, run)
        return After(ends, ends)

    def _left(self, command: SimpleCommand, run: Folders) -> After | None:
        """The folders after `exit` and the like; None for other commands."""
        name = command.words[0].text
        if name not in _LEAVES or len(command.words) > 2 or command.redirects:
            return None
        if name == "exit":
            return After(NONE, NONE)
        for frame in [] if self.lost else list(self._loops()):
            frame.ended_ok = limited(frame.ended_ok | run)
            self._back[frame.at] = limited(self._back.get(frame.at, NONE) | run)
        function = next((frame.function for frame in self._stack[:-MAX_OPEN:-1] if frame.function), "")
        if name != "return" or not function:
            return None
        exits = self.functions.exits
        exits[function] = limited(exits.get(function, NONE) | run)
        return After(NONE, NONE)

    def _loops(self) -> Iterator[_Frame]:
        return (frame for frame in self._stack if frame.opened in _LOOPS)


def _sets_errexit(command: SimpleCommand) -> bool:
    """Whether `set` ends the script with the first command that fails."""
    words = [word.text for word in command.words[1:]]
    if not all(word.known for word in command.words) or any(word.startswith("+") for word in words):
        return False
    return words == ["-o", "errexit"] or any(_ERREXIT.fullmatch(word) for word in words)


_OPERATORS = frozenset(("|", "|&", "&&", "||", "&", ";", "\n", ";;"))
_LOOPS = ("while", "until", "for")
_OPENS = frozenset(("(", "$(", "{", "if", *_LOOPS))
_CLOSES = {")": ("(",), "$)": ("$(",), "}": ("{",), "fi": ("if",), "done": _LOOPS}
_LEAVES = ("exit", "return", "break", "continue")
