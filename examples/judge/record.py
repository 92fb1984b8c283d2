"""Make judge.jsonl: replies written by hand, recorded as if a model had given them.

They show what a run reports: wins that both orders agree on, an order that flips, a tie, an equal answer that nobody is
asked about, and a reply without a verdict. Run it again after changing the prompt, an answer or a reply:

    python examples/judge/record.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from verikit.engines import Engine, Generation, Output, Recorder, Request
from verikit.judges import Pairwise
from verikit.judges.match.entrants import read_entrants

FOLDER = Path(__file__).parent
REPLIES = {
    "capital": ("Only A names the right city.\n[[A]]", "A confuses the largest city with the capital.\n[[B]]"),
    "sum": ("Both reach 42; A shows why, B just says so.\n[[A]]", "A is right and brief. So is B.\n[[A]]"),
    "haiku": ("A is in 5-7-5, B has four lines.\n[[A]]", "B keeps the form that was asked for.\n[[B]]"),
    "sort": ("A's code forgets to return the list.\n[[B]]", "A returns a sorted copy; B returns None.\n[[A]]"),
    "moon": ("Neither is wrong, neither says more.\n[[C]]", "Equally good.\n[[C]]"),
    "translate": ("A is idiomatic, B word for word.\n[[A]]", "B reads better: A translates word for word.\n[[B]]"),
    "advice": ("I would rather not choose between these.", "B asks what it needs to know before advising.\n[[B]]"),
}


class ByHand(Engine):
    """Gives the replies above, in the order in which a run asks."""

    name = "by-hand"

    def __init__(self) -> None:
        self._replies: Iterator[str] = (reply for both in REPLIES.values() for reply in both)

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Answer each request with the next reply."""
        return [Generation(outputs=(Output(next(self._replies), finish_reason="stop"),)) for _ in requests]


def record(path: Path) -> None:
    """Ask about every pair of answers, as `verikit judge` does, and write the recording."""
    path.unlink(missing_ok=True)
    bouts = read_entrants([str(FOLDER / "ours.jsonl"), str(FOLDER / "theirs.jsonl")]).bouts
    Pairwise(Recorder(ByHand(), path)).compare([bout.pair for bout in bouts])


if __name__ == "__main__":
    record(FOLDER / "judge.jsonl")
