"""A scoring process: reads batches of samples from stdin and writes a line of JSON per score to stdout.

Its input was pickled by the server. Its output is read as bytes. It ends when its stdin closes, and with its parent.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import struct
import sys

from verikit.base import Verifier, walk
from verikit.errors import UsageError, VerikitError
from verikit.helper import die_with_parent
from verikit.names.spec import load
from verikit.platform import tracing
from verikit.platform.raised import describe
from verikit.platform.system import processors
from verikit.sandbox import budget
from verikit.scoring.rows import encode, to_row
from verikit.types import Score

HEAD = struct.Struct("!I")
ROWS_PER_DEADLINE = 5
"""Number of rows with an exhausted budget that fit into a request's deadline, one after the other."""
CUT_SHORT = b"cut short"
"""First line of the reply if a row of the batch had too little time."""


def row_of(score: Score) -> bytes:
    """A score as a line of JSON."""
    return encode(to_row(score)).encode("utf-8", "replace")


def fit(verifier: Verifier, deadline_s: float) -> int:
    """Limit a sample's time by a request's deadline. Returns how many fit into a quarter of it (0: unknown).

    They may take up to half of it, to allow for other load on the machine. A looping program must get its zero before
    the server gives up on it, which would leave it unscored.
    """
    budget.set_ceiling(deadline_s / ROWS_PER_DEADLINE)
    slowest = sum(part.slowest_s for part in walk(verifier))
    return max(1, int(deadline_s / 4 / slowest) * processors()) if slowest else 0


def main(spec: str, deadline_s: float) -> None:
    """Load the verifier, report that it is ready (or the error), then answer each batch."""
    die_with_parent()
    tracing.configure()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's ^C goes to the server, which lets work finish
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # the verifier's own output is not a reply

    def reply(data: bytes) -> None:
        replies.write(HEAD.pack(len(data)) + data)
        replies.flush()

    try:
        verifier = load(spec)
    except VerikitError as error:
        reply(json.dumps({"error": str(error), "hint": error.hint}).encode())
        return
    ready = {"name": verifier.name, "batch": verifier.batch, "most": fit(verifier, deadline_s)}
    reply(json.dumps(ready | {"fingerprint": verifier.fingerprint}).encode())
    while len(head := requests.read(HEAD.size)) == HEAD.size:
        batch, traces, row_s = pickle.loads(requests.read(HEAD.unpack(head)[0]))  # noqa: S301 - pickled by the server
        budget.set_ceiling(row_s)
        samples = [pickle.loads(pickled) for pickled in batch]  # noqa: S301
        try:
            with tracing.batched("score batch", traces):
                scores = verifier.score(samples)
        except UsageError as error:
            scores = [Score.error(f"{verifier.name}: {describe(error)}")] * len(samples)
        reply(b"\n".join((CUT_SHORT if budget.cut_short() else b"", *map(row_of, scores))))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
