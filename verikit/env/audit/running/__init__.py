"""Checks that run a Harbor task's solution and tests in the sandbox. Nothing of a task runs outside of it.

`box.py` runs one script over a tree of files, with `inside.py` within the sandbox. `layout.py` and `programs.py` read
what a task needs. `rehearsal.py` holds one task's runs. The other modules are the checks.
"""
