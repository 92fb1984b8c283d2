"""Typed answer verification: a parser, exact and modular equality, extraction, and a sympy tail for the rest.

`verify` is the one function to call; `verikit.verifiers.answer` makes a verifier of it.
"""

from verikit.answers.gold import check_gold
from verikit.answers.policy import Policy
from verikit.answers.verdict import Verdict, verify

__all__ = ["Policy", "Verdict", "check_gold", "verify"]
