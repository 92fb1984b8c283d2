"""Query a judge and read its reply.

prompt.py       judge prompts: TOML files, with built-in ones in prompts/
judge.py        the options and steps that every judge has
scaled.py       several criteria, several requests
ask.py          requests to an engine
held.py         requests constrained to a judge's labels
reply.py        a judge's reply, read strictly
asserted.py     verdicts that a reply quotes or denies
shares.py       the probability of each verdict
"""
