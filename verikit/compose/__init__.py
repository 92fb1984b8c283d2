"""Verifiers built from verifiers: sums, choices, conversation turns, guards, and a judge for doubtful rejections."""
