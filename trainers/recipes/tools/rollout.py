"""The rollout: sample a turn, run its calls, append what they gave, go on.

Token in, token out: sampled ids are kept as they were sampled, and a result is encoded once, when it is appended. So
the mask is exact by construction. Each rollout goes on as soon as its own calls are answered; calls that wait together
are run together.
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
"""Calls that are run together."""
Seeds = Callable[[int, int], int]
"""(Index of the rollout, turn) -> seed."""


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """How rollouts are sampled and bounded."""

    turns: int
    """Turns of the model; the calls of the last one are not run, which cuts the rollout off."""
    calls: int
    """Calls that are run; what asks for more is told so."""
    turn_tokens: int
    """Sampled tokens of a turn."""
    total_tokens: int
    """Of prompt, model and results together."""
    temperature: float = 1.0
    top_p: float = 1.0


@dataclass(slots=True)
class ToolRollout:
    """A conversation while it grows: its tokens, and its messages in OpenAI's form."""

    transcript: Transcript
    messages: list[dict[str, Any]] = field(default_factory=list)
    """What follows the prompt: the assistant's turns with their `tool_calls`, and the tools' results."""
    text: str = ""
    """The same as text, as the model sees it."""
    turns: int = 0
    calls: int = 0
    failed: int = 0
    """Calls that were answered by what is wrong with them."""
    turn_rewards: list[StepReward] = field(default_factory=list)
    """1 for a turn whose calls all ran without an error, else 0; none for a turn whose calls were not run."""
    finished: bool = False
    """Whether the model ended it; False where a limit cut it off."""
    error: VerikitError | None = None
    """What left it unscored: a fault of the engine or a tool, never the model's doing."""


@dataclass(frozen=True, slots=True)
class AskingTurn:
    """A turn that waits for its calls."""

    rollout: ToolRollout
    text: str
    end: str
    """The end token's text."""
    read: ReadTurn


class ToolRollouts:
    """What every rollout of a batch needs."""

    def __init__(
        self, form: ToolForm, toolbox: Toolbox, limits: RolloutLimits, seeds: Seeds, *, logprobs: bool = True
    ) -> None:
        self._form, self._toolbox, self._limits, self._seeds, self._logprobs = form, toolbox, limits, seeds, logprobs

    def roll_out(self, index: int, prompt: Sequence[int]) -> Rollout[ToolRollout]:
        """Roll a prompt out to the model's last word or a limit; a fault is data on the rollout."""
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
        """Run the calls of a turn, and append what came of them."""
        limits, calls = self._limits, asking.read.calls
        run = calls[: max(0, limits.calls - asking.rollout.calls)]
        results = yield [Together(self._toolbox.answer, call, AT_ONCE) for call in run]
        shown = calls[: len(run) + 1]  # of what is over the limit the first call is told so
        if len(shown) > len(run):
            text = f"error: no more than {limits.calls} calls are allowed: answer now"
            results = [*results, ToolResult(text, failed=True)]
        _append(asking, self._form, shown, results, limits)


def rollout_metrics(rollouts: Sequence[ToolRollout]) -> dict[str, float]:
    """Return means over rollouts: turns, calls, the share that called, that failed; shares of calls and of tokens."""
    if not rollouts:
        return {}
    calls = sum(rollout.calls for rollout in rollouts)
    after = [rollout.transcript.mask[_prompt(rollout) :] for rollout in rollouts]
    foreign = sum(len(mask) - sum(mask) for mask in after)
    return {
        "turns": fmean(rollout.turns for rollout in rollouts),
        "calls": calls / len(rollouts),
        "called": fmean(rollout.calls > 0 for rollout in rollouts),
        "failed_calls": sum(rollout.failed for rollout in rollouts) / (calls or 1),
        "observation_share": foreign / (sum(map(len, after)) or 1),
        "faults": fmean(rollout.error is not None for rollout in rollouts),
    }


def _output(rollout: ToolRollout, generation: Generation) -> Output | None:
    """The sampled turn; None if there is none, and the rollout has the reason if that is an error."""
    if isinstance(generation.error, ContextOverflow) and rollout.turns:
        return None  # what was sampled and shown fills the context: cut off, as by any other limit
    if generation.error is not None or not generation.outputs:
        rollout.error = generation.error or EngineError("the engine gave 0 outputs of 1")
        return None
    output = generation.outputs[0]
    if not output.ids:
        rollout.error = EngineError("the engine gave no token ids", hint="tools need an engine that does")
        return None
    return output


def _hear(rollout: ToolRollout, form: ToolForm, generation: Generation) -> AskingTurn | None:
    """Write a turn down; what is returned has calls to run."""
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
    """A call as a message holds it; one that can't be read stays one."""
    arguments = f"({call.problem})" if call.problem else json.dumps(dict(call.arguments), ensure_ascii=False)
    function = {"name": call.name or "unknown", "arguments": arguments}
    return {"id": f"call-{turn}-{at}", "type": "function", "function": function}


def _room(rollout: ToolRollout, limits: RolloutLimits) -> int:
    return limits.total_tokens - len(rollout.transcript.ids)


def _prompt(rollout: ToolRollout) -> int:
    mask = rollout.transcript.mask
    return mask.index(True) if True in mask else len(mask)
