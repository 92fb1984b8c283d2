"""One request on its way: rate limits, tries, backoff, deadline, result."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from verikit.engines.errors import BadRequest
from verikit.engines.openai.body import body_of, path_of
from verikit.engines.openai.reply import generation_of
from verikit.engines.openai.wire import FailedTry
from verikit.engines.types import Generation, Request
from verikit.engines.usage import cost_of
from verikit.errors import EngineError, EngineTimeout

if TYPE_CHECKING:
    from verikit.engines.openai.engine import OpenAI

FIRST_WAIT_S, LONGEST_WAIT_S = 0.25, 20.0
LEAST_S = 0.01
"""Minimum seconds of a try: sockets reject timeouts below 0, and do not wait with a timeout of 0."""
CHARS_PER_TOKEN = 4
"""Estimate for reserving from a token rate before the server has counted."""
NEW_LIMIT_KEY = "max_completion_tokens"


class Call:
    """A dispatcher's job. Returns the seconds to wait before its next turn, or None once `result` is set."""

    def __init__(self, engine: OpenAI, request: Request) -> None:
        self.request = request
        self.result: Generation = Generation()
        self._engine = engine
        self._tries = 0
        self._failure: EngineError | None = None
        """The failure of the last try that had its full time."""
        self._started = 0.0
        self._reserved = 0.0
        self.order: str = json.dumps(request.prompt)
        length = len(request.prompt) if request.kind == "ids" else len(self.order) / CHARS_PER_TOKEN
        self._tokens = length + request.n * request.max_tokens

    def __call__(self) -> float | None:
        """Take one step: reserve from the rate limits, or try once."""
        engine = self._engine
        if not self._reserved:
            self._reserved = self._tokens
            if (wait := max(engine.requests.reserve(1), engine.tokens.reserve(self._tokens))) > 0:
                return wait
        self._started = self._started or time.monotonic()
        self._tries += 1
        limit_key = engine.limit_key
        left = max(LEAST_S, self._started + engine.deadline_s - time.monotonic())
        try:
            self._finish(self._try(min(engine.timeout_s, left), limit_key))
            engine.last_failure = None
        except EngineError as error:
            return self._fail(FailedTry(error.with_traceback(None)), limit_key, left)
        except FailedTry as failed:
            return self._fail(failed, limit_key, left)
        return None

    def _try(self, timeout_s: float, limit_key: str) -> Generation:
        engine, end = self._engine, time.monotonic() + timeout_s
        vllm = engine.is_vllm(timeout_s)
        body = body_of(self.request, engine.model, vllm=vllm, limit_key=limit_key, pictures=engine.pictures)
        body |= engine.body
        left = max(LEAST_S, end - time.monotonic())
        return generation_of(engine.ask(path_of(self.request), body, left), self.request)

    def _fail(self, failed: FailedTry, limit_key: str, left: float) -> float | None:
        engine, error = self._engine, failed.error
        if not (isinstance(error, EngineTimeout) and left < engine.timeout_s):
            # A try that the deadline cut short is less informative than the failure before it.
            self._failure = error
        engine.last_failure = self._failure or error
        if isinstance(error, BadRequest) and NEW_LIMIT_KEY in str(error) and limit_key != NEW_LIMIT_KEY:
            engine.limit_key = NEW_LIMIT_KEY  # OpenAI's newer models only accept this name
            return 0.0
        back_off: float = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (self._tries - 1)) * random.uniform(0.5, 1)
        wait = max(back_off, failed.wait * random.uniform(1, 1.1))
        late = time.monotonic() + wait >= self._started + engine.deadline_s
        if error.retryable and self._tries <= engine.retries and not late:
            self._reserved = 0.0
            return wait
        self._finish(Generation(error=self._failure or error))
        return None

    def _finish(self, generation: Generation) -> None:
        usage = {**generation.usage, "calls": float(self._tries), "seconds": time.monotonic() - self._started}
        sent, got = usage.get("prompt_tokens", 0.0), usage.get("completion_tokens", 0.0)
        if sent or got:
            self._engine.tokens.settle(sent + got - self._reserved)
        if self._engine.prices is not None:
            usage["cost"] = cost_of(usage, self._engine.prices)
        self.result = replace(generation, usage=usage)


def tell_result(call: Call, done: Callable[[Generation | BaseException], None], whole: bool) -> None:
    """Report the result of a finished call.

    `whole` is False after a programming error, whose traceback its thread printed.
    """
    done(call.result if whole else RuntimeError("a call to the server ended in a programming error"))
