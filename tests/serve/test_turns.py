"""What waits for a program's turn is bounded in bytes, however the bytes came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from verikit.sandbox import LocalSandbox

for extra in ("uvicorn", "httptools", "starlette", "prometheus_client"):
    pytest.importorskip(extra)
programs = pytest.importorskip("verikit.serve.programs")
quotas = pytest.importorskip("verikit.serve.quotas")
turns = pytest.importorskip("verikit.serve.turns")


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    """A body without a length before it."""
    for start in range(0, len(body), 1000):
        yield body[start : start + 1000]


def test_bodies_sent_in_pieces_count_among_the_bytes_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"code": "print(1)" + " " * 5000, "language": "python", "run_timeout": 1}).encode()
    monkeypatch.setattr(turns, "MOST_BYTES", 3 * len(body))
    clients = [quotas.Tenant("any", quotas.Quota())]

    async def ask(app: Any) -> list[int]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            sent = [client.post("/run_code", content=_pieces(body), timeout=60) for _ in range(6)]
            return [reply.status_code for reply in await asyncio.gather(*sent)]

    with LocalSandbox(workers=1) as box:
        waiting = turns.FairTurns(1, 100)
        codes = asyncio.run(ask(programs.make_app(box, waiting, programs.ProgramSettings(clients, 1))))
        waiting.close()
    assert sorted(set(codes)) == [200, 429]
    assert codes.count(200) >= 3
