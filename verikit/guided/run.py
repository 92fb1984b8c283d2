"""Runs the searches of many prompts in parallel: requests are sent in waves, and drafts are judged in batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from verikit.base import Verifier, walk
from verikit.engines.types import Engine, Generation
from verikit.errors import UsageError
from verikit.guided.search import PromptSearch, SearchedRow
from verikit.guided.strategy import SearchStrategy
from verikit.platform.batches import take
from verikit.sampling.core import Keep, Kept, keep_none, none_kept
from verikit.sampling.lanes import EngineHealth, Lanes, Wave, settle
from verikit.sampling.settings import SamplingSettings
from verikit.types import Group, Sample, Score

OPEN = 256
"""Maximum number of prompts searched in parallel, including finished ones that wait for earlier prompts."""
JUDGED = 16
"""Number of waiting drafts from which judging starts while other drafts are still being written."""


def _guiding(strategy: SearchStrategy) -> SearchStrategy:
    """A verifier with a guiding form (`genprm`) continues from its review of a draft instead of starting over."""
    guiding: Callable[[], Verifier] | None = getattr(strategy.prm, "guiding", None)
    return strategy if guiding is None else replace(strategy, prm=guiding())


def _check_settings(engine: Engine, settings: SamplingSettings, budget: int | None) -> None:
    """Reject settings that a search does not support.

    Raises:
        UsageError: log-probabilities, a budget below 1, or an engine of large batches.
    """
    if settings.logprobs is not None:
        raise UsageError("a search keeps no log-probabilities", hint="leave --logprobs out")
    if budget is not None and budget < 1:
        raise UsageError(f"a budget must be a number >= 1, got {budget}")
    if engine.batched:
        raise UsageError("each step of a search would be a separate batch", hint="search with another engine")


def guided_search(
    engine: Engine,
    prompts: Iterable[tuple[int, Group]],
    settings: SamplingSettings,
    strategy: SearchStrategy,
    *,
    budget: int | None = None,
    kept: Kept = none_kept,
    keep: Keep = keep_none,
    answered: bool = False,
) -> Iterator[SearchedRow]:
    """Search for each prompt's solution, and yield its row when all earlier prompts are done.

    Args:
        engine: The policy. It must continue the start of a reply and report what ended a step (hf, vLLM).
        prompts: Numbered groups without completions, with distinct ids. They are read as needed.
        settings: The sampling settings. `n` is ignored, and `max_tokens` applies to one solution.
        strategy: The search strategy, with its verifier.
        budget: Maximum number of tokens per prompt, including those of judging. With None there is no limit.
        kept: Returns the events of an earlier run by number, which are not repeated.
        keep: Called with every event when it happens, including failed requests.
        answered: Whether an earlier run got replies to such requests. If so, requests that all fail in the same way are
            themselves considered the cause.

    Raises:
        EngineError: The engine stops replying and no request is the cause, or every request fails in the same way from
            the start.
        UsageError: The settings are not valid for a search, or the verifier was set up wrong.
    """
    _check_settings(engine, settings, budget)
    strategy = _guiding(strategy)
    lanes, health = Lanes(engine), EngineHealth(answered=answered)
    run = _Searches(engine, settings, strategy, budget, iter(prompts), kept, keep)
    with closing(lanes):
        while True:
            while lanes.free and (wave := run.wave(lanes.size)) is not None:
                lanes.start(wave)
            # A model in this process does not judge while it writes, since policy and judge may be the same model.
            if (not lanes.busy or engine.tokenizer is None) and run.judge(at_least=JUDGED if lanes.busy else 1):
                continue
            yield from run.finished()
            if not lanes.busy:
                if run.over:
                    return
                continue
            settle(lanes.next(), health, run.take)


class _Searches:
    """The searches in progress."""

    def __init__(
        self,
        engine: Engine,
        settings: SamplingSettings,
        strategy: SearchStrategy,
        budget: int | None,
        prompts: Iterator[tuple[int, Group]],
        kept: Kept,
        keep: Keep,
    ) -> None:
        self._engine, self._settings, self._strategy, self._budget = engine, settings, strategy, budget
        self._prompts, self._kept, self._keep = prompts, kept, keep
        self._together = judged_together(strategy.prm)
        self._open: deque[PromptSearch] = deque()
        self._read = False
        """Whether the last prompt was read."""

    def wave(self, size: int) -> Wave | None:
        """The next requests: at most `size` plus those of one prompt. None if there is nothing to send now."""
        tags, requests = [], []
        for search in self._searches():
            for number, request in search.requests():
                tags.append((search, number))
                requests.append(request)
            if len(tags) >= size:
                break
        return Wave(tags, requests) if tags else None

    def _searches(self) -> Iterator[PromptSearch]:
        """The open searches, then new ones as long as more may be opened."""
        yield from list(self._open)
        while len(self._open) < OPEN and not self._read:
            if (pair := next(self._prompts, None)) is None:
                self._read = True
                return
            line, group = pair
            known = self._kept(line, group)
            search = PromptSearch(line, group, self._strategy, self._settings, self._engine, self._budget, known)
            self._open.append(search)
            yield search

    def take(self, tag: tuple[PromptSearch, int], generation: Generation) -> None:
        """Record a result and keep its event."""
        search, number = tag
        self._keep(search.line, search.group, search.take(number, generation))

    def judge(self, at_least: int) -> bool:
        """Score the waiting drafts if there are at least this many. Returns whether it did."""
        waiting = [search for search in self._open if search.waiting]
        shown = [sample for search in waiting for sample in search.waiting]
        if len(shown) < at_least:
            return False
        scores = iter(self._strategy.prm.score(shown) if self._together else ())
        for search in waiting:
            own = take(scores, len(search.waiting)) if self._together else self._alone(search.waiting)
            for event in search.give(own):
                self._keep(search.line, search.group, event)
        return True

    def _alone(self, samples: Sequence[Sample]) -> list[Score]:
        return self._strategy.prm.score(samples)

    def finished(self) -> Iterator[SearchedRow]:
        """The rows that are ready, in order."""
        while self._open and self._open[0].done:
            yield self._open.popleft().row()

    @property
    def over(self) -> bool:
        """Whether no prompt is left."""
        return self._read and not self._open


def judged_together(prm: Verifier) -> bool:
    """Whether a verifier scores the drafts of all prompts in one call.

    This applies to verifiers that call an engine, which work best with many parallel requests and review a sample
    independently of the batch. A model in this process pads its batch, which affects the last digits of its scores. It
    scores one prompt's drafts at a time, so that a resumed run has the same numbers as an uninterrupted one.
    """
    return any(getattr(part, "engine", None) is not None for part in walk(prm))
