"""Scores for coding assistants and agents: a server of the Model Context Protocol over stdin and stdout.

The client is not trusted: a model writes its requests, and the model reads texts of strangers.

    rules.py   the verifiers and files that it may name
    work.py    the work, in processes with a deadline and a memory cap
    server.py  the tools, and the server
"""
