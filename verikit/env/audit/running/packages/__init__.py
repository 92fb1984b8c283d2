"""Running checks of verifiers packages and of NeMo-Gym servers: replies are graded by the environment's own code.

`rehearsed.py` prepares the runs, `forms.py` writes expected values as replies. The other modules only run in the
sandbox: `boxed.py` grades, and the modules `as_…` replace the frameworks, which need not be installed.
"""
