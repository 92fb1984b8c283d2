"""Asking a judge, and reading its reply.

prompt.py       judge prompts: TOML files, ours in prompts/
judge.py        the options and steps that every judge has
scaled.py       several criteria, several askings
ask.py          requests to an engine
held.py         requests that leave the judge only its labels
reply.py        a judge's reply, read strictly
asserted.py     verdicts that a reply quotes or denies
shares.py       how probable each verdict was
"""
