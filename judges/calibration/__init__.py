"""How often a judge is wrong, by a person's labels, and rates corrected for it: `verikit calibrate`.

verdicts.py    a run's verdicts, of score or of judge
rows.py        keys of the rows that a run was created from: categories, `--where`
draws.py       sums over prompts under random weights, and rates computed from them
confusion.py   kappa, sensitivity and specificity, by class and by length
corrected.py   rates corrected for the judge's error, with intervals
limits.py      limits of a cascade, from labels
measure.py     all of it for one run, and its drift from an earlier one
between.py     comparison of judges: agreement, self-preference
show.py        output as text and JSON
cli.py         the command
"""
