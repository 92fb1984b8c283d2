"""Input (`Request`) and output (`Generation`) of an engine.

Tokens in, tokens out: a generation has token ids and log-probabilities in addition to the text, so nothing is tokenised
twice. A failure is data on the one result that it concerns (`Generation.error`), and the other results of the batch are
unaffected. Exceptions are for requests and engines that were set up incorrectly.
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
"""Cancels a request."""

EnginePrompt = str | Sequence[Message] | Sequence[int]
"""Text used as is, a conversation (the model's chat template is applied), or token ids used as is.

If the last turn of a conversation is the assistant's, the model continues that turn.
"""
PromptKind = Literal["text", "chat", "ids"]
StructuredKind = Literal["choice", "regex", "grammar", "json"]
STRUCTURED_KINDS: tuple[StructuredKind, ...] = get_args(StructuredKind)


@dataclass(frozen=True, slots=True)
class Structured:
    """A format that the reply is constrained to during sampling. Exactly one field is set."""

    choice: tuple[str, ...] = ()
    """The output must be exactly one of these strings."""
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
    """One prompt and how to sample from it. Everything except `meta` determines the result."""

    prompt: EnginePrompt
    n: int = 1
    """How many outputs to sample."""
    max_tokens: int = 512
    """Maximum tokens of one output. 0 only scores the prompt (with `prompt_logprobs`)."""
    temperature: float = 0.0
    """0 is greedy."""
    top_p: float = 1.0
    top_k: int = 0
    """Sample only among this many most likely tokens, before `top_p` is applied. 0 disables the limit."""
    stop: tuple[str, ...] = ()
    """Strings that end the output. They are not part of it."""
    seed: int | None = None
    logprobs: int | None = None
    """Request log-probabilities of the sampled tokens and of the `k` most likely at each position.

    0: of sampled tokens only.
    """
    prompt_logprobs: int | None = None
    """The same for the tokens of the prompt."""
    structured: Structured | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    """The caller's own keys. They are not sent and not part of the request's identity."""

    def __post_init__(self) -> None:
        if not isinstance(self.prompt, str):
            object.__setattr__(self, "prompt", tuple(self.prompt))
        object.__setattr__(self, "stop", (self.stop,) if isinstance(self.stop, str) else tuple(self.stop))
        wrong = [
            text
            for text, bad in (
                ("an empty prompt of messages or ids", self.prompt == ()),
                ("a prompt that is neither text nor messages nor ids", not _is_prompt(self.prompt)),
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
            raise ValueError(f"invalid request: {', '.join(wrong)}")

    @property
    def kind(self) -> PromptKind:
        """Whether the prompt is text, a conversation or token ids."""
        if isinstance(self.prompt, str):
            return "text"
        return "ids" if isinstance(self.prompt[0], int) else "chat"

    @property
    def prompt_ids(self) -> tuple[int, ...]:
        """The prompt if it consists of token ids, otherwise empty."""
        return tuple(token for token in self.prompt if isinstance(token, int))

    @property
    def continues(self) -> bool:
        """Whether the prompt is a conversation that ends with an unfinished assistant turn."""
        last = self.prompt[-1] if self.kind == "chat" else None
        return isinstance(last, Mapping) and last.get("role") == "assistant" and bool(last.get("content"))

    @property
    def draws(self) -> int:
        """Outputs to sample for the requested `n`.

        Greedy outputs are equal, so one is sampled and repeated `n` times.
        """
        return 1 if self.temperature == 0 else self.n

    @property
    def deterministic(self) -> bool:
        """Whether two identical requests give the same result: greedy or seeded."""
        return self.temperature == 0 or self.seed is not None


@dataclass(frozen=True, slots=True)
class TopLogprob:
    """One of the most likely tokens at a position."""

    token: str
    logprob: float
    """Natural logarithm. -9999.0 represents minus infinity, as in servers' replies."""
    id: int | None = None
    """None if the server returns only strings."""


TopLogprobs = tuple[TopLogprob, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """One sampled reply. Per-token fields are parallel, and empty if not requested or not provided."""

    text: str
    ids: tuple[int, ...] = ()
    """Sampled token ids, including the end token if one was sampled."""
    tokens: tuple[str, ...] = ()
    """The same tokens as strings. Only with log-probabilities."""
    logprobs: tuple[float, ...] = ()
    """Natural log-probabilities of the sampled tokens under the model's own distribution (temperature 1, no top-p)."""
    top_logprobs: tuple[TopLogprobs, ...] = ()
    """The most likely tokens at the position of each sampled token, best first.

    May include the sampled one in addition to `k`.
    """
    finish_reason: str = ""
    """`stop` (end token or stop string), `length` (`max_tokens` or the context is used up), or the server's value."""
    thoughts: str = ""
    """The model's thoughts, if the server returns them separately from the text (`reasoning_content`)."""
    stopped_by: str | None = None
    """For a request with `stop`, the stop string that ended the output, or "" if its end token did.

    None if something else ended it, or if the engine does not report it.
    """


@dataclass(frozen=True, slots=True)
class Generation:
    """The result of one request: its outputs, or the error that prevented them."""

    outputs: tuple[Output, ...] = ()
    prompt_ids: tuple[int, ...] = ()
    """Empty if the server does not provide them."""
    prompt_logprobs: tuple[float | None, ...] = ()
    """Log-probability of each prompt token given those before it; None for the first."""
    prompt_top_logprobs: tuple[TopLogprobs, ...] = ()
    """The most likely tokens at each position of the prompt. Empty for the first."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """`prompt_tokens`, `completion_tokens`, `calls` (tries sent), `seconds`, `cost` where prices are known, `cached` (1
    for a hit of the cache, which costs nothing), and `prompt_cached`: the prompt tokens that the server read from its
    own prefix cache, if it reports them."""
    error: EngineError | None = None

    @property
    def first(self) -> Output:
        """The first output.

        Raises:
            EngineError: There is none. The error is the reason.
        """
        if self.error is not None:
            raise self.error
        return self.outputs[0]

    @property
    def text(self) -> str:
        """The first output's text.

        Raises:
            EngineError: There is none. The error is the reason.
        """
        return self.first.text

    @property
    def cached(self) -> bool:
        """Whether the result came from the cache."""
        return bool(self.usage.get("cached"))


class Engine(ABC):
    """Generates outputs. Controls its own concurrency. `generate` may be called from any thread, and in parallel."""

    name: str
    """The spec, for display: `hf:models/tiny`. Never contains credentials."""
    form: str = ""
    """The format of such an engine's specs, for messages: `hf:PATH`."""
    batched: bool = False
    """Whether requests go out in few large batches that take hours, at a batch's price."""
    submits: bool = False
    """Whether `submit` accepts requests."""
    tokenizer: Any = None
    """The model's tokenizer, if the engine has it in this process. Callers can then work on token ids."""
    pictures: bool = False
    """Whether messages may have pictures: content parts of the type `image_url` with a `data:` address."""
    last_failure: EngineError | None = None
    """Why the latest try failed, for an engine that retries. None after a successful try."""

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """Kinds of structured output that this engine can enforce. A request for another kind gets an error."""
        return frozenset()

    @property
    def identity(self) -> str:
        """Everything about the engine that determines its results. Caches use it as a key."""
        return self.name

    @abstractmethod
    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return one result per request, in order. A failed request has its `error` set."""

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Yield (index in `requests`, result) as results arrive. Each index occurs once, in any order."""
        yield from enumerate(self.generate(requests))

    def submit(self, request: Request, done: Callable[[Generation | BaseException], None]) -> TakeBack:
        """Accept a request in addition to those in progress.

        `done` gets the result, or an internal exception, in any thread.

        Only if `submits` is set. Returns a function that cancels the request if it has not been answered. In that case,
        `done` may never be called.
        """
        raise NotImplementedError(f"{self.name} takes requests together only")

    def roll_out(self, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
        """Run rollouts, each at its own pace, and return their return values in order. See `engines.rollouts`.

        Raises:
            Exception: A rollout or its work raised it.
        """
        from verikit.engines.rollouts import run_rollouts

        return run_rollouts(self, rollouts)

    def close(self) -> None:
        """Release connections, threads and memory. The engine can't be used afterwards."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Wrapper(Engine):
    """An engine in front of another one, whose attributes it exposes and which it closes.

    Implement `generate` or `stream`.
    """

    def __init__(self, engine: Engine) -> None:
        self.name: str = engine.name
        self.batched: bool = engine.batched
        self.pictures: bool = engine.pictures
        self._engine = engine

    @property
    def identity(self) -> str:
        """The engine's identity. This wrapper doesn't change results."""
        return self._engine.identity

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """The engine's."""
        return self._engine.structured

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()


class StreamingEngine(Engine):
    """An engine whose results arrive one by one. Implement `stream`."""

    @abstractmethod
    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Yield (index in `requests`, result) as results arrive. Each index occurs once, in any order."""

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Wait for all results and put them in order."""
        results = dict(self.stream(requests))
        return [results[index] for index in range(len(requests))]


def _is_prompt(prompt: Any) -> bool:
    """Whether a prompt is text, token ids or messages."""
    return isinstance(prompt, str) or any(all(isinstance(part, kind) for part in prompt) for kind in (int, Mapping))
