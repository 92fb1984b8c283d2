"""Equality of expression trees: exact values, modular identities, samples of functions, sets, matrices.

`equality` has the rules by which two answers are equal, and `evaluate` the values of trees. `identity` decides whether
two expressions are the same function, by `modular` arithmetic and by `samples` of it. `compare` compares any two trees.
`scalar`, `sets`, `vectors`, `chains` and `matrices` handle their kinds.
"""
