"""Verifiers made of verifiers: sums, choices, turns of a conversation, guards, and a judge where a rule ends."""
