"""A page that an agent left, opened by Chromium in a box of its own and driven over a pipe.

`session.watch` opens a page, takes the steps and returns what was seen. Verdicts are reached by its caller.
"""
