"""In the sandbox: stands in for `nemo_gym`, as far as a resources server grades one reply in its own process."""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict


class Loose(BaseModel):
    """A model that takes any field."""

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)


class BaseServerConfig(Loose):
    """The settings of a server."""


class BaseResourcesServerConfig(BaseServerConfig):
    """The settings of a server that grades."""


class BaseRunRequest(Loose):
    """A task."""

    responses_create_params: Any = None


class BaseVerifyRequest(BaseRunRequest):
    """A task with a reply."""

    response: Any = None


class BaseVerifyResponse(BaseVerifyRequest):
    """A graded reply."""

    reward: float


class BaseSeedSessionRequest(Loose):
    """The start of a session."""


class BaseSeedSessionResponse(Loose):
    """The answer to it."""


class _NoClient:
    """Other servers can't be reached."""

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError("another server, such as a judge's")


class SimpleResourcesServer(Loose):
    """A server that grades."""

    config: Any = None
    server_client: Any = None

    def setup_webserver(self) -> Any:
        """Never called: requests reach no server here."""
        raise NotImplementedError("a web server")


def served(server: type[SimpleResourcesServer], settings: dict[str, Any]) -> SimpleResourcesServer:
    """A server with its settings."""
    kind = get_type_hints(server).get("config")
    known = isinstance(kind, type) and issubclass(kind, BaseModel)
    config = kind.model_construct(**settings) if known else Loose(**settings)  # type: ignore[union-attr]
    return server(config=config, server_client=_NoClient())


class _Item(Loose):
    """A message, or a part of one."""


class _Response(Loose):
    """A reply of one message."""

    @property
    def output_text(self) -> str:
        """The text of the reply."""
        return str(self.output[0].content[0].text)  # type: ignore[attr-defined]


def _loose(fields: dict[str, Any]) -> _Item:
    return _Item.model_validate(fields)


def verify_request(verify: Callable[..., Any], row: dict[str, Any], reply: str) -> BaseModel:
    """What `verify` gets for a reply to a row."""
    kinds = [kind for name, kind in get_type_hints(verify).items() if name != "return"]
    found = [one for one in kinds if isinstance(one, type) and issubclass(one, BaseVerifyRequest)]
    kind = found[0] if found else BaseVerifyRequest
    if len(inspect.signature(verify).parameters) != 1:
        raise NotImplementedError("a web server, for the arguments of verify")
    part = {"type": "output_text", "text": reply, "annotations": []}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [_loose(part)]}
    response = {"id": "resp_1", "object": "response", "model": "reply", "output": [_loose(message)], "tools": []}
    more = {"error": None, "incomplete_details": None}
    return kind(**{**row, "response": _Response.model_validate({**response, **more})})


def __getattr__(name: str) -> Any:
    """Another class of the package. It takes any field."""
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (Loose,), {"__module__": "nemo_gym"})
