"""Typed answer verification: a parser, exact and modular equality, extraction, and sympy for undecided pairs.

`verify` is the entry point. `verikit.verifiers.answer` makes a verifier from it.
"""

from verikit.answers.algebra.equality import Equality
from verikit.answers.gold import check_gold
from verikit.answers.judging import AnswerVerdict
from verikit.answers.verdict import verify

__all__ = ["AnswerVerdict", "Equality", "check_gold", "verify"]
