"""A rubric from candidates that are known to be right or wrong.

proposals.py    criteria that a model proposes from a few questions
separation.py   which criteria tell right from wrong candidates, their points, and how well they rank new ones
pipeline.py     the stages from rows to a rubric, in a folder that can be resumed
cli.py          `verikit synth rubric`
"""
