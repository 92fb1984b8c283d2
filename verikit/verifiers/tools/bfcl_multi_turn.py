"""BFCL's multi-turn rows (Patil et al. 2025): do the calls leave its simulated services as the expected ones do?"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar

from verikit.base import Verifier
from verikit.calls import ToolCall, calls_in, load_json, text_calls
from verikit.errors import MissingExtra
from verikit.messages import by_assistant
from verikit.replies.split import Reads, reply_text
from verikit.sandbox import ISOLATION, LocalSandbox, RunLimits, default_sandbox
from verikit.sandbox.guest import source
from verikit.types import Sample, Score

MAX_MADE = 2000
"""Maximum calls of a conversation; more are 0.0."""
Played = tuple[str, list[Any], dict[str, Any]]
"""A call's name, positional arguments and named ones."""


@dataclass(frozen=True)
class BfclMultiTurn(Verifier):
    """1.0 if after each turn the simulated services and results match the results of the expected calls.

    A row is BFCL's: `initial_config`, `involved_classes`, and `calls` or `ground_truth`, a list of calls per turn. The
    completion is the conversation as messages, or the `result` of bfcl-eval: a list of turns, each a list of replies.
    Calls run in the sandbox on the services of bfcl-eval, which must be installed. The answer of the score is the calls
    of each turn.
    """

    calls: str = "calls"
    """The sample's key with the expected calls of each turn, or `ground_truth` if it is missing."""
    wall_s: float = 20.0
    """Seconds per conversation. A longer one is 0.0."""
    memory_mb: int = 1024
    """Memory of its process, in MiB."""
    name = "bfcl_multi_turn"
    reads: ClassVar[Reads | None] = None

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample in its own child.

        Raises:
            MissingExtra: bfcl-eval is not installed.
            SandboxUnavailable: This machine can't isolate programs; the message names the missing part.
        """
        need_services()
        box = default_sandbox(ISOLATION)
        with ThreadPoolExecutor(box.workers, thread_name_prefix="verikit-bfcl") as threads:
            return list(threads.map(lambda sample: self._score_sample(sample, box), samples))

    @property
    def slowest_s(self) -> float:
        """The deadline of one conversation."""
        return self.wall_s

    def environment(self) -> dict[str, Any]:
        """The properties of the sandbox, as its probes found them."""
        return {"sandbox": default_sandbox(ISOLATION).report.as_dict()}

    def _score_sample(self, sample: Sample, box: LocalSandbox) -> Score:
        config, classes = sample.meta.get("initial_config"), sample.meta.get("involved_classes")
        if not isinstance(config, Mapping) or not isinstance(classes, list):
            return Score.error("The row has no `initial_config` and `involved_classes` of BFCL's multi-turn items.")
        turns = sample.meta.get(self.calls, sample.meta.get("ground_truth"))
        try:
            expected = [[_expected(call) for call in turn] for turn in turns]
        except (KeyError, TypeError, ValueError, SyntaxError, RecursionError) as error:
            return Score.error(f"The expected calls under {self.calls!r} can't be read: {str(error)[:200]}")
        made = list(_turns(sample))
        answer = json.dumps([[{name: named} for name, _, named in turn] for turn in made]) if any(made) else None
        return replace(self._judged(sample, made, expected, box), answer=answer)

    def _judged(
        self, sample: Sample, made: Sequence[Sequence[Played]], expected: Sequence[Sequence[Played]], box: LocalSandbox
    ) -> Score:
        if len(made) != len(expected):
            return Score(0.0, reason=f"{len(made)} turns, {len(expected)} expected")
        if sum(map(len, made)) > MAX_MADE:
            return Score(0.0, reason=f"more than {MAX_MADE} calls")
        for number, (turn, wanted) in enumerate(zip(made, expected, strict=True)):
            if wanted and not turn:
                return Score(0.0, reason=f"turn {number}: no call was made")
        row: dict[str, Any] = {"expected": expected, "made": made}
        row |= {"config": sample.meta["initial_config"], "classes": sample.meta["involved_classes"]}
        row["long"] = has_long_context(f"{sample.id} {sample.meta.get('category')}")
        try:
            text = json.dumps(row)
        except (TypeError, ValueError) as error:
            return Score.error(f"The row is not JSON: {error}")
        return self._played(text, box)

    def _played(self, row: str, box: LocalSandbox) -> Score:
        limits = RunLimits(wall_s=self.wall_s, memory_mb=self.memory_mb)
        result = box.run(source("bfcl"), call=("play", [row], {}), limits=limits)
        if result.status == "infra_error":
            return Score.error(f"The sandbox failed: {result.error}")
        if result.status != "ok":
            return Score(0.0, reason=f"{result.status} while the calls were played ({result.error})"[:500])
        kind, told = result.value
        if kind == "row":
            return Score.error(str(told)[:500])
        return Score(float(kind == "right"), reason=str(told)[:500] or "the expected states and results")


def need_services() -> None:
    """Check that the simulated services are installed.

    Raises:
        MissingExtra: They are not.
    """
    if not _installed():
        raise MissingExtra("bfcl_multi_turn", "bfcl")


def has_long_context(category: str) -> bool:
    """Whether the services of a category's rows, or of a row's id, are filled up with more content."""
    return "long_context" in category or "composite" in category


def reply_calls(reply: str) -> list[Played]:
    """The calls of a reply that contains only calls; empty if one of them can't be read, as in BFCL."""
    return _step(text_calls(reply_text(reply)))


@cache
def _installed() -> bool:
    return find_spec("bfcl_eval") is not None and find_spec("mpmath") is not None


def _expected(call: Any) -> Played:
    """A call of the row, `f('x', a=1)`, as data.

    Raises:
        ValueError: It is not a call with literals.
    """
    node = ast.parse(call, mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"{call!r} is not a call")
    named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    return node.func.id, [ast.literal_eval(argument) for argument in node.args], named


def _turns(sample: Sample) -> Iterator[list[Played]]:
    """The calls of each turn, from replies that contain only calls; a user's message starts a turn."""
    if sample.messages:
        turn: list[Played] | None = None
        for message in sample.messages:
            if message.get("role") == "user" and turn is not None:
                yield turn
            if message.get("role") == "user" or turn is None:
                turn = []
            if by_assistant(message):
                content = message.get("content")
                calls = calls_in([message]) or text_calls(reply_text(content if isinstance(content, str) else ""))
                turn += _step(calls)
        if turn is not None:
            yield turn
        return
    turns, problem = load_json(sample.completion)
    for steps in turns if isinstance(turns, list) and not problem else ():
        replies = steps if isinstance(steps, list) else ()
        yield [call for reply in replies if isinstance(reply, str) for call in reply_calls(reply)]


def _step(calls: Sequence[ToolCall]) -> list[Played]:
    """The calls of one reply; empty if one of them can't be read, as in BFCL."""
    if any(call.problem or not _plain(call.arguments) for call in calls):
        return []
    return [(call.name, [], dict(call.arguments)) for call in calls]


def _plain(arguments: Mapping[str, Any]) -> bool:
    try:
        json.dumps(arguments)
    except (TypeError, ValueError):
        return False
    return True
