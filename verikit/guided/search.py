"""Search for one prompt: a strategy's growths become requests, and their results become drafts that are judged.

Every external result (a generation or a score) is a numbered event. The search's next step depends only on its events.
A search that is restarted with the events of an earlier run reaches the same point and then the same row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verikit.engines.errors import Unsupported
from verikit.engines.types import Engine, EnginePrompt, Generation, Output, Request
from verikit.errors import ContextOverflow
from verikit.guided.draft import Draft, Growth, ordered, steps_of
from verikit.guided.strategy import SearchStrategy, TokenBudget
from verikit.sampling.core import SampledRow
from verikit.sampling.settings import SamplingSettings, candidate_of, sample_seed
from verikit.types import Group, JsonObject, Message, Sample, Score

FEWEST = 16
"""Minimum number of tokens for a step if the budget runs short. Fewer drafts are grown instead."""
CHARS_A_TOKEN = 4
"""Characters per token, used if an engine reports neither ids nor counts."""


@dataclass(frozen=True, slots=True)
class SearchedRow(SampledRow):
    """A prompt with the solutions that a search found, best first."""

    search: JsonObject = field(default_factory=dict)
    """The cost: `generated`, `judged` and `read` tokens, `requests`, `rounds`, and `unscored` drafts."""

    def to_json(self) -> JsonObject:
        """The row in the format that `verikit score` reads."""
        return {**SampledRow.to_json(self), "search": dict(self.search)}


@dataclass(frozen=True, slots=True)
class _Task:
    """One request."""

    growth: int
    number: int
    """The number of the sample among the continuations of its draft."""
    room: int
    """Maximum number of tokens."""
    index: int
    """The number of its event."""


@dataclass(frozen=True, slots=True)
class _Judgement:
    """A draft to be judged."""

    draft: Draft
    old: Draft
    """The draft that it continues."""
    index: int
    """The number of its event."""


class PromptSearch:
    """A search in progress.

    Until it is `done`, answer its `requests` with `take`, or score its `waiting` samples and pass the scores to `give`.
    """

    def __init__(
        self,
        line: int,
        group: Group,
        strategy: SearchStrategy,
        settings: SamplingSettings,
        engine: Engine,
        limit: int | None = None,
        known: Mapping[int, JsonObject] | None = None,
    ) -> None:
        self.line, self.group = line, group
        self.waiting: list[Sample] = []
        """Drafts to be scored, as the verifier sees them."""
        self.done = False
        self._strategy, self._settings, self._engine = strategy, settings, engine
        self._prompt = settings.prompt(engine, group)
        self._known = dict(known or {})
        self._budget = TokenBudget(limit)
        self._read = self._requests = self._rounds = self._unscored = 0
        self._events = 0
        self._growths: Sequence[Growth] = ()
        self._tasks: list[_Task] = []
        self._todo: list[_Task] = []
        self._drafts: list[list[Draft]] = []
        self._judging: dict[str, _Judgement] = {}
        self._result: list[Draft] = []
        self._failed: list[JsonObject] = []
        self._walk = strategy.search(self._budget)
        self._advance(None)
        self._go_on()

    def requests(self) -> list[tuple[int, Request]]:
        """The requests to send now, each with its event's number. Every request is returned only once."""
        tasks, self._todo = self._todo, []
        return [(task.index, self._request(task)) for task in tasks]

    def take(self, index: int, generation: Generation) -> JsonObject:
        """Record a request's result and return its event."""
        task = self._tasks[index - self._tasks[0].index]
        event = self._event(task, generation)
        self._known[index] = event
        self._go_on()
        return event

    def give(self, scores: Sequence[Score]) -> list[JsonObject]:
        """Record the scores of the waiting samples, in order, and return their events.

        If the scores ended the search, no events are returned. In that case no draft had a score, and a rerun may score
        them again.
        """
        events: list[JsonObject] = []
        for asked, score in zip(self._judging.values(), scores, strict=True):
            events.append(_judged(self._strategy.prm, asked, score))
            self._known[asked.index] = events[-1]
        self.waiting = []
        self._go_on()
        return [] if self._failed else events

    def row(self) -> SearchedRow:
        """The result. It has no solutions if something failed."""
        search = {
            "generated": self._budget.generated,
            "judged": self._budget.judged,
            "read": self._read,
            "requests": self._requests,
            "rounds": self._rounds,
        }
        if self._unscored:
            search["unscored"] = self._unscored
        if self._failed:
            return SearchedRow(self.line, self.group, (), self._failed, search=search)
        found = [self._candidate(index, draft) for index, draft in enumerate(ordered(self._result))]
        return SearchedRow(self.line, self.group, found, search=search)

    def _candidate(self, index: int, draft: Draft) -> JsonObject:
        own = replace(draft, text=draft.text if draft.finish else draft.text.removesuffix(self._strategy.step))
        usage = {"completion_tokens": draft.tokens}
        return {**own.told(), "finish_reason": draft.finish or "budget", "index": index, "usage": usage}

    def _go_on(self) -> None:
        """Advance as far as the known events allow."""
        while not self.done and not self.waiting and all(task.index in self._known for task in self._tasks):
            if not self._drafts:
                self._grow()
            elif all(asked.index in self._known for asked in self._judging.values()):
                self._score()
            else:
                self.waiting = [self._shown(asked.draft) for asked in self._judging.values()]

    def _advance(self, grown: list[list[Draft]] | None) -> None:
        """Let the strategy choose the next growths."""
        try:
            self._growths = next(self._walk) if grown is None else self._walk.send(grown)
        except StopIteration as end:
            self._end(end.value)
            return
        if not any(growth.count > 0 for growth in self._growths):
            raise ValueError(f"{type(self._strategy).__name__} requests nothing")
        self._rounds += 1
        self._drafts, self._judging = [], {}
        self._tasks = self._planned()
        self._events += len(self._tasks)
        self._requests += len(self._tasks)
        self._todo = [task for task in self._tasks if task.index not in self._known]

    def _end(self, drafts: Sequence[Draft]) -> None:
        self.done, self._result, self._tasks = True, list(drafts), []

    def _planned(self) -> list[_Task]:
        """The requests of all growths that the budget allows. Every draft gets a first sample before any gets a second.

        Whole solutions get all their tokens, so only as many are started as surely fit, but at least one. Steps share
        the remaining budget equally.
        """
        wanted = sorted((j, at) for at, growth in enumerate(self._growths) for j in range(growth.count))
        rooms = [self._room(self._growths[at]) for at in range(len(self._growths))]
        if (left := self._budget.left) != float("inf"):
            least = max(rooms) if any(growth.whole for growth in self._growths) else FEWEST
            wanted = wanted[: max(1, int(left) // least)]
            share = int(left) // len(wanted)
            rooms = [max(1, min(room, share)) for room in rooms]
        chosen = sorted((at, j) for j, at in wanted)
        return [
            _Task(at, self._growths[at].first + j, rooms[at], self._events + index)
            for index, (at, j) in enumerate(chosen)
        ]

    def _room(self, growth: Growth) -> int:
        whole = self._settings.max_tokens - growth.draft.tokens
        return max(1, whole if growth.whole else min(whole, self._strategy.step_tokens))

    def _request(self, task: _Task) -> Request:
        growth = self._growths[task.growth]
        base = self._settings.request(self._engine, self.group, task.number)
        stops = base.stop if growth.whole else (self._strategy.step, *base.stop)
        seed, begun = base.seed, growth.draft.text
        if self._settings.seed is not None and (begun or growth.said):
            digest = hashlib.sha256(repr((begun, *growth.said)).encode("utf-8", "replace")).hexdigest()
            seed = sample_seed(self._settings.seed, f"{self.group.id}:{digest}", task.number)
        return replace(
            base, prompt=_begun(self._prompt, growth.said, begun), max_tokens=task.room, stop=stops, seed=seed
        )

    def _event(self, task: _Task, generation: Generation) -> JsonObject:
        error = generation.error
        if isinstance(error, ContextOverflow) and self._growths[task.growth].draft.text:
            return {"index": task.index, "text": "", "finish_reason": "length", "usage": _usage(0, 0)}
        if error is not None or not generation.outputs:
            return candidate_of(generation, task.index, None)
        output = generation.outputs[0]
        step = not self._growths[task.growth].whole
        if step and output.finish_reason in ("stop", "") and output.stopped_by is None:
            problem = Unsupported(
                f"{self._engine.name} does not report whether a stop string or the model ended a step",
                hint="search with hf, vLLM or a server of vLLM or SGLang",
            )
            return candidate_of(Generation(error=problem), task.index, None)
        event: dict[str, Any] = {"index": task.index, "text": output.text}
        event["finish_reason"] = "length" if output.finish_reason == "length" else "stop"
        if output.stopped_by:
            event["stopped_by"] = output.stopped_by
        event["usage"] = _usage(int(generation.usage.get("prompt_tokens", 0)), _written(generation, output))
        return event

    def _grow(self) -> None:
        """Turn the results into drafts, or end the search if a request failed."""
        self._failed = [self._known[task.index] for task in self._tasks if "error" in self._known[task.index]]
        if self._failed:
            self._end(())
            return
        self._drafts = [[] for _ in self._growths]
        for task in self._tasks:
            event = self._known[task.index]
            self._budget.generated += event["usage"]["completion_tokens"]
            self._read += event["usage"]["prompt_tokens"]
            self._drafts[task.growth].append(self._grown(self._growths[task.growth], task, event))
        for growth, drafts in zip(self._growths, self._drafts, strict=True):
            for draft in drafts:
                self._have_judged(draft, growth.draft)

    def _have_judged(self, draft: Draft, old: Draft) -> None:
        """Queue a draft with new steps for judging. Several drafts with the same text are judged once."""
        new = draft.steps != old.steps or old.value is None
        if new and draft.text not in self._judging:
            self._judging[draft.text] = _Judgement(draft, old, self._events)
            self._events += 1

    def _is_full(self, tokens: int, steps: Sequence[str]) -> bool:
        return tokens >= self._settings.max_tokens or len(steps) >= self._strategy.max_steps

    def _grown(self, growth: Growth, task: _Task, event: JsonObject) -> Draft:
        """The draft that continues the old one with a result. It still has the old draft's scores."""
        old, separator = growth.draft, self._strategy.step
        written = event["usage"]["completion_tokens"]
        text, tokens = old.text + event["text"], old.tokens + written
        at_step = event.get("stopped_by", "") == separator
        if event["finish_reason"] == "stop" and (growth.whole or not at_step):
            return replace(old, text=text, finish="stop", tokens=tokens, steps=steps_of(text, separator))
        text += separator if at_step else ""
        steps = steps_of(text, separator)
        used_up = event["finish_reason"] == "length" and (growth.whole or written < task.room)
        finish = "length" if used_up or self._is_full(tokens, steps) else ""
        return replace(old, text=text, finish=finish, tokens=tokens, steps=steps)

    def _shown(self, draft: Draft) -> Sample:
        """The draft as the verifier sees it: without the gold answer, which a search never uses."""
        return Sample(self.group.prompt, draft.text, None, self.group.id, {"steps": list(draft.steps)})

    def _score(self) -> None:
        """Give the drafts their scores and pass them to the strategy. If no draft has a score, end the search."""
        scores = {text: self._known[asked.index] for text, asked in self._judging.items()}
        self._budget.judged += sum(event["judged"] for event in scores.values())
        grown = [
            [_with(draft, growth.draft, scores.get(draft.text)) for draft in drafts] or _left(growth.draft)
            for growth, drafts in zip(self._growths, self._drafts, strict=True)
        ]
        lost = [event for event in scores.values() if event["value"] is None]
        self._unscored += len(lost)
        if lost and all(draft.value is None for drafts in grown for draft in drafts):
            error = {"type": "Unscored", "message": f"{self._strategy.prm.name}: {lost[0]['reason']}"}
            self._failed = [{"index": event["index"], "error": error} for event in lost]
            self._end(())
            return
        self._advance(grown)


def _begun(prompt: EnginePrompt, said: Sequence[Message], begun: str) -> EnginePrompt:
    """A prompt with more turns of its conversation, and the start of a reply to continue."""
    if isinstance(prompt, str):
        return prompt + "".join(f"{message['content']}\n\n" for message in said) + begun
    turns: list[Any] = [*prompt, *said]
    if begun and turns[-1]["role"] == "assistant":
        turns[-1] = {**turns[-1], "content": _continued(turns[-1]["content"], begun)}
        return turns
    return [*turns, Message(role="assistant", content=begun)] if begun else turns


def _continued(content: Any, begun: str) -> Any:
    return content + begun if isinstance(content, str) else [*content, {"type": "text", "text": begun}]


def _usage(read: int, written: int) -> JsonObject:
    return {"prompt_tokens": read, "completion_tokens": written}


def _written(generation: Generation, output: Output) -> int:
    """Number of tokens of an output. The output's own count comes first, since a cache omits the usage."""
    told = len(output.ids) or len(output.tokens) or int(generation.usage.get("completion_tokens", 0))
    return told or max(1, len(output.text) // CHARS_A_TOKEN)


def _left(draft: Draft) -> list[Draft]:
    """The draft that was not grown because the budget ran out."""
    return [draft] if draft.text else []


def _with(draft: Draft, old: Draft, event: JsonObject | None) -> Draft:
    """A grown draft with its scores. It keeps the old draft's scores if it has no new step."""
    if event is None:
        return draft
    value, scores = event["value"], tuple(event["steps"])
    if value is not None and not scores:
        scores = (*old.scores[: max(0, len(draft.steps) - 1)], value)
    return replace(draft, value=value, scores=scores, criticism=event.get("criticism", ""))


def _judged(prm: Any, asked: _Judgement, score: Score) -> JsonObject:
    """Convert a score to an event."""
    told = [step.value for step in score.steps] if score.scored else []
    event: dict[str, Any] = {"index": asked.index, "value": score.value, "steps": told}
    event["judged"] = _spent(prm, asked, score)
    if not score.scored:
        event["reason"] = f"{score.status}: {score.reason}"
    event["doubtful"] = next((n for n, step in enumerate(score.steps) if step.scored and not step.passed), -1)
    criticise = getattr(prm, "criticism", None)
    if criticise is not None and event["doubtful"] >= 0 and (said := criticise(event["doubtful"], score)):
        event["criticism"] = said
    return event


def _spent(prm: Any, asked: _Judgement, score: Score) -> int:
    """Tokens of a judgement: the tokens written, or the tokens read if the verifier writes none.

    If the verifier only reviews new steps, steps that were judged with the draft's predecessor are not counted.
    """
    parts: Sequence[Score] = (score,)
    if getattr(prm, "incremental", False) and score.steps:
        same = [a == b for a, b in zip(asked.draft.steps, asked.old.steps, strict=False)]
        parts = score.steps[same.index(False) if False in same else len(same) :]
    written = sum(part.usage.get("completion_tokens", 0) for part in parts)
    return int(written or sum(part.usage.get("prompt_tokens", 0) for part in parts))
