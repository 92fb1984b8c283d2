"""`sample`: turns prompts into rows of candidates, in the order of the prompts, regardless of when replies arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from verikit.engines.types import Engine, Generation
from verikit.sampling.lanes import EngineHealth, Lanes, Wave, settle
from verikit.sampling.settings import SamplingSettings, candidate_of, sample_of
from verikit.stats.early import EARLY_STOP, EarlyStop
from verikit.types import Group, JsonObject, Sample

OPEN = 512
"""Maximum number of prompts sampled at the same time, including finished ones that wait for earlier prompts."""


class StopRule(Protocol):
    """Decides when a prompt needs no more samples. `help(verikit.sampling)` documents when it is called."""

    def stop(self, samples: Sequence[Sample], n: int) -> bool:
        """Return whether to stop.

        Args:
            samples: The prompt's samples so far, ordered by number: at least one, and fewer than `n`.
            n: Number of samples requested.
        """
        ...


@runtime_checkable
class DescribedRule(StopRule, Protocol):
    """A rule that describes itself in the rows.

    For other rules, rows contain the class and assume it can stop immediately.
    """

    @property
    def name(self) -> str:
        """The rule's name in the rows."""
        ...

    def least(self, n: int) -> int:
        """Return the minimum number of the n samples before it can stop, regardless of their content."""
        ...

    def why(self, samples: Sequence[Sample], n: int) -> str:
        """Return why it stops at these samples, in a word."""
        ...


@dataclass(frozen=True, slots=True)
class SampledRow:
    """A prompt with its candidates."""

    line: int
    """The prompt's line in its file."""
    group: Group
    """The prompt. The group has no completions of its own."""
    candidates: Sequence[JsonObject]
    """Candidates ordered by number, without failed ones."""
    failed: Sequence[JsonObject] = ()
    """Requests that failed: `index`, `seed`, `error`."""
    early: EarlyStop | None = None
    """How sampling ended, if there is a rule."""

    def to_json(self) -> JsonObject:
        """Return the row in the format that `verikit score` reads."""
        group = self.group
        row: dict[str, object] = {"id": group.id, "prompt": group.prompt, "completions": list(self.candidates)}
        if group.answer is not None:
            row["answer"] = group.answer
        if self.failed:
            row["failed"] = list(self.failed)
        if self.early is not None:
            row[EARLY_STOP] = self.early.as_row()
        if meta := {key: value for key, value in group.meta.items() if key != EARLY_STOP}:  # it describes other samples
            row["meta"] = meta
        return row


Kept = Callable[[int, Group], Mapping[int, JsonObject]]
"""Returns a prompt's candidates (by line) from an earlier run, by their numbers."""
Keep = Callable[[int, Group, JsonObject], None]
"""Called with each new candidate when it arrives, including failed ones, in any order."""


def none_kept(line: int, group: Group) -> Mapping[int, JsonObject]:
    """Return no samples: nothing is stored from an earlier run."""
    return {}


def keep_none(line: int, group: Group, candidate: JsonObject) -> None:
    """Discard the candidate: nothing is stored for a later run."""
    return


def sample(
    engine: Engine,
    prompts: Iterable[tuple[int, Group]],
    settings: SamplingSettings,
    *,
    rule: StopRule | None = None,
    ahead: int = 1,
    kept: Kept = none_kept,
    keep: Keep = keep_none,
    answered: bool = False,
) -> Iterator[SampledRow]:
    """Sample candidates for prompts, one request per sample, and yield each prompt's row in the order of the prompts.

    Args:
        engine: Generates the samples and controls its own concurrency.
        prompts: Numbered groups without completions, read as needed. Their ids should differ, because seeds are derived
            from them.
        settings: Sampling settings of the requests.
        rule: Ends a prompt's sampling early. Without a rule, all `n` samples are requested in parallel.
        ahead: Number of a prompt's samples to request in parallel while a rule decides. Samples after the stop are
            discarded, so rows are the same for any value. A larger one takes less time and more tokens.
        kept: Returns the samples that need not be requested again.
        keep: Called with each candidate that arrives.
        answered: Whether an earlier run got replies to such requests. If so, requests that all fail alike are
            themselves the cause.

    Raises:
        EngineError: The engine stopped replying and no request is the cause, or every request failed alike from the
            start.
    """
    lanes, health = Lanes(engine), EngineHealth(answered=answered)
    run = _Run(engine, settings, rule, iter(prompts), kept, lanes.size if lanes.batched else OPEN, ahead)
    with closing(lanes):
        while True:
            while lanes.free and (wave := run.wave(lanes.size)) is not None:
                lanes.start(wave)
            yield from run.finished()
            if not lanes.busy:
                if run.over:
                    return
                continue  # an earlier run completed the open prompts: there may be more
            settle(lanes.next(), health, lambda tag, generation: keep(*run.take(tag, generation)))


@dataclass(slots=True, eq=False)
class _Prompt:
    """One prompt in progress."""

    line: int
    group: Group
    known: dict[int, JsonObject]
    """Candidates by number, including failed ones."""
    asked: set[int] = field(default_factory=set)
    """Numbers whose result is awaited."""
    samples: list[Sample] = field(default_factory=list)
    """The samples shown to the rule."""
    reached: int = 0
    """The first number for which the rule has not been called."""
    end: int = 0
    """Samples with this number or above are not needed."""

    def wants(self, rule: StopRule | None, n: int, ahead: int) -> list[int]:
        """Return the numbers to request now, after calling the rule on the samples that have arrived."""
        if rule is None:
            return self._open(range(n))
        while self.reached < self.end and (candidate := self.known.get(self.reached)) is not None:
            self.reached += 1
            if "error" not in candidate:
                self.samples.append(sample_of(self.group, candidate))
                if self.reached < n and rule.stop(tuple(self.samples), n):
                    self.end = self.reached
        return self._open(range(self.reached, min(self.end, self.reached + ahead)))

    def _open(self, numbers: Iterable[int]) -> list[int]:
        return [index for index in numbers if index not in self.known and index not in self.asked]

    @property
    def done(self) -> bool:
        return not self.asked and all(index in self.known for index in range(self.end))

    def row(self, rule: StopRule | None, n: int) -> SampledRow:
        found = [self.known[index] for index in range(self.end)]
        good = [candidate for candidate in found if "error" not in candidate]
        failed = [candidate for candidate in found if "error" in candidate]
        return SampledRow(self.line, self.group, good, failed, self._early(rule, n, good))

    def _early(self, rule: StopRule | None, n: int, good: Sequence[JsonObject]) -> EarlyStop | None:
        if rule is None:
            return None
        name, least, why = type(rule).__name__, 1, "stopped"
        if isinstance(rule, DescribedRule):
            name, least = rule.name, rule.least(n)
            why = rule.why(tuple(self.samples), n) if self.end < n else ""
        first = sum(candidate["index"] < least for candidate in good)
        return EarlyStop(name, n, least, first, why if self.end < n else None)


_Tag = tuple[_Prompt, int, int | None]
"""A prompt, a sample's number, its seed."""


class _Run:
    """The prompts in progress: which requests to send next, and which rows are ready."""

    def __init__(
        self,
        engine: Engine,
        settings: SamplingSettings,
        rule: StopRule | None,
        prompts: Iterator[tuple[int, Group]],
        kept: Kept,
        most: int,
        ahead: int,
    ) -> None:
        self._engine, self._settings, self._rule = engine, settings, rule
        self._prompts, self._kept, self._most, self._ahead = prompts, kept, most, ahead
        self._open: deque[_Prompt] = deque()
        self._read = False
        """Whether the last prompt has been read."""

    def wave(self, size: int) -> Wave | None:
        """Return the next requests, at most `size` plus those of one prompt, or None if there are none to send now."""
        tags: list[_Tag] = []
        for prompt in self._candidates():
            for index in prompt.wants(self._rule, self._settings.n, self._ahead):
                prompt.asked.add(index)
                tags.append((prompt, index, None))
            if len(tags) >= size:
                break
        if not tags:
            return None
        requests = [self._settings.request(self._engine, prompt.group, index) for prompt, index, _ in tags]
        tags = [(prompt, index, made.seed) for (prompt, index, _), made in zip(tags, requests, strict=True)]
        return Wave(tags, requests)

    def _candidates(self) -> Iterator[_Prompt]:
        """Yield the open prompts, then new ones up to the limit."""
        yield from list(self._open)
        while len(self._open) < self._most and not self._read:
            if (pair := next(self._prompts, None)) is None:
                self._read = True
                return
            line, group = pair
            prompt = _Prompt(line, group, dict(self._kept(line, group)), end=self._settings.n)
            self._open.append(prompt)
            yield prompt

    def take(self, tag: _Tag, generation: Generation) -> tuple[int, Group, JsonObject]:
        """Record a result and return the candidate to store."""
        prompt, index, seed = tag
        prompt.asked.discard(index)
        prompt.known[index] = candidate = candidate_of(generation, index, seed)
        return prompt.line, prompt.group, candidate

    @property
    def over(self) -> bool:
        """Whether all prompts are done."""
        return self._read and not self._open

    def finished(self) -> Iterator[SampledRow]:
        """The rows that are ready, in order."""
        while self._open:
            prompt = self._open[0]
            if prompt.wants(self._rule, self._settings.n, self._ahead) or not prompt.done:
                return
            yield self._open.popleft().row(self._rule, self._settings.n)
