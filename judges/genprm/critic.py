"""The critic loop: review a solution, show the policy its first doubtful step with the analysis, and let it retry.

Each turn starts only from the latest solution, as in the authors' repository. A solution without a doubtful step is
final and leaves the loop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property

from verikit.base import Verifier
from verikit.engines import Engine, Generation, Request
from verikit.errors import ConfigError, EngineError
from verikit.guided.critic import doubt
from verikit.judges.asking.ask import connect
from verikit.judges.genprm.column import StepColumn
from verikit.judges.genprm.stepwise import StepVerifier
from verikit.replies.views import seen
from verikit.types import Message, Prompt, Sample, Score


@dataclass(frozen=True, slots=True)
class CritiqueTurn:
    """One version of a solution, with its review."""

    completion: str
    score: Score
    """The process reward model's score."""
    truth: Score | None = None
    """The score against the gold answer, if requested."""
    doubtful: int = -1
    """The first doubtful step, counted from 0. -1 if there is no such step, or no review."""

    @property
    def answer(self) -> str | None:
        """The final answer."""
        return self.score.answer


@dataclass(frozen=True, slots=True)
class Refinement:
    """The history of one solution. `turns[0]` is the first version."""

    turns: tuple[CritiqueTurn, ...]
    error: EngineError | None = None
    """Why the policy returned no further solution, if it failed."""

    @property
    def last(self) -> CritiqueTurn:
        """The final turn."""
        return self.turns[-1]


@dataclass(frozen=True)
class Critic:
    """Refines solutions through any engine, guided by any process reward model."""

    policy: str | Engine
    """A spec, or an engine."""
    reviewer: StepVerifier
    _: KW_ONLY
    turns: int = 3
    """Maximum refinements."""
    truth: Verifier | None = None
    """Scores each turn against the gold answer. The result is only recorded, and the loop does not use it."""
    temperature: float = 0.7
    top_p: float = 0.8
    top_k: int = 0
    """The reference implementation uses 20. Only vLLM and hf support it."""
    max_tokens: int = 2048
    seed: int = 0

    def __post_init__(self) -> None:
        if self.turns < 0:
            raise ConfigError(f"turns must be a number >= 0, got {self.turns}")
        if isinstance(self.reviewer, StepColumn):
            raise ConfigError("stored step scores can't review the policy's new text", hint="use genprm or prm")

    @cached_property
    def engine(self) -> Engine:
        """The engine of the policy."""
        return connect(self.policy, {}, cached=True) if isinstance(self.policy, str) else self.policy

    def refine(self, samples: Sequence[Sample]) -> list[Refinement]:
        """Refine all samples together. A sample without a completion gets its first one from the policy."""
        current = list(samples)
        results = [Refinement(()) for _ in samples]
        asking = [i for i, sample in enumerate(current) if not sample.completion]
        self._ask(asking, [_messages(current[i].prompt) for i in asking], current, results, 0)
        live = _without_errors(range(len(current)), results)
        for turn in range(self.turns + 1):
            self._review(live, current, results)
            live = [i for i in live if results[i].last.doubtful >= 0]
            if not live or turn == self.turns:
                break
            self._ask(live, [self._doubt(current[i], results[i].last) for i in live], current, results, turn + 1)
            live = _without_errors(live, results)
        return results

    def _review(self, live: Sequence[int], current: Sequence[Sample], results: list[Refinement]) -> None:
        samples = [current[i] for i in live]
        scores = self.reviewer.score(samples)
        truths: Sequence[Score | None] = self.truth.score(samples) if self.truth else [None] * len(live)
        for i, score, truth in zip(live, scores, truths, strict=True):
            doubtful = next((n for n, step in enumerate(score.steps) if step.scored and not step.passed), -1)
            turn = CritiqueTurn(current[i].completion, score, truth, doubtful if score.scored else -1)
            results[i] = Refinement((*results[i].turns, turn))

    def _doubt(self, sample: Sample, turn: CritiqueTurn) -> list[Message]:
        """The conversation that requests another solution: it quotes the doubtful step, followed by its criticism."""
        read, _ = seen(sample, self.reviewer.reads)
        said = self.reviewer.criticism(turn.doubtful, turn.score)
        asking = doubt(self.reviewer.steps_of(read)[turn.doubtful], said)
        return [
            *_messages(sample.prompt),
            Message(role="assistant", content=turn.completion),
            Message(role="user", content=asking),
        ]

    def _ask(
        self,
        live: Sequence[int],
        prompts: Sequence[list[Message]],
        current: list[Sample],
        results: list[Refinement],
        turn: int,
    ) -> None:
        """Query the policy for all live samples in one call, and store the new solutions."""
        requests = [self._request(prompt, f"{index}/{turn}") for index, prompt in zip(live, prompts, strict=True)]
        for i, generation in zip(live, self.engine.generate(requests) if requests else [], strict=True):
            error = _failure(generation)
            if error is not None:
                results[i] = replace(results[i], error=error)
            else:
                meta = {key: value for key, value in current[i].meta.items() if key != "steps"}
                current[i] = replace(current[i], completion=generation.text, meta=meta)

    def _request(self, prompt: list[Message], key: str) -> Request:
        digest = hashlib.blake2b(f"{self.seed}\0{key}\0{prompt!r}".encode("utf-8", "replace"), digest_size=8)
        return Request(
            prompt,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            seed=None if self.temperature == 0 else int.from_bytes(digest.digest(), "big") >> 1,
        )


def _failure(generation: Generation) -> EngineError | None:
    return generation.error or (None if generation.outputs else EngineError("the engine gave no output"))


def _messages(prompt: Prompt) -> list[Message]:
    return [Message(role="user", content=prompt)] if isinstance(prompt, str) else list(prompt)


def _without_errors(numbers: Iterable[int], results: Sequence[Refinement]) -> list[int]:
    return [number for number in numbers if results[number].error is None]
