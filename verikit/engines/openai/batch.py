"""`openai-batch:URL#model`: requests through OpenAI's batch interface, at half the price and within a day.

A call writes its requests to a file, submits it, and polls until the batch has ended. Every step is recorded in a file
of the user's before the next one starts. A call that was killed therefore finds its batches again by their requests, so
nothing is submitted or paid for twice. A failed request is submitted again the next time it is requested.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from verikit.engines.cache import default_path
from verikit.engines.errors import BadReply, BadRequest, ServerFailed, Unreachable
from verikit.engines.openai.body import body_of, path_of
from verikit.engines.openai.call import NEW_LIMIT_KEY
from verikit.engines.openai.options import check_address, check_model, header_key
from verikit.engines.openai.reply import generation_of
from verikit.engines.openai.wire import error_of, strike_key
from verikit.engines.records import request_key
from verikit.engines.traced import traced_stream
from verikit.engines.types import Generation, Request, StreamingEngine, StructuredKind
from verikit.errors import AuthError, ConfigError, EngineError, EngineTimeout, MissingExtra, SpecError
from verikit.platform.system import lock_file

MOST_REQUESTS, MOST_BYTES = 50_000, 190 * 2**20
"""Maximum requests and bytes of one batch, slightly below the provider's limits."""
ENDED = ("completed", "failed", "expired", "cancelled")
PATIENCE = 20
"""Consecutive polling failures after which the call gives up. Its batches continue without it."""


@dataclass
class _Submitted:
    """A batch, or the file of one whose submission was not confirmed."""

    file: str
    keys: tuple[str, ...]
    id: str = ""
    failed: frozenset[str] = frozenset()
    fresh: bool = False
    """Whether this call uploaded the file and no batch was created from it yet."""


@dataclass
class _Job:
    """The requests that a batch answers in this call."""

    batch: _Submitted
    wanted: dict[str, list[int]] = field(default_factory=dict)


def _check_seconds(poll_s: float) -> None:
    if not isinstance(poll_s, (int, float)) or isinstance(poll_s, bool) or not 0 < poll_s < float("inf"):
        raise SpecError(f"engine openai-batch: poll_s must be a number > 0, got {poll_s!r}")


class OpenAIBatch(StreamingEngine):
    """A model behind a batch interface in OpenAI's format."""

    form = "openai-batch:https://host/v1#model"
    batched: bool = True

    def __init__(
        self,
        spec: str,
        *,
        api_key: str | None = None,
        poll_s: float = 30.0,
        window: str = "24h",
        state: str | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        """Describe the server. Nothing is sent yet.

        Args:
            spec: Address and model: `openai-batch:https://api.openai.com/v1#model`.
            api_key: Defaults to the environment's OPENAI_API_KEY.
            poll_s: Seconds between two polls of a batch.
            window: Time within which the provider promises to answer.
            state: File that records submitted batches. By default, one in the user's cache folder.
            body: Additional keys of every request's body.

        Raises:
            SpecError: The address, the model or an option's value is invalid.
            MissingExtra: The package `openai` is not installed.
        """
        url, _, model = spec.partition("#")
        if not model:
            raise SpecError("the spec names no model", hint=self.form)
        check_address(url)
        check_model(model)
        _check_seconds(poll_s)
        try:
            openai: Any = import_module("openai")
        except ImportError:
            raise MissingExtra(f"openai-batch:{spec}", "openai") from None
        self._made_by = partial(
            OpenAIBatch, spec, poll_s=poll_s, window=window, state=state, body=dict(body) if body else None
        )
        self._library = openai
        self.url: str = url.rstrip("/")
        self.model: str = model
        self.name: str = f"openai-batch:{self.url}#{model}"
        self.poll_s: float = poll_s
        self.window: str = window
        self.body: dict[str, Any] = dict(body or {})
        self._key: SecretStr = header_key(os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key)
        self._client = openai.OpenAI(api_key=self._key.get_secret_value() or "none", base_url=self.url, max_retries=4)
        name = sha256(self.identity.encode()).hexdigest()[:16]
        self._ledger = Ledger(Path(state) if state else default_path().parent / "batches" / f"{name}.jsonl")

    @property
    def identity(self) -> str:
        """Address, model and the additional keys of the body."""
        return self.name + (json.dumps(self.body, sort_keys=True) if self.body else "")

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """JSON schemas."""
        return frozenset({"json"})

    def close(self) -> None:
        """Close the connections. Batches in progress continue."""
        self._client.close()

    @traced_stream
    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Submit the requests not submitted before, wait, and yield each batch's results when it has ended."""
        askers, bodies = self._keyed(requests)
        for key, body in bodies.items():
            if isinstance(body, EngineError):
                yield from ((number, Generation(error=body)) for number in askers[key])
        waiting = [key for key, body in bodies.items() if not isinstance(body, EngineError)]
        jobs = self._jobs_before(askers)
        known = {key for job in jobs for key in job.wanted}
        try:
            for path, part in self._parts(requests, askers, bodies, [key for key in waiting if key not in known]):
                batch = self._upload(path, part, bodies)
                jobs.append(_Job(batch, {key: askers[key] for key in part}))
            for job in jobs:
                self._submit(job.batch, path_of(requests[next(iter(job.wanted.values()))[0]]))
        except self._library.OpenAIError as error:
            problem = self._problem(error)
            yield from ((number, Generation(error=problem)) for key in waiting for number in askers[key])
            return
        yield from self._results(jobs, requests)

    def _jobs_before(self, askers: Mapping[str, list[int]]) -> list[_Job]:
        """Return earlier batches with some of these requests.

        The first batch that contains a request is used for it.
        """
        jobs: list[_Job] = []
        for batch in self._ledger.read():
            held = [key for key in batch.keys if key in askers and key not in batch.failed]
            if held := [key for key in held if not any(key in job.wanted for job in jobs)]:
                jobs.append(_Job(batch, {key: askers[key] for key in held}))
        return jobs

    def _keyed(self, requests: Sequence[Request]) -> tuple[dict[str, list[int]], dict[str, Any]]:
        """Return the requests by a hash of their content, and their bodies or errors.

        The k-th of equal requests that may be answered differently is treated as a request of its own.
        """
        askers: dict[str, list[int]] = defaultdict(list)
        bodies: dict[str, Any] = {}
        asked: Counter[str] = Counter()
        for number, request in enumerate(requests):
            key = request_key(request, self.identity)[:32]
            if not request.deterministic:
                asked[key] += 1
                key = f"{key}-{asked[key]}"
            askers[key].append(number)
            if key not in bodies:
                try:
                    body = body_of(request, self.model, vllm=False, limit_key=NEW_LIMIT_KEY, pictures=self.pictures)
                    bodies[key] = {**body, **self.body}
                except EngineError as error:
                    bodies[key] = error.with_traceback(None)
        return dict(askers), bodies

    def _parts(
        self,
        requests: Sequence[Request],
        askers: Mapping[str, Sequence[int]],
        bodies: Mapping[str, Any],
        keys: Sequence[str],
    ) -> Iterator[tuple[str, list[str]]]:
        """Split the requests into batches, each for one endpoint and within the provider's limits."""
        by_path: dict[str, list[str]] = defaultdict(list)
        for key in keys:
            by_path[path_of(requests[askers[key][0]])].append(key)
        for path, found in by_path.items():
            part: list[str] = []
            size = 0
            for key in found:
                length = len(json.dumps(bodies[key])) + 200
                if part and (len(part) >= MOST_REQUESTS or size + length > MOST_BYTES):
                    yield path, part
                    part, size = [], 0
                part.append(key)
                size += length
            if part:
                yield path, part

    def _upload(self, path: str, keys: Sequence[str], bodies: Mapping[str, Any]) -> _Submitted:
        """Upload the file of a batch, and record it before the batch is created from it."""
        rows = ({"custom_id": key, "method": "POST", "url": f"/v1/{path}", "body": bodies[key]} for key in keys)
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        sent = self._client.files.create(file=("verikit.jsonl", data), purpose="batch")
        batch = _Submitted(sent.id, tuple(keys), fresh=True)
        self._ledger.note({"file": batch.file, "keys": list(keys)})
        return batch

    def _submit(self, batch: _Submitted, path: str) -> None:
        """Create a batch from a file, unless it exists.

        An earlier call may have died after submitting it, before it received the confirmation.
        """
        if batch.id:
            return
        listed: Any = () if batch.fresh else self._client.batches.list()
        made = next((found for found in listed if found.input_file_id == batch.file), None)
        if made is None:
            endpoint: Any = f"/v1/{path}"
            window: Any = self.window
            made = self._client.batches.create(input_file_id=batch.file, endpoint=endpoint, completion_window=window)
        batch.id = made.id
        self._ledger.note({"file": batch.file, "batch": batch.id})

    def _results(self, jobs: Sequence[_Job], requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        left, troubles = list(jobs), 0
        state: Any = None
        while left:
            for job in list(left):
                try:
                    state = self._client.batches.retrieve(job.batch.id)
                    found = self._read(state) if state.status in ENDED else None
                    troubles = 0
                except self._library.OpenAIError as error:
                    problem, found = self._problem(error), None
                    troubles += 1
                    if troubles >= PATIENCE or isinstance(problem, AuthError):
                        yield from self._all(left, problem)
                        return
                    if not problem.retryable:  # the provider no longer has it
                        left.remove(job)
                        self._ledger.note({"file": job.batch.file, "failed": list(job.wanted)})
                        yield from self._all([job], problem)
                if found is not None:
                    left.remove(job)
                    yield from self._told(job, state, found, requests)
            if left:
                time.sleep(self.poll_s)

    @staticmethod
    def _all(jobs: Sequence[_Job], problem: EngineError) -> Iterator[tuple[int, Generation]]:
        """Yield the same error for all requests of some batches."""
        for job in jobs:
            yield from ((number, Generation(error=problem)) for numbers in job.wanted.values() for number in numbers)

    def _read(self, state: Any) -> dict[str, Any]:
        """Return the rows of a finished batch, by their keys."""
        found: dict[str, Any] = {}
        for file in (state.error_file_id, state.output_file_id):
            if file:
                for line in self._client.files.content(file).text.splitlines():
                    try:
                        row = json.loads(line)
                        found[row["custom_id"]] = row
                    except (ValueError, KeyError, TypeError):
                        continue  # its request has no result, which is reported
        return found

    def _told(
        self, job: _Job, state: Any, found: Mapping[str, Any], requests: Sequence[Request]
    ) -> Iterator[tuple[int, Generation]]:
        """Yield a batch's results.

        Failures are recorded first, so they are submitted again the next time they are requested.
        """
        missing = self._why_missing(state)
        results = {
            key: self._generation(found.get(key), requests[numbers[0]], missing) for key, numbers in job.wanted.items()
        }
        if failed := [key for key, result in results.items() if result.error is not None]:
            self._ledger.note({"file": job.batch.file, "failed": failed})
        for key, numbers in job.wanted.items():
            yield from ((number, results[key]) for number in numbers)

    def _generation(self, row: Any, request: Request, missing: EngineError) -> Generation:
        if row is None:
            return Generation(error=missing)
        try:
            response = row.get("response") or {}
            status, body = int(response.get("status_code") or 0), response.get("body")
            if status != 200:
                told = (body.get("error") if isinstance(body, dict) else None) or row.get("error") or {}
                return Generation(error=self._said(status or 500, told.get("message"), told.get("code")))
            made = generation_of(body, request)
            return Generation(made.outputs, made.prompt_ids, usage={**made.usage, "calls": 1.0})
        except EngineError as error:
            return Generation(error=error.with_traceback(None))
        except (AttributeError, TypeError, ValueError) as problem:
            return Generation(error=BadReply(f"the batch's row is not in the protocol's form: {problem}"))

    def _why_missing(self, state: Any) -> EngineError:
        """Return why a request of a finished batch has no row."""
        if state.status == "expired":
            return EngineTimeout(f"the batch expired before its turn, after {self.window}")
        if state.status == "failed":
            problems = (state.errors.data if state.errors else None) or []
            said = "; ".join(str(problem.message) for problem in problems[:3])
            return BadRequest(f"the provider rejected the batch: {self._struck(said) or 'no reason given'}")
        return ServerFailed(f"the batch is {state.status}, and has no reply to the request")

    def _problem(self, error: Any) -> EngineError:
        """Convert an exception of the client's to an engine error."""
        library = self._library
        if isinstance(error, library.APITimeoutError):
            return EngineTimeout("the batch interface did not answer in time")
        if isinstance(error, library.APIStatusError):
            return self._said(error.status_code, error.message, getattr(error, "code", None))
        if isinstance(error, library.APIConnectionError):
            return Unreachable("the batch interface can't be reached", hint="is the address right?")
        return BadReply(f"the batch interface: {self._struck(str(error))[:300]}")

    def _said(self, status: int, said: object, code: object) -> EngineError:
        return error_of(status, self._struck(" ".join(str(said or "").split())[:300]), str(code or ""))

    def _struck(self, text: str) -> str:
        return strike_key(text, self._key.get_secret_value())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_remake, (self._made_by, self._key))


def _remake(make: partial[OpenAIBatch], key: SecretStr) -> OpenAIBatch:
    return make(api_key=key.get_secret_value())


class Ledger:
    """Record of submissions in one file, with a line per event.

    The events are: a batch's file was uploaded, its batch was created, rows failed.
    """

    def __init__(self, path: Path) -> None:
        self.path: Path = path

    def note(self, record: Mapping[str, Any]) -> None:
        """Add a line, and flush it to the disk.

        Raises:
            ConfigError: The file can't be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(self.path, "ab") as stream:
                lock_file(stream, wait=True)
                stream.write(b"\n" + json.dumps(record).encode() + b"\n")  # a line cut short before it ends there
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise ConfigError(f"can't note the batch in {self.path}: {error.strerror}", hint="option state") from None

    def read(self) -> list[_Submitted]:
        """The batches, the latest first."""
        found: dict[str, _Submitted] = {}
        try:
            lines = self.path.read_bytes().splitlines()
        except OSError:
            return []
        for line in lines:
            try:
                record = json.loads(line)
                file = record["file"]
                if "keys" in record:
                    found[file] = _Submitted(file, tuple(record["keys"]))
                elif "batch" in record:
                    found[file].id = str(record["batch"])
                else:
                    found[file].failed |= set(record["failed"])
            except (ValueError, KeyError, TypeError):
                continue  # cut short by a kill
        return list(found.values())[::-1]
