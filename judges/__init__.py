"""LLM judges, juries, win rates and process reward models."""
