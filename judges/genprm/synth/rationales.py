"""Third stage: a reviewer's rationale for each labelled solution, accepted if its verdicts match the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verikit.errors import raise_if_gone
from verikit.judges.genprm.protocol import Mode, Protocol
from verikit.judges.genprm.review import Path, Review, Solution
from verikit.judges.genprm.synth.labels import agrees
from verikit.judges.genprm.verifier import GenPRM
from verikit.types import Message, Sample, Score


def write_rationales(paths: Sequence[dict[str, Any]], reviewer: GenPRM) -> list[dict[str, Any]]:
    """Review labelled solutions and mark the accepted ones.

    A solution is accepted if the majority of drafts (the reviewer's paths) agrees with every label, and at least one
    single draft does too. That draft is its rationale. A step without a verdict agrees with nothing.

    Args:
        paths: Paths with `prompt`, `steps` and `labels`.
        reviewer: Any model that follows the protocol, with its code run.

    Returns:
        One row per path: `kept`, why not, the reviewer's `verdicts` per draft, and the conversation if it is accepted.
    """
    read = [reviewer.solution(Sample(path["prompt"], meta={"steps": path["steps"]})) for path in paths]
    reviewed = reviewer.review([solution for solution in read if isinstance(solution, Solution)])
    raise_if_gone([review.error for review in reviewed])
    reviews = iter(reviewed)
    return [
        {"id": path["id"], "labels": path["labels"], "verdicts": [], "kept": False, "why": "unreadable"}
        if isinstance(solution, Score)
        else _row(path, next(reviews), reviewer.file, reviewer.mode)
        for path, solution in zip(paths, read, strict=True)
    ]


def _row(path: dict[str, Any], review: Review, protocol: Protocol, mode: Mode) -> dict[str, Any]:
    labels = list(map(bool, path["labels"]))
    verdicts = [_verdicts(draft, len(labels)) for draft in review.paths]
    row = {"id": path["id"], "labels": list(map(int, labels)), "verdicts": verdicts, "kept": False}
    if review.error is not None:
        return row | {"why": "failed", "error": str(review.error)}
    voted = [_majority([draft[step] for draft in verdicts]) for step in range(len(labels))]
    if None in voted:
        return row | {"why": "no verdict"}
    if not agrees(labels, voted):
        return row | {"why": "disagreed"}
    agreeing = [draft for draft, said in zip(review.paths, verdicts, strict=True) if agrees(labels, said)]
    if not agreeing:
        return row | {"why": "no single draft agreed"}
    return row | {"kept": True, "messages": conversation(review.solution, agreeing[0], protocol, mode)}


def _verdicts(draft: Path, steps: int) -> list[bool | None]:
    said = [step.label for step in draft.steps]
    return said + [None] * (steps - len(said))


def _majority(said: Sequence[bool | None]) -> bool | None:
    """The majority label among the known ones. None at a tie."""
    yes, no = sum(label is True for label in said), sum(label is False for label in said)
    return None if yes == no else yes > no


def conversation(solution: Solution, draft: Path, protocol: Protocol, mode: Mode) -> list[Message]:
    """The review as training reads it: one user turn per step, and the reviewer's turn with code and its output."""
    messages = [protocol.opening(mode)]
    for index, step in enumerate(draft.steps):
        messages += [
            protocol.asking(solution.problem, solution.steps, index), Message(role="assistant", content=step.text)
        ]  # fmt: skip
    return messages
