"""Providers that are asked through their own client packages.

In front of these stands what all engines share: tries, back-off, deadlines, rate limits, typed errors.

base.py       what they share
anthropic.py  `anthropic:MODEL`
gemini.py     `gemini:MODEL`
"""
