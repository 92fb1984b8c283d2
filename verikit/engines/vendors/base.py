"""Shared code of the engines that use vendors' own clients.

The client makes one try. verikit decides when to retry, how long and how many times (`verikit.engines.openai.call`), so
all servers are treated alike.
"""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import SecretStr

from verikit.engines.errors import Unsupported
from verikit.engines.openai.call import NEW_LIMIT_KEY, Call, tell_result
from verikit.engines.openai.dispatch import Dispatcher
from verikit.engines.openai.options import check_address, check_model, check_options, header_key
from verikit.engines.openai.pace import Pace
from verikit.engines.openai.wire import FailedTry, error_of, retry_after, strike_key
from verikit.engines.pictures import text_of
from verikit.engines.traced import traced_stream, traced_submit
from verikit.engines.types import Generation, Output, Request, StreamingEngine, StructuredKind, TakeBack
from verikit.engines.usage import Prices, added
from verikit.errors import AuthError, ContextOverflow, EngineError, SpecError
from verikit.types import Message


class VendorEngine(StreamingEngine):
    """A vendor's model, called through the vendor's client."""

    kind: str = ""
    """The spec's first word."""
    keys: tuple[str, ...] = ()
    """Environment variables that may contain the key."""
    limit_key: str = NEW_LIMIT_KEY
    submits = True

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        url: str | None = None,
        concurrency: int = 16,
        timeout_s: float = 300.0,
        deadline_s: float = 900.0,
        retries: int = 6,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        prices: Prices | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        """Describe the model. Nothing is sent yet.

        Args:
            model: Its name.
            api_key: Defaults to the environment's.
            url: Address of the service, if it is not the client's default.
            concurrency: Maximum number of requests in flight.
            timeout_s: Timeout of one try.
            deadline_s: Limit for all tries of a request together, starting with the first.
            retries: Maximum number of tries after the first.
            requests_per_minute: Rate limit.
            tokens_per_minute: Rate limit over prompt and reply.
            prices: Prices per million prompt and reply tokens, for `usage["cost"]`. A third one is for prompt
                tokens from the server's prefix cache.
            body: Additional arguments of every request, in the client's format.

        Raises:
            SpecError: The model's name or an option's value is invalid.
            MissingExtra: The vendor's package is not installed.
        """
        options: dict[str, Any] = {
            "concurrency": concurrency,
            "timeout_s": timeout_s,
            "deadline_s": deadline_s,
            "retries": retries,
            "requests_per_minute": requests_per_minute,
            "tokens_per_minute": tokens_per_minute,
            "prices": prices,
            "body": body,
        }
        check_model(model)
        if url is not None:
            check_address(url)
        try:
            check_options(options)
        except SpecError as error:
            raise SpecError(str(error).replace("engine openai", f"engine {self.kind}")) from None
        self._made_by = partial(type(self), model, url=url, **options)
        self.model: str = model
        self.url: str | None = url
        self.name: str = f"{self.kind}:{model}"
        given = next((key for name in self.keys if (key := os.environ.get(name))), "") if api_key is None else api_key
        self._key: SecretStr = header_key(given)
        self.timeout_s: float = timeout_s
        self.deadline_s: float = deadline_s
        self.retries: int = retries
        self.requests: Pace = Pace(requests_per_minute)
        self.tokens: Pace = Pace(tokens_per_minute)
        self.prices: Prices | None = prices
        self.body: dict[str, Any] = dict(body or {})
        self._client: Any = self.connect(self._key.get_secret_value())
        self._dispatcher = Dispatcher(concurrency, lambda: None)

    @property
    def identity(self) -> str:
        """Model, address and the additional arguments."""
        further = json.dumps(self.body, sort_keys=True, default=repr) if self.body else ""
        return " ".join(filter(None, (self.name, self.url, further)))

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """JSON schemas."""
        return frozenset({"json"})

    @traced_stream
    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Send the requests, at most `concurrency` at a time, and yield each result when it arrives."""
        calls = [_VendorCall(self, request) for request in requests]
        numbers = {call: number for number, call in enumerate(calls)}
        for call in self._dispatcher.run(calls):
            yield numbers[call], call.result

    @traced_submit
    def submit(self, request: Request, done: Callable[[Generation | BaseException], None]) -> TakeBack:
        """Send a request in addition to those in progress, at most `concurrency` at a time."""
        call = _VendorCall(self, request)
        return self._dispatcher.add(call, partial(tell_result, call, done))

    def close(self) -> None:
        """End the threads and the client's connections."""
        self._dispatcher.close()
        self._client.close()

    def answer(self, request: Request, timeout_s: float) -> Generation:
        """Send one call for each output to sample.

        Raises:
            FailedTry: One of them failed.
            EngineError: This vendor does not support the request.
        """
        self._check(request)
        drawn = [self.ask(request, timeout_s) for _ in range(request.draws)]
        usage = added(*(counts for _, counts in drawn))
        outputs = tuple(output for output, _ in drawn) * (request.n // request.draws)
        return Generation(outputs, usage=usage)

    @abstractmethod
    def connect(self, key: str) -> Any:
        """Create the vendor's client, with its own retries disabled.

        Raises:
            MissingExtra: Its package is not installed.
        """

    @abstractmethod
    def ask(self, request: Request, timeout_s: float) -> tuple[Output, dict[str, float]]:
        """Request one output. Return it and the tokens used.

        Raises:
            FailedTry: The vendor returned none.
            EngineError: The output can't be read.
        """

    def failed(
        self, status: int, said: object, code: object = "", headers: Mapping[str, str] | None = None
    ) -> FailedTry:
        """Return the failed try for an error's status, message and code."""
        text = strike_key(" ".join(str(said).split())[:300], self._key.get_secret_value())
        error = error_of(status, text, str(code or ""))
        hints: dict[type[EngineError], str] = {AuthError: f"set {self.keys[0]}", ContextOverflow: error.hint}
        error = type(error)(str(error), hint=hints.get(type(error), ""))  # other hints are for your own servers
        return FailedTry(error, retry_after(headers or {}))

    def broken(self, error: EngineError) -> FailedTry:
        """Return a try that failed in transit, without the content of the client's own exception."""
        return FailedTry(error)

    def _check(self, request: Request) -> None:
        lacking = [
            what
            for what, wanted in (
                ("goes on with a text", request.kind != "chat"),
                ("gives log-probabilities of a prompt", request.prompt_logprobs is not None),
                ("answers in no tokens", request.max_tokens == 0),
                (
                    f"holds a reply to a {request.structured.kind}" if request.structured else "",
                    request.structured is not None and request.structured.kind not in self.structured,
                ),
            )
            if wanted
        ]
        if lacking:
            hint = "ask in a conversation" if request.kind != "chat" else ""
            raise Unsupported(f"{self.name}: no {self.kind} model {lacking[0]}", hint=hint)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_remake, (self._made_by, self._key))


class _VendorCall(Call):
    """One request on its way to a vendor."""

    def __init__(self, engine: VendorEngine, request: Request) -> None:
        super().__init__(engine, request)  # type: ignore[arg-type]  # it has what a call asks of an engine
        self._vendor = engine

    def _try(self, timeout_s: float, limit_key: str) -> Generation:
        return self._vendor.answer(self.request, timeout_s)


def _remake(make: partial[VendorEngine], key: SecretStr) -> VendorEngine:
    return make(api_key=key.get_secret_value())


def turns_of(request: Request) -> tuple[str, list[Message]]:
    """The system messages' text, and the other turns.

    Raises:
        BadRequest: A system message has a picture.
    """
    turns: list[Any] = list(request.prompt)
    said = [turn["content"] for turn in turns if turn.get("role") in ("system", "developer")]
    system = [text_of(content, "a system message") for content in said]
    return "\n\n".join(system), [turn for turn in turns if turn.get("role") not in ("system", "developer")]
