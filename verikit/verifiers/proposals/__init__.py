"""Tasks that a model proposes and solves by running programs (Absolute Zero, arXiv 2505.03335)."""
