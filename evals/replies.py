"""A model's replies for lm-eval: strings with additional data.

lm-eval passes replies on unchanged. A reply can therefore be a string that marks a failure (`Failed`), the last of
several turns (`TurnReplies`), one with further keys (`Noted`), or the files that a run left
(`FilesReply`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from verikit.engines import Generation, Output
from verikit.messages import THOUGHT_KEYS
from verikit.platform.raised import describe
from verikit.replies.split import CUT, FINISH_KEYS, finish_reason
from verikit.types import WORKSPACE


class Failed(str):
    """A missing reply: the engine, the retriever or the recording failed. As a string it is empty."""

    reason: str

    def __new__(cls, reason: str) -> Self:
        """Make one with its reason."""
        made = super().__new__(cls)
        made.reason = reason
        return made

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class TurnReplies(str):
    """The last reply of a conversation, with all of them."""

    turns: tuple[str, ...]

    def __new__(cls, turns: Sequence[str]) -> Self:
        """Make one of the replies in order."""
        made = super().__new__(cls, turns[-1])
        made.turns = tuple(turns)
        return made

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class Noted(str):
    """A reply with additional keys, such as a stored reward. Verifiers find them in the sample's meta."""

    meta: Mapping[str, Any]

    def __new__(cls, text: str, meta: Mapping[str, Any]) -> Self:
        """Make one."""
        made = super().__new__(cls, text)
        made.meta = meta
        return made

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class FilesReply(Noted):
    """The files that a run on this machine left, as a reply without text. The paths are verikit's own."""

    def __new__(cls, workspace: Mapping[str, Any]) -> Self:
        """Make one of a row's `workspace`."""
        return super().__new__(cls, "", {WORKSPACE: workspace})


def texts(generation: Generation, n: int) -> list[str]:
    """A generation's n replies."""
    if generation.error is not None:
        return [Failed(describe(generation.error))] * n
    found = [_noted(output) for output in generation.outputs]
    return found + [Failed(f"the engine gave {len(found)} outputs of {n}")] * (n - len(found))


def finish_of(reply: str) -> str:
    """Return why the model stopped writing a reply, or "" if unknown. For several turns, a cut one decides."""
    if isinstance(reply, TurnReplies):
        reasons = list(map(finish_of, reply.turns))
        return next((reason for reason in reasons if reason in CUT), reasons[-1])
    return finish_reason(reply.meta) if isinstance(reply, Noted) else ""


def _noted(output: Output) -> str:
    told = {THOUGHT_KEYS[0]: output.thoughts, FINISH_KEYS[0]: output.finish_reason}
    meta = {key: value for key, value in told.items() if value}
    return Noted(output.text, meta) if meta else output.text
