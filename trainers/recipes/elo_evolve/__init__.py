"""Elo-Evolve (arXiv 2602.13575): a policy trained by comparisons with a pool of rated opponents."""
