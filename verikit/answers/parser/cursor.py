"""The parser's position in the tokens."""

from __future__ import annotations

from verikit.answers.parser.lexer import END, Token
from verikit.answers.parser.tree import MAX_DEPTH, NotMath, TooBig

_MARKS = frozenset(("op", "cmd", "sep"))


class Cursor:
    """A position in a list of tokens, with a count of the nesting depth."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens: list[Token] = [*tokens, END, END, END]
        self.last: int = len(tokens)
        self.index: int = 0
        self.token: Token = self.tokens[0]
        """The token to be read next."""
        self.depth: int = 0

    def ahead(self, offset: int = 1) -> Token:
        """The token `offset` (at most 2) further on."""
        return self.tokens[self.index + offset]

    def take(self) -> Token:
        """Read one token."""
        token = self.token
        self.seek(self.index + 1)
        return token

    def seek(self, index: int) -> None:
        """Continue at another token."""
        self.index = index if index < self.last else self.last
        self.token = self.tokens[self.index]

    def shorten(self) -> None:
        """Reduce the next token to its first character."""
        self.token = self.token._replace(text=self.token.text[1:])
        self.tokens[self.index] = self.token

    def at(self, *texts: str) -> bool:
        """Whether the next token is an operator, command or separator with one of these texts."""
        token = self.token
        return token.text in texts and token.kind in _MARKS

    def accept(self, *texts: str) -> str:
        """Read the next token if it is one of these. Return its text or ''."""
        if self.at(*texts):
            return self.take().text
        return ""

    def expect(self, *texts: str) -> str:
        """Read one of these tokens.

        Raises:
            NotMath: Another token is next.
        """
        found = self.accept(*texts)
        if not found:
            raise NotMath(f"expected {' or '.join(texts)}, not {self.token.text or 'the end'!r}")
        return found

    def enter(self) -> None:
        """Enter a level of nesting. `leave` ends it.

        Raises:
            TooBig: Deeper than `MAX_DEPTH`.
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooBig("the answer nests too deep")

    def leave(self) -> None:
        """End one level of nesting."""
        self.depth -= 1
