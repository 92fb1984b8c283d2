"""Guards around a verifier: a cap on length, a memory, a deadline. None changes what a score means."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verikit.types import Sample, Score
from verikit.verifier import Verifier, score_all


@dataclass(frozen=True)
class LengthGuard(Verifier):
    """A verifier behind a cap on the text's length; see `length_guard`."""

    part: Verifier
    max_chars: int
    name = "length_guard"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score what is within the cap; the rest gets 0.0 unread."""
        short = iter(score_all(self.part, [s for s in samples if len(s.completion) <= self.max_chars]))
        return [next(short) if len(s.completion) <= self.max_chars else self._too_long(s) for s in samples]

    def _too_long(self, sample: Sample) -> Score:
        return Score(0.0, reason=f"{len(sample.completion)} characters, over the cap of {self.max_chars}")

    def equal(self, a: str, b: str) -> bool | None:
        """Ask the part."""
        return self.part.equal(a, b)


def length_guard(part: Verifier, max_chars: int) -> Verifier:
    """Give 0.0 to completions of more than `max_chars` characters, without running the verifier on them."""
    return LengthGuard(part, max_chars)


@dataclass(frozen=True)
class Cached(Verifier):
    """A verifier with a memory; see `cached`."""

    part: Verifier
    size: int
    name = "cached"
    _memory: OrderedDict[str, Score] = field(default_factory=OrderedDict, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score what is not remembered, each distinct sample once."""
        keys = [_key(sample) for sample in samples]
        with self._lock:
            known = {key: self._memory[key] for key in keys if key in self._memory}
        fresh = {key: sample for key, sample in zip(keys, samples, strict=True) if key not in known}
        scored = dict(zip(fresh, score_all(self.part, list(fresh.values())), strict=True))
        with self._lock:
            for key in dict.fromkeys(keys):
                score = scored.get(key) or known[key]
                if score.status in ("ok", "abstained"):
                    self._memory[key] = score
                    self._memory.move_to_end(key)
            while len(self._memory) > self.size:
                self._memory.popitem(last=False)
        return [scored.get(key) or replace(known[key], usage={"cached": 1.0}, seconds=0.0) for key in keys]

    def equal(self, a: str, b: str) -> bool | None:
        """Ask the part."""
        return self.part.equal(a, b)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Cached, (self.part, self.size))


def _key(sample: Sample) -> str:
    content = (sample.prompt, sample.completion, sample.answer, sample.meta)
    return json.dumps(content, sort_keys=True, default=repr)


def cached(part: Verifier, size: int = 65536) -> Verifier:
    """Remember the scores of the last `size` distinct samples of this process; failures are not remembered."""
    return Cached(part, size)
