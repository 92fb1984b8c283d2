"""Running checks of verifiers packages, NeMo-Gym servers and OpenEnv folders: their own code grades replies.

`described.py` reads their code, `rehearsed.py` and `episodes.py` prepare the runs, and `forms.py` writes expected
values as replies. The other modules only run in the sandbox: `boxed.py` and `boxed_openenv.py` grade, and the modules
`as_…` replace the frameworks, which need not be installed.
"""
