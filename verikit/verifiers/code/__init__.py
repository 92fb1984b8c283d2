"""Does the program pass its tests? `verifier` selects the test format, and each format has its own runner and judge."""

from verikit.verifiers.code.verifier import Code

__all__ = ["Code"]
