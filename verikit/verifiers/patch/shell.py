"""Test commands as a shell reads them: simple commands with their words, and where their output goes.

This is a reader of the usual forms, not a shell: quotes, lists, pipes, redirections, substitutions and here-documents.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_PUNCTUATION = "();<>|&"
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_REFERENCE = re.compile(r"\$\{?([A-Za-z_]\w{0,80})\}?")
_SUBSTITUTED = re.compile(r"\$\(([^()]{1,2000})\)|`([^`]{1,2000})`")
_WRAPPERS = frozenset(
    """env time timeout nice nohup exec command builtin sudo xargs stdbuf npx bunx pnpx then do else elif if while until
    ! { } ( uv poetry pipenv bundle run""".split()
)
"""Words before the actual program; `run` and `exec` follow some of them."""


@dataclass(slots=True)
class Command:
    """One simple command."""

    words: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    """Files on its standard input."""
    writes: list[str] = field(default_factory=list)
    """Files that its output goes to."""
    piped: bool = False
    """Whether the next command reads its output."""
    substituted: bool = False
    """Whether its output becomes words of another command."""

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return self.words[0].rpartition("/")[2] if self.words else ""


def commands(text: str) -> list[Command]:
    """The simple commands of a line or a script, in order, with the variables that it sets."""
    found = list(_written(text))
    variables: dict[str, str] = {}
    for command in found:
        words = [_expanded(word, variables) for word in command.words]
        if words and all(_ASSIGNED.match(word) for word in words):
            variables |= _assigned(words)
        command.words = _unwrapped(words)
    return [command for command in found if command.words or command.reads]


def _written(text: str) -> Iterator[Command]:
    """The commands as written, without comments and the contents of here-documents."""
    end = ""
    for line in text.replace("\\\n", " ").split("\n"):
        if end:
            end = "" if line.strip() == end else end
        elif line.strip() and not line.lstrip().startswith("#"):
            tokens = _tokens(line)
            yield from _simple(tokens)
            end = _here(tokens)


def _assigned(words: Sequence[str]) -> dict[str, str]:
    """The variables that words such as `NAME=value` set, without long ones."""
    pairs = [word.partition("=") for word in words]
    return {name: value for name, _, value in pairs if len(value) < 500}


def _expanded(word: str, variables: Mapping[str, str]) -> str:
    """A word with the variables that are known."""
    return _REFERENCE.sub(lambda match: variables.get(match[1], match[0]), word)


def _tokens(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # a quotation over several lines
        return re.findall(r"[^\s;|&<>()'\"]+", line)


def _here(tokens: list[str]) -> str:
    """The line that ends a here-document; empty if there isn't one."""
    for token, after in pairwise(tokens):
        if token == "<<":
            return after.removeprefix("-")
    return ""


def _simple(tokens: list[str]) -> Iterator[Command]:
    current, depth = Command(), 0
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if not token or set(token) - set(_PUNCTUATION):
            current.words.append(token.removesuffix("$") if _opens(tokens, at + 1) else token)
            yield from _within(token)
        elif token[0] in "<>" or token.startswith("&>"):
            if "(" in token:
                depth += 1
                yield current
                current = Command(substituted=True)
            elif at + 1 < len(tokens) and not token.endswith("&"):
                if token == "<":
                    current.reads.append(tokens[at + 1])
                elif ">" in token:
                    current.writes.append(tokens[at + 1])
                at += 1
            elif token.endswith("&"):
                at += 1
        else:
            depth += token.count("(") - token.count(")")
            current.piped = token in ("|", "|&")
            yield current
            current = Command(substituted=depth > 0)
        at += 1
    yield current


def _opens(tokens: list[str], at: int) -> bool:
    return at < len(tokens) and tokens[at].startswith("(")


def _within(token: str) -> Iterator[Command]:
    """The commands of substitutions within a quoted word."""
    for match in _SUBSTITUTED.finditer(token[:20_000]):
        for command in commands(match[1] or match[2]):
            command.substituted = True
            yield command


def _unwrapped(words: list[str]) -> list[str]:
    """The words starting at the program: without assignments, wrappers, and the wrappers' options and numbers."""
    at, wrapped = 0, False
    while at < len(words):
        word = words[at]
        option = wrapped and (word.startswith("-") or re.fullmatch(r"\d+\w?", word) is not None)
        if not (_ASSIGNED.match(word) or word in _WRAPPERS or option):
            break
        wrapped = wrapped or word in _WRAPPERS
        at += 1
    return words[at:]
