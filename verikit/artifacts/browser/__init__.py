"""A page that an agent left, opened by Chromium in its own box and driven over a pipe.

`session.watch` opens a page, takes the steps and returns the observation. Verdicts are reached by its caller.
"""
