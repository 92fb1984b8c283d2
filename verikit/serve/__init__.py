"""The reward server: `verikit serve SPEC` answers HTTP requests with scores.

    protocols.py  what a request holds and what a reply says: ours, and those of OpenRLHF, slime and NeMo-Gym
    nemo_gym.py   NeMo-Gym's requests; gym_paths.py, those beside /verify
    app.py        paths, the token, limits on bodies, statuses
    queue.py      micro-batches: samples wait in one bounded queue, and what waits when a worker is free is one batch
    worker.py     the scoring processes, from the server's side; process.py, from theirs
    best.py       best of n as an OpenAI chat endpoint; chat.py, its requests and replies
    patience.py   what a client that sends too slowly is told
    run.py        all of it under uvicorn

Scores are made in processes of their own, so that a verifier that hangs, crashes or is killed costs its own requests at
most: they are tried once more alone, then told so by name, while a new process takes the old one's place. The queue is
the only buffer, and it is bounded: more is refused with 429 and the time to come back.
"""
