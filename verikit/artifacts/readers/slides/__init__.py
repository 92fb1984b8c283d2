"""Reads a deck of slides (pptx) in the sandbox: the text of each slide in reading order, and why it is out of sight.

No page is rendered. Places, colours and sizes are followed through what they inherit: layouts, masters, themes. What
a renderer alone can decide is told as a doubt.
"""

from verikit.artifacts.readers.slides.deck import read

__all__ = ["read"]
