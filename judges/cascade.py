"""Judges in a cascade: cheap ones first, and the next one only for verdicts that are not clear.

A verdict is clear if its value is at or beyond the limits of its judge (`until`). `verikit calibrate --until` fits the
limits from labels. A judge without a verdict passes its sample on, and the last judge always decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, TypeVar

from verikit.base import Verifier, unique_names
from verikit.compose.combine import whole
from verikit.engines.usage import added
from verikit.errors import ConfigError
from verikit.judges.pairwise import ByScore, Comparer, Comparison, Pair
from verikit.platform.numbers import span
from verikit.platform.terminal import SPENT
from verikit.replies.split import Reads
from verikit.types import PASS_MARK, Sample, Score

Limits = tuple[float | None, float | None]
"""A verdict is clear at or below the first, or at or above the second. None: this side is never clear."""
_FORMS = "until=0.9, until=[0.1, 0.9], or such a pair for each judge but the last"


class _Judged(Protocol):
    @property
    def usage(self) -> Mapping[str, float]: ...


Asked = TypeVar("Asked")
Verdict = TypeVar("Verdict", bound=_Judged)


@dataclass(frozen=True)
class Cascade(Verifier, Comparer):
    """Judges of rising price (see `cascade`)."""

    name = "cascade"
    reads: ClassVar[Reads | None] = None
    judges: tuple[Verifier, ...]
    until: tuple[Limits, ...]
    """The limits of each judge but the last."""

    @property
    def spenders(self) -> tuple[str, ...]:
        """The judges, each by a name of its own. A summary counts the spending of each."""
        return tuple(unique_names(judge.name for judge in self.judges))

    @property
    def tallied(self) -> tuple[str, ...]:  # type: ignore[override]
        """How many samples each judge decides."""
        return tuple(map(_decided_by, self.spenders))

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score with the first judge, and pass unclear samples on to the next, all of them in one batch."""
        calls = [lambda some, judge=judge: judge.score(some) for judge in self.judges]
        found = []
        for tried in self._passed_down(calls, samples, lambda score: score.value):
            name, last = list(tried.items())[-1]
            score = whole(tried, last.value, last.status, f"{name}: {last.reason}", decided_by=last)
            found.append(replace(score, usage=self._usage(tried)))
        return found

    def compare(self, pairs: Sequence[Pair]) -> list[Comparison]:
        """Compare with the first judge, and pass unclear pairs on to the next. A tie is not clear.

        If all judges rate, both answers are scored by the cascade, and the higher score wins.
        """
        if not any(isinstance(judge, Comparer) for judge in self.judges):
            return ByScore(self).compare(pairs)
        comparers = [judge if isinstance(judge, Comparer) else ByScore(judge) for judge in self.judges]
        found = []
        for tried in self._passed_down([each.compare for each in comparers], pairs, lambda said: said.preference):
            name, last = list(tried.items())[-1]
            orders = tuple(order for said in tried.values() for order in said.orders)
            found.append(replace(last, reason=f"{name}: {last.reason}", orders=orders, usage=self._usage(tried)))
        return found

    def _passed_down(
        self,
        calls: Sequence[Callable[[Sequence[Asked]], Sequence[Verdict]]],
        items: Sequence[Asked],
        value: Callable[[Verdict], float | None],
    ) -> list[dict[str, Verdict]]:
        """The verdicts on each item, by judge, in order. The last one decides."""
        tried: list[dict[str, Verdict]] = [{} for _ in items]
        unclear = list(range(len(items)))
        for name, call, limits in zip(self.spenders, calls, (*self.until, (math.inf, None)), strict=True):
            for i, said in zip(unclear, call([items[i] for i in unclear]), strict=True):
                tried[i][name] = said
            unclear = [i for i in unclear if not _clear(value(tried[i][name]), limits)]
        return tried

    @staticmethod
    def _usage(tried: Mapping[str, _Judged]) -> dict[str, float]:
        """The usage of all judges together and of each one, and who decided."""
        each = {f"{name} {key}": said.usage[key] for name, said in tried.items() for key in SPENT if key in said.usage}
        return {**added(*(said.usage for said in tried.values())), **each, _decided_by(list(tried)[-1]): 1.0}

    @property
    def bounds(self) -> tuple[float, float]:
        """The range that the judges span."""
        return span(*(end for judge in self.judges for end in judge.bounds))


def _decided_by(name: str) -> str:
    return f"decided_by_{name}"


def _clear(value: float | None, limits: Limits) -> bool:
    low, high = limits
    return value is not None and ((low is not None and value <= low) or (high is not None and value >= high))


def cascade(*judges: Verifier, until: float | Sequence[float | None] | Sequence[Sequence[float | None]]) -> Cascade:
    """Call a cheap judge first, and the next one only if its verdict is not clear or missing.

    `Score.usage` has the tokens and the cost of all judges together and of each one.

    Args:
        *judges: Two judges or more, the cheapest first. All rate, or all compare.
        until: When a verdict is clear: at most the first number or at least the second one (`[0.1, 0.9]`). 0.9 means
            `[0.1, 0.9]`. None in place of a number: this side is never clear. A list of pairs has one for each judge
            but the last. `verikit calibrate --until` fits the limits.

    Raises:
        ConfigError: There are fewer than two judges, one of them is a cascade, or the limits do not fit.
    """
    _check_judges(judges)
    before = len(judges) - 1
    pairs = until if isinstance(until, Sequence) and any(isinstance(part, Sequence) for part in until) else None
    found = tuple(map(_limits, pairs if pairs is not None else [_one_pair(until)] * before))
    if len(found) != before:
        raise ConfigError(f"until has {len(found)} pairs for {before} judges before the last", hint=_FORMS)
    return Cascade(judges, found)


def _check_judges(judges: Sequence[object]) -> None:
    if len(judges) < 2 or not all(isinstance(judge, Verifier) for judge in judges):
        raise ConfigError("a cascade has at least two judges", hint="cascade(judge('…'), judge('…'), until=0.9)")
    if any(isinstance(judge, Cascade) for judge in judges):
        raise ConfigError("a cascade can't be a judge of a cascade", hint="list the judges of both in one cascade")


def _one_pair(until: object) -> object:
    """`until` of all judges, if it is not two numbers that were meant as one for each judge."""
    if isinstance(until, Sequence) and len(until) == 2 and _number(until[0]) and until[0] >= PASS_MARK:
        hint = "until=[[0.1, 0.9], [0.05, 0.95]] has limits for each of two judges, until=[0.1, 0.9] the same for all"
        raise ConfigError(
            f"until={until!r} is one pair (low, high), so values up to {until[0]} would be clear", hint=hint
        )
    return until


def _limits(given: object) -> Limits:
    if _number(given) and PASS_MARK < float(given) <= 1:  # type: ignore[arg-type]
        return round(1 - float(given), 12), float(given)  # type: ignore[arg-type]
    if isinstance(given, Sequence) and len(given) == 2 and all(end is None or _number(end) for end in given):
        low, high = given
        if low is None or high is None or low < high:
            return low, high
    raise ConfigError(f"until={given!r} is not valid", hint=_FORMS)


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
