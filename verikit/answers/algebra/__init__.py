"""Equality of expression trees: exact values, modular identities, samples of functions, sets, matrices.

`equality` has the ways in which two answers are equal, `evaluate` the values of trees. `identity` decides whether two
expressions are the same function, by `modular` arithmetic and by `samples` of it. `compare` compares any two trees:
`scalar`, `sets`, `vectors`, `chains` and `matrices` are for their kinds.
"""
