"""Does the change make a repository's tests pass? The reply is read, applied, and its tests run in the sandbox."""

from verikit.verifiers.patch.verifier import Patch

__all__ = ["Patch"]
