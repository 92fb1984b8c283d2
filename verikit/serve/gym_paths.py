"""NeMo-Gym's paths other than `/verify`: sessions, for which nothing is stored, and metrics over rollouts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from verikit.serve.nemo_gym import aggregated, encoded

COOKIE = "verikit-session"
ROLLOUT_PREFIX = "/ng-rollout/{rollout_id}"
"""Path prefix with which NeMo-Gym records the rollout of a request."""


def with_prefix(path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> list[Route]:
    """A POST path, with and without the rollout before it."""
    return [Route(begin + path, endpoint, methods=["POST"]) for begin in ("", ROLLOUT_PREFIX)]


def routes(read_object: Callable[[Request], Awaitable[dict[str, Any]]]) -> list[Route]:
    """Return NeMo-Gym's routes other than `/verify`. `read_object` reads a request's JSON within limits."""

    async def seed(request: Request) -> Response:
        body = await read_object(request)
        response = JSONResponse(_session(body))
        if COOKIE not in request.cookies:  # environment servers reject a seed that sets no cookie
            response.set_cookie(COOKIE, uuid4().hex, httponly=True)
        return response

    async def close(request: Request) -> Response:
        return JSONResponse(_session(await read_object(request)))

    async def aggregate(request: Request) -> Response:
        body = await read_object(request)
        found = body.get("verify_responses")
        if not isinstance(found, list) or not all(isinstance(row, Mapping) for row in found):
            return JSONResponse({"error": "verify_responses must be a list of objects"}, 422)
        try:
            return Response(encoded(aggregated(found)), media_type="application/json")
        except OverflowError:
            return JSONResponse({"error": "numbers of verify_responses are too large to be summed up"}, 422)

    async def mode(request: Request) -> Response:
        return JSONResponse("stateless")

    posts = {"/seed_session": seed, "/close_session": close, "/aggregate_metrics": aggregate}
    return [
        *(route for path, endpoint in posts.items() for route in with_prefix(path, endpoint)),
        Route("/reverify_mode", mode),
    ]


def _session(body: Mapping[str, Any]) -> dict[str, Any]:
    """The reply about a session: an environment server's names it, an agent's has no name."""
    name = body.get("resources_session_id")
    return {"resources_session_id": name} if isinstance(name, str) else {}
