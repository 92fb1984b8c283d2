"""Typed answer verification: a parser, exact and modular equality, extraction, and a sympy tail for the rest.

`verify` is the one function to call; `verikit.verifiers.answer` makes a verifier of it.
"""

from verikit.answers.algebra.equality import Equality
from verikit.answers.gold import check_gold
from verikit.answers.judging import AnswerVerdict
from verikit.answers.verdict import verify

__all__ = ["AnswerVerdict", "Equality", "check_gold", "verify"]
