"""Make judge.jsonl: verdicts written by hand on answers.jsonl, recorded as if a model had given them.

The third answer holds verdicts of its own. Run it again after changing the prompt, an answer or a verdict:

    python examples/rubric/record.py
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from verikit import Group
from verikit.engines import Engine, Generation, Output, Recorder, Request
from verikit.judges import Rubric
from verikit.readers import Reader

FOLDER = Path(__file__).parent
VERDICTS = (("met", "met", "not met"), ("not met", "not met", "met"), ("not met", "not met", "not met"))


class ByHand(Engine):
    """Gives the verdicts above, with the mark of each request."""

    name = "by-hand"

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Answer each request with the next verdicts."""
        found = []
        for request, verdicts in zip(requests, VERDICTS, strict=True):
            lines = [f"<{request.meta['fence']} {number}: {verdict}>" for number, verdict in enumerate(verdicts, 1)]
            found.append(Generation(outputs=(Output("\n".join(lines), finish_reason="stop"),)))
        return found


def record(path: Path) -> None:
    """Judge each answer, as `verikit score` does, and write the recording."""
    path.unlink(missing_ok=True)
    reader = Reader(str(FOLDER / "answers.jsonl"))
    groups = [item for _, item in reader.items(reader.rows()) if isinstance(item, Group)]
    Rubric(Recorder(ByHand(), path)).score([sample for group in groups for sample in group.samples()])


if __name__ == "__main__":
    record(FOLDER / "judge.jsonl")
