"""Does the program pass its tests? `verifier` picks the form of the tests; each form reads, runs and judges its own."""

from verikit.verifiers.code.verifier import Code

__all__ = ["Code"]
