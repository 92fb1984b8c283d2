"""Did the model call the tools of the reference, and reach the expected state?"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from verikit.base import Verifier, describe_function
from verikit.calls import ToolCall, calls_in, calls_of, load_json, read_call, text_calls
from verikit.errors import UsageError
from verikit.messages import CompletionMessage, by_assistant, continuation
from verikit.names.spec import import_object
from verikit.replies.split import Reads
from verikit.stats.pairing import pairs
from verikit.types import Sample, Score
from verikit.verifiers.tools.arguments import agrees, same
from verikit.verifiers.tools.watch import Doing, StepRules, read_order
from verikit.workspaces.grading import part

TrajectoryMode = Literal["strict", "unordered", "subset", "superset", "f1", "none"]
Arguments = Literal["exact", "ignore", "subset", "superset"]
StateFunction = Callable[[list[dict[str, Any]], Sample], Any]
"""Maps the calls (`name` and `arguments`) and the sample to the resulting state, a JSON value."""


@dataclass(frozen=True, repr=False)
class Trajectory(Verifier):
    """The tool calls of a whole conversation against a reference, with limits, and the state they lead to.

    The reference is a conversation (its messages) or a list of calls. `strict`: the same calls in the same order, for
    messages the same roles with the same calls. `unordered`: the same calls. `subset`: only calls of the reference.
    `superset`: every call of the reference. `f1`: the harmonic mean of precision and recall over calls. A breach of a
    limit is 0.0. So is an unreadable call, if tools are forbidden or `match` is `none`. The rules follow agentevals,
    but calls are paired optimally.
    """

    match: TrajectoryMode = "strict"
    """How calls are compared: `strict`, `unordered`, `subset`, `superset`, `f1`. `none`: only limits and state."""
    arguments: Arguments = "exact"
    """How arguments are compared: `exact`, `ignore`, or the model's are a `subset` or `superset` of the reference's."""
    reference: str = "trajectory"
    """The sample's key with the reference, or its gold answer as JSON or Python-style calls if the key is missing."""
    most: int | None = None
    """Maximum number of calls."""
    forbidden: Sequence[str] = ()
    """Tools that must not be called."""
    state: str | StateFunction | None = None
    """A function `file.py:name` (or `package.module:name`) of the calls, each with name and arguments, and the sample.
    It returns the last state. The state must equal the sample's `final_state`, or the function's result for the
    reference's calls if the sample doesn't have one. If it raises only on the model's calls, the value is 0.0. If it
    also raises on the reference's (without a reference: on no calls), the sample is unscored."""
    never_writes: Sequence[str] = ()
    """Paths and patterns that no step may change. Checked by the difference between `before` and `after` of a
    workspace, and by the commands and calls of the steps, which also show edits that were reverted."""
    never_reads: Sequence[str] = ()
    """Paths and patterns that no step may read. Absolute ones are outside the workspace."""
    never_runs: Sequence[str] = ()
    """Programs that no step may run, with their first words if needed: `git push`."""
    max_steps: int | None = None
    """Maximum number of steps (messages of the assistant)."""
    order: Sequence[str] = ()
    """Actions that must happen in this order: `["runs pytest", "writes src/**", "runs pytest"]`."""
    undecided: float | None = None
    """The value if a command's text doesn't show its effect (`$d`, `eval`). None: unscored."""
    root: str = "/workspace"
    """The workspace's path on the agent's machine. Steps start there."""
    name = "trajectory"
    reads: ClassVar[Reads | None] = None

    def __post_init__(self) -> None:
        for option, allowed in (("match", TrajectoryMode), ("arguments", Arguments)):
            if getattr(self, option) not in get_args(allowed):
                raise UsageError(
                    f"{option} must be one of {', '.join(get_args(allowed))}, got {getattr(self, option)!r}"
                )
        names = (self.forbidden,) if isinstance(self.forbidden, str) else tuple(self.forbidden)
        object.__setattr__(self, "forbidden", names)
        if self.most is not None and self.most < 0:
            raise UsageError(f"most must be at least 0, got {self.most}")
        for option in ("never_writes", "never_reads", "never_runs", "order"):
            told = getattr(self, option)
            object.__setattr__(self, option, (told,) if isinstance(told, str) else tuple(told))
        self._function()
        self._watch()

    def _watch(self) -> StepRules | None:
        """The rules for paths and programs; None if there aren't any."""
        never = [
            *_rules("writes", self.never_writes),
            *_rules("reads", self.never_reads),
            *_rules("runs", self.never_runs),
        ]
        if not never and not self.order and self.max_steps is None:
            return None
        return StepRules(tuple(never), read_order(self.order), self.max_steps, self.undecided, self.root)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        function = self._function()
        return [self._score_sample(sample, function) for sample in samples]

    def _function(self) -> StateFunction | None:
        found: Any = import_object(self.state) if isinstance(self.state, str) else self.state
        if found is not None and not callable(found):
            raise UsageError(f"state must name a function, {self.state!r} is a {type(found).__name__}")
        return found  # type: ignore[no-any-return]

    def _score_sample(self, sample: Sample, function: StateFunction | None) -> Score:
        made = calls_of(sample)
        # With limits only, the gold answer belongs to another verifier.
        fallback = None if self.match == "none" and function is None else sample.answer
        told: Any = sample.meta.get(self.reference, fallback)
        wanted, turns, problem = _reference(told, sample) if told is not None else ([], None, "")
        if problem:
            return Score.error(f"the reference can't be read: {problem}")
        if broken := self._broken(made):
            return Score(0.0, reason=broken)
        watch = self._watch()
        watched = None if watch is None else part(lambda: watch.score(sample))
        alone = self.match == "none" and function is None
        if watched is not None and (alone or not watched.passed):
            return watched
        needs = self.match != "none" or (function is not None and "final_state" not in sample.meta)
        if told is None and needs:
            return Score.abstained(f"reference not found under {self.reference!r} or as the answer")
        if self.match == "none":
            compared = Score(1.0, reason="within the limits")
        else:
            compared = self._compared(made, wanted, turns, sample)
        if function is None:
            return compared
        reached = _reached(function, made, wanted, sample)
        value = min(compared.filled(0.0), reached.filled(0.0))
        reason = reached.reason if reached.filled(0.0) <= compared.filled(0.0) else compared.reason
        return Score(value, reason=reason, parts={"calls": compared, "state": reached})

    def _broken(self, made: Sequence[ToolCall]) -> str:
        if self.most is not None and len(made) > self.most:
            return f"{len(made)} calls, over the most of {self.most}"
        called = next((call.name for call in made if call.name in self.forbidden), None)
        if called is not None:
            return f"calls {called!r}, which is forbidden"
        if not self.forbidden and self.match != "none":
            return ""  # it matches nothing
        return next((call.problem for call in made if call.problem), "")

    def _compared(
        self,
        made: Sequence[ToolCall],
        wanted: Sequence[ToolCall],
        turns: Sequence[CompletionMessage] | None,
        sample: Sample,
    ) -> Score:
        if self.match == "strict":
            problem = self._strict(made, wanted, turns, sample)
            return Score(0.0 if problem else 1.0, reason=problem or "the reference's calls in its order")
        here, there = len(pairs(wanted, made, self._fits)), len(wanted)
        if self.match == "f1":
            total = len(made) + there
            value = 2 * here / total if total else 1.0
            return Score(value, reason=f"{here} of {there} expected calls, {len(made)} made")
        complete = here == there
        # Both directions: as in agentevals, the model's arguments act as the reference in the second one.
        within = len(pairs(made, wanted, self._fits)) == len(made)
        right = {"superset": complete, "subset": within, "unordered": complete and within}[self.match]
        return Score(float(right), reason=f"{here} of {there} expected calls, {len(made)} made")

    def _strict(
        self,
        made: Sequence[ToolCall],
        wanted: Sequence[ToolCall],
        turns: Sequence[CompletionMessage] | None,
        sample: Sample,
    ) -> str:
        if turns is None or not sample.messages:
            if len(made) != len(wanted):
                return f"{len(made)} calls, {len(wanted)} expected"
            wrong = next((i for i, call in enumerate(made) if not self._fits(wanted[i], call)), None)
            return "" if wrong is None else f"call {wrong + 1} is {made[wrong].name!r} with other arguments or name"
        done = continuation(sample.messages, "")
        if [_role(message) for message in done] != [_role(message) for message in turns]:
            return f"{len(done)} messages whose roles are not those of the reference's {len(turns)}"
        for number, (message, expected) in enumerate(zip(done, turns, strict=True), 1):
            ours, theirs = calls_in([message]), calls_in([expected])
            if len(ours) != len(theirs) or len(pairs(theirs, ours, self._fits)) != len(theirs):
                return f"message {number} makes other calls"
        return ""

    def _fits(self, wanted: ToolCall, made: ToolCall) -> bool:
        """Whether a call is the expected one."""
        if made.name != wanted.name or made.problem or wanted.problem:
            return False
        if self.arguments == "ignore":
            return True
        ours, theirs = made.arguments, wanted.arguments
        if self.arguments == "exact":
            return agrees(ours, theirs) or agrees(theirs, ours)  # the model's may act as the reference
        less, more = (ours, theirs) if self.arguments == "subset" else (theirs, ours)
        return all(agrees(more.get(key), value) for key, value in less.items())

    def __repr__(self) -> str:
        """All options, and the source of the state's function."""
        function = self._function()
        told = None if function is None else describe_function(function)
        return (
            f"Trajectory(match={self.match!r}, arguments={self.arguments!r}, reference={self.reference!r}, "
            f"most={self.most!r}, forbidden={tuple(self.forbidden)!r}, state={told!r}{self._watched()})"
        )

    def _watched(self) -> str:
        watch = self._watch()
        return "" if watch is None else f", watch={watch!r}"


def _rules(doing: Doing, targets: Sequence[str]) -> list[tuple[Doing, str]]:
    return [(doing, target) for target in targets]


def _role(message: CompletionMessage) -> Any:
    return "assistant" if by_assistant(message) else message.get("role")


def _reference(told: Any, sample: Sample) -> tuple[list[ToolCall], Sequence[CompletionMessage] | None, str]:
    """A reference's calls, its messages if it has any, and the problem with it."""
    if isinstance(told, str):
        value, problem = load_json(told)
        if problem and (calls := text_calls(told)):
            return calls, None, next((call.problem for call in calls if call.problem), "")
        if problem:
            return [], None, problem
        told = value
    if isinstance(told, Mapping):
        told = told.get("messages", [told])
    if not isinstance(told, Sequence) or not all(isinstance(message, Mapping) for message in told):
        return [], None, "a list of messages or of calls is expected"
    if any("role" in message for message in told):
        turns = continuation(told, "")
        calls = calls_in(turns)
        return calls, turns, next((call.problem for call in calls if call.problem), "")
    calls = [read_call(message) for message in told]
    return calls, None, next((call.problem for call in calls if call.problem), "")


def _reached(function: StateFunction, made: Sequence[ToolCall], wanted: Sequence[ToolCall], sample: Sample) -> Score:
    """Whether the calls lead to the expected state; 0.0 if the function accepts the reference's calls and not these."""
    broken = next((call.problem for call in made if call.problem), "")
    if broken:
        return Score(0.0, reason=broken)
    expected = sample.meta["final_state"] if "final_state" in sample.meta else function(_plain(wanted), sample)
    try:
        state = function(_plain(made), sample)
    except Exception as error:  # noqa: BLE001  # the user's function, on the model's arguments
        function(_plain(wanted), sample)  # if this raises too, the function is wrong
        return Score(0.0, reason=f"the calls can't be carried out: {type(error).__name__}: {str(error)[:120]}")
    right = same(state, expected)
    return Score(float(right), reason="the expected last state" if right else f"another last state: {_short(state)}")


def _plain(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    return [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]


def _short(state: Any) -> str:
    try:
        return json.dumps(state, default=str)[:120]
    except (TypeError, ValueError, RecursionError):
        return "(no JSON)"
