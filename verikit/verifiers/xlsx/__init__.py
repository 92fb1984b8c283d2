"""Workbooks: cells recalculated by engines, formulas followed to their inputs, and inputs changed unseen."""

from verikit.verifiers.xlsx.verifier import Xlsx

__all__ = ["Xlsx"]
