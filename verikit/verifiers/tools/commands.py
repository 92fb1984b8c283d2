"""The commands of a shell script: words, redirections and here-documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command."""

    text: str
    known: bool = True
    """Whether the text is the word's value."""
    pattern: bool = False
    """Whether it has `*`, `?` or `[` that are not quoted."""


@dataclass(slots=True)
class SimpleCommand:
    """One program with its arguments."""

    words: list[Word] = field(default_factory=list)
    redirects: list[tuple[str, Word]] = field(default_factory=list)
    """Operators such as `>` with their targets."""
    given: str | None = None
    """The here-document on its standard input."""
    altered: bool = False
    """Whether the program may read something else: the shell expands the here-document, or it is one of several."""
    piped: bool = False
    """Whether it reads another command's output."""
    lead: list[str] = field(default_factory=list)
    """Reserved words since the command before: `if`, `then`, `fi`, `!`, …"""
    ended: str = ""
    """The operator after it: `&&`, `||`, `;`, a line break, …; "" at the end of the text."""
    inner: bool = False
    """Whether it is part of a substitution."""


@dataclass(frozen=True, slots=True)
class HereDocument:
    """A here-document whose lines follow."""

    command: SimpleCommand
    end: str
    quoted: bool
    tabs: bool
    """Whether tabs at the start of its lines are dropped."""


@dataclass(slots=True)
class Script:
    """The content of a shell text."""

    commands: list[SimpleCommand] = field(default_factory=list)
    steps: list[SimpleCommand | str] = field(default_factory=list)
    """The commands with the operators and reserved words around them. `$(` and `$)` enclose a substitution."""
    problems: list[str] = field(default_factory=list)
    """The parts that could not be read."""


def give(command: SimpleCommand, text: str) -> None:
    """Set the input of a command, or add to it."""
    command.altered |= command.given is not None
    command.given = text if command.given is None else f"{command.given}\n{text}"


def assignment(word: Word) -> bool:
    """Whether a word sets a variable."""
    name = word.text.partition("=")[0]
    return "=" in word.text and name.isidentifier() and name.isascii()


def without_assignments(command: SimpleCommand) -> SimpleCommand:
    """The command without the variables that are set only for it."""
    at = next((number for number, word in enumerate(command.words) if not assignment(word)), len(command.words))
    return replace(command, words=command.words[at:])
