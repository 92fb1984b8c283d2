"""What goes into an engine (`Request`) and what comes out (`Generation`).

Token in, token out: a generation carries token ids and log-probabilities beside the text; nothing is tokenised twice.
A failure is data on the one result it concerns (`Generation.error`); the other results of the batch keep theirs.
Exceptions are for requests and engines set up wrong.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, get_args

from verikit.errors import EngineError
from verikit.types import Message

if TYPE_CHECKING:
    from verikit.engines.rollouts import Rollout

Result = TypeVar("Result")
TakeBack = Callable[[], object]
"""Gives up what was asked for."""

EnginePrompt = str | Sequence[Message] | Sequence[int]
"""Text as it stands, a conversation (the model's chat template is applied), or token ids as they stand.

A conversation whose last turn is the assistant's is continued within that turn."""
PromptKind = Literal["text", "chat", "ids"]
StructuredKind = Literal["choice", "regex", "grammar", "json"]
STRUCTURED_KINDS: tuple[StructuredKind, ...] = get_args(StructuredKind)


@dataclass(frozen=True, slots=True)
class Structured:
    """A form the reply is constrained to while it is sampled; exactly one field is set."""

    choice: tuple[str, ...] = ()
    """One of these texts, whole."""
    regex: str = ""
    grammar: str = ""
    """A context-free grammar in EBNF, as the server reads it."""
    json: Mapping[str, Any] | None = None
    """A JSON schema."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "choice", tuple(self.choice))
        if sum(map(bool, (self.choice, self.regex, self.grammar, self.json is not None))) != 1:
            raise ValueError("structured output is exactly one of choice, regex, grammar, json")

    @property
    def kind(self) -> StructuredKind:
        """Which field is set."""
        return next(kind for kind in STRUCTURED_KINDS if getattr(self, kind) not in ((), "", None))


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt and how to sample from it; everything but `meta` decides the result."""

    prompt: EnginePrompt
    n: int = 1
    """How many outputs to sample."""
    max_tokens: int = 512
    """Most tokens of one output; 0 scores the prompt only (with `prompt_logprobs`)."""
    temperature: float = 0.0
    """0 is greedy."""
    top_p: float = 1.0
    top_k: int = 0
    """Sample among the likeliest so many only, before `top_p` is applied; 0: among all."""
    stop: tuple[str, ...] = ()
    """Texts that end the output; they are not part of it."""
    seed: int | None = None
    logprobs: int | None = None
    """Ask for log-probabilities of the sampled tokens, and of the `k` likeliest at each (0: of the sampled only)."""
    prompt_logprobs: int | None = None
    """The same for the tokens of the prompt."""
    structured: Structured | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    """The caller's own keys: not sent, not part of the request's identity."""

    def __post_init__(self) -> None:
        if not isinstance(self.prompt, str):
            object.__setattr__(self, "prompt", tuple(self.prompt))
        object.__setattr__(self, "stop", (self.stop,) if isinstance(self.stop, str) else tuple(self.stop))
        whole = isinstance(self.prompt, str) or any(
            all(isinstance(part, kind) for part in self.prompt) for kind in (int, Mapping)
        )
        wrong = [
            text
            for text, bad in (
                ("an empty prompt of messages or ids", self.prompt == ()),
                ("a prompt that is neither text nor messages nor ids", not whole),
                (f"n={self.n}", self.n < 1),
                (f"max_tokens={self.max_tokens}", self.max_tokens < 0),
                (f"temperature={self.temperature}", not 0 <= self.temperature < float("inf")),
                (f"top_p={self.top_p}", not 0 < self.top_p <= 1),
                (f"top_k={self.top_k}", self.top_k < 0),
                (f"logprobs={self.logprobs}", (self.logprobs or 0) < 0),
                (f"prompt_logprobs={self.prompt_logprobs}", (self.prompt_logprobs or 0) < 0),
                ("an empty stop text", "" in self.stop),
            )
            if bad
        ]
        if wrong:
            raise ValueError(f"not a request: {', '.join(wrong)}")

    @property
    def kind(self) -> PromptKind:
        """Whether the prompt is text, a conversation or token ids."""
        if isinstance(self.prompt, str):
            return "text"
        return "ids" if isinstance(self.prompt[0], int) else "chat"

    @property
    def prompt_ids(self) -> tuple[int, ...]:
        """The prompt where it is token ids, else nothing."""
        return tuple(token for token in self.prompt if isinstance(token, int))

    @property
    def continues(self) -> bool:
        """Whether the prompt is a conversation that ends within a turn of the assistant's."""
        last = self.prompt[-1] if self.kind == "chat" else None
        return isinstance(last, Mapping) and last.get("role") == "assistant" and bool(last.get("content"))

    @property
    def draws(self) -> int:
        """How many outputs to draw for the `n` asked for: greedy ones are equal, so one, which counts `n` times."""
        return 1 if self.temperature == 0 else self.n

    @property
    def deterministic(self) -> bool:
        """Whether asking twice gives the same result: greedy, or seeded."""
        return self.temperature == 0 or self.seed is not None


@dataclass(frozen=True, slots=True)
class TopLogprob:
    """One of the likeliest tokens at a position."""

    token: str
    logprob: float
    """Natural logarithm; -9999.0 stands for minus infinity, as servers write it."""
    id: int | None = None
    """None where the server gives texts only."""


TopLogprobs = tuple[TopLogprob, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """One sampled reply. Per-token fields are parallel, and empty where not asked for or not given."""

    text: str
    ids: tuple[int, ...] = ()
    """Sampled token ids, the end token included where one was sampled."""
    tokens: tuple[str, ...] = ()
    """The same tokens as texts; with log-probabilities only."""
    logprobs: tuple[float, ...] = ()
    """Natural log-probabilities of the sampled tokens under the model's own distribution (temperature 1, no top-p)."""
    top_logprobs: tuple[TopLogprobs, ...] = ()
    """For each sampled token the likeliest ones at its position, best first; the sampled one may come on top of `k`."""
    finish_reason: str = ""
    """`stop` (end token or stop text), `length` (`max_tokens` or the context is used up), or what the server says."""
    thoughts: str = ""
    """What the server keeps apart from the text as the model's thoughts (`reasoning_content`)."""
    stopped_by: str | None = None
    """Of a request with `stop`, the stop text that ended the output, "" where its end token did; None where something
    else did, or the engine does not tell."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The result of one request: its outputs, or the error that prevented them."""

    outputs: tuple[Output, ...] = ()
    prompt_ids: tuple[int, ...] = ()
    """Empty where the server does not give them."""
    prompt_logprobs: tuple[float | None, ...] = ()
    """Log-probability of each prompt token given those before it; None for the first."""
    prompt_top_logprobs: tuple[TopLogprobs, ...] = ()
    """The likeliest tokens at each position of the prompt; empty for the first."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """`prompt_tokens`, `completion_tokens`, `calls` (tries sent), `seconds`, `cost` where prices are known, and
    `cached` (1 for a hit of the cache, which costs nothing)."""
    error: EngineError | None = None

    @property
    def text(self) -> str:
        """The first output's text.

        Raises:
            EngineError: there is none; the error is the reason.
        """
        if self.error is not None:
            raise self.error
        return self.outputs[0].text

    @property
    def cached(self) -> bool:
        """Whether the cache answered."""
        return bool(self.usage.get("cached"))


class Engine(ABC):
    """Generates. Owns its concurrency; `generate` may be called from any thread and several at once."""

    name: str
    """The spec's form, for people: `hf:models/tiny`. Never holds a credential."""
    form: str = ""
    """How a spec names such an engine, for messages: `hf:PATH`."""
    batched: bool = False
    """Whether requests go out in few large batches that take hours, at a batch's price."""
    submits: bool = False
    """Whether `submit` takes requests."""
    tokenizer: Any = None
    """The model's, where the engine holds it in this process: its callers can then work on token ids."""
    pictures: bool = False
    """Whether messages may have pictures: content parts of the type `image_url` with a `data:` address."""
    last_failure: EngineError | None = None
    """Why the latest try failed, of an engine that tries again; None once a try succeeds."""

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """Kinds of structured output this engine can hold a reply to; a request for another gets an error."""
        return frozenset()

    @property
    def identity(self) -> str:
        """Everything about the engine that decides its results: caches are keyed by it."""
        return self.name

    @abstractmethod
    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return one result per request, in order; a request that fails has its `error` set."""

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Yield (index in `requests`, result) as results come; each index once, in any order."""
        yield from enumerate(self.generate(requests))

    def submit(self, request: Request, done: Callable[[Generation | BaseException], None]) -> TakeBack:
        """Take a request beside whatever is under way; `done` gets the result in any thread, or what went wrong in us.

        Only where `submits`. Returns what takes the request back, as far as it has not been answered: `done` may not be
        called any more then.
        """
        raise NotImplementedError(f"{self.name} takes requests together only")

    def roll_out(self, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
        """Run rollouts, each at its own pace, and return what they returned, in order; see `engines.rollouts`.

        Raises:
            Exception: what a rollout or its work raised.
        """
        from verikit.engines.rollouts import run_rollouts

        return run_rollouts(self, rollouts)

    def close(self) -> None:
        """Give back connections, threads and memory; the engine can't be used after."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Wrapper(Engine):
    """An engine in front of another, which it passes for and closes; `generate` or `stream` is left to implement."""

    def __init__(self, engine: Engine) -> None:
        self.name: str = engine.name
        self.batched: bool = engine.batched
        self.pictures: bool = engine.pictures
        self._engine = engine

    @property
    def identity(self) -> str:
        """The engine's: what stands in front of it changes no result."""
        return self._engine.identity

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """The engine's."""
        return self._engine.structured

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()


class StreamingEngine(Engine):
    """An engine whose results come one by one: `stream` is the method to implement."""

    @abstractmethod
    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Yield (index in `requests`, result) as results come; each index once, in any order."""

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Wait for all results and put them in order."""
        results = dict(self.stream(requests))
        return [results[index] for index in range(len(requests))]
