"""Rules for the steps of an agent: forbidden actions on paths, and the required order of actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from verikit.calls import MAX_CHARS, ToolCall, calls_in, tagged_calls
from verikit.errors import AgentFault, UsageError, WorkspaceError
from verikit.messages import CompletionMessage, by_assistant, content_text
from verikit.replies.split import reply_text
from verikit.types import Sample, Score
from verikit.verifiers.reading.fences import fenced
from verikit.verifiers.tools.effects import Effect, named, shell_effects
from verikit.verifiers.tools.places import normal, placed
from verikit.verifiers.tools.programs import runs
from verikit.verifiers.tools.steps import effects_of
from verikit.workspaces.grading import all_hold, workspace_of
from verikit.workspaces.names import has_wildcards, matches, shown
from verikit.workspaces.readings import recorded
from verikit.workspaces.workspace import Workspace

Doing = Literal["reads", "writes", "runs"]
UNDECIDED = "undecided"
_SHELL_FENCES = ("bash", "sh", "shell", "zsh", "console", "terminal", "shellsession", "mswea_bash_command")
_VERBS: tuple[Doing, ...] = ("reads", "writes", "runs")


@dataclass(frozen=True, slots=True)
class StepRules:
    """The rules for the steps of an agent."""

    never: Sequence[tuple[Doing, str]] = ()
    """Forbidden actions, each with its path or program."""
    order: Sequence[tuple[Doing, str]] = ()
    """Actions that must occur in this order."""
    max_steps: int | None = None
    undecided: float | None = None
    """The value if the text of a command doesn't show the effect; None: unscored."""
    root: str = "/"

    def score(self, sample: Sample) -> Score:
        """The score of a sample's steps, each rule as a part.

        Raises:
            WorkspaceError: There are no steps.
        """
        workspace = _workspace(sample)
        turns = _turns(sample, workspace)
        steps = list(_steps(turns, self.root))
        parts: dict[str, Score] = {}
        if self.max_steps is not None:
            count = sum(map(by_assistant, turns))
            parts["max_steps"] = Score(float(count <= self.max_steps), reason=f"{count} steps")
        for doing, target in self.never:
            name, rule = f"never {doing} {target}", partial(self._never, doing, target, steps, workspace)
            parts[name] = rule() if workspace is None else recorded(workspace, f"trajectory {name}", rule)
        if self.order:
            parts["order"] = self._in_order(steps)
        return all_hold(parts)

    def _never(
        self, doing: Doing, target: str, steps: Sequence[tuple[int, Effect]], workspace: Workspace | None
    ) -> Score:
        if doing == "writes" and workspace is not None and (found := _differs(workspace, target, self.root)):
            return Score(0.0, reason=f"{shown(found)} has changed")
        unclear = ""
        for number, effect in steps:
            verdict = concerns(effect, doing, target, self.root)
            if verdict:
                return Score(0.0, reason=f"step {number}: {shown(effect.told)}")
            if verdict is None and not unclear:
                unclear = f"step {number}: {shown(effect.told)}"
        return self._unclear(unclear) if unclear else Score(1.0, reason=f"{len(steps)} effects, none of them")

    def _in_order(self, steps: Sequence[tuple[int, Effect]]) -> Score:
        left, unclear = list(self.order), ""
        for number, effect in steps:
            if not left:
                break
            verdict = concerns(effect, *left[0], self.root)
            if verdict:
                left.pop(0)
            elif verdict is None and not unclear:
                unclear = f"step {number}: {shown(effect.told)}"
        if not left:
            return Score(1.0, reason="in this order")
        told = f"{' '.join(left[0])} does not come, or not in its place"
        return self._unclear(unclear) if unclear else Score(0.0, reason=told)

    def _unclear(self, told: str) -> Score:
        if self.undecided is None:
            return Score.abstained(f"undecided from the transcript: {told}")
        return Score(self.undecided, reason=f"undecided: {told}")


def read_order(told: Sequence[str]) -> tuple[tuple[Doing, str], ...]:
    """`["runs pytest", "writes src/**"]` as pairs.

    Raises:
        UsageError: One does not have this format.
    """
    found: list[tuple[Doing, str]] = []
    for one in told:
        verb, _, target = one.partition(" ")
        doing: Doing | None = next((known for known in _VERBS if known == verb), None)
        if doing is None or not target.strip():
            raise UsageError(
                f"order must contain strings such as 'writes src/**', got {one!r}", hint="reads, writes, runs"
            )
        found.append((doing, target.strip()))
    return tuple(found)


def concerns(effect: Effect, doing: Doing, target: str, root: str) -> bool | None:
    """Whether an effect is the watched one; None: its text doesn't show it.

    It is, if it is from all folders that the command runs in if no `cd` fails.
    """
    found = [(one.doubted, _concerns(one, doing, target, root)) for one in (effect, *effect.elsewhere)]
    intended = [verdict for is_doubted, verdict in found if not is_doubted] or [verdict for _, verdict in found]
    if all(intended):
        return True
    return False if all(verdict is False for _, verdict in found) else None


def _concerns(effect: Effect, doing: Doing, target: str, root: str) -> bool | None:
    """Whether an effect on one path is the watched one."""
    if effect.does == "hides":
        return None
    if effect.does == "opaque":
        return None if _mentioned(target, effect.told) else False
    if doing == "runs":
        return runs(effect.words, target) if effect.does == "runs" else False
    if effect.does not in (doing, "names"):
        return False
    pattern = placed(target, "", root)
    path = _around(effect, pattern, root)
    if not effect.known or effect.pattern:
        if effect.does == doing and effect.known and _same(pattern, path, below=False):
            return True
        return None if _may_meet(_before_wildcards(path), pattern) else False
    if not _same(pattern, path, below=effect.below):
        return False
    return True if effect.does == doing else None


def _around(effect: Effect, pattern: str, root: str) -> str:
    """The path of an effect; a folder that contains the workspace is all of it to a pattern within."""
    path, base = effect.path, normal(root)
    if pattern.startswith("/") or not path.startswith("/"):
        return path
    exact = effect.known and not effect.pattern
    within = base.startswith(path.rstrip("/") + "/" if exact else _before_wildcards(path))
    return "." if within else path


def _before_wildcards(path: str) -> str:
    return path.split("*")[0].split("?")[0].split("[")[0]


def _same(pattern: str, path: str, *, below: bool) -> bool:
    """Whether a pattern matches a path, or a path is the folder of a match."""
    if pattern.startswith("/") != path.startswith("/"):
        return False
    inside = matches(pattern.lstrip("/"), path.lstrip("/")) or matches(f"{pattern.lstrip('/')}/**", path.lstrip("/"))
    return inside or (below and (path == "." or f"{_literal(pattern)}/".startswith(f"{path.rstrip('/')}/")))


def _literal(pattern: str) -> str:
    """The folders of a pattern before its first wildcard."""
    names = pattern.split("/")
    end = next((at for at, name in enumerate(names) if has_wildcards(name)), len(names))
    return "/".join(names[:end])


def _may_meet(prefix: str, pattern: str) -> bool:
    """Whether a path with this prefix may match a pattern."""
    literal = _literal(pattern)
    if prefix == ".":
        return not pattern.startswith("/")
    return not prefix or literal.startswith(prefix) or prefix.startswith(literal)


def _mentioned(target: str, text: str) -> bool:
    """Whether the text has a name that is part of a watched path or program."""
    names = [name for name in target.replace(" ", "/").split("/") if len(name) > 1 and not has_wildcards(name)]
    return not names or any(name in text for name in names)


def _differs(workspace: Workspace, target: str, root: str) -> str:
    """A path that the agent changed, from the files before and after; "" if there isn't one, or it is not known.

    The files of a Harbor trial have the paths of its image, without the first slash.
    """
    patterns = {placed(target, "", root)}
    if target.startswith("/"):
        patterns.add(normal(target).lstrip("/"))
    try:
        found = workspace.compared(lambda path: any(_same(pattern, path, below=False) for pattern in patterns))
    except (AgentFault, WorkspaceError):
        return ""
    return found[0] if found else ""


def _workspace(sample: Sample) -> Workspace | None:
    try:
        return workspace_of(sample)
    except WorkspaceError:
        return None


def _turns(sample: Sample, workspace: Workspace | None) -> Sequence[CompletionMessage]:
    """The agent's steps: the harness's record, or else the sample's messages.

    Raises:
        WorkspaceError: There aren't any.
    """
    recorded = None if workspace is None else workspace.messages()
    turns = sample.messages if recorded is None else recorded
    if not turns:
        raise WorkspaceError("there are no steps to look at", hint='messages, or "trajectory" of the workspace')
    return turns


def _steps(turns: Sequence[CompletionMessage], root: str) -> Iterator[tuple[int, Effect]]:
    """The effects of each step, with its number from 1.

    In a run without stored calls, the calls in the text are the actions. So are fenced scripts that something answers,
    as in mini-swe-agent.
    """
    calls = [calls_in([turn]) for turn in turns]
    acts_by_text = not any(calls)
    number = 0
    for at, turn in enumerate(turns):
        number += by_assistant(turn)
        found = _written(turns[at : at + 2], root) if acts_by_text else _of_calls(calls[at], root)
        yield from ((number, effect) for effect in found)


def _of_calls(calls: Sequence[ToolCall], root: str) -> Iterator[Effect]:
    for call in calls:
        yield from effects_of(call, root)


def _written(turns: Sequence[CompletionMessage], root: str) -> Iterator[Effect]:
    """The effects of what a turn of the model has in its text: calls in tags, and scripts that the next turn answers.

    A call that can't be read ran nothing, unless it is too long to be read. A fence without a label may be a quotation.
    """
    if not by_assistant(turns[0]):
        return
    calls = tagged_calls(turns[0])
    text = reply_text(content_text(turns[0].get("content")))
    yield from _of_calls([call for call in calls if not call.problem or len(text) > MAX_CHARS], root)
    if [by_assistant(turn) for turn in turns] != [True, False]:
        return
    for label, script in fenced(text):
        if label in _SHELL_FENCES:
            yield from shell_effects(script, root)
        elif not label and not script.lstrip().startswith("<<<<<<<"):  # a search and its replacement, as of aider
            yield from (named(effect) for effect in shell_effects(script, root) if effect.does == "writes")
