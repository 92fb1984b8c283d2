"""Shared parts of the adapters: a named verifier with a policy for unscored samples, and the conversion to samples."""

from __future__ import annotations

import hashlib
import inspect
import logging
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from types import CodeType
from typing import Any, ClassVar, Literal

from verikit.adapters.gather import Gather, gathered
from verikit.adapters.silence import Silence
from verikit.base import Verifier, unique_names
from verikit.errors import Unscored, UsageError
from verikit.messages import are_parts, as_mapping, content_text
from verikit.names.reward_functions import GOLD_KEYS as GOLD_KEYS
from verikit.names.spec import load
from verikit.platform.system import at_fork
from verikit.replies.split import Reads
from verikit.responses import are_items, from_responses
from verikit.types import Gold, Prompt, Sample, Score
from verikit.verifiers.echo import echo_guard

WhenUnscored = float | Literal["mean", "raise"] | None
"""The reward that a stack receives for an unscored sample.

Either a number, `mean`, `raise` or None. `mean` is the mean of the same prompt's scored samples, so the advantage is
zero. `raise` raises `Unscored`. None is for stacks that support missing rewards.
"""
_PROMPTS = 1024
"""Maximum number of prompts whose latest values are stored."""
_VALUES = 64
"""Maximum number of values stored per prompt."""
_STAND_INS = 65536
"""Maximum number of prompts whose stand-in is stored."""
_log = logging.getLogger("verikit")
_lock = threading.Lock()
"""Guards counts and latest values. It is module-level rather than per reward, so rewards can be pickled."""


class Reward:
    """A verifier as another stack's callable: it has a `__name__`, can be pickled, and works in any thread.

    With `echoes` off, as in training, an answer that is copied from the question or not computed gets 0.0. With `tries`
    above 1, a sample whose score is a timeout or an error is scored again.

    Raises:
        UsageError: `unscored` is invalid, or it is None and the stack does not support missing rewards.
    """

    masks: ClassVar[bool] = True
    """Whether the stack takes None for a reward."""
    one_process: ClassVar[bool] = True
    """Whether all samples of a prompt are scored in the same process. If not, processes see different values."""

    def __init__(
        self,
        verifier: str | Verifier,
        name: str | None,
        unscored: WhenUnscored,
        *,
        echoes: bool = True,
        tries: int = 1,
    ) -> None:
        if (unscored is None and not self.masks) or (isinstance(unscored, str) and unscored not in ("mean", "raise")):
            forms = "a number, 'mean' or 'raise'" + (", or None" if self.masks else "")
            raise UsageError(f"unscored must be {forms} here, got {unscored!r}")
        loaded = load(verifier)
        guarded = loaded if echoes else echo_guard(loaded)
        self.verifier: Verifier = guarded if tries == 1 else AskedAgain(guarded, tries)
        self.unscored: WhenUnscored = unscored
        self.__name__: str = name or loaded.name
        self.parts: list[str] = unique_names(part.name for part in getattr(loaded, "parts", ()))
        """Names of the parts of a combined reward, such as a weighted sum or a mean."""
        self.counts: Counter[str] = Counter()
        """How many samples were `scored` and `unscored`, in this process."""
        self.silence = Silence(self.__name__)
        """Stops a run whose reward scores nothing."""
        self._means = GroupMeans(constant=not self.one_process)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score a batch."""
        return self._noted(self.verifier.score(samples))

    async def score_sample(self, sample: Sample) -> Score:
        """Score one sample, gathered into a batch with what other callers wait for."""
        return self._noted([await self.gather.score(sample)])[0]

    def score_waiting(self, sample: Sample, seconds: float | None = None) -> Score:
        """Score one sample for a caller without an event loop. After `seconds` the score is a timeout."""
        future = self.gather.submit(sample)
        try:
            score = future.result(seconds)
        except TimeoutError:
            future.cancel()
            score = Score.timeout(f"scoring took longer than {seconds} s")
        return self._noted([score])[0]

    @property
    def gather(self) -> Gather:
        """Gathers single calls into batches."""
        return gathered(self.verifier, self.fingerprint)

    @cached_property
    def fingerprint(self) -> str:
        """The verifier's."""
        return self.verifier.fingerprint

    def rewards(self, samples: Sequence[Sample], scores: Sequence[Score]) -> list[float | None]:
        """Return the reward of each sample: its score's value, or the replacement set by `unscored`.

        Raises:
            Unscored: A sample is unscored and `unscored` is `raise`.
        """
        lost = next((score for score in scores if score.value is None), None)
        if self.unscored == "mean":
            return [*self._means.filled(list(map(group_of, samples)), [score.value for score in scores])]
        if lost is not None and isinstance(self.unscored, str):
            raise Unscored(f"{self.__name__}: {lost.status}: {lost.reason}")
        missing = None if isinstance(self.unscored, str) else self.unscored
        return [missing if score.value is None else score.value for score in scores]

    def part_values(self, score: Score) -> dict[str, float | None]:
        """The value of every part under `part/NAME`, the same names for every sample; None for a part without one."""
        found = {name: score.parts.get(name) for name in self.parts}
        return {f"part/{name}": None if part is None else part.value for name, part in found.items()}

    def reason(self, score: Score) -> str:
        """The reason of a score, and of a sum also the reasons of its parts."""
        told = "; ".join(f"{name}: {part.reason}" for name, part in score.parts.items() if part.reason)
        return f"{score.reason}: {told}" if told and score.scored else score.reason

    def details(self, score: Score) -> dict[str, Any]:
        """Status, reason and answer of a score, and the value and reason of each part, as JSON."""
        parts = {name: {"value": part.value, "reason": part.reason} for name, part in score.parts.items()}
        return {"status": score.status, "reason": score.reason, "answer": score.answer, "parts": parts}

    def watch(self, samples: Sequence[Sample], scores: Sequence[Score], step: int | None = None) -> None:
        """Stop a run in which two consecutive steps are entirely unscored.

        Args:
            samples: A batch.
            scores: The score of each sample.
            step: The training step, if the stack passes it.

        Raises:
            Unscored: Two consecutive steps are unscored.
        """
        with _lock:
            self.silence.after_batch(list(map(group_of, samples)), scores, step)

    def watch_calls(self, scores: Iterable[Score]) -> None:
        """Stop a run in which a long series of single calls is unscored.

        Raises:
            Unscored: The series is too long.
        """
        with _lock:
            for score in scores:
                self.silence.after_call(score)

    def _noted(self, scores: list[Score]) -> list[Score]:
        """Count; log the first sample that has no score, the tenth, the hundredth and so on."""
        lost = [score for score in scores if not score.scored]
        with _lock:
            before = self.counts["unscored"]
            self.counts["unscored"] += len(lost)
            self.counts["scored"] += len(scores) - len(lost)
            count, total = self.counts["unscored"], self.counts.total()
        if lost and (before == 0 or len(str(count)) > len(str(before))):
            last = lost[-1]
            _log.warning(
                "%s could not score %d of %d samples, the last (%s): %s",
                self.__name__, count, total, last.status, last.reason,
            )  # fmt: skip
        return scores

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.verifier!r}, name={self.__name__!r}, unscored={self.unscored!r})"


class NumberReward(Reward):
    """A reward for a stack that does not support missing rewards."""

    masks: ClassVar[bool] = False

    def numbers(self, samples: Sequence[Sample], scores: Sequence[Score]) -> list[float]:
        """Return the rewards, with a number for every sample.

        Raises:
            Unscored: A sample is unscored and `unscored` is `raise`.
        """
        return [value for value in self.rewards(samples, scores) if value is not None]

    def number(self, sample: Sample, score: Score) -> float:
        """Return the reward of one sample.

        Raises:
            Unscored: The sample is unscored and `unscored` is `raise`, or a long series of calls is unscored.
        """
        self.watch_calls([score])
        return self.numbers([sample], [score])[0]


@dataclass(frozen=True)
class AskedAgain(Verifier):
    """A verifier that rescores samples whose score is a timeout or an error, up to `tries` attempts in total."""

    part: Verifier
    tries: int
    name = "asked_again"
    reads: ClassVar[Reads | None] = None

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise UsageError(f"tries must be at least 1, got {self.tries}")
        object.__setattr__(self, "batch", self.part.batch)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score all, then what failed."""
        scores = self.part.score(samples)
        for _ in range(self.tries - 1):
            failed = [i for i, score in enumerate(scores) if score.status in ("timeout", "error")]
            if not failed:
                break
            for i, score in zip(failed, self.part.score([samples[i] for i in failed]), strict=True):
                scores[i] = score
        return scores


class GroupMeans:
    """Stand-ins for missing values: the mean of the same prompt's values, so that the advantage is zero.

    The mean is exact if the same call has values for the prompt. Stacks that call per sample get the mean of the
    prompt's latest values.

    A prompt without any value gets one stand-in for all its samples, since group-relative training would amplify any
    difference between them. The stand-in is the mean of all prompts' latest values when the first of its samples is
    filled in.

    Args:
        constant: Use 0.0 as that stand-in. Set it if a prompt's samples reach several processes, which see different
            values.
    """

    def __init__(self, *, constant: bool = False) -> None:
        self._constant = constant
        self._latest: OrderedDict[Hashable, deque[float]] = OrderedDict()
        self._stand_ins: OrderedDict[Hashable, float] = OrderedDict()
        """Stand-ins of prompts that have had no value since their first stand-in."""

    def filled(self, groups: Sequence[Hashable], values: Sequence[float | None]) -> list[float]:
        """The values, the missing ones filled in."""
        here: defaultdict[Hashable, list[float]] = defaultdict(list)
        for group, value in zip(groups, values, strict=True):
            if value is not None:
                here[group].append(value)
        with _lock:
            for group, own in here.items():
                self._stand_ins.pop(group, None)
                for key in (group, None):
                    self._latest.setdefault(key, deque(maxlen=_VALUES)).extend(own)
                    self._latest.move_to_end(key)
            while len(self._latest) > _PROMPTS:
                self._latest.popitem(last=False)
            return [
                self._stand_in(group, here.get(group)) if value is None else value
                for group, value in zip(groups, values, strict=True)
            ]

    def _stand_in(self, group: Hashable, here: Sequence[float] | None) -> float:
        """Return the stand-in for one sample of a group. `here` has the values of the group in the current call."""
        if here:
            return fmean(here)
        if group not in self._stand_ins:
            others = () if self._constant else self._latest.get(None, ())
            self._stand_ins[group] = fmean(self._latest.get(group) or others or (0.0,))
            if len(self._stand_ins) > _STAND_INS:
                self._stand_ins.popitem(last=False)
        return self._stand_ins[group]


def group_of(sample: Sample) -> bytes:
    """Return a digest that a prompt's samples share: of the prompt or the row's index, and of the gold answer."""
    told = repr((sample.prompt or sample.meta.get("index"), sample.answer))
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _forked() -> None:
    """Replace locks in a forked child: a lock held by another thread would never be released."""
    global _lock
    _lock = threading.Lock()


at_fork(in_child=_forked)


class Awaited:
    """Lets an object whose `__call__` is a coroutine pass `inspect.iscoroutinefunction`, which stacks use to decide.

    That check requires something that looks like a function. A real function created in a factory could not be pickled.
    """

    __defaults__ = None
    __kwdefaults__ = None
    __annotations__: Any = {}

    @property
    def __code__(self) -> CodeType:
        return type(self).__call__.__code__  # type: ignore[no-any-return, attr-defined, operator]

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__call__)  # type: ignore[operator]


def _is_plain_message(turn: Any) -> bool:
    return isinstance(turn, dict) and isinstance(turn.get("content"), str) and "role" in turn


def prompt_of(prompt: Any) -> Prompt:
    """Convert a prompt to a string or plain messages.

    Raises:
        UsageError: The prompt is neither.
    """
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    if isinstance(prompt, Mapping) or not isinstance(prompt, Iterable):
        raise UsageError(f"a prompt must be a string or a list of messages, got {type(prompt).__name__}")
    turns: list[Any] = list(prompt)
    if are_items(turns):
        turns = list(from_responses(turns))
    if all(map(_is_plain_message, turns)):
        return turns  # as nearly all come
    return [
        {"role": str(message.get("role", "user")), "content": content_text(message.get("content"))}
        for message in map(as_mapping, turns)
    ]


def gold_of(gold: Any) -> Gold:
    """Convert a gold answer to a verifier's format: a string, accepted strings, content parts, or None.

    Numbers become strings.
    """
    if gold is None or isinstance(gold, str):
        return gold
    if isinstance(gold, Mapping):
        return gold_of(next((gold[key] for key in ("target", *GOLD_KEYS) if key in gold), None))
    if hasattr(gold, "tolist"):  # numpy, as read from parquet
        gold = gold.tolist()
    if are_parts(gold):
        return gold
    if isinstance(gold, (list, tuple)):
        return [str(answer) for answer in gold if answer is not None]
    return str(gold)


def tokens_in(ids: Any) -> dict[str, int]:
    """Count a completion's tokens by its ids, under the meta key that length verifiers read.

    Args:
        ids: Token ids, or a list of ids per turn. A completion without ids gets no entry.
    """
    if ids is None or isinstance(ids, str) or not hasattr(ids, "__len__"):
        return {}
    nested = len(ids) > 0 and hasattr(ids[0], "__len__")
    return {"completion_tokens": sum(map(len, ids)) if nested else len(ids)}
