"""Score runs: a file of candidates in, a folder of scores and a summary out.

    plan.py     the settings that determine a run's result, stored as config.json
    chunk.py    one chunk of rows: read, score, rank, write out as bytes; runs in this process or in a worker
    tally.py    the counts and estimates behind a summary, mergeable
    folder.py   the output folder: one writer, append-only files, committed chunk by chunk
    order.py    chunks on their way through workers, results in input order
    pool.py     worker processes
    on_ray.py   workers on a Ray cluster
    run.py      all of it together, resumable
    show.py     a summary as readable text

A run commits each chunk with the current sizes of its files. Data that a kill leaves half-written beyond them is cut
off, and the run resumes with the next row. So an interrupted run ends with output that is byte-identical to an
uninterrupted one.
"""
