"""The verifiers, one file each; in Python as in specs they go by their lower-case names."""
