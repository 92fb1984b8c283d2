"""Retrieval over HTTP, in the protocol of R1-Searcher's server: POST {queries, k} -> {answers: strings per query}."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from verikit.errors import RetrievalError, RetrievalTimeout
from verikit.retrieval.types import Passage

AT_ONCE = 256
"""Queries of one request."""


class _Again(Exception):
    """This try failed in a way that another one may not."""


@dataclass(frozen=True)
class Client:
    """Queries a server. Its passages are single strings that include the title."""

    url: str
    """The endpoint's URL, such as http://host:5004/queries."""
    timeout_s: float = 30.0
    """Seconds per attempt."""
    retries: int = 4
    """Maximum retries. Lost connections, timeouts, 429 and 5xx are retried."""
    pause_s: float = 0.5
    """Seconds before the first retry, doubled each time."""

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Request k passages for each query.

        Raises:
            RetrievalTimeout: No attempt was answered in time.
            RetrievalError: Every attempt failed, or the server rejected the request or sent an invalid reply.
        """
        found: list[list[Passage]] = []
        for start in range(0, len(queries), AT_ONCE):
            found += self._insist(queries[start : start + AT_ONCE], k)
        return found

    def _insist(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        for attempt in range(self.retries + 1):
            try:
                return self._ask(queries, k)
            except _Again as failure:
                if attempt == self.retries:
                    kind = RetrievalTimeout if str(failure) == "no reply in time" else RetrievalError
                    raise kind(
                        f"{self.url} failed {attempt + 1} times, last: {failure}", hint="is the server running?"
                    ) from None
            time.sleep(self.pause_s * 2**attempt)
        raise AssertionError("unreachable")

    def _ask(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        import httpx

        try:
            reply = httpx.post(self.url, json={"queries": list(queries), "k": k}, timeout=self.timeout_s)
        except httpx.TimeoutException:
            raise _Again("no reply in time") from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise RetrievalError(f"{self.url!r} is not a valid address: {error}") from None
        except httpx.RequestError as error:
            raise _Again(f"{type(error).__name__}: {error}") from None
        if reply.status_code == 429 or reply.status_code >= 500:
            raise _Again(f"status {reply.status_code} {reply.text[:200]}")
        if reply.status_code != 200:
            raise RetrievalError(f"{self.url} rejected the request: status {reply.status_code} {reply.text[:200]}")
        try:
            return _read(reply.json(), len(queries), k)
        except (ValueError, RecursionError) as error:
            raise RetrievalError(f"{self.url} doesn't speak the protocol: {error}") from None


def _lists(answers: Any) -> list[list[Any]]:
    if not isinstance(answers, list) or not all(isinstance(texts, list) for texts in answers):
        raise ValueError("there is no list of lists under `answers`")
    return answers


def _read(reply: Any, count: int, k: int) -> list[list[Passage]]:
    answers = _lists(reply.get("answers") if isinstance(reply, dict) else None)
    if len(answers) != count:
        raise ValueError(f"{len(answers)} answers for {count} queries")
    if not all(isinstance(text, str) for texts in answers for text in texts):
        raise ValueError("an answer must be a string")
    return [[Passage("", text) for text in texts[:k]] for texts in answers]
