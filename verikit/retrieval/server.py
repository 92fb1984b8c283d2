"""A retrieval server in R1-Searcher's protocol: POST /queries {queries, k} -> {answers}; GET /health."""

from __future__ import annotations

import json
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from verikit.errors import RetrievalError
from verikit.retrieval.types import Retriever

MOST_QUERIES, MOST_PASSAGES, MOST_BYTES = 1024, 1000, 8 * 2**20


def app(retriever: Retriever) -> Starlette:
    """Make the ASGI application. An invalid request gets a 400, and a failure of the retriever a 500."""

    async def answer(request: Request) -> JSONResponse:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return _problem(413, f"a request has at most {MOST_BYTES} bytes")
        try:
            queries, k = _read(bytes(body))
        except ValueError as error:
            return _problem(400, str(error))
        try:
            found = await run_in_threadpool(retriever.retrieve, queries, k)
        except RetrievalError as error:
            return _problem(500, str(error))
        return JSONResponse({"answers": [[passage.content for passage in passages] for passages in found]})

    async def health(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    return Starlette(routes=[Route("/queries", answer, methods=["POST"]), Route("/health", health)])


def _read(body: bytes) -> tuple[list[str], int]:
    try:
        given: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the body is not JSON") from None
    queries, k = (given.get("queries"), given.get("k")) if isinstance(given, dict) else (None, None)
    if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
        raise ValueError("`queries` must be a list of strings")
    if len(queries) > MOST_QUERIES:
        raise ValueError(f"send at most {MOST_QUERIES} queries per request, got {len(queries)}")
    if type(k) is not int or not 1 <= k <= MOST_PASSAGES:
        raise ValueError(f"`k` must be an integer from 1 to {MOST_PASSAGES}")
    return queries, k


def _problem(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": text}, status_code=status)
