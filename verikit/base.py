"""The one verb: a `Verifier` maps samples to scores. Everything else is one, feeds one, or uses one.

Call `Verifier.score`. It is the one place where an exception becomes data: a bad row gets an error score and the
others keep theirs. Implement `Verifier.score_batch`: batch-first, synchronous, thread-safe.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass, replace
from functools import partial
from importlib import import_module
from types import CellType, FunctionType, MappingProxyType
from typing import Any, ClassVar, get_args, overload

from verikit.errors import EngineError, UsageError
from verikit.platform import tracing
from verikit.platform.numbers import span
from verikit.platform.raised import describe, raised_at, traced
from verikit.replies.split import TAGS_VARIABLE, Reads
from verikit.replies.views import Read, view
from verikit.types import UNIT, Gold, Prompt, Sample, Score

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Verifier(ABC):
    """Maps samples to scores.

    `repr` tells everything that decides the scores (options, parts): resumed runs and caches are keyed by it.
    Implementations are picklable and safe to call from several threads.
    """

    name: str
    batch: int = 1
    """Samples it wants in one call to work at full speed: what an engine keeps in flight, say."""
    reads: ClassVar[Reads | None] = "reply"
    """What `score_batch` finds in `Sample.completion`. None: the sample as it is, for verifiers that pass it on."""
    sees_media: ClassVar[bool] = False
    """Whether `score_batch` gets replies that are pictures, sounds or files without text. If not, they are unscored."""
    tallied: ClassVar[tuple[str, ...]] = ()
    """Keys of `Score.usage` that a run's summary adds up: whole numbers that say how often something happened."""
    rates: ClassVar[Mapping[str, tuple[str, str]]] = MappingProxyType({})
    """Shares that a run's summary gives: by name, which tallied key is counted, and of which other."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a verifier that was written for 0.2, where authors implemented `score`.

        Raises:
            UsageError: The class has a method `score` of its own.
        """
        super().__init_subclass__(**options)
        if cls.score is not Verifier.score:
            raise _written_for_0_2(cls)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Return one score per sample, in order. This is the method to call.

        `score_batch` gets what the verifier `reads` of each completion. A verifier that reads the reply does not get a
        completion that has thoughts and no reply. That one is 0.0 (`score_missing`).

        An exception out of `score_batch` becomes an error score for the samples that cause it, and so does a result
        that is not one `Score` per sample. The batch is halved until they stand alone, so one bad row among n costs
        O(log n) more calls.

        Raises:
            UsageError: The verifier was set up wrong. That is a fault of the call, not of a row.
        """
        if tracing.tracer() is None:
            return _score_or_halve(self, samples)
        with tracing.evaluation(self.name, len(samples)) as span:
            scores = _score_or_halve(self, samples)
            tracing.scored(span, self.name, scores)
        return scores

    @abstractmethod
    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Return one score per sample, in order. This is the method to implement.

        A failure is a `Score` without a value, not an exception.
        """

    def __call__(self, completion: str, answer: Gold | float = None, *, prompt: Prompt = "", **meta: Any) -> Score:
        """Score one completion; a number is the answer that is its text, `meta` becomes the sample's own keys."""
        gold = str(answer) if isinstance(answer, int | float) else answer
        return self.score([Sample(prompt, completion, gold, meta=meta)])[0]

    def score_missing(self, sample: Sample, reason: str) -> Score:
        """Return the score of a completion with thoughts and no reply: 0.0, unless the row is bad.

        `score_batch` doesn't get such a completion, and `sample.completion` is blank. A verifier that counts things in
        `usage` counts them here too.
        """
        return Score(0.0, reason=reason)

    def equal(self, a: str, b: str) -> bool | None:
        """Whether two extracted answers are the same (None: undecided). Majority voting clusters by it."""
        return a == b

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """Keys such that equal answers share one, by which votes over many answers compare few; None: not known.

        A text is equal to itself without a key. An `equal` of one's own has no keys unless `keys` says more.
        """
        return () if type(self).equal is Verifier.equal else None

    def matches(self, score: Score) -> bool:
        """Whether a score says that its answer is the gold's: such answers vote together, however they are written.

        False where other things than the gold's answer can be right.
        """
        return False

    def doubts(self, score: Score) -> bool:
        """Whether a score of this verifier that is a no may be wrong; False where it rests on proof."""
        return True

    def explain(self, sample: Sample) -> str:
        """What more there is to tell a person about one sample beside its score (parse trees, steps); "" if nothing."""
        return ""

    def environment(self) -> Mapping[str, Any]:
        """What of this machine the scores rest on (a sandbox's proved properties), kept with a run's results."""
        return {}

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value it can give; -inf and inf where nothing bounds it. Intervals rest on them.

        Without parts it is [0, 1], with parts what theirs span, with the 0.0 of a completion that can't be scored.
        """
        return span(0.0, *(end for part in parts_of(self) for end in part.bounds)) if any(parts_of(self)) else UNIT

    @property
    def slowest_s(self) -> float:
        """The most seconds that one sample can take, where that is bounded by an option; else 0. Not of its parts."""
        return 0.0

    @property
    def fingerprint(self) -> str:
        """16 hex digits that change when anything that decides the scores changes."""
        told = _ADDRESS.sub("", repr(self)) + os.environ.get(TAGS_VARIABLE, "")
        return hashlib.sha256(told.encode(errors="replace")).hexdigest()[:16]

    def __repr__(self) -> str:
        """Class and public attributes; a subclass with private ones that matter says more."""
        shown = ", ".join(
            f"{key}={value!r}" for key, value in getattr(self, "__dict__", {}).items() if not key.startswith("_")
        )
        return f"{type(self).__qualname__}({shown})"

    def __mul__(self, weight: float) -> Verifier:
        from verikit.compose.combine import weighted

        return weighted(self, weight) if isinstance(weight, (int, float)) else NotImplemented

    __rmul__ = __mul__

    def __add__(self, other: Verifier) -> Verifier:
        from verikit.compose.combine import add

        return add(self, other) if isinstance(other, Verifier) else NotImplemented

    def __rshift__(self, fn: Callable[[float], float]) -> Verifier:
        from verikit.compose.combine import mapped

        return mapped(self, fn) if callable(fn) else NotImplemented


@dataclass(frozen=True)
class TextVerifier(Verifier):
    """A verifier whose `reads` is an option."""

    _: KW_ONLY
    reads: Reads = "reply"  # type: ignore[misc]  # pyright: ignore[reportIncompatibleVariableOverride]
    """What of a completion is scored: the `reply`, the `thoughts`, or `all`."""

    def __post_init__(self) -> None:
        check_reads(self.reads)


def check_reads(reads: object) -> None:
    """Refuse what can't be read of a completion.

    Raises:
        UsageError: it is no `Reads`.
    """
    if reads not in get_args(Reads):
        raise UsageError(f"reads must be one of {', '.join(get_args(Reads))}, got {reads!r}")


def score_all(verifier: Verifier, samples: Sequence[Sample]) -> list[Score]:
    """Score a batch as `verifier.score(samples)` does. It is the old name and goes with the next release."""
    warnings.warn("score_all(verifier, samples) is verifier.score(samples) now", DeprecationWarning, stacklevel=2)
    return verifier.score(samples)


def _written_for_0_2(cls: type[Verifier]) -> UsageError:
    """Say which line of a verifier's source has to change."""
    code = getattr(cls.score, "__code__", None)
    where = f"{code.co_filename}:{code.co_firstlineno}" if code else cls.__module__
    return UsageError(
        f"{where}: {cls.__qualname__} defines score(self, samples), which is for callers now: rename it to score_batch"
    )


def _score_or_halve(verifier: Verifier, samples: Sequence[Sample]) -> list[Score]:
    samples = list(samples)
    start, shown = time.perf_counter(), ""
    cause: EngineError | None = None
    try:
        return _read_and_score(verifier, samples)
    except _Malformed as error:
        problem = f"{verifier.name} {error}"
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the one boundary where an exception becomes data
        problem = f"{verifier.name} raised {describe(error)}{raised_at(error)}"
        shown, cause = traced(error), error if isinstance(error, EngineError) else None
    if len(samples) <= 1:
        seconds = time.perf_counter() - start
        return [Score.error(problem, seconds=seconds, text=shown, cause=cause) for _ in samples]
    half = len(samples) // 2
    return _score_or_halve(verifier, samples[:half]) + _score_or_halve(verifier, samples[half:])


class _Malformed(Exception):
    """What a verifier returned is not one score a sample."""


def _read_and_score(verifier: Verifier, samples: Sequence[Sample]) -> list[Score]:
    """Show the verifier what it reads of each sample."""
    if verifier.reads is None:  # the samples as they are
        return _checked_scores(verifier, samples)
    shown = [view(sample, verifier.reads, media=verifier.sees_media) for sample in samples]
    live = [seen.sample for seen in shown if seen.complete]
    rest = iter(_checked_scores(verifier, live) if live or not samples else ())
    return [_noted(next(rest), seen.told) if seen.complete else _unread(verifier, seen) for seen in shown]


def _checked_scores(verifier: Verifier, samples: Sequence[Sample]) -> list[Score]:
    scores = verifier.score_batch(samples)
    if len(scores) != len(samples):
        raise _Malformed(f"returned {len(scores)} scores for {len(samples)} samples")
    if not all(isinstance(score, Score) for score in scores):
        raise _Malformed("returned something that is not a Score")
    return scores


def _unread(verifier: Verifier, seen: Read) -> Score:
    if seen.media:
        return Score.abstained(f"the reply is a {seen.media} without text, and {verifier.name} reads text")
    return verifier.score_missing(seen.sample, seen.missing)


def _noted(score: Score, told: str) -> Score:
    """Say in the score's text what was read, where that was not all."""
    if not told:
        return score
    return replace(score, text=f"{told}\n{score.text}" if score.text else told)


def walk(verifier: Verifier) -> Iterator[Verifier]:
    """The verifier and all it is made of, outermost first."""
    yield verifier
    for part in parts_of(verifier):
        yield from walk(part)


def parts_of(verifier: Verifier) -> Iterator[Verifier]:
    """The verifiers that a verifier is directly made of."""
    names: list[str] = [field.name for field in fields(verifier)] if is_dataclass(verifier) else []
    for name in names:
        value = getattr(verifier, name)
        below = tuple(value.values()) if isinstance(value, Mapping) else value
        for part in below if isinstance(below, tuple) else (below,):
            if isinstance(part, Verifier):
                yield part


Scorer = Callable[[Sample], float | bool | Score | None]


class FunctionVerifier(Verifier):
    """A plain function of one sample as a verifier; made by `verifier`."""

    sees_media = True  # the function finds them in the sample's messages

    def __init__(self, function: Scorer, name: str = "", reads: Reads = "reply") -> None:
        check_reads(reads)
        self._function = function
        self.reads: Reads | None = reads  # type: ignore[misc]  # pyright: ignore
        self.name: str = name or getattr(function, "__name__", "") or type(function).__name__
        self.__doc__ = function.__doc__
        self.__name__: str = self.name

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Call the function on each sample; None abstains, a number or bool is the value."""
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        start = time.perf_counter()
        result = self._function(sample)
        seconds = time.perf_counter() - start
        if isinstance(result, Score):
            return replace(result, seconds=seconds) if result.seconds is None else result
        if result is None:
            return Score.abstained(f"{self.name} does not apply", seconds=seconds)
        return Score(float(result), seconds=seconds)

    def __repr__(self) -> str:
        """Name and a digest of the source, so that an edited function counts as another verifier."""
        told = describe_function(self._function)
        return told if self.reads == "reply" else f"{told} of {self.reads}"

    def __reduce__(self) -> tuple[Any, ...]:
        # After decoration the function's own name means this object, so it is found again by that name.
        function = self._function
        module, qualname = getattr(function, "__module__", None), getattr(function, "__qualname__", "<")
        if module and "<" not in qualname and _lookup(module, qualname) is self:
            return (_lookup, (module, qualname))
        return (FunctionVerifier, (function, self.name, self.reads))


def describe_function(function: Callable[..., Any]) -> str:
    """Say which function this is, with a digest of its source, defaults and closure.

    An edited function is another function, and so is one that a factory made with another option.
    """
    if isinstance(function, partial):
        bound = ", ".join([*map(repr, function.args), *(f"{k}={v!r}" for k, v in function.keywords.items())])
        return f"partial({describe_function(function.func)}, {bound})"
    if not isinstance(function, FunctionType):
        return repr(function)
    import inspect  # here, not above: it costs a third of `import verikit`

    code = function.__code__
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = ""
    if not source or function.__name__ == "<lambda>":  # a line may hold several lambdas
        source += f"{code.co_code!r} {code.co_names} {code.co_consts}"
    cells = [_describe_cell(cell) for cell in function.__closure__ or ()]
    told = _ADDRESS.sub("", f"{source} {function.__defaults__} {function.__kwdefaults__} {cells}")
    digest = hashlib.sha256(told.encode(errors="replace")).hexdigest()[:12]
    return f"function({function.__module__}:{function.__qualname__}, {digest})"


def _describe_cell(cell: CellType) -> str:
    try:
        value = cell.cell_contents
    except ValueError:
        return "empty"
    # A function may close over itself: its name must do there.
    return f"{value.__module__}:{value.__qualname__}" if isinstance(value, FunctionType) else repr(value)


def _lookup(module: str, qualname: str) -> Any:
    found: Any = import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


@overload
def verifier(function: Scorer, *, name: str = "", reads: Reads = "reply") -> FunctionVerifier: ...
@overload
def verifier(*, name: str = "", reads: Reads = "reply") -> Callable[[Scorer], FunctionVerifier]: ...
def verifier(
    function: Scorer | None = None, *, name: str = "", reads: Reads = "reply"
) -> FunctionVerifier | Callable[[Scorer], FunctionVerifier]:
    """Make a verifier of a plain function `(Sample) -> float | bool | Score | None`; None abstains.

    Used bare (`@verifier`), with a name (`@verifier(name="style")`), or with what it reads: the function finds the
    reply in `sample.completion` and the thoughts in `sample.thoughts`; `@verifier(reads="all")` finds both in the
    completion, tags included.
    """
    if function is None:
        return partial(FunctionVerifier, name=name, reads=reads)
    return FunctionVerifier(function, name, reads)


def unique_names(names: Iterable[str]) -> list[str]:
    """Names for parts: an equal name gets a suffix (`answer`, `answer_2`), never a silent overwrite."""
    result: dict[str, None] = {}
    count: dict[str, int] = {}
    for name in names:
        candidate = name
        while candidate in result:
            count[name] = count.get(name, 1) + 1
            candidate = f"{name}_{count[name]}"
        result[candidate] = None
    return list(result)
