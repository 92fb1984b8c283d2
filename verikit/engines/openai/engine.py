"""The engine for OpenAI-compatible servers.

Every request of a batch is a job on shared threads, each with its own connection. With one pool for all threads, the
HTTP library would take time quadratic in their number. Temporary failures (429, 5xx, timeouts, lost connections) are
retried after a backoff with jitter, or after the server's `Retry-After`, until tries or the deadline run out. The last
error is then the result. Requests are sent sorted by prompt, so a server's prefix cache sees equal prefixes together.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import SecretStr

from verikit.engines.openai.call import Call, tell_result
from verikit.engines.openai.dispatch import Dispatcher
from verikit.engines.openai.options import check_address, check_model, check_options, header_key
from verikit.engines.openai.pace import Pace
from verikit.engines.openai.wire import FailedTry, exchange
from verikit.engines.traced import traced_stream, traced_submit
from verikit.engines.types import STRUCTURED_KINDS, Generation, Request, StreamingEngine, StructuredKind, TakeBack
from verikit.engines.usage import Prices
from verikit.errors import EngineTimeout, SpecError
from verikit.names.registry import misfit

if TYPE_CHECKING:
    import httpx

MODELS_S = 10.0
"""Maximum seconds to wait for a server's list of models."""


class OpenAI(StreamingEngine):
    """A model on an OpenAI-compatible server."""

    form = "openai:http://host:8000/v1#model"
    submits = True

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        concurrency: int = 64,
        timeout_s: float = 120.0,
        deadline_s: float = 600.0,
        retries: int = 6,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        prices: Prices | None = None,
        server: Literal["auto", "vllm", "openai"] = "auto",
        body: Mapping[str, Any] | None = None,
        pictures: bool = False,
    ) -> None:
        """Describe the server. Nothing is sent yet.

        Args:
            url: Address of the API, usually ending in /v1.
            model: The model's name there.
            api_key: Defaults to the environment's OPENAI_API_KEY.
            concurrency: Maximum number of requests in flight.
            timeout_s: Timeout of one try.
            deadline_s: Limit for all tries of a request together, starting with the first.
            retries: Maximum number of tries after the first.
            requests_per_minute: Rate limit.
            tokens_per_minute: Rate limit over prompt and reply.
            prices: Prices per million prompt and reply tokens, for `usage["cost"]`. A third one is for prompt
                tokens from the server's prefix cache.
            server: Server whose extensions may be used (token ids, choices, regexes, grammars). `auto` queries /models.
            body: Additional keys of every body, such as `{"chat_template_kwargs": {...}}`.
            pictures: Whether the model accepts pictures.

        Raises:
            SpecError: The address is invalid or contains credentials, the key can't be sent, or an option's value is
                invalid.
        """
        options: dict[str, Any] = {
            "concurrency": concurrency,
            "timeout_s": timeout_s,
            "deadline_s": deadline_s,
            "retries": retries,
            "requests_per_minute": requests_per_minute,
            "tokens_per_minute": tokens_per_minute,
            "prices": prices,
            "server": server,
            "body": body,
            "pictures": pictures,
        }
        check_address(url)
        check_options(options)
        self._made_by = partial(OpenAI, url, model, **options)
        self.url: str = url.rstrip("/")
        self.model: str = model
        self.name: str = f"openai:{self.url}#{model}"
        self._key = header_key(os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key)
        self.timeout_s: float = timeout_s
        self.deadline_s: float = deadline_s
        self.retries: int = retries
        self.requests: Pace = Pace(requests_per_minute)
        self.tokens: Pace = Pace(tokens_per_minute)
        self.prices: Prices | None = prices
        self.body: dict[str, Any] = dict(body or {})
        self.pictures: bool = pictures
        self.limit_key = "max_tokens"
        self._is_vllm = None if server == "auto" else server == "vllm"
        self._models_failure: FailedTry | None = None
        """The last failure of /models, if a retry may help."""
        self._asking = threading.Lock()
        self._local = threading.local()
        self._dispatcher = Dispatcher(concurrency, self._close_client)

    @classmethod
    def from_spec(cls, spec: str, **options: Any) -> Self:
        """Create an engine from `URL#model`.

        Args:
            spec: Address and model: `openai:http://host:8000/v1#model`.
            options: The class's.

        Raises:
            SpecError: The spec contains no model, or there is no such option.
        """
        url, _, model = spec.partition("#")
        if not model:
            raise SpecError("the spec names no model", hint="openai:http://host:8000/v1#model")
        check_model(model)
        problem, hint = misfit(cls, [url, model], options)
        if problem:
            raise SpecError(f"engine openai: {problem}", hint=hint)
        return cls(url, model, **options)

    @property
    def identity(self) -> str:
        """Address, model and the additional keys of the body."""
        return self.name + (json.dumps(self.body, sort_keys=True) if self.body else "")

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """All kinds on vLLM, JSON schemas elsewhere. Queries the server if `server` is `auto`."""
        try:
            vllm = self.is_vllm()
        except FailedTry:
            vllm = False
        return frozenset(STRUCTURED_KINDS) if vllm else frozenset({"json"})

    @traced_stream
    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Send the requests, at most `concurrency` at a time, and yield each result when it arrives."""
        calls = [Call(self, request) for request in requests]
        numbers = {call: number for number, call in enumerate(calls)}
        for call in self._dispatcher.run(sorted(calls, key=lambda call: call.order)):
            yield numbers[call], call.result

    @traced_submit
    def submit(self, request: Request, done: Callable[[Generation | BaseException], None]) -> TakeBack:
        """Send a request in addition to those in progress, at most `concurrency` at a time."""
        call = Call(self, request)
        return self._dispatcher.add(call, partial(tell_result, call, done))

    def close(self) -> None:
        """End the threads and their connections."""
        self._dispatcher.close()

    def ask(self, path: str, body: Any, timeout_s: float) -> Any:
        """Post a body on this thread's connection and return the reply's JSON.

        Raises:
            FailedTry: There is no reply.
        """
        client: httpx.Client | None = getattr(self._local, "client", None)
        if client is None:
            client = self._local.client = self._connect()
        return exchange(client, "POST", path, body, timeout_s=timeout_s, secret=self._key)

    def _connect(self) -> httpx.Client:
        import httpx

        headers = {"content-type": "application/json"}
        if key := self._key.get_secret_value():
            headers["authorization"] = f"Bearer {key}"
        return httpx.Client(base_url=self.url, headers=headers, verify=_ssl_context())

    def _close_client(self) -> None:
        if (client := getattr(self._local, "client", None)) is not None:
            client.close()

    def is_vllm(self, timeout_s: float = MODELS_S) -> bool:
        """Whether the server is vLLM, according to its /models. Queried once, and again after a temporary failure.

        Raises:
            FailedTry: A temporary failure, or no answer within this many seconds.
        """
        before = self._models_failure
        if not self._asking.acquire(timeout=timeout_s):
            raise FailedTry(EngineTimeout(f"the reply took longer than {timeout_s:.4g} s"))
        try:
            failure = self._models_failure
            if self._is_vllm is None and failure is not None and failure is not before:
                # Another thread's query failed while this one waited for it. If each thread retried in turn, a server
                # that fails slowly would use up everyone's time.
                raise FailedTry(failure.error, failure.wait)
            if self._is_vllm is None:
                self._is_vllm = self._lists_vllm(min(timeout_s, self.timeout_s, MODELS_S))
            return self._is_vllm
        finally:
            self._asking.release()

    def _lists_vllm(self, timeout_s: float) -> bool:
        """Query /models.

        Raises:
            FailedTry: It failed temporarily.
        """
        try:
            with self._connect() as client:
                models = exchange(client, "GET", "models", None, timeout_s=timeout_s, secret=self._key)
            return any(served.get("owned_by") == "vllm" for served in models["data"])
        except FailedTry as failed:
            if not failed.error.retryable:
                return False
            self._models_failure = FailedTry(failed.error.with_traceback(None), failed.wait)
            raise
        except (KeyError, TypeError, AttributeError):
            return False

    def __reduce__(self) -> tuple[Any, ...]:
        return (_remake, (self._made_by, self._key))


def _remake(make: partial[OpenAI], key: SecretStr) -> OpenAI:
    return make(api_key=key.get_secret_value())


@cache
def _ssl_context() -> SSLContext:
    """Return one SSL context for all connections, because reading the certificates takes tens of milliseconds."""
    import httpx

    return httpx.create_ssl_context()
