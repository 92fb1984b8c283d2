"""Instructions that a program can check, by their ids in IFEval, IFBench and IF-RLVR."""

from verikit.verifiers.instructions.verifier import Instructions, loose_variants

__all__ = ["Instructions", "loose_variants"]
