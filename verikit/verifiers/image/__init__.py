"""Pictures: format, size, and whether they look like an expected one."""

from verikit.verifiers.image.verifier import Image

__all__ = ["Image"]
