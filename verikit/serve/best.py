"""Best of n behind OpenAI's chat endpoint: samples are generated, verified and ranked, and the client gets one reply.

Samples are generated in threads, since engines block, and scored by the reward server's processes and queue. The number
of samples being generated, waiting or scored is bounded. A request is answered within its deadline. Three quarters of
the deadline are for sampling, after which the finished samples are ranked.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import secrets
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from verikit.engines import Engine
from verikit.errors import EngineError, UsageError, VerikitError, with_hint
from verikit.platform import tracing
from verikit.sampling import SamplingSettings, StopRule, sample
from verikit.sampling.settings import sample_of
from verikit.scoring.rows import from_row
from verikit.select import Selector
from verikit.serve import chat
from verikit.serve.app import LOOK_S, RefusedRequest, RequestLimits, read_object
from verikit.serve.queue import Full, Queue
from verikit.types import Group, JsonObject, Sample, Score

SAMPLING_SHARE = 0.75
"""Fraction of a request's time that is for sampling."""
TRIES_SHARE = 0.9
"""Fraction of the sampling time for an engine's attempts. The rest is for its error to arrive."""
THREADS = 64
"""Maximum number of requests that sample in parallel. The others wait."""
PATH = "/v1/chat/completions"
STATUSES = {"RateLimited": 429, "EngineTimeout": 504, "ContextOverflow": 400, "BadRequest": 400}
"""HTTP statuses of an engine's errors by type name. Others are 502."""
_log = logging.getLogger("verikit.serve")


@dataclass(frozen=True, slots=True)
class BestSettings:
    """Configuration of the endpoint."""

    engine: Engine
    selector: Selector
    n: int = 8
    """Samples per request."""
    rule: StopRule | None = None
    """Ends a request's sampling early, if the client requests one choice."""
    temperature: float | None = None
    """Sampling temperature, which overrides the request's. None uses the request's."""
    max_tokens: int = 1024
    """Maximum tokens per sample, unless the request sets it."""
    ahead: int = 1
    """Samples of a request to generate in parallel while a stop rule is active."""


class _Unwanted(Exception):
    """No client is waiting for a request's samples any more."""


@dataclass
class _Drawing:
    """Collects one request's samples as they arrive."""

    group: Group
    settings: SamplingSettings
    candidates: dict[int, JsonObject] = field(default_factory=dict)
    wanted: bool = True

    def keep(self, line: int, group: Group, candidate: JsonObject) -> None:
        if not self.wanted:
            raise _Unwanted
        self.candidates[candidate["index"]] = candidate

    def good(self) -> list[JsonObject]:
        """The samples that did not fail, in order."""
        return [found for _, found in sorted(self.candidates.copy().items()) if "error" not in found]


class _LockedRule:
    """A rule that is called from one thread at a time."""

    def __init__(self, rule: StopRule) -> None:
        self._rule, self._lock = rule, threading.Lock()

    def stop(self, samples: Sequence[Sample], n: int) -> bool:
        with self._lock:
            return self._rule.stop(samples, n)


class BestOfEndpoint:
    """The endpoint; `routes` are its paths."""

    def __init__(self, settings: BestSettings, queue: Queue, limits: RequestLimits) -> None:
        self._settings, self._queue, self._limits = settings, queue, limits
        self._rule = None if settings.rule is None else _LockedRule(settings.rule)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="verikit-best")
        self._drawing = 0
        self._model = chat.model_name(settings.engine.name)
        queue.metrics.gauge("verikit_drawing_samples", "Samples being drawn.", lambda: self._drawing)

    @property
    def routes(self) -> list[Route]:
        """Chat completions, with and without the version, and the list of models."""
        paths = (PATH, PATH.removeprefix("/v1"))
        chats = [Route(path, self._chat, methods=["POST"]) for path in paths]
        return [*chats, Route("/v1/models", self._models), Route("/models", self._models)]

    def close(self) -> None:
        """Start no further requests, and close the engine."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._settings.engine.close()

    async def _models(self, request: Request) -> Response:
        model = {"id": self._model, "object": "model", "created": 0, "owned_by": "verikit"}
        return JSONResponse({"object": "list", "data": [model]})

    async def _chat(self, request: Request) -> Response:
        metrics, begun = self._queue.metrics, monotonic()
        with tracing.served(
            f"POST {PATH}", request.headers, {"http.request.method": "POST", "http.route": PATH}
        ) as span:
            response = await self._replied(request)
            tracing.answered(span, response.status_code)
        metrics.requests.labels(response.status_code).inc()
        metrics.seconds.observe(monotonic() - begun)
        _log.debug("%s %d in %.3f s", PATH, response.status_code, monotonic() - begun)
        return response

    async def _replied(self, request: Request) -> Response:
        try:
            return await self._answer(request)
        except RefusedRequest as refused:
            return chat.refusal(refused.status, str(refused), hint=refused.hint, retry_s=refused.retry_s)
        except ClientDisconnect:
            return Response(status_code=499)  # the client is disconnected

    async def _answer(self, request: Request) -> Response:
        deadline = monotonic() + self._queue.deadline_s
        asked, settings = self._read(await read_object(request, self._limits))
        group = Group(asked.prompt, id=_name(asked))
        drawing = _Drawing(group, settings)
        drawn = await self._drawn(drawing, asked, request, deadline)
        samples = [sample_of(group, candidate) for candidate in drawn]
        scores = await self._scored(samples, request, deadline)
        order, reason = await self._ranked(group, samples, scores)
        usage = _usage(drawing.good(), scores)  # samples generated before a rule stopped also cost tokens
        chosen = [drawn[index] for index in order[: asked.n]]
        headers = {
            "x-verikit-reason": chat.header_text(reason),
            "x-verikit-samples": str(len(drawn)),
            "x-verikit-chosen": ",".join(str(drawn[index]["index"]) for index in order[: asked.n]),
        }
        if asked.stream:
            events = chat.events(self._model, chosen, usage if asked.stream_usage else None)
            return StreamingResponse(events, media_type="text/event-stream", headers=headers)
        return JSONResponse(chat.reply(self._model, chosen, usage), headers=headers)

    def _read(self, body: dict[str, Any]) -> tuple[chat.ChatRequest, SamplingSettings]:
        own = self._settings
        try:
            asked = chat.read_chat(body)
            if not 1 <= asked.n <= own.n:
                raise UsageError(f"n must be between 1 and {own.n} here, got {asked.n}")
            settings = chat.settings_of(asked, n=own.n, temperature=own.temperature, max_tokens=own.max_tokens)
        except UsageError as error:
            raise RefusedRequest(400, str(error), hint=error.hint) from None
        return asked, settings

    async def _drawn(
        self, drawing: _Drawing, asked: chat.ChatRequest, request: Request, deadline: float
    ) -> list[JsonObject]:
        """Generate the samples and return those that finished in time.

        Raises:
            RefusedRequest: Too many samples are waiting, or no sample was generated.
            ClientDisconnect: The client disconnected.
        """
        count = drawing.settings.n
        if self._drawing + self._queue.waiting + count > self._queue.max_waiting:
            raise RefusedRequest(429, "too many samples are under way", hint="try again", retry_s=1)
        rule = self._rule if asked.n == 1 else None
        end = deadline - (1 - SAMPLING_SHARE) * self._queue.deadline_s
        self._drawing += count
        within = copy_context().run  # the request's span is the parent of what its samples cost
        job = asyncio.get_running_loop().run_in_executor(self._threads, lambda: within(self._draw, drawing, rule))
        try:
            await _finished(job, request, end)
        finally:
            drawing.wanted = False
            self._drawing -= count
            job.add_done_callback(lambda done: done.cancelled() or done.exception())  # no caller reads its result
        problem = job.exception() if job.done() and not job.cancelled() else None
        if found := (job.result() if job.done() and problem is None else drawing.good()):
            return found
        raise _no_sample(problem, drawing, self._settings.engine.last_failure)

    def _draw(self, drawing: _Drawing, rule: StopRule | None) -> list[JsonObject]:
        """Sample, in a thread."""
        prompts = [(1, drawing.group)]
        own = self._settings
        for row in sample(own.engine, prompts, drawing.settings, rule=rule, ahead=own.ahead, keep=drawing.keep):
            return list(row.candidates)
        return []

    async def _scored(self, samples: Sequence[Sample], request: Request, deadline: float) -> list[Score]:
        try:
            ticket = self._queue.submit(samples)
        except RecursionError:
            raise RefusedRequest(422, "a message is nested too deeply") from None
        except Full as full:
            raise RefusedRequest(429, str(full), hint=full.hint, retry_s=full.seconds) from None
        try:
            await _finished(ticket.done, request, deadline)
        finally:
            ticket.close()
        late = Score.timeout(f"scoring took longer than {self._queue.deadline_s:g} s")
        scores = [late if row is None else from_row(json.loads(row)) for row in ticket.rows]
        for score in scores:
            self._queue.metrics.samples.labels(score.status).inc()
        return scores

    async def _ranked(self, group: Group, samples: Sequence[Sample], scores: list[Score]) -> tuple[list[int], str]:
        """The samples' order, and why the first is first."""
        full = Group(group.prompt, [taken.completion for taken in samples], id=group.id)
        selector = self._settings.selector

        def rank() -> tuple[list[int], str]:
            order = selector.select(full, scores)
            return order, why_first(selector, scores, order[0])

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, rank)
        except VerikitError as error:
            _log.warning("the selector failed: %s", with_hint(type(error).__name__, error.hint))
            raise RefusedRequest(502, f"the selector failed: {error}") from None


def why_first(selector: Selector, scores: Sequence[Score], first: int) -> str:
    """Explain why a ranking's first sample is first: its votes, if only votes rank, and its score, if it has one.

    A missing score is mentioned only if the selector ranks by scores, since a vote uses answers instead.
    """
    about, found, score = f"{selector.name} of {len(scores)}", f"sample {first}", scores[first]
    votes = selector.votes(scores)
    if votes is not None:
        about += f", {sum(count > 0 for count in votes)} with an answer"
        found += f", {votes[first]} vote{'' if votes[first] == 1 else 's'}"
    if selector.by_score:
        about += f", {sum(score.scored for score in scores)} scored"
    if score.value is not None:
        found += f", score {score.value:.4g}"
    elif selector.by_score:
        found += ", no score"
    else:
        return f"{about}: {found}"
    return f"{about}: {found}: {score.reason}" if score.reason else f"{about}: {found}"


async def _finished(job: asyncio.Future[Any], request: Request, end: float) -> None:
    """Wait until a job is done or its time is over.

    Raises:
        ClientDisconnect: The client went away.
    """
    while not job.done() and (left := end - monotonic()) > 0:
        await asyncio.wait([job], timeout=min(LOOK_S, left))
        if not job.done() and await request.is_disconnected():
            raise ClientDisconnect


def tries_s(deadline_s: float) -> float:
    """Return the seconds that an engine's attempts at a sample may take in total, given a request's deadline.

    An engine that kept trying longer would be cut off, and the error behind the retries would be lost.
    """
    return TRIES_SHARE * SAMPLING_SHARE * deadline_s


def _no_sample(problem: BaseException | None, drawing: _Drawing, last_failure: EngineError | None) -> RefusedRequest:
    """Return the error for a request without a usable sample, with its HTTP status.

    Args:
        problem: The exception that ended sampling. None if sampling did not end in time, or ended without a sample.
        drawing: The samples, which have all failed.
        last_failure: The engine's last error. It is used if many requests block each other and no attempt ended in
            time.
    """
    if isinstance(problem, EngineError):
        # An unreachable engine is raised with a hint for a command's run. The engine's own error is its cause.
        own = problem.__cause__ if isinstance(problem.__cause__, EngineError) else problem
        return _engine_failed(type(own).__name__, str(own), hint=own.hint)
    if problem is not None:
        _log.error("sampling failed", exc_info=problem)
        return RefusedRequest(500, "sampling failed: see the server's log")
    if drawing.candidates:
        error = next(iter(drawing.candidates.values()))["error"]
        return _engine_failed(error["type"], error["message"])
    if last_failure is not None:
        return _engine_failed(type(last_failure).__name__, str(last_failure), hint=last_failure.hint)
    return RefusedRequest(504, "no sample came in time", hint="request fewer tokens")


def _engine_failed(kind: str, message: str, *, hint: str = "") -> RefusedRequest:
    """An engine's error as a status. Its hint is for the person who runs the server, so it goes to the log."""
    status = STATUSES.get(kind, 502)
    if status == 502:
        _log.warning("no sample came: %s", with_hint(kind, hint))
    return RefusedRequest(status, f"no sample came: {message}", retry_s=1 if status == 429 else 0)


def _usage(drawn: Sequence[JsonObject], scores: Sequence[Score]) -> dict[str, Any]:
    """Sum the tokens of all samples, and the tokens that verifying them used, if reported."""
    spent = [found.get("usage", {}) for found in drawn]
    prompt = sum(usage.get("prompt_tokens", 0) for usage in spent)
    completion = sum(usage.get("completion_tokens", 0) for usage in spent)
    names = ("prompt_tokens", "completion_tokens")
    judged = {name: sum(int(score.usage.get(name, 0)) for score in scores) for name in names}
    found: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion}
    found["total_tokens"] = prompt + completion
    if any(judged.values()):
        found["verifier"] = judged
    return found


def _name(asked: chat.ChatRequest) -> str:
    """Return a response id. For a seeded request it is a hash of the prompt, so that it gets the same samples again."""
    if asked.seed is None:
        return secrets.token_hex(8)
    return hashlib.sha256(json.dumps(asked.prompt, sort_keys=True).encode()).hexdigest()[:16]
