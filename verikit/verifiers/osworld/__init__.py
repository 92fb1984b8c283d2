"""OSWorld's comparers of files, by verikit's own readers and verifiers.

    verifier.py   the verifier: a row's checks, joined by its `conj`
    checks.py     one function for each kind of check
    visible.py    the visible lines of a file
    rules.py      rules over JSON and CSV

`verikit.convert.osworld` translates a task's `evaluator` into these checks.
"""

from verikit.verifiers.osworld.verifier import OSWorldChecks

__all__ = ["OSWorldChecks"]
