"""`turns`: applies any verifier to selected turns of a conversation, and takes their mean, minimum or last value."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast, get_args

from verikit.base import Verifier
from verikit.compose.combine import Part, as_verifier, whole
from verikit.errors import UsageError
from verikit.messages import CompletionMessage, by_assistant, content_text, thoughts_in
from verikit.replies.split import Reads
from verikit.types import Message, Sample, Score

Rule = Literal["mean", "min", "last"]
MAX_TURNS = 1000
"""Maximum number of the model's turns. A conversation with more gets 0.0 and is not read."""
_KEPT = ("tool_calls", "tool_call_id", "name")
_SLICE = re.compile(r"(-?\d{1,4})?(:)?(-?\d{1,4})?")


@dataclass(frozen=True)
class Turns(Verifier):
    """A verifier applied to selected turns. See `turns`."""

    part: Verifier
    which: str
    rule: Rule
    name = "turns"
    reads: ClassVar[Reads | None] = None

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score the selected turns of all samples in one batch, then apply the rule to each sample."""
        chosen = [self._chosen(sample) for sample in samples]
        scores = iter(self.part.score([turn for found in chosen if not isinstance(found, Score) for turn in found]))
        return [found if isinstance(found, Score) else self._merged([next(scores) for _ in found]) for found in chosen]

    def _chosen(self, sample: Sample) -> list[Sample] | Score:
        messages = sample.messages or ({"role": "assistant", "content": sample.completion},)
        numbers = [number for number, message in enumerate(messages) if by_assistant(message)]
        if len(numbers) > MAX_TURNS:
            return Score(0.0, reason=f"{len(numbers)} turns, over the cap of {MAX_TURNS}")
        if self.which == "said":
            picked = [number for number in numbers if _text(messages[number]).strip()]
        else:
            picked = numbers[_slice(self.which)]
        if not picked:
            return Score(0.0, reason=f"no turn {self.which} among {len(numbers)}")
        if not sample.messages:
            return [sample]
        return [_turn(sample, messages, number) for number in picked]

    def _merged(self, scores: Sequence[Score]) -> Score:
        if len(scores) == 1:
            return scores[0]
        parts = {f"turn {number}": score for number, score in enumerate(scores, 1)}
        for name, score in parts.items():
            if score.status in ("timeout", "error"):
                return whole(parts, None, score.status, f"{name}: {score.reason}")
        live = [score for score in scores if score.value is not None]
        values = [score.value for score in live if score.value is not None]
        if not values:
            return whole(parts, None, "abstained", f"{self.part.name} abstained on every turn")
        if self.rule == "mean":
            return whole(parts, sum(values) / len(values), "ok", f"mean of {len(values)} turns", decided_by=live[-1])
        value = min(values) if self.rule == "min" else values[-1]
        deciding = next(score for score in live if score.value == value) if self.rule == "min" else live[-1]
        return whole(parts, value, "ok", f"{self.rule} of {len(values)} turns: {deciding.reason}", decided_by=deciding)

    def equal(self, a: str, b: str) -> bool | None:
        """Compare with the part."""
        return self.part.equal(a, b)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """The part's keys."""
        return self.part.keys(answer)


def _turn(sample: Sample, messages: Sequence[CompletionMessage], number: int) -> Sample:
    """One turn as a sample, with the earlier messages as its prompt."""
    asked = [Message(role="user", content=sample.prompt)] if isinstance(sample.prompt, str) else sample.prompt
    before = [_asked(turn) for turn in asked if turn.get("content") or turn.get("tool_calls")]
    before += map(_asked, messages[:number])
    message = messages[number]
    meta: Mapping[str, Any] = sample.meta
    return Sample(
        *(before, _text(message), sample.answer, sample.id, meta),
        *(thoughts_in(message), (message,)),
    )


def _asked(message: CompletionMessage) -> Message:
    """A message converted to a prompt message: its text, plus its tool calls and their results."""
    kept = {key: message[key] for key in _KEPT if message.get(key)}
    return cast(Message, {"role": str(message.get("role", "assistant")), "content": _text(message), **kept})


def _text(message: CompletionMessage) -> str:
    """A message's text. Empty if its content has an unreadable format."""
    try:
        return content_text(message.get("content"))
    except UsageError:
        return ""


def _slice(which: str) -> slice:
    """The turns that a string selects.

    Raises:
        UsageError: It selects no turns.
    """
    named = {"all": slice(None), "first": slice(0, 1), "last": slice(-1, None), "said": slice(None)}
    if which in named:
        return named[which]
    match = _SLICE.fullmatch(which)
    if not match or not which or (match[3] and not match[2]):
        raise UsageError(
            f"which must be all, said, first, last, an index or a slice, got {which!r}", hint="which='-2:', which=0"
        )
    start, stop = (int(text) if text else None for text in (match[1], match[3]))
    if match[2]:
        return slice(start, stop)
    index = start or 0
    return slice(index, index + 1 if index != -1 else None)


def turns(part: Part, which: str | int = "all", rule: Rule = "mean") -> Verifier:
    """Apply a verifier to selected turns of the model in a conversation. A string is one turn.

    A turn is scored with its own text, thoughts and tool calls, and the conversation before it is the prompt. Turns on
    which the verifier abstains are excluded. Any other turn without a value leaves the whole without one. A
    conversation without such a turn gets 0.0.

    Args:
        part: A verifier.
        which: The turns: `all`, `said` (those with text), `first`, `last`, an index or a slice (`0`, `-2:`, `1:3`).
            `mean` and `min` apply to all turns selected by that rule.
        rule: `mean`, `min`, or `last`, the value of the last selected turn that has one.

    Raises:
        UsageError: No such turns or rule.
    """
    which = str(which)
    if which in ("mean", "min"):
        which, rule = "all", cast(Rule, which)
    if rule not in get_args(Rule):
        raise UsageError(f"rule must be one of {', '.join(get_args(Rule))}, got {rule!r}")
    _slice(which)
    return Turns(as_verifier(part), which, rule)
