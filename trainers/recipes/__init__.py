"""Recipes: sampling, rewards, and state between steps."""
