"""Providers that are called through their own client packages.

Retries, backoff, deadlines, rate limits and typed errors are shared with all engines.

base.py       shared code
anthropic.py  `anthropic:MODEL`
gemini.py     `gemini:MODEL`
"""
