"""Does the program pass its tests? `verifier` selects the format of the tests. Each format has its own reader, runner and judge."""

from verikit.verifiers.code.verifier import Code

__all__ = ["Code"]
