"""Files that an agent left behind, read in a sandbox: files go in, one observation returns, verdicts are outside.

`verikit.artifacts.box.observe` runs a reader. This module imports nothing: children of the sandbox import the readers.
"""
