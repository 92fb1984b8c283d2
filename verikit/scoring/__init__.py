"""Score runs: a file of candidates in, a folder of scores and a summary out.

    plan.py     what a run does: the settings that decide its result, kept as config.json
    chunk.py    one chunk of rows: read, score, rank, write out as bytes; runs in this process or in a worker
    tally.py    the counts and estimates that a summary is made of, mergeable
    folder.py   the output folder: one writer, append-only files, committed chunk by chunk
    order.py    chunks on their way through workers, results in input order
    pool.py     worker processes
    on_ray.py   workers on a Ray cluster
    run.py      all of it together, resumable
    show.py     a summary as a person reads it

A run commits each chunk with the sizes its files then have; what a kill leaves half-written beyond them is cut off, and
the run goes on with the next row. So an interrupted run ends in the same bytes as an uninterrupted one.
"""
