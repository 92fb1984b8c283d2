"""The data types: inputs to score (`Sample`, `Group`) and results (`Score`).

The first guarantee is that **an error is never a zero.** A score has a value or a reason why it has none.
`float(score)` raises rather than invent a number. The cause decides which. Problems caused by the *candidate* (it
crashes, loops, hides its answer) score ``0.0, ok`` with the reason. Problems caused by *verikit or the data* (a worker,
an engine, an unreadable gold answer) have no value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict, get_args

from verikit.errors import EngineError, Unscored
from verikit.messages import CompletionMessage, last_said, messages_of, rebuilt, thoughts_beside, thoughts_in

if TYPE_CHECKING:
    from verikit.workspaces import TaskWorkspace, Workspace


class Message(TypedDict, total=False):
    """One turn of a conversation, in OpenAI's format. Keys other than these two are preserved."""

    role: Required[str]
    content: Required[str]


Prompt = str | Sequence[Message]
"""The prompt: a string, or the turns of a conversation."""
Gold = str | Sequence[str] | None
"""A gold answer. A sequence lists accepted answers, any one of which is right."""
JsonObject = Mapping[str, Any]
"""An object of a JSON file that a run wrote: a row, a summary, a configuration. Treat it as immutable."""

Status = Literal["ok", "abstained", "timeout", "error"]
"""`abstained`: the verifier does not apply.

`timeout` and `error`: caused by verikit or the data, never by the candidate.
"""
STATUSES: tuple[Status, ...] = get_args(Status)
"""Every status, as values."""

PASS_MARK = 0.5
"""A score of at least this is treated as right wherever a yes or no is needed (gates, juries, pass@k)."""

UNIT = (0.0, 1.0)
"""The range of values, unless a verifier's `bounds` override it."""

LABEL, ASKS = "label", "asks"
"""Names of the parts of a judged criterion's score: labels by people, and the verdict of each judge call."""


WORKSPACE = "workspace"
"""The key of a row that names an agent's files."""

_set = object.__setattr__


@dataclass(frozen=True, slots=True, init=False)
class Sample:
    """One candidate answer to one prompt: the input of a verifier.

    A completion may be given as a list of messages. These become `messages`, the assistant's last text becomes
    `completion`, and all thoughts in the messages become `thoughts`.

    Raises:
        UsageError: The completion is neither a string nor messages.
    """

    prompt: Prompt = ""
    completion: str = ""
    answer: Gold = None
    id: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    thoughts: str = ""
    """The model's thoughts, if they came separately from the completion (`reasoning_content`)."""
    messages: Sequence[CompletionMessage] = ()
    """The completion's messages with their tool calls and tool results. Empty if the completion came as a string."""
    workspace: Workspace | TaskWorkspace | None = None
    """The files that an agent left, if the task requires any."""

    def __init__(
        self,
        prompt: Prompt = "",
        completion: str | Sequence[CompletionMessage] = "",
        answer: Gold = None,
        id: str = "",
        meta: Mapping[str, Any] | None = None,
        thoughts: str = "",
        messages: Sequence[CompletionMessage] = (),
        workspace: Workspace | TaskWorkspace | None = None,
    ) -> None:
        if type(completion) is not str and not isinstance(completion, str):
            messages = messages_of(completion)
            thoughts = thoughts or thoughts_beside(messages)
            completion = last_said(messages)
        # Written by hand: a generated one takes a third longer, and there is one sample per candidate.
        _set(self, "prompt", prompt)
        _set(self, "completion", completion)
        _set(self, "answer", answer)
        _set(self, "id", id)
        _set(self, "meta", {} if meta is None else meta)
        _set(self, "thoughts", thoughts)
        _set(self, "messages", messages)
        _set(self, "workspace", workspace)


@dataclass(frozen=True, slots=True)
class Group:
    """One prompt with all its candidates: the unit of best-of-N."""

    prompt: Prompt = ""
    completions: Sequence[str] = ()
    answer: Gold = None
    id: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    candidate_meta: Sequence[Mapping[str, Any]] = ()
    """Each candidate's own keys (a stored reward, say), parallel to `completions`. May be empty."""
    folder: str = ""
    """Folder of the row's file, to which its workspace paths are relative. "" if it has no workspace."""

    def samples(self) -> list[Sample]:
        """One sample per completion. A candidate's own keys take precedence over the group's."""
        if self.folder:
            return [self._with_workspace(sample) for sample in replace(self, folder="").samples()]
        if not self.candidate_meta:
            return [Sample(self.prompt, text, self.answer, self.id, self.meta) for text in self.completions]
        return [
            self._with_own(text, keys) if keys else Sample(self.prompt, text, self.answer, self.id, self.meta)
            for text, keys in zip(self.completions, self.candidate_meta, strict=True)
        ]

    def _with_workspace(self, sample: Sample) -> Sample:
        from verikit.workspaces import TaskWorkspace

        told = sample.meta.get(WORKSPACE)
        return sample if told is None else replace(sample, workspace=TaskWorkspace(told, self.folder))

    def _with_own(self, text: str, keys: Mapping[str, Any]) -> Sample:
        meta = {**self.meta, **keys}
        return Sample(self.prompt, text, self.answer, self.id, meta, thoughts_in(keys), rebuilt(text, keys))


@dataclass(frozen=True, slots=True, init=False)
class Score:
    """A verifier's verdict on one sample: a finite value, or a status with the reason why there is no value."""

    value: float | None
    status: Status = "ok"
    answer: str | None = None
    """The answer extracted from the completion, if any."""
    reason: str = ""
    """The rule that decided, or why there is no value. One line."""
    parts: Mapping[str, Score] = field(default_factory=dict)
    """The scores that this one was computed from, by verifier name."""
    steps: tuple[Score, ...] = ()
    """Scores of the single steps of a solution (process rewards)."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """Tokens, calls and cost used by the verifier."""
    seconds: float | None = None
    text: str = ""
    """Text written on the way to the verdict (a rationale, code with its output), for people to read."""
    cause: EngineError | None = field(default=None, compare=False, repr=False)
    """The engine's error that left it without a value. A run whose engine is unreachable stops with this error."""

    def __init__(
        self,
        value: float | None,
        status: Status = "ok",
        answer: str | None = None,
        reason: str = "",
        parts: Mapping[str, Score] | None = None,
        steps: tuple[Score, ...] = (),
        usage: Mapping[str, float] | None = None,
        seconds: float | None = None,
        text: str = "",
        cause: EngineError | None = None,
    ) -> None:
        if status not in STATUSES:
            raise ValueError(f"status must be one of {', '.join(STATUSES)}, got {status!r}")
        if (value is None) != (status != "ok"):
            raise ValueError(f"a score has a value exactly if its status is 'ok', got {value!r} with {status!r}")
        if value is not None:
            number = float(value)
            if not math.isfinite(number):
                raise ValueError(f"a score's value must be finite, got {value!r}")
            value = number
        # Written by hand: a generated one takes twice as long, and there is one score per candidate.
        _set(self, "value", value)
        _set(self, "status", status)
        _set(self, "answer", answer)
        _set(self, "reason", reason)
        _set(self, "parts", {} if parts is None else parts)
        _set(self, "steps", steps)
        _set(self, "usage", {} if usage is None else usage)
        _set(self, "seconds", seconds)
        _set(self, "text", text)
        _set(self, "cause", cause)

    def as_dict(self) -> dict[str, Any]:
        """Return all fields of the score, its parts and steps as plain data, except for `cause`, which is not data."""
        return asdict(self, dict_factory=lambda pairs: {name: value for name, value in pairs if name != "cause"})

    @classmethod
    def abstained(cls, reason: str, **details: Any) -> Score:
        """The verifier does not apply to this sample."""
        return cls(None, "abstained", reason=reason, **details)

    @classmethod
    def error(cls, reason: str, **details: Any) -> Score:
        """An error of verikit or the data. The candidate is not the cause."""
        return cls(None, "error", reason=reason, **details)

    @classmethod
    def timeout(cls, reason: str, **details: Any) -> Score:
        """A time limit of verikit was reached. The candidate is not the cause."""
        return cls(None, "timeout", reason=reason, **details)

    @property
    def scored(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    @property
    def passed(self) -> bool:
        """Whether the value reaches `PASS_MARK`. False if there is no value."""
        return self.value is not None and self.value >= PASS_MARK

    def __float__(self) -> float:
        if self.value is None:
            raise Unscored(
                f"the sample is unscored ({self.status}): {self.reason or 'no reason given'}",
                hint="check .scored first, or use .filled(default) to get a number",
            )
        return self.value

    def filled(self, default: float) -> float:
        """Return the value, or `default` if there is none."""
        return default if self.value is None else self.value
