"""Converts a request to the body that the server reads.

The protocol's own keys are sent to any server. vLLM's are sent only to vLLM: other servers reject unknown keys or,
worse, ignore them. So an unsupported request is an `Unsupported` error before anything is sent.
"""

from __future__ import annotations

from typing import Any

from verikit.engines.errors import Unsupported
from verikit.engines.pictures import sendable
from verikit.engines.types import Request


def path_of(request: Request) -> str:
    """Return the endpoint: chat for conversations, completions for text and ids."""
    return "chat/completions" if request.kind == "chat" else "completions"


def body_of(request: Request, model: str, *, vllm: bool, limit_key: str, pictures: bool) -> dict[str, Any]:
    """Return the JSON body.

    Args:
        request: The request.
        model: The model's name.
        vllm: Whether the server is vLLM.
        limit_key: The key of a reply's maximum tokens in the server's chat endpoint.
        pictures: Whether the model reads pictures.

    Raises:
        Unsupported: The server does not support this.
        BadRequest: The prompt has a part that is not sent.
    """
    chat = request.kind == "chat"
    body: dict[str, Any] = {"model": model, "temperature": request.temperature}
    if chat:
        body["messages"] = sendable(request.prompt, pictures=pictures)
    else:
        body["prompt"] = request.prompt
    body[limit_key if chat else "max_tokens"] = request.max_tokens
    _add_sampling(body, request)
    if request.logprobs is not None:
        body.update({"logprobs": True, "top_logprobs": request.logprobs} if chat else {"logprobs": request.logprobs})
    if not vllm:
        _refuse_beyond_openai(request)
    if request.top_k:
        body["top_k"] = request.top_k
    if vllm:
        body["return_token_ids"] = True
    if request.continues:
        body.update({"continue_final_message": True, "add_generation_prompt": False})
    _add_prompt_logprobs(body, request, vllm)
    _add_structured(body, request, vllm)
    return body


def _add_sampling(body: dict[str, Any], request: Request) -> None:
    if request.draws > 1:
        body["n"] = request.draws
    if request.top_p < 1:
        body["top_p"] = request.top_p
    if request.stop:
        body["stop"] = request.stop
    if request.seed is not None:
        body["seed"] = request.seed


def _refuse_beyond_openai(request: Request) -> None:
    if request.top_k:
        raise Unsupported("only vLLM samples among the k likeliest tokens", hint="leave top_k at 0")
    if request.continues:
        raise Unsupported("only vLLM continues a turn of the assistant's", hint="end the conversation with the user")


def _add_prompt_logprobs(body: dict[str, Any], request: Request, vllm: bool) -> None:
    if request.prompt_logprobs is not None:
        if vllm:
            body["prompt_logprobs"] = request.prompt_logprobs
            body["max_tokens"] = max(1, request.max_tokens)
        elif request.kind == "chat":
            raise Unsupported("only vLLM gives log-probabilities of a conversation", hint="send text or token ids")
        else:
            body["echo"] = True
            body["logprobs"] = max(request.prompt_logprobs, request.logprobs or 0)
    elif request.max_tokens == 0:
        raise Unsupported("max_tokens=0 goes with prompt_logprobs only")


def _add_structured(body: dict[str, Any], request: Request, vllm: bool) -> None:
    form = request.structured
    if form is None:
        return
    if form.json is not None:
        schema = {"name": "reply", "schema": form.json, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif vllm:
        body["structured_outputs"] = {form.kind: getattr(form, form.kind)}
    else:
        raise Unsupported(f"this server can't constrain a reply to a {form.kind}", hint="use vLLM, or a JSON schema")
