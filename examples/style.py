"""A verifier of one's own: any function of a sample, used as `-v examples/style.py:brief`."""

from verikit import Sample, verifier


@verifier
def brief(sample: Sample) -> float:
    """1.0 for up to 80 characters, falling to 0 at 400."""
    return min(1.0, max(0.0, (400 - len(sample.completion)) / 320))
