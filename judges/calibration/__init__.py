"""How far a judge is wrong, by labels of a person, and rates corrected for it: `verikit calibrate`.

verdicts.py    a run's verdicts, of score or of judge
rows.py        keys of the rows that a run was made from: categories, `--where`
draws.py       sums over prompts under random weights, and rates made of them
confusion.py   kappa, sensitivity and specificity, by class and by length
corrected.py   rates corrected for the judge's error, with intervals
measure.py     all of it for one run, and its drift from an earlier one
between.py     judges beside each other: agreement, preference for their own
show.py        for people
cli.py         the command
"""
