"""The core interface: a `Verifier` maps samples to scores. Everything else is a verifier, feeds one or uses one.

`Verifier.score` is the method to implement. It works on batches, is synchronous and must be thread-safe. Callers use
`score_all`, the only place where an exception becomes data: a bad row gets an error score, and the other rows keep
their scores.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass, replace
from functools import partial
from importlib import import_module
from types import CellType, FunctionType, MappingProxyType
from typing import Any, ClassVar, get_args, overload

from verikit.errors import EngineError, UsageError, VerikitError, with_hint
from verikit.platform import tracing
from verikit.platform.numbers import span
from verikit.platform.secrets import strike
from verikit.replies.split import TAGS_VARIABLE, Reads
from verikit.replies.views import Read, view
from verikit.types import UNIT, Gold, Prompt, Sample, Score

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_PACKAGE = os.path.dirname(__file__) + os.sep
_FRAMES = 10
"""Number of traceback frames to keep, innermost first."""


class Verifier(ABC):
    """Maps samples to scores.

    `repr` includes everything that determines the scores (options, parts), because resumed runs and caches use it as a
    key. Implementations are picklable and safe to call from several threads.
    """

    name: str
    batch: int = 1
    """Samples per call needed for full speed, such as the number of requests an engine keeps in flight."""
    reads: ClassVar[Reads | None] = "reply"
    """The part of a completion that `score` finds in `Sample.completion`.

    None passes the sample unchanged, which verifiers that forward it to others need.
    """
    sees_media: ClassVar[bool] = False
    """Whether `score` receives replies that are pictures, sounds or files without text. Otherwise they are unscored."""
    tallied: ClassVar[tuple[str, ...]] = ()
    """Keys of `Score.usage` that a run's summary adds up: integers that count how many times something happened."""
    rates: ClassVar[Mapping[str, tuple[str, str]]] = MappingProxyType({})
    """Fractions in a run's summary, by name: the tallied key of the numerator and that of the denominator."""

    @abstractmethod
    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Return one score per sample, in order. A failure is a `Score` without a value, not an exception."""

    def __call__(self, completion: str, answer: Gold | float = None, *, prompt: Prompt = "", **meta: Any) -> Score:
        """Score one completion. A numeric answer is converted to a string. `meta` becomes the sample's own keys."""
        gold = str(answer) if isinstance(answer, int | float) else answer
        return score_all(self, [Sample(prompt, completion, gold, meta=meta)])[0]

    def score_missing(self, sample: Sample, reason: str) -> Score:
        """Return the score of a completion with thoughts but no reply: 0.0, unless the row is bad.

        `score` doesn't receive such completions. A verifier that counts events in `usage` also counts them here.
        `sample.completion` is blank.
        """
        return Score(0.0, reason=reason)

    def equal(self, a: str, b: str) -> bool | None:
        """Whether two extracted answers are the same (None: undecided). Majority voting clusters by it."""
        return a == b

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """Return keys such that equal answers have one in common, or None if they are unknown.

        Keys let votes over many answers compare only a few of them. Identical strings are equal without a key. A custom
        `equal` has no keys unless `keys` is overridden too.
        """
        return () if type(self).equal is Verifier.equal else None

    def matches(self, score: Score) -> bool:
        """Whether a score means that its answer equals the gold answer.

        Such answers vote together, however they are written.

        False if answers other than the gold answer can be right.
        """
        return False

    def doubts(self, score: Score) -> bool:
        """Whether a negative score of this verifier may be wrong. False if the score rests on proof."""
        return True

    def explain(self, sample: Sample) -> str:
        """Return more detail on one sample than its score (parse trees, steps), for people to read.

        "" if there is none.
        """
        return ""

    def environment(self) -> Mapping[str, Any]:
        """Return the machine's properties that scores depend on, such as a sandbox's verified ones.

        They are stored with a run's results.
        """
        return {}

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible value, or -inf and inf if unbounded. Intervals depend on them.

        The default is [0, 1] for a verifier without parts. With parts, it is the range of the parts, extended to the
        0.0 of a completion that can't be scored.
        """
        return span(0.0, *(end for part in parts_of(self) for end in part.bounds)) if any(parts_of(self)) else UNIT

    @property
    def slowest_s(self) -> float:
        """Most seconds that one sample can take, if an option limits it. Otherwise 0. Parts are not included."""
        return 0.0

    @property
    def fingerprint(self) -> str:
        """16 hex digits that change whenever anything that determines the scores changes."""
        told = _ADDRESS.sub("", repr(self)) + os.environ.get(TAGS_VARIABLE, "")
        return hashlib.sha256(told.encode(errors="replace")).hexdigest()[:16]

    def __repr__(self) -> str:
        """Return the class and its public attributes.

        Subclasses whose private attributes affect scores must add these.
        """
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
    """The part of a completion to score: the `reply`, the `thoughts`, or `all`."""

    def __post_init__(self) -> None:
        check_reads(self.reads)


def check_reads(reads: object) -> None:
    """Check that a value is a valid `Reads`.

    Raises:
        UsageError: It is not.
    """
    if reads not in get_args(Reads):
        raise UsageError(f"reads must be one of {', '.join(get_args(Reads))}, got {reads!r}")


def score_all(verifier: Verifier, samples: Sequence[Sample]) -> list[Score]:
    """Score a batch. This is the scoring boundary.

    The verifier gets the part of each completion that its `reads` names. If it reads the reply, it doesn't receive
    completions that have thoughts but no reply. These score 0.0 (`Verifier.score_missing`).

    If `verifier.score` raises an exception or doesn't return one `Score` per sample, the samples that cause it get
    error scores. The batch is halved until they are isolated, so one bad row among n costs O(log n) more calls.

    Raises:
        UsageError: The verifier was set up incorrectly. That is an error in the call, not in a row.
    """
    if tracing.tracer() is None:
        return _score_all(verifier, samples)
    with tracing.evaluation(verifier.name, len(samples)) as span:
        scores = _score_all(verifier, samples)
        tracing.scored(span, verifier.name, scores)
    return scores


def _score_all(verifier: Verifier, samples: Sequence[Sample]) -> list[Score]:
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
        shown, cause = _traced(error), error if isinstance(error, EngineError) else None
    if len(samples) <= 1:
        seconds = time.perf_counter() - start
        return [Score.error(problem, seconds=seconds, text=shown, cause=cause) for _ in samples]
    half = len(samples) // 2
    return _score_all(verifier, samples[:half]) + _score_all(verifier, samples[half:])


class _Malformed(Exception):
    """The verifier didn't return one score per sample."""


def _read_and_score(verifier: Verifier, samples: Sequence[Sample]) -> list[Score]:
    """Pass the verifier the part of each sample that it reads."""
    shown = [view(sample, verifier.reads, media=verifier.sees_media) for sample in samples]
    live = [seen.sample for seen in shown if seen.complete]
    scores = verifier.score(live) if live or not samples else []
    if len(scores) != len(live):
        raise _Malformed(f"returned {len(scores)} scores for {len(live)} samples")
    if not all(isinstance(score, Score) for score in scores):
        raise _Malformed("returned something that is not a Score")
    rest = iter(scores)
    return [_noted(next(rest), seen.told) if seen.complete else _unread(verifier, seen) for seen in shown]


def _unread(verifier: Verifier, seen: Read) -> Score:
    if seen.media:
        return Score.abstained(f"the reply is a {seen.media} without text, and {verifier.name} reads text")
    return verifier.score_missing(seen.sample, seen.missing)


def _noted(score: Score, told: str) -> Score:
    """Note in the score's text which part of the completion was read, if it wasn't all of it."""
    if not told:
        return score
    return replace(score, text=f"{told}\n{score.text}" if score.text else told)


def walk(verifier: Verifier) -> Iterator[Verifier]:
    """Yield the verifier and all its parts, recursively, outermost first."""
    yield verifier
    for part in parts_of(verifier):
        yield from walk(part)


def parts_of(verifier: Verifier) -> Iterator[Verifier]:
    """Yield the direct parts of a verifier."""
    names: list[str] = [field.name for field in fields(verifier)] if is_dataclass(verifier) else []
    for name in names:
        value = getattr(verifier, name)
        below = tuple(value.values()) if isinstance(value, Mapping) else value
        for part in below if isinstance(below, tuple) else (below,):
            if isinstance(part, Verifier):
                yield part


def describe(error: BaseException) -> str:
    """Return one line for a reason: the error's type, message and, for verikit's errors, hint.

    Cut at 500 characters.
    """
    # The standard formatter also handles an exception whose `str` fails.
    text = " ".join(traceback.format_exception_only(error)[-1].split()).removeprefix(f"{type(error).__module__}.")
    text = strike(with_hint(text, error.hint) if isinstance(error, VerikitError) else text)
    return text if len(text) <= 500 else text[:499] + "…"


def raised_at(error: BaseException) -> str:
    """Return the line of user code that raised an exception, to append to a reason: ` (reward.py:12)`.

    "" if there is none.
    """
    frames = _foreign(error)
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({os.path.basename(error.filename)}:{error.lineno})"
    within = [frame for frame in frames if frame.filename == frames[0].filename]
    return f" ({os.path.basename(within[-1].filename)}:{within[-1].lineno})" if within else ""


def _traced(error: BaseException) -> str:
    """Return the traceback of an error in user code, starting at verikit's call. "" if verikit itself raised it."""
    frames = _foreign(error)
    return strike("".join(traceback.format_list(frames[-_FRAMES:]))) if frames else ""


def _foreign(error: BaseException) -> list[traceback.FrameSummary]:
    """Return a traceback's frames from the first one outside this package.

    Empty for errors that verikit raises on purpose.
    """
    if isinstance(error, VerikitError):
        return []
    frames = traceback.extract_tb(error.__traceback__)
    outside = (i for i, frame in enumerate(frames) if not frame.filename.startswith((_PACKAGE, "<frozen importlib")))
    return frames[next(outside, len(frames)) :]


Scorer = Callable[[Sample], float | bool | Score | None]


class FunctionVerifier(Verifier):
    """Turns a plain function of one sample into a verifier. Created by `verifier`."""

    sees_media = True  # the function finds them in the sample's messages

    def __init__(self, function: Scorer, name: str = "", reads: Reads = "reply") -> None:
        check_reads(reads)
        self._function = function
        self.reads: Reads | None = reads  # type: ignore[misc]  # pyright: ignore
        self.name: str = name or getattr(function, "__name__", "") or type(function).__name__
        self.__doc__ = function.__doc__
        self.__name__: str = self.name

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Call the function on each sample. None abstains, a number or bool is the value."""
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
        """Return the name and a digest of the source, so an edited function counts as a different verifier."""
        told = describe_function(self._function)
        return told if self.reads == "reply" else f"{told} of {self.reads}"

    def __reduce__(self) -> tuple[Any, ...]:
        # After decoration, the function's name refers to this object, so pickle finds it by that name.
        function = self._function
        module, qualname = getattr(function, "__module__", None), getattr(function, "__qualname__", "<")
        if module and "<" not in qualname and _lookup(module, qualname) is self:
            return (_lookup, (module, qualname))
        return (FunctionVerifier, (function, self.name, self.reads))


def describe_function(function: Callable[..., Any]) -> str:
    """Describe a function by its name and a digest of its source, defaults and closure.

    An edited function gets a different description. So does a function that a factory made with another option.
    """
    if isinstance(function, partial):
        bound = ", ".join([*map(repr, function.args), *(f"{k}={v!r}" for k, v in function.keywords.items())])
        return f"partial({describe_function(function.func)}, {bound})"
    if not isinstance(function, FunctionType):
        return repr(function)
    import inspect  # imported here, because it takes a third of `import verikit`

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
    # A function may close over itself. Its name is used there.
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
    """Turn a plain function `(Sample) -> float | bool | Score | None` into a verifier. Returning None abstains.

    Use it bare (`@verifier`), with a name (`@verifier(name="style")`) or with `reads`. By default, `sample.completion`
    contains the reply and `sample.thoughts` the thoughts. With `@verifier(reads="all")`, the completion contains both,
    including tags.
    """
    if function is None:
        return partial(FunctionVerifier, name=name, reads=reads)
    return FunctionVerifier(function, name, reads)


def unique_names(names: Iterable[str]) -> list[str]:
    """Return names for parts: a duplicate gets a suffix (`answer`, `answer_2`), never a silent overwrite."""
    result: dict[str, None] = {}
    count: dict[str, int] = {}
    for name in names:
        candidate = name
        while candidate in result:
            count[name] = count.get(name, 1) + 1
            candidate = f"{name}_{count[name]}"
        result[candidate] = None
    return list(result)
