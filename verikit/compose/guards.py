"""Guards around a verifier: a length cap, a cache, a deadline. None of them changes the meaning of a score."""

from __future__ import annotations

import hashlib
import json
import pickle
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from verikit.base import Verifier, walk
from verikit.compose.combine import Part, as_verifier
from verikit.errors import HelperError, HelperTimeout, UsageError
from verikit.helper import Helper
from verikit.replies.split import Reads
from verikit.types import Sample, Score


@dataclass(frozen=True)
class LengthGuard(Verifier):
    """A verifier behind a cap on the completion's length. See `length_guard`."""

    part: Verifier
    max_chars: int
    name = "length_guard"
    reads: ClassVar[Reads | None] = None

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score the samples within the cap. The others get 0.0 without being read."""
        short = iter(self.part.score([s for s in samples if len(s.completion) <= self.max_chars]))
        return [next(short) if len(s.completion) <= self.max_chars else self._too_long(s) for s in samples]

    def _too_long(self, sample: Sample) -> Score:
        return Score(0.0, reason=f"{len(sample.completion)} characters, over the cap of {self.max_chars}")

    def equal(self, a: str, b: str) -> bool | None:
        """Compare with the part."""
        return self.part.equal(a, b)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """The part's keys."""
        return self.part.keys(answer)

    def matches(self, score: Score) -> bool:
        """Whether the part counts the score as a match."""
        return self.part.matches(score)


def length_guard(part: Part, max_chars: int) -> Verifier:
    """Give 0.0 to completions of more than `max_chars` characters, without running the verifier on them.

    Args:
        part: A verifier.
        max_chars: Maximum length of a completion in characters.

    Raises:
        UsageError: The cap is negative.
    """
    if not max_chars >= 0:
        raise UsageError(f"max_chars must be at least 0, got {max_chars!r}")
    return LengthGuard(as_verifier(part), max_chars)


@dataclass(frozen=True)
class Cached(Verifier):
    """A verifier with a cache. See `cached`."""

    part: Verifier
    size: int
    name = "cached"
    _memory: OrderedDict[str, Score] = field(default_factory=OrderedDict, init=False, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)
    reads: ClassVar[Reads | None] = None

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score the samples that are not cached, each distinct one once."""
        keys = [_key(sample) or f"only here: {i}" for i, sample in enumerate(samples)]
        with self._lock:
            known = {key: self._memory[key] for key in keys if key in self._memory}
        fresh = {key: sample for key, sample in zip(keys, samples, strict=True) if key not in known}
        scored = dict(zip(fresh, self.part.score(list(fresh.values())), strict=True))
        known |= scored
        self._remember(known)
        # The first of several equal samples gets the usage. The others get none.
        return [
            scored.pop(key) if key in scored else replace(known[key], usage={"cached": 1.0}, seconds=0.0)
            for key in keys
        ]

    def _remember(self, scores: Mapping[str, Score]) -> None:
        """Cache scores, and evict the least recently used ones."""
        with self._lock:
            for key, score in scores.items():
                if score.status in ("ok", "abstained") and not key.startswith("only here"):
                    self._memory[key] = score
                    self._memory.move_to_end(key)
            while len(self._memory) > self.size:
                self._memory.popitem(last=False)

    def equal(self, a: str, b: str) -> bool | None:
        """Compare with the part."""
        return self.part.equal(a, b)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """The part's keys."""
        return self.part.keys(answer)

    def matches(self, score: Score) -> bool:
        """Whether the part counts the score as a match."""
        return self.part.matches(score)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Cached, (self.part, self.size))


def _key(sample: Sample) -> str | None:
    """A digest of everything a verifier can see.

    None if JSON can't represent it unambiguously, or if there is a workspace: its files are not read for a digest.
    """
    if sample.workspace is not None:
        return None
    run = list(sample.messages)
    content = (sample.prompt, sample.completion, sample.answer, sample.id, sample.meta, sample.thoughts, run)
    try:
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    except (TypeError, ValueError, RecursionError):
        return None


def cached(part: Part, size: int = 65536) -> Verifier:
    """Cache the scores of the last `size` distinct samples of this process. Failures are not cached.

    A sample that has a workspace, or more than JSON in its meta (an array, an object), is scored each time.

    Args:
        part: A verifier.
        size: Number of cached samples. The least recently used are evicted first.

    Raises:
        UsageError: The size is not positive.
    """
    if not size > 0:
        raise UsageError(f"size must be at least 1, got {size!r}")
    return Cached(as_verifier(part), size)


@dataclass(frozen=True)
class WithTimeout(Verifier):
    """A verifier with a deadline for each sample. See `with_timeout`."""

    part: Verifier
    seconds: float
    workers: int
    name = "with_timeout"
    _helper: Helper = field(init=False, repr=False, compare=False)
    reads: ClassVar[Reads | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_helper", Helper(self.workers, memory_mb=None))

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score the samples in worker processes, `workers` at a time."""
        with ThreadPoolExecutor(self.workers, thread_name_prefix="verikit-timeout") as threads:
            return list(threads.map(self._score_sample, samples))

    def _score_sample(self, sample: Sample) -> Score:
        try:
            row = self._helper.call("verikit.compose.guards:score_row", self.part, sample, timeout=self.seconds)
        except HelperTimeout:
            return Score.timeout(f"{self.part.name} took more than {self.seconds} s, or its process died")
        except HelperError as error:
            return Score.error(f"{self.part.name}: {error}")
        return _rebuilt(row)

    def equal(self, a: str, b: str) -> bool | None:
        """Compare with the part."""
        return self.part.equal(a, b)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """The part's keys."""
        return self.part.keys(answer)

    def matches(self, score: Score) -> bool:
        """Whether the part counts the score as a match."""
        return self.part.matches(score)

    def __reduce__(self) -> tuple[Any, ...]:
        return (WithTimeout, (self.part, self.seconds, self.workers))


def score_row(part: Verifier, sample: Sample) -> dict[str, Any]:
    """One sample's score as plain data, computed in a worker process."""
    return part.score([sample])[0].as_dict()


def _rebuilt(row: dict[str, Any]) -> Score:
    parts = {name: _rebuilt(part) for name, part in row["parts"].items()}
    return Score(**row | {"parts": parts, "steps": tuple(map(_rebuilt, row["steps"]))})


def with_timeout(part: Part, seconds: float, workers: int = 2) -> Verifier:
    """Give each sample at most `seconds` in a worker process, which is then killed. The sample is `timeout`.

    Works from any thread and in daemonic processes, unlike a timeout by thread or signal. The verifier is pickled, so
    its parts must be importable in another process. Define functions in a module, not in a notebook's cell.

    Args:
        part: A verifier.
        seconds: Wall-clock time per sample.
        workers: Number of worker processes.

    Raises:
        UsageError: The time is not positive, or less than a part's own limit for the candidate's programs; or the
            verifier can't be pickled.
    """
    verifier = as_verifier(part)
    slowest = sum(each.slowest_s for each in walk(verifier))
    if 0 < seconds < slowest:  # a candidate whose program loops would be unscored
        raise UsageError(
            f"{verifier.name} may take {slowest:g} s itself, more than the deadline of {seconds:g} s",
            hint=f"a deadline of {slowest + 1:g} s, or smaller limits (row_s, wall_s) of {verifier.name}",
        )
    if not seconds > 0 or workers < 1:
        raise UsageError(
            f"the deadline and the number of workers must be greater than 0, got {seconds!r} and {workers!r}"
        )
    try:
        pickle.dumps(verifier)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"{verifier.name} can't be pickled: {error}", hint="define its functions in a module"
        ) from None
    return WithTimeout(verifier, float(seconds), workers)
