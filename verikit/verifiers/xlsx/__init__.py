"""Workbooks: cells recalculated by two engines, formulas followed to their inputs, and inputs changed unseen."""

from verikit.verifiers.xlsx.verifier import Xlsx

__all__ = ["Xlsx"]
