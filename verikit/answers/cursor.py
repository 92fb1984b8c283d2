"""Where the parser stands in the tokens, and what the parts of the parser ask of one another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from verikit.answers.lexer import END, Token
from verikit.answers.tree import MAX_DEPTH, Node, NotMath, TooBig


class Cursor:
    """A position in a list of tokens, with the depth of nesting counted."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.index = 0
        self.depth = 0
        self.bars = 0
        self.integral = -1
        """Depth at which an integrand is being read, -1 outside of integrals."""

    @property
    def token(self) -> Token:
        """The token to be read next."""
        return self.tokens[self.index] if self.index < len(self.tokens) else END

    def ahead(self, offset: int = 1) -> Token:
        """The token `offset` places further."""
        index = self.index + offset
        return self.tokens[index] if index < len(self.tokens) else END

    def take(self) -> Token:
        """Read one token."""
        token = self.token
        self.index += 1
        return token

    def at(self, *texts: str) -> bool:
        """Whether the next token is an operator or command with one of these texts."""
        token = self.token
        return token.text in texts and token.kind in ("op", "cmd", "sep")

    def accept(self, *texts: str) -> str:
        """Read the next token if it is one of these; return its text or ''."""
        if self.at(*texts):
            return self.take().text
        return ""

    def expect(self, *texts: str) -> str:
        """Read one of these tokens.

        Raises:
            NotMath: something else stands here.
        """
        found = self.accept(*texts)
        if not found:
            raise NotMath(f"expected {' or '.join(texts)}, not {self.token.text or 'the end'!r}")
        return found

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Count one level of nesting.

        Raises:
            TooBig: deeper than `MAX_DEPTH`.
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooBig("the answer nests too deep")
        yield
        self.depth -= 1

    def expression(self) -> Node:
        """Read a sum, or sets joined by set operators."""
        raise NotImplementedError

    def power(self) -> Node:
        """Read an atom with its postfixes and exponent."""
        raise NotImplementedError

    def relation(self) -> Node:
        """Read an expression or a chain of relations."""
        raise NotImplementedError

    def items(self, *closers: str) -> tuple[list[Node], str]:
        """Read elements up to one of `closers`, which is read too."""
        raise NotImplementedError
