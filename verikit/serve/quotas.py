"""Clients that may run programs, and their limits: tokens with a quota each."""

from __future__ import annotations

import hmac
import json
import math
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from time import monotonic
from typing import Any

from verikit.errors import UsageError, nearest
from verikit.serve.app import RefusedRequest, given_token

MINUTE_S = 60.0
_PAIR = re.compile(r"(\w+)=([0-9]+(?:\.[0-9]+)?)")


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of one token. 0 means unlimited."""

    at_once: int = 0
    """Programs that run at a time; more wait."""
    per_minute: int = 0
    """Programs started per minute. Further programs are rejected with 429."""
    cpu_s: float = 0.0
    """CPU seconds used per minute. Once they are used up, requests are rejected with 429."""


def read_quota(text: str) -> Quota:
    """Parse `at_once=4,per_minute=600,cpu_s=60`. A value that is omitted is unlimited.

    Raises:
        UsageError: The string has another format.
    """
    found: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        pair = _PAIR.fullmatch(part.strip())
        if pair is None:
            raise UsageError(f"a quota must be name=number, got {part!r}", hint="at_once=4,per_minute=600,cpu_s=60")
        found[pair[1]] = float(pair[2])
    return _quota(found, "the quota")


def _quota(given: Mapping[str, Any], where: str) -> Quota:
    known = [f.name for f in fields(Quota)]
    if unknown := sorted(given.keys() - set(known)):
        raise UsageError(f"{where} has no {unknown[0]!r}", hint=nearest(unknown[0], known))
    if not all(isinstance(n, int | float) and 0 <= n < 1e9 for n in given.values()):
        raise UsageError(f"{where} must contain numbers >= 0")
    return Quota(int(given.get("at_once", 0)), int(given.get("per_minute", 0)), float(given.get("cpu_s", 0.0)))


@dataclass(slots=True)
class Tenant:
    """One token's use of the server."""

    name: str
    quota: Quota
    token: bytes | None = None
    """None if no token is required."""
    running: int = 0
    _begun: deque[float] = field(default_factory=deque)
    _used: deque[tuple[float, float]] = field(default_factory=deque)

    @property
    def has_turn(self) -> bool:
        """Whether one more program may run now."""
        return not self.quota.at_once or self.running < self.quota.at_once

    def _forget(self, before: float) -> None:
        """Drop entries from `before` or earlier."""
        while self._begun and self._begun[0] <= before:
            self._begun.popleft()
        while self._used and self._used[0][0] <= before:
            self._used.popleft()

    def admit(self, programs: int = 1) -> None:
        """Count requested programs.

        Raises:
            RefusedRequest: There were too many in the last minute. The error has the time to wait.
        """
        now = monotonic()
        self._forget(now - MINUTE_S)
        most, cpu_s = self.quota.per_minute, self.quota.cpu_s
        if most and programs > most:
            raise RefusedRequest(422, f"{programs} programs in one request, and {most} a minute")
        if most and len(self._begun) + programs > most:
            since = self._begun[len(self._begun) + programs - most - 1]
            raise self._full(f"{most} programs a minute", since, now)
        if cpu_s and sum(used for _, used in self._used) >= cpu_s:
            raise self._full(f"{cpu_s:g} s of a processor a minute", self._used[0][0], now)
        self._begun.extend([now] * programs)

    def _full(self, what: str, since: float, now: float) -> RefusedRequest:
        seconds = max(1, math.ceil(since + MINUTE_S - now))
        return RefusedRequest(429, f"the quota of {what} is used up", hint=f"try again in {seconds} s", retry_s=seconds)

    def spend(self, cpu_s: float) -> None:
        """Count a program's CPU time."""
        self._used.append((monotonic(), cpu_s))


class Clients:
    """All permitted clients.

    Args:
        clients: Either each with its own token, or a single one without a token.
    """

    def __init__(self, clients: Sequence[Tenant]) -> None:
        self._clients = tuple(clients)

    def find(self, headers: Mapping[bytes, bytes]) -> Tenant | None:
        """Find the client of a request's token. Takes the same time for valid and invalid tokens."""
        given = given_token(headers) or b""
        found = None
        for client in self._clients:
            if client.token is None or hmac.compare_digest(given, client.token):
                found = client
        return found


def _table(file: str) -> dict[str, Any]:
    try:
        table = json.loads(Path(file).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"can't read the tokens from {file}: {error}") from None
    if not isinstance(table, dict) or not table:
        raise UsageError(f"{file} contains no tokens", hint='{"NAME": {"token": "…", "at_once": 4}}')
    return table


def read_clients(file: str, usual: Quota) -> list[Tenant]:
    """Read the file of tokens: `{"NAME": {"token": "…", "at_once": 4, …}}`. Omitted limits are taken from `usual`.

    Raises:
        UsageError: The file can't be read, or two clients have the same token.
    """
    found = []
    for name, given in _table(file).items():
        token = given.get("token") if isinstance(given, dict) else None
        if not isinstance(token, str) or not token.strip():
            raise UsageError(f"{file}: {name!r} has no token")
        own = {key: value for key, value in given.items() if key != "token"}
        asked = {f.name: getattr(usual, f.name) for f in fields(Quota)} | own
        found.append(Tenant(name, _quota(asked, f"{file}: {name!r}"), token.strip().encode()))
    if len({client.token for client in found}) < len(found):
        raise UsageError(f"{file}: two names have the same token")
    return found
