"""The claims of a whole reply, for display: each stated value with its role, form and position."""

from __future__ import annotations

from typing import NamedTuple

from verikit.answers.claims import closing
from verikit.answers.claims.extract import boxes, final_part, last_line
from verikit.answers.claims.roles import Role
from verikit.answers.claims.statements import hash_mark, statements
from verikit.answers.claims.withdrawals import after_withdrawal

MOST = 12
"""Maximum number of claims listed per reply. The last ones are listed."""
MAX_SHOWN = 80
"""Maximum number of characters shown of a value."""


class Claim(NamedTuple):
    """One value that a reply states."""

    value: str
    role: Role
    form: str
    """Where it was found: box, statement, ####, last line."""
    start: int
    """Its position in the reply, in characters."""
    final: bool = False
    """Whether it is the decisive claim."""

    def __str__(self) -> str:
        value = self.value if len(self.value) <= MAX_SHOWN else self.value[: MAX_SHOWN - 1] + "…"
        return f"{value} ({self.role}{', final' if self.final else ''}; {self.form}, character {self.start})"


def claims(reply: str) -> list[Claim]:
    """The marked claims of a reply, in order. If there are none, the value at its end."""
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
    """The claims at the end of an unmarked text."""
    line = last_line(text)
    last = closing.last_value(line.text)
    value, role = (last.text, last.role) if last is not None else (line.text, line.role)
    return [Claim(value, role, line.form, offset + max(0, text.rfind(value)))] if value else []
