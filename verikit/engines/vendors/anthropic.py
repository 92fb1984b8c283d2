"""`anthropic:MODEL`, through the package `anthropic` (the Messages API).

It has neither seeds nor log-probabilities: a request's seed is not sent, and one that requires log-probabilities is an
`Unsupported` error. Thoughts (`body={"thinking": …}`) are returned separately from the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from verikit.engines.errors import BadReply, Unreachable, Unsupported
from verikit.engines.pictures import EmbeddedPicture, parts_of
from verikit.engines.types import Output, Request
from verikit.engines.vendors.base import VendorEngine, turns_of
from verikit.errors import EngineTimeout, MissingExtra

FINISHED = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}


class Anthropic(VendorEngine):
    """A model of Anthropic's."""

    kind = "anthropic"
    form = "anthropic:MODEL"
    keys = ("ANTHROPIC_API_KEY",)
    pictures = True

    def connect(self, key: str) -> Any:
        """Make the client.

        Raises:
            MissingExtra: The package is not installed.
        """
        try:
            anthropic: Any = import_module("anthropic")
        except ImportError:
            raise MissingExtra(self.name, "anthropic") from None
        self._library = anthropic
        return anthropic.Anthropic(api_key=key or "none", base_url=self.url, max_retries=0)

    def ask(self, request: Request, timeout_s: float) -> tuple[Output, dict[str, float]]:
        """Request one message.

        Raises:
            FailedTry: The vendor returned none.
            EngineError: It can't be read, or this vendor does not support the request.
        """
        library = self._library
        try:
            reply = self._client.messages.create(**self._arguments(request), timeout=timeout_s)
        except library.APITimeoutError:
            raise self.broken(EngineTimeout(f"the reply took longer than {timeout_s:.4g} s")) from None
        except library.APIStatusError as error:
            kind = error.body.get("error", {}).get("type") if isinstance(error.body, dict) else ""
            raise self.failed(error.status_code, error.message, kind, error.response.headers) from None
        except library.APIConnectionError:
            raise self.broken(Unreachable("the connection was lost, or can't be made")) from None
        except library.APIError as error:
            raise self.broken(BadReply(f"the reply can't be read: {type(error).__name__}")) from None
        return _output(reply)

    def _arguments(self, request: Request) -> dict[str, Any]:
        if request.logprobs is not None:
            raise Unsupported(f"{self.name} gives no log-probabilities")
        system, turns = turns_of(request)
        messages = [turn | {"content": _sent(turn["content"])} for turn in turns]
        found: dict[str, Any] = {"model": self.model, "max_tokens": request.max_tokens, "messages": messages}
        if system:
            found["system"] = system
        if request.stop:
            found["stop_sequences"] = list(request.stop)
        if request.structured is not None:
            found["output_config"] = {"format": {"type": "json_schema", "schema": request.structured.json}}
        # The service may still accept arguments that this version's client dropped.
        known = {"thinking", "metadata", "service_tier", "output_config", "cache_control"}
        named = {name: value for name, value in self.body.items() if name in known}
        further = {name: value for name, value in self.body.items() if name not in known}
        return {**found, **named, "extra_body": {**_sampling(request), **further}}


def _sent(content: Any) -> Any:
    """Return a message's content: unchanged if it is a string, otherwise as blocks."""
    return content if isinstance(content, str) else [_block(part) for part in parts_of(content)]


def _block(part: str | EmbeddedPicture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.data}}


def _output(reply: Any) -> tuple[Output, dict[str, float]]:
    try:
        text = "".join(block.text for block in reply.content if block.type == "text")
        thoughts = "\n\n".join(block.thinking for block in reply.content if block.type == "thinking")
        reason = FINISHED.get(reply.stop_reason, str(reply.stop_reason or ""))
        return Output(text, finish_reason=reason, thoughts=thoughts), _usage(reply.usage)
    except (AttributeError, TypeError, ValueError) as problem:
        raise BadReply(f"the reply is not in the protocol's form: {problem}") from None


def _sampling(request: Request) -> dict[str, Any]:
    """The sampling settings that differ from the defaults. Newer models reject others, and even the keys."""
    found: dict[str, Any] = {}
    if request.temperature != 1:
        found["temperature"] = request.temperature
    if request.top_p < 1:
        found["top_p"] = request.top_p
    if request.top_k:
        found["top_k"] = request.top_k
    return found


def _usage(usage: Any) -> dict[str, float]:
    """Return the tokens of the prompt, including those read from and written to the provider's cache, and the reply."""
    names: Mapping[str, tuple[str, ...]] = {
        "prompt_tokens": ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        "completion_tokens": ("output_tokens",),
        "prompt_cached": ("cache_read_input_tokens",),
    }
    found = {to: float(sum(getattr(usage, name, None) or 0 for name in of)) for to, of in names.items()}
    return {to: count for to, count in found.items() if count or to != "prompt_cached"}
