"""The verifiers, one file each. Their names in Python and in specs are lower-case."""
