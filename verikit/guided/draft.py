"""The data of a search: a solution as far as it is written (`Draft`), and a request to extend it (`Growth`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from verikit.types import PASS_MARK, JsonObject, Message


@dataclass(frozen=True, slots=True)
class Draft:
    """A partial solution with the reward model's scores. Every search begins with the empty draft."""

    text: str = ""
    """The text that the policy continues. After a step it ends with the separator of steps."""
    finish: str = ""
    """Why it ended: `stop`, or `length` if its tokens, steps or context ran out. Empty if it is unfinished."""
    tokens: int = 0
    """Tokens of the whole solution, including those of the drafts that it continues."""
    steps: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    """One score per step if the verifier scores steps. Otherwise the value after each step."""
    value: float | None = None
    """The verifier's score of the whole text, or None if it has no score."""
    criticism: str = ""
    """The verifier's criticism of the first doubtful step, if any."""
    history: tuple[Draft, ...] = ()
    """Earlier solutions that this one replaced."""

    @property
    def doubtful(self) -> int:
        """Index of the first step below `PASS_MARK`, or -1 if no step is below it or steps were not scored."""
        scored = self.scores if len(self.scores) == len(self.steps) and self.value is not None else ()
        return next((number for number, score in enumerate(scored) if score < PASS_MARK), -1)

    def told(self) -> JsonObject:
        """The draft in the format of a row's candidate."""
        found: dict[str, object] = {"text": self.text, "steps": list(self.steps), "step_scores": list(self.scores)}
        if self.value is not None:
            found["value"] = self.value
        if self.history:
            found["turns"] = [draft.told() for draft in self.history]
        return found


@dataclass(frozen=True, slots=True)
class Growth:
    """Requests more of a draft: `count` samples of its next step, or of the whole rest.

    A sample with a given number is the same in every search. Its seed is derived from the text it continues and from
    its number.
    """

    draft: Draft
    count: int
    first: int = 0
    """The number of the first sample."""
    whole: bool = False
    """Whether to continue to the end of the solution instead of the end of the step."""
    said: tuple[Message, ...] = ()
    """Turns of the conversation between the prompt and the draft."""


def distinct(drafts: Iterable[Draft]) -> list[Draft]:
    """The drafts without duplicates, since equal drafts would continue identically."""
    found: dict[tuple[str, str], Draft] = {}
    for draft in drafts:
        found.setdefault((draft.text, draft.finish), draft)
    return list(found.values())


def ranked(drafts: Iterable[Draft]) -> list[Draft]:
    """The drafts that have a value, best first. Drafts with equal values keep their order."""
    return sorted((draft for draft in drafts if draft.value is not None), key=lambda draft: -(draft.value or 0.0))


def steps_of(text: str, separator: str) -> tuple[str, ...]:
    """The nonempty steps of a text, stripped. Visible characters of a separator belong to the step after it."""
    first, *others = text.split(separator)
    parts = [first, *(separator + part for part in others)]
    blank = separator.strip()
    return tuple(step for part in parts if (step := part.strip()) and step != blank)


def ordered(drafts: Sequence[Draft]) -> list[Draft]:
    """A search's result, best first. Finished solutions come before those that were cut off."""
    return sorted(drafts, key=lambda draft: (draft.finish != "stop", draft.value is None, -(draft.value or 0.0)))
