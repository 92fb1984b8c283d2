"""`turns`: applies any verifier to selected turns of a conversation, and takes their mean, minimum or last value."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
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
_SLICE = re.compile(r"(?P<index>-?\d{1,4})|(?P<start>-?\d{1,4})?:(?P<stop>-?\d{1,4})?")


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
        picked = self._picked(messages, numbers)
        if not picked:
            return Score(0.0, reason=f"no turn {self.which} among {len(numbers)}")
        return [_turn(sample, messages, number) for number in picked] if sample.messages else [sample]

    def _picked(self, messages: Sequence[CompletionMessage], numbers: list[int]) -> list[int]:
        if self.which == "said":
            return [number for number in numbers if _text(messages[number]).strip()]
        return numbers[_slice(self.which)]

    def _merged(self, scores: Sequence[Score]) -> Score:
        if len(scores) == 1:
            return scores[0]
        parts = {f"turn {number}": score for number, score in enumerate(scores, 1)}
        for name, score in parts.items():
            if score.status in ("timeout", "error"):
                return whole(parts, None, score.status, f"{name}: {score.reason}")
        live = [(score.value, score) for score in scores if score.value is not None]
        if not live:
            return whole(parts, None, "abstained", f"{self.part.name} abstained on every turn")
        value, deciding = min(live, key=itemgetter(0)) if self.rule == "min" else live[-1]
        if self.rule == "mean":
            mean = sum(map(itemgetter(0), live)) / len(live)
            return whole(parts, mean, "ok", f"mean of {len(live)} turns", decided_by=deciding)
        return whole(parts, value, "ok", f"{self.rule} of {len(live)} turns: {deciding.reason}", decided_by=deciding)

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
    if not match:
        raise UsageError(
            f"which must be all, said, first, last, an index or a slice, got {which!r}", hint="which='-2:', which=0"
        )
    if match["index"]:
        index = int(match["index"])
        return slice(index, index + 1 if index != -1 else None)
    return slice(*(int(text) if text else None for text in (match["start"], match["stop"])))


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
