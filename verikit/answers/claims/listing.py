"""The claims of a whole reply, for people to read: each stated value with its role, its form and its place."""

from __future__ import annotations

from typing import NamedTuple

from verikit.answers.claims import closing
from verikit.answers.claims.extract import boxes, final_part, last_line
from verikit.answers.claims.roles import Role
from verikit.answers.claims.statements import hash_mark, statements
from verikit.answers.claims.withdrawals import after_withdrawal

MOST = 12
"""Claims of one reply that are listed, the last ones."""
MAX_SHOWN = 80
"""Characters of a value that are shown."""


class Claim(NamedTuple):
    """One value that a reply states."""

    value: str
    role: Role
    form: str
    """Where it stands: box, statement, ####, last line."""
    start: int
    """Its place in the reply, in characters."""
    final: bool = False
    """Whether it is the one that counts."""

    def __str__(self) -> str:
        value = self.value if len(self.value) <= MAX_SHOWN else self.value[: MAX_SHOWN - 1] + "…"
        return f"{value} ({self.role}{', final' if self.final else ''}; {self.form}, character {self.start})"


def claims(reply: str) -> list[Claim]:
    """The claims that a reply marks, in order; of one that marks none the value that it ends with."""
    part = final_part(reply)
    hashed = hash_mark(part) if "####" in part else None
    found = [*boxes(part, every=True), *statements(part, every=True), *([hashed] if hashed else [])]
    rest = after_withdrawal(part, 1)
    taken_back = len(part) - len(rest) if rest is not None else 0
    listed = [
        Claim(item.text, "withdrawn" if item.start < taken_back else item.role, item.form, item.start)
        for item in sorted(found, key=lambda item: item.start)
        if item.text and not ("boxed" in item.text and item.form != "box")
    ]
    if not listed or listed[-1].role == "withdrawn":
        listed += _closing(part[taken_back:], taken_back)
    final = next((at for at in range(len(listed) - 1, -1, -1) if listed[at].role == "asserted"), None)
    if final is not None:
        listed[final] = listed[final]._replace(final=True)
    return listed[-MOST:]


def _closing(text: str, offset: int) -> list[Claim]:
    """What an unmarked text ends with."""
    line = last_line(text)
    last = closing.last_value(line.text)
    value, role = (last.text, last.role) if last is not None else (line.text, line.role)
    return [Claim(value, role, line.form, offset + max(0, text.rfind(value)))] if value else []
