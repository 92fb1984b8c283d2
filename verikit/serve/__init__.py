"""The reward server: `verikit serve SPEC` answers HTTP requests with scores.

    protocols.py  formats of requests and replies: verikit's, and those of OpenRLHF, slime and NeMo-Gym
    nemo_gym.py   NeMo-Gym's requests; gym_paths.py has its paths other than /verify
    forms.py      requests as multipart/form-data, with the files of workspaces
    app.py        paths, the token, limits on bodies, statuses
    queue.py      micro-batches: samples wait in one bounded queue, and a free worker takes the waiting ones as a batch
    worker.py     the scoring processes, from the server's side; process.py, from the processes' side
    best.py       best of n as an OpenAI chat endpoint; chat.py, its requests and replies
    patience.py   the response to a client that sends too slowly
    run.py        all of it under uvicorn

Scores are computed in separate processes, so a verifier that hangs, crashes or is killed costs at most its own
requests. These are retried alone, then fail with an error that names the cause, while a new process replaces the old
one. The queue is the only buffer, and it is bounded: further requests are rejected with 429 and the time to wait.
"""
