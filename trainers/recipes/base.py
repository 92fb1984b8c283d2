"""Code shared by recipes: requests, trajectories of single replies, stopwatches, epochs, means by stratum."""

from __future__ import annotations

import random
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean
from typing import Any

from verikit.engines.types import EnginePrompt, Generation, Output, Request
from verikit.trainers.recipe import Recipe, Sampler, Setting, Trajectory, Transcript
from verikit.types import Message


class Stopwatch:
    """Adds up the seconds of pieces of work in all threads."""

    def __init__(self) -> None:
        self._laps: list[float] = []

    @property
    def seconds(self) -> float:
        """The sum since the last `reset`."""
        return sum(self._laps)

    def reset(self) -> None:
        """Start again from 0."""
        self._laps = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time a piece of work."""
        began = time.perf_counter()
        yield
        self._laps.append(time.perf_counter() - began)


class Epochs:
    """The order of sampling a dataset: each epoch shuffles all of it, keyed by `key` and the epoch's number."""

    key: str
    count: int

    def __init__(self, key: str, count: int) -> None:
        self.key, self.count = key, count
        self._shuffled: tuple[int, list[int]] = (-1, [])

    def index(self, position: int) -> int:
        """Return the index of the item at a position, counted from 0 across epochs."""
        epoch, offset = divmod(position, self.count)
        if self._shuffled[0] != epoch:
            order = random.Random(f"{self.key} {epoch}").sample(range(self.count), self.count)
            self._shuffled = (epoch, order)
        return self._shuffled[1][offset]


class ReplyRecipe(Recipe):
    """A recipe of single replies, sampled under `options.max_tokens` and `options.temperature`."""

    judging: Stopwatch

    def __init__(self, options: Any, setting: Setting) -> None:
        super().__init__(options, setting)
        self.judging = Stopwatch()
        """Time that worker threads spend on judging the replies of one step."""
        self._metrics: dict[str, float] = {}

    def request(self, sampler: Sampler, prompt: EnginePrompt, *key: str | int, n: int = 1, **others: Any) -> Request:
        """Return a request for n replies and their log-probabilities; `others` are fields of `Request`.

        Its seed is derived from `key`, the run and the step.
        """
        settings = {"temperature": self.options.temperature, "logprobs": 0} | others
        return Request(prompt, n=n, max_tokens=self.options.max_tokens, seed=sampler.seed(*key), **settings)

    def reply_trajectory(
        self, generation: Generation, output: Output, reward: float | None, group: Hashable, **others: Any
    ) -> Trajectory:
        """Return the trajectory of one reply after its prompt; `others` are further fields of `Trajectory`."""
        transcript = Transcript(generation.prompt_ids)
        transcript.sampled(output)
        return transcript.trajectory(
            reward,
            group,
            finished=output.finish_reason != "length",
            temperature=self.options.temperature,
            completion=output.text,
            **others,
        )

    def metrics(self) -> dict[str, float]:
        """Return the metrics of the last `collect`."""
        return self._metrics


class SelfPlay(ReplyRecipe):
    """A recipe that writes its own questions, with a set of templates (`prompts`) or the chat template."""

    prompts: Any
    """Has `text(question)`, which inserts a question into the transcript of a base model."""

    def encode(self, sampler: Sampler, question: str) -> list[int]:
        """Return a question's ids, by the chat template or the prompts' transcript."""
        if self.options.chat:
            message: Message = {"role": "user", "content": question}
            return sampler.encode([message])
        return sampler.encode(self.prompts.text(question))


def demonstration(tokenizer: Any, prompt: str, completion: str, group: Hashable) -> Trajectory:
    """Return a transcript to imitate. The completion and the end token are trained on, the prompt is not."""
    before, own = tokenizer.encode(prompt), [*tokenizer.encode(completion), tokenizer.eos_token_id]
    mask = [False] * len(before) + [True] * len(own)
    return Trajectory([*before, *own], mask, [0.0] * len(mask), None, group, prompt=prompt, completion=completion)


def stratified(overall: str, rows: Iterable[tuple[Sequence[str], Sequence[float]]]) -> dict[str, float]:
    """Return the mean of all rows' values as `overall`, and of each stratum's values; 0 without values.

    Args:
        overall: The name of the first mean.
        rows: (The names of the strata that a row is in, its values).
    """
    found: dict[str, list[float]] = {overall: []}
    for names, values in rows:
        for name in (overall, *names):
            found.setdefault(name, []).extend(values)
    return {name: fmean(values) if values else 0.0 for name, values in found.items()}
