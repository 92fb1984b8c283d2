"""Reads a deck of slides (pptx) in the sandbox: the text of each slide in reading order, and why it is out of sight.

It renders no page. Places, colours and sizes are resolved through their inheritance: layouts, masters, themes. Facts
that only a renderer can decide are reported as doubts.
"""

from verikit.artifacts.readers.slides.deck import read

__all__ = ["read"]
