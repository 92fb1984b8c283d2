"""Shared readers of replies and rows: fences, JSON, stated answers, gold answers, and the cause of failures."""
