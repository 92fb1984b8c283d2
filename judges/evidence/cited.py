"""Citations of entries in a judge's reply: `[#3]`, `[#3, #4]`."""

from __future__ import annotations

import re

from verikit.errors import UnparseableVerdict
from verikit.replies.split import split

_CITED = re.compile(r"\[#[#\d,; –-]{1,200}\]")


class FalseCitation(UnparseableVerdict):
    """The judge cited an entry that does not exist."""


def check_citations(reply: str, entries: int) -> FalseCitation | None:
    """What is wrong with a reply's citations of a run of so many entries; None where nothing is."""
    cited = [int(number) for found in _CITED.findall(split(reply).reply) for number in re.findall(r"\d{1,9}", found)]
    wrong = next((number for number in cited if not 1 <= number <= entries), None)
    return None if wrong is None else FalseCitation(f"the judge cites entry #{wrong} of {entries}")
