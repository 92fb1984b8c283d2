"""Checks that run a Harbor task's solution and tests in the sandbox. Task code never runs outside it.

`box.py` runs one script over a tree of files, with `inside.py` within the sandbox. `layout.py` and `programs.py` read
the requirements of a task. `rehearsal.py` stores one task's runs. The other modules are the checks.
"""
