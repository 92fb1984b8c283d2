"""Pages as Chromium shows them after steps, to a person and to a program that drives it."""

from verikit.verifiers.html.verifier import Html

__all__ = ["Html"]
