"""Splitting a model's output into thoughts and reply, normalisers, and invisible characters."""
