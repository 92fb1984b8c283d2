"""The rollout: sample one turn, run its calls, append their results, continue.

Token in, token out: sampled ids stay unchanged, and a result is encoded once, when it is appended. So the mask is exact
by construction. Each rollout continues as soon as its own calls have results. Calls that wait at the same time run
together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from verikit.calls import ToolCall
from verikit.engines.rollouts import Rollout, Together
from verikit.engines.types import Generation, Output, Request
from verikit.errors import ContextOverflow, EngineError, VerikitError
from verikit.trainers.recipe import StepReward, Transcript
from verikit.trainers.recipes.tools.forms import ReadTurn, ToolForm
from verikit.trainers.recipes.tools.toolbox import Toolbox, ToolResult

AT_ONCE = 64
"""Maximum calls to run together."""
Seeds = Callable[[int, int], int]
"""(Index of the rollout, turn) -> seed."""


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """How rollouts are sampled and bounded."""

    turns: int
    """Maximum turns of the model. The calls of the last one are not run, which truncates the rollout."""
    calls: int
    """Maximum calls to run. Further calls get an error message."""
    turn_tokens: int
    """Maximum sampled tokens per turn."""
    total_tokens: int
    """Maximum tokens of prompt, model and results together."""
    temperature: float = 1.0
    top_p: float = 1.0


@dataclass(slots=True)
class ToolRollout:
    """A growing conversation: its tokens, and its messages in OpenAI's format."""

    transcript: Transcript
    messages: list[dict[str, Any]] = field(default_factory=list)
    """Messages after the prompt: the assistant's turns with their `tool_calls`, and the tools' results."""
    text: str = ""
    """The same as a string, as the model sees it."""
    turns: int = 0
    calls: int = 0
    failed: int = 0
    """Calls that were answered with an error message."""
    turn_rewards: list[StepReward] = field(default_factory=list)
    """1 for a turn whose calls all ran without an error, otherwise 0. Turns whose calls were not run have no entry."""
    finished: bool = False
    """Whether the model ended it. False if a limit truncated it."""
    error: VerikitError | None = None
    """Error that left it unscored: a failure of the engine or a tool, never of the model."""


@dataclass(frozen=True, slots=True)
class AskingTurn:
    """A turn that waits for its calls."""

    rollout: ToolRollout
    text: str
    end: str
    """The end token's text."""
    read: ReadTurn


class ToolRollouts:
    """Shared state of all rollouts of a batch."""

    def __init__(
        self, form: ToolForm, toolbox: Toolbox, limits: RolloutLimits, seeds: Seeds, *, logprobs: bool = True
    ) -> None:
        self._form, self._toolbox, self._limits, self._seeds, self._logprobs = form, toolbox, limits, seeds, logprobs

    def roll_out(self, index: int, prompt: Sequence[int]) -> Rollout[ToolRollout]:
        """Roll a prompt out to the model's last turn or a limit. An infrastructure error is stored in the rollout."""
        rollout, limits = ToolRollout(Transcript(prompt)), self._limits
        for turn in range(limits.turns):
            room = _room(rollout, limits)
            if room <= 0:
                break
            generation = yield Request(
                list(rollout.transcript.ids),
                max_tokens=min(limits.turn_tokens, room),
                temperature=limits.temperature,
                top_p=limits.top_p,
                stop=self._form.stop,
                seed=self._seeds(index, turn),
                logprobs=0 if self._logprobs else None,
            )
            asking = _hear(rollout, self._form, generation)
            if asking is None or turn == limits.turns - 1:
                break
            yield from self._answer(asking)
            if rollout.error is not None:
                break
        return rollout

    def _answer(self, asking: AskingTurn) -> Rollout[None]:
        """Run the calls of a turn, and append their results."""
        limits, calls = self._limits, asking.read.calls
        run = calls[: max(0, limits.calls - asking.rollout.calls)]
        results = yield [Together(self._toolbox.answer, call, AT_ONCE) for call in run]
        shown = calls[: len(run) + 1]  # only the first call over the limit gets the error message
        if len(shown) > len(run):
            text = f"error: no more than {limits.calls} calls are allowed: answer now"
            results = [*results, ToolResult(text, failed=True)]
        _append(asking, self._form, shown, results, limits)


def rollout_metrics(rollouts: Sequence[ToolRollout]) -> dict[str, float]:
    """Return mean turns and calls, and fractions: rollouts with calls or errors, failed calls, tool tokens."""
    if not rollouts:
        return {}
    calls = sum(rollout.calls for rollout in rollouts)
    after = [rollout.transcript.mask[_prompt(rollout) :] for rollout in rollouts]
    foreign = sum(map(len, after)) - sum(map(sum, after))
    return {
        "turns": fmean(rollout.turns for rollout in rollouts),
        "calls": calls / len(rollouts),
        "called": fmean(rollout.calls > 0 for rollout in rollouts),
        "failed_calls": sum(rollout.failed for rollout in rollouts) / (calls or 1),
        "observation_share": foreign / (sum(map(len, after)) or 1),
        "faults": fmean(rollout.error is not None for rollout in rollouts),
    }


def _output(rollout: ToolRollout, generation: Generation) -> Output | None:
    """Return the sampled turn, or None. If an error caused it, it is stored in the rollout."""
    if isinstance(generation.error, ContextOverflow) and rollout.turns:
        return None  # the sampled and shown tokens fill the context: truncated, as by any other limit
    if generation.error is not None or not generation.outputs:
        rollout.error = generation.error or EngineError("the engine gave 0 outputs of 1")
        return None
    output = generation.outputs[0]
    if not output.ids:
        rollout.error = EngineError("the engine gave no token ids", hint="tools need an engine that does")
        return None
    return output


def _hear(rollout: ToolRollout, form: ToolForm, generation: Generation) -> AskingTurn | None:
    """Record a turn. Return it if it has calls to run."""
    output = _output(rollout, generation)
    if output is None:
        return None
    rollout.transcript.sampled(output)
    whole = output.finish_reason == "stop"
    text, end = form.text(output.ids, ended=whole)
    rollout.text += text + end
    rollout.turns += 1
    read = form.read(text) if whole else ReadTurn(text, [])
    message: dict[str, Any] = {"role": "assistant", "content": read.said.strip()}
    if read.calls:
        message["tool_calls"] = [_as_message(call, rollout.turns, at) for at, call in enumerate(read.calls)]
    rollout.messages.append(message)
    rollout.finished = whole and not read.calls
    return AskingTurn(rollout, text, end, read) if read.calls else None


def _append(
    turn: AskingTurn, form: ToolForm, calls: Sequence[ToolCall], results: Sequence[ToolResult], limits: RolloutLimits
) -> None:
    rollout = turn.rollout
    rollout.calls += len(results)
    rollout.failed += sum(result.failed for result in results)
    if fault := next((result.fault for result in results if result.fault), ""):
        rollout.error = VerikitError(fault)
        return
    ran = not any(result.failed for result in results)
    rollout.turn_rewards.append(StepReward(len(rollout.transcript.ids) - 1, float(ran)))
    ids = form.observation(turn.text, turn.end, calls, results)
    for at, result in enumerate(results):
        identity = f"call-{rollout.turns}-{at}"
        rollout.messages.append({"role": "tool", "tool_call_id": identity, "content": result.text})
    rollout.text += form.tokenizer.decode(ids, skip_special_tokens=False)
    rollout.transcript.foreign(ids[: max(0, _room(rollout, limits))])


def _as_message(call: ToolCall, turn: int, at: int) -> dict[str, Any]:
    """Return a call in a message's format. Unreadable calls are included."""
    arguments = f"({call.problem})" if call.problem else json.dumps(dict(call.arguments), ensure_ascii=False)
    function = {"name": call.name or "unknown", "arguments": arguments}
    return {"id": f"call-{turn}-{at}", "type": "function", "function": function}


def _room(rollout: ToolRollout, limits: RolloutLimits) -> int:
    return limits.total_tokens - len(rollout.transcript.ids)


def _prompt(rollout: ToolRollout) -> int:
    mask = rollout.transcript.mask
    return mask.index(True) if True in mask else len(mask)
