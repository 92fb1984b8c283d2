"""Absolute Zero (arXiv 2505.03335): one model proposes programming tasks and solves them; a sandbox is the judge."""
