"""Judge runs: answers of two or more models as input, a folder of verdicts and a summary as output.

entrants.py   files of answers to bouts: the same prompt answered by two models
rows.py       a judged bout as a JSON row, and back
run.py        bouts through a judge into the folder, resumable
summary.py    summary of the folder's rows: win rates, bias, ratings, agreement with labels
show.py       a summary as text
canaries.py   answers that must not win
labels.py     labels of some of a run's verdicts
session.py    a run of judge from its settings
cli.py        the command
call.py       the command as a Python call
page.py       a run's folder, for the HTML report
"""
