"""Effects of turns, with the folders of shells that last over the calls of a tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from verikit.calls import ToolCall, calls_in
from verikit.messages import CompletionMessage, by_assistant, content_text
from verikit.verifiers.tools.effects import Effect, shell_effects
from verikit.verifiers.tools.folders import CallResult, KeptShell, may_move
from verikit.verifiers.tools.steps import effects_of

_COMMAND_KEYS = ("command", "cmd", "script")
_ASIDE = frozenset("timeout timeout_ms description thought explanation".split())
"""Arguments of a call that change neither its shell nor its folder."""


class Shells:
    """Follows the folders of shells that last over calls.

    Args:
        kept: The names of tools whose calls share one shell each.
        root: The path of the workspace on the agent's machine.
    """

    def __init__(self, kept: Collection[str], root: str) -> None:
        self._shells = {name: KeptShell() for name in kept}
        self._root = root

    def effects(self, turns: Sequence[CompletionMessage]) -> Iterator[tuple[int, Effect]]:
        """The effects of each step, with its number from 1."""
        number = 0
        for at, turn in enumerate(turns):
            if by_assistant(turn):
                number += 1
                yield from ((number, effect) for effect in self._of_turn(turn, turns, at + 1))

    def _of_turn(self, turn: CompletionMessage, turns: Sequence[CompletionMessage], after: int) -> Iterator[Effect]:
        calls = calls_in([turn])
        if not self._shells:
            for call in calls:
                yield from effects_of(call, self._root)
            return
        uncertain = self._uncertain(calls)
        for call, result in zip(calls, _results(turn, turns, after, len(calls)), strict=True):
            shell, script = self._shells.get(call.name), _script(call)
            if shell is None or script is None or call.name in uncertain:
                start = "" if shell is None else None
                yield from effects_of(call, self._root, start)
            else:
                yield from shell_effects(script, self._root, shell.start(script))
                shell.ran(script, result)
        for name in uncertain:
            self._shells[name].lose()

    def _uncertain(self, calls: Sequence[ToolCall]) -> set[str]:
        """The shells of a turn that are not followed: calls of one turn may run at once or in another order."""
        counts = Counter(call.name for call in calls if call.name in self._shells)
        found = set[str]()
        for call in calls:
            script = _script(call) if call.name in counts else ""
            if script is None or (counts[call.name] > 1 and may_move(script)):
                found.add(call.name)
        return found


def _script(call: ToolCall) -> str | None:
    """The script of a call, if it says no more than that."""
    if call.problem or not set(call.arguments) <= {*_COMMAND_KEYS, *_ASIDE}:
        return None
    scripts = [call.arguments[key] for key in _COMMAND_KEYS if key in call.arguments]
    return scripts[0] if len(scripts) == 1 and isinstance(scripts[0], str) else None


def _results(
    turn: CompletionMessage, turns: Sequence[CompletionMessage], after: int, count: int
) -> Sequence[CallResult | None]:
    """The results of a turn's calls in their order. None: it is missing, or not surely that of the call."""
    found: list[CompletionMessage] = []
    while after < len(turns) and turns[after].get("role") == "tool" and len(found) <= count:
        found.append(turns[after])
        after += 1
    raw = turn.get("tool_calls")
    ids = [one.get("id") if isinstance(one, Mapping) else None for one in raw] if isinstance(raw, Sequence) else []
    named = [one.get("tool_call_id") for one in found]
    if (
        len(found) != count
        or (count > 1 and named != ids)
        or (count == 1 and {*map(str, named)} - {"None", *map(str, ids)})
    ):
        return [None] * count
    return [*map(_result, found)]


def _result(message: CompletionMessage) -> CallResult | None:
    content = message.get("content")
    if not isinstance(content, str | list):
        return None
    failed = message.get("is_error") or message.get("error") or message.get("status") in ("error", "failed")
    return CallResult(content_text(content), bool(failed))
