"""`gemini:MODEL`, through the package `google-genai` (generateContent)."""

from __future__ import annotations

import base64
from importlib import import_module
from typing import Any

import httpx

from verikit.engines.errors import BadReply, BadRequest, Unreachable
from verikit.engines.pictures import EmbeddedPicture, parts_of
from verikit.engines.types import Output, Request, TopLogprob
from verikit.engines.vendors.base import VendorEngine, turns_of
from verikit.errors import EngineTimeout, MissingExtra

FINISHED = {"STOP": "stop", "MAX_TOKENS": "length"}


class Gemini(VendorEngine):
    """A model of Google's."""

    kind = "gemini"
    form = "gemini:MODEL"
    keys = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    pictures = True

    def connect(self, key: str) -> Any:
        """Make the client.

        Raises:
            MissingExtra: The package is not installed.
        """
        try:
            genai: Any = import_module("google.genai")
            errors: Any = import_module("google.genai.errors")
            types: Any = import_module("google.genai.types")
        except ImportError:
            raise MissingExtra(self.name, "gemini") from None
        self._types, self._failures = types, errors
        libraries = [library for library in (httpx, getattr(errors, "httpx2", None)) if library is not None]
        self._timeouts = tuple(library.TimeoutException for library in libraries)
        self._transport = tuple(library.TransportError for library in libraries)
        options = types.HttpOptions(base_url=self.url, retry_options=types.HttpRetryOptions(attempts=1))
        return genai.Client(api_key=key or "none", vertexai=False, http_options=options)

    def ask(self, request: Request, timeout_s: float) -> tuple[Output, dict[str, float]]:
        """Request one candidate.

        Raises:
            FailedTry: The vendor returned none.
            EngineError: It can't be read.
        """
        contents, config = self._arguments(request, timeout_s)
        try:
            reply = self._client.models.generate_content(model=self.model, contents=contents, config=config)
        except self._failures.APIError as error:
            headers = getattr(error.response, "headers", None)
            raise self.failed(int(error.code or 500), error.message or error.status, error.status, headers) from None
        except self._timeouts:
            raise self.broken(EngineTimeout(f"the reply took longer than {timeout_s:.4g} s")) from None
        except self._transport:
            raise self.broken(Unreachable("the connection was lost, or can't be made")) from None
        except ValueError as error:  # from pydantic (an invalid reply) or JSON
            raise self.broken(BadReply(f"the reply can't be read: {type(error).__name__}")) from None
        return _output(reply, request)

    def _arguments(self, request: Request, timeout_s: float) -> tuple[list[Any], Any]:
        system, turns = turns_of(request)
        roles = {"assistant": "model"}
        contents = [
            {
                "role": roles.get(turn["role"], turn["role"]),
                "parts": [self._part(part) for part in parts_of(turn["content"])],
            }
            for turn in turns
        ]
        config = self._config(request, system, timeout_s)
        try:
            return contents, self._types.GenerateContentConfig(**{**config, **self.body})
        except ValueError as error:
            raise BadRequest(f"the client rejects the request: {' '.join(str(error).split())[:300]}") from None

    def _part(self, part: str | EmbeddedPicture) -> Any:
        if isinstance(part, str):
            return {"text": part}
        return self._types.Part.from_bytes(data=base64.b64decode(part.data), mime_type=part.media_type)

    def _config(self, request: Request, system: str, timeout_s: float) -> dict[str, Any]:
        """Return sampling options and reply format in the client's terms."""
        config: dict[str, Any] = {
            "temperature": request.temperature,
            "max_output_tokens": request.max_tokens,
            "http_options": {"timeout": max(1, int(timeout_s * 1000))},
        }
        wanted: dict[str, Any] = {
            "system_instruction": system or None,
            "top_p": request.top_p if request.top_p < 1 else None,
            "top_k": request.top_k or None,
            "stop_sequences": list(request.stop) or None,
            "seed": request.seed,
        }
        config |= {name: value for name, value in wanted.items() if value is not None}
        if request.logprobs is not None:
            config["response_logprobs"] = True
            if request.logprobs:
                config["logprobs"] = request.logprobs
        if request.structured is not None:
            config |= {"response_mime_type": "application/json", "response_json_schema": request.structured.json}
        return config


def _text_and_thoughts(candidate: Any) -> tuple[str, str]:
    parts = (candidate.content.parts if candidate.content else None) or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    return text, "\n\n".join(part.text for part in parts if part.text and part.thought)


def _output(reply: Any, request: Request) -> tuple[Output, dict[str, float]]:
    try:
        if not reply.candidates:
            reason = getattr(reply.prompt_feedback, "block_reason", None)
            raise BadRequest(f"the prompt is refused: {getattr(reason, 'value', reason) or 'no reason given'}")
        first = reply.candidates[0]
        text, thoughts = _text_and_thoughts(first)
        said = str(getattr(first.finish_reason, "value", first.finish_reason) or "")
        tokens, logprobs, tops = _logprobs(first, request)
        reason = FINISHED.get(said, said.lower())
        return Output(text, (), tokens, logprobs, tops, reason, thoughts), _usage(reply.usage_metadata)
    except (AttributeError, TypeError, ValueError) as problem:
        raise BadReply(f"the reply is not in the protocol's form: {problem}") from None


def _logprobs(candidate: Any, request: Request) -> tuple[tuple[str, ...], tuple[float, ...], tuple[Any, ...]]:
    if request.logprobs is None:
        return (), (), ()
    given = candidate.logprobs_result
    if given is None or given.chosen_candidates is None:
        raise BadReply("the server gave no log-probabilities", hint="does it support them for this model?")
    chosen = given.chosen_candidates
    tops = tuple(
        tuple(TopLogprob(top.token or "", float(top.log_probability), top.token_id) for top in step.candidates or ())
        for step in given.top_candidates or ()
    )
    tokens = tuple(step.token or "" for step in chosen)
    return tokens, tuple(float(step.log_probability) for step in chosen), tops if request.logprobs else ()


def _usage(usage: Any) -> dict[str, float]:
    """Return the tokens of the prompt and of the reply. Thoughts are included in the reply's, as they are billed."""
    if usage is None:
        return {"prompt_tokens": 0.0, "completion_tokens": 0.0}
    spoken = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    read = float(getattr(usage, "cached_content_token_count", None) or 0)
    sent = float(usage.prompt_token_count or 0)
    return {"prompt_tokens": sent, "completion_tokens": float(spoken), **({"prompt_cached": read} if read else {})}
