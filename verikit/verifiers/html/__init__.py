"""Pages: what Chromium shows after steps, to a person as to a program that drives it."""

from verikit.verifiers.html.verifier import Html

__all__ = ["Html"]
