"""What an agent left behind, read in a sandbox: files go in, one observation comes out, verdicts are reached outside."""

from verikit.artifacts.box import Reader, observe

__all__ = ["Reader", "observe"]
