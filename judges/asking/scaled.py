"""Scaled judging: each criterion is judged separately, and several times (Kwok et al. 2026)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from statistics import fmean

from verikit.engines import Request
from verikit.engines.usage import added
from verikit.errors import ConfigError, EngineError, VerikitError
from verikit.judges.asking.judge import Judge
from verikit.judges.asking.reply import JudgeVerdict
from verikit.judges.evidence import Shown

WARM = 1.0
"""Temperature of repeated requests if the prompt's own is 0."""


@dataclass(frozen=True, repr=False)
class Scaled(Judge):
    """A judge that may send several requests per question."""

    _: KW_ONLY
    asks: int = 1
    """Number of requests per question. The mean counts.

    Requests differ in seed. They are sampled at temperature 1 if the prompt's own is 0.
    """
    criteria: Sequence[str] = ()
    """Criteria as strings. Each is judged separately, and the mean counts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_asks(self.asks)
        given = self.criteria
        texts = isinstance(given, Sequence) and not isinstance(given, str)
        if not texts or not all(isinstance(text, str) and text.strip() for text in given):
            raise ConfigError(f"criteria must be a list of strings, got {given!r:.80}", hint="['Is it right?', …]")
        object.__setattr__(self, "criteria", tuple(given))

    def asking(self, texts: Mapping[str, Shown], criterion: str, number: int) -> Request | VerikitError:
        """Request `number` (from 0) that shows these strings, or the error that prevents it."""
        made = self.request(texts, criterion)
        return repeated(made, number, self.asks) if isinstance(made, Request) else made


def repeated(request: Request, number: int, asks: int) -> Request:
    """The request as repetition `number` of `asks`. Repeated requests have seeds and are not greedy."""
    return request if asks == 1 else replace(request, temperature=request.temperature or WARM, seed=number)


def check_asks(asks: object) -> None:
    """Check that `asks` is a valid number of requests.

    Raises:
        ConfigError: It is not.
    """
    if isinstance(asks, bool) or not isinstance(asks, int) or asks < 1:
        raise ConfigError(f"asks must be an integer >= 1, got {asks!r}")


def mean_of_askings(verdicts: Sequence[JudgeVerdict]) -> JudgeVerdict:
    """The combined result of several requests for a question: the mean of those with a verdict.

    It is an error without any verdict. It is also an error if the engine failed, since a retry may change the mean.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    usage = added(*(verdict.usage for verdict in verdicts))
    failures = [verdict for verdict in verdicts if isinstance(verdict.error, EngineError)]
    if failures:
        return replace(failures[0], usage=usage)
    known = {number: float(verdict.value) for number, verdict in enumerate(verdicts) if verdict.value is not None}
    if not known:
        return replace(verdicts[0], usage=usage)
    mean = fmean(known.values())
    nearest = min(known, key=lambda number: abs(known[number] - mean))
    replies = "\n\n".join(verdicts[number].reply for number in known)
    return replace(verdicts[nearest], value=mean, reply=replies, usage=usage)


def mean_of_criteria(verdicts: Sequence[JudgeVerdict]) -> JudgeVerdict:
    """The mean of the criteria's verdicts. An error if one criterion has no verdict."""
    if len(verdicts) == 1:
        return verdicts[0]
    if lost := next((verdict for verdict in verdicts if verdict.value is None), None):
        return replace(lost, usage=added(*(verdict.usage for verdict in verdicts)))
    return mean_of_askings(verdicts)
