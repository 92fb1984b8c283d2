"""What an agent left behind, read in a sandbox: files go in, one observation comes out, verdicts are reached outside.

`verikit.artifacts.box.observe` runs a reader. Nothing is imported here: children of the sandbox import the readers.
"""
