"""Whether 0.99 may mean 0.99 %, decided by the question.

If the question asks for a percentage, a bare number is in percent: for a gold answer of 0.99 the answer 0.99 % is right
and 99 % is wrong. If it asks for anything else, a bare number is the fraction itself: 0.99 is 99 %. Without a question,
an answer in percent is also compared in percent, and a gold answer in percent accepts both.
"""

from __future__ import annotations

import re

from verikit.answers.algebra.equality import Equality
from verikit.answers.algebra.scalar import compare_scalars, peel
from verikit.answers.parser.tree import COLLECTIONS, Node, TooBig, num

_ASKED = re.compile(
    r"percent|per cent|%|\bpct\b|\brates?\b|interest|prozent|pourcent|porcentaje|por ciento|percentuale|百分|प्रतिशत",
    re.IGNORECASE,
)


def wrong_sense(gold: Node, answer: Node, question: str, equality: Equality) -> bool:
    """Whether a percentage and a bare number agree only in the sense that the question excludes."""
    if not equality.percent or {gold.op, answer.op} & (COLLECTIONS | {"rel"}):
        return False
    g, a = peel(gold), peel(answer)
    if {g.mark, a.mark} != {"", "pct"}:
        return False
    hundredfold = Node("mul", ((g if g.mark == "" else a).value, num(100)))
    asked = not question or _ASKED.search(question) is not None
    try:
        count = bool(compare_scalars(g.value, a.value, equality))
        share = bool(compare_scalars(*((hundredfold, a.value) if g.mark == "" else (g.value, hundredfold)), equality))
    except TooBig:
        return False
    return (share and not count and g.mark == "") if asked else (count and not share)
