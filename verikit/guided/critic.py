"""`critic(turns)`: shows the first doubtful step to the policy, which tries again (GenPRM, arXiv 2504.00891).

Each turn starts only from the latest solution, as in the authors' repository. `verikit.judges.genprm.Critic` is the
same loop for existing solutions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from verikit.guided.draft import Draft, Growth
from verikit.guided.strategy import SearchStrategy, TokenBudget, Walk, sampled
from verikit.types import Message

DOUBT = "There might be some problem in this paragraph of your reasoning, please rethink and refine your answer:\n"


@dataclass(frozen=True)
class CriticLoop(SearchStrategy):
    """Whole solutions, each refined as long as it has a doubtful step."""

    turns: int = 3
    """Maximum number of refinements."""
    n: int = 1
    """Number of solutions to refine."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check(turns=self.turns, n=self.n)

    def search(self, budget: TokenBudget) -> Walk:
        """Sample solutions, then refine the doubtful ones."""
        found = yield from sampled(self.n, budget)
        live = _doubtful(found, range(len(found)))
        for turn in range(1, self.turns + 1):
            if not live or not budget.left:
                break
            # Each turn has other sample numbers, so that a repeated solution is not continued with the same seeds.
            grown = yield [
                Growth(Draft(), 1, number + turn * self.n, whole=True, said=_doubted(found[number])) for number in live
            ]
            judged = []
            for number, drafts in zip(live, grown, strict=True):
                found[number] = _refined(found[number], drafts)
                if _has_value(drafts):
                    judged.append(number)
            live = _doubtful(found, judged)
        return found


def _doubtful(drafts: Sequence[Draft], numbers: Iterable[int]) -> list[int]:
    return [number for number in numbers if drafts[number].doubtful >= 0]


def _doubted(draft: Draft) -> tuple[Message, ...]:
    asked = doubt(draft.steps[draft.doubtful], draft.criticism)
    return Message(role="assistant", content=draft.text), Message(role="user", content=asked)


def _has_value(grown: list[Draft]) -> bool:
    return any(draft.value is not None for draft in grown)


def _refined(draft: Draft, grown: list[Draft]) -> Draft:
    """The draft that replaces a solution: the new one, if it could be judged."""
    if not _has_value(grown):
        return draft
    return replace(grown[0], history=(*draft.history, replace(draft, history=())))


def doubt(step: str, said: str) -> str:
    """The message to the policy: the doubtful step, quoted, and the criticism of it, if any."""
    quoted = ">" + step.replace("\n", "\n>")
    return DOUBT + quoted + (f"\n\n{said}" if said else "")
