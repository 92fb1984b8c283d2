"""Finished runs in Python: the return values of `verikit.score`, `judge_answers`, `evaluate`, `compare` and `train`.

    data.py        rows, data frames and datasets to a file that every command reads
    columns.py     records to pandas, polars and datasets
    folders.py     the folder of a run: the caller's, or one that is deleted with the run
    run.py         shared code of all kinds of runs
    html.py        a run's display in a notebook
    score.py       `verikit.score`
    compare.py     `verikit.compare`

The results of the other calls are defined with their commands. Each call and its command use the same function.
"""
