"""One call of the hf engine: requests to groups, waves of groups through a decoder, rows to generations."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import torch

from verikit.engines.errors import Unsupported
from verikit.engines.hf.decoder import Decoder, most_tokens, supports
from verikit.engines.hf.generate import GenerateDecoder
from verikit.engines.hf.prefixes import Prefixes
from verikit.engines.hf.sampler import DecodedRow, SamplingGroup
from verikit.engines.hf.score import Scored, score_tokens
from verikit.engines.prompts import choice_test, cut, first_stop, prompt_ids, room, stop_test
from verikit.engines.types import Generation, Output, Request, TopLogprob, TopLogprobs
from verikit.errors import EngineError


class Fitting:
    """How many completions fitted into the device's memory, by sequence length. Kept between calls."""

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}

    def note(self, tokens: int, rows: int) -> None:
        """Record that twice as many completions of this many tokens did not fit."""
        self._rows[tokens] = max(1, min(rows, self.rows(tokens)))

    def rows(self, tokens: int) -> int:
        """Return the most completions to try for sequences of this many tokens: the number that fitted for these."""
        return min((rows for known, rows in self._rows.items() if known <= tokens), default=2**31)


class Batch:
    """The requests of one call."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        requests: Sequence[Request],
        *,
        tempered: bool = False,
        prefixes: Prefixes | None = None,
        fitting: Fitting | None = None,
    ) -> None:
        self._model, self._tokenizer, self._requests, self._tempered = model, tokenizer, requests, tempered
        self._piece = cache(lambda token: tokenizer.decode([token]))
        self._stop_test = cache(lambda stops: stop_test(tokenizer, stops))
        self._eos = end_ids(model, tokenizer)
        self._prefixes, self._fitting = prefixes, fitting or Fitting()
        self._errors: dict[int, EngineError] = {}
        self._groups: dict[int, SamplingGroup] = {}
        for number, request in enumerate(requests):
            try:
                self._groups[number] = self._group(request)
            except EngineError as error:
                self._errors[number] = error.with_traceback(None)
        own = supports(model, most_tokens(list(self._groups.values())))
        self._decoder = Decoder(model, self._eos, prefixes) if own else GenerateDecoder(model, self._eos)

    def run(self, rows: int) -> Iterator[tuple[int, Generation]]:
        """Yield (index, generation) for each request, when its last completion ends."""
        for number, error in self._errors.items():
            yield number, Generation(error=error)
        scored = self._scored()
        for wave in self._waves(rows):
            for number, sampled in self._decode(wave):
                if isinstance(sampled, EngineError):
                    yield number, Generation(error=sampled)
                else:
                    yield number, self._generation(number, sampled, scored.get(number))
        for number, group in self._groups.items():
            if not group.max_tokens:
                yield number, self._generation(number, [], scored.get(number))

    def _decode(self, wave: list[int]) -> Iterator[tuple[int, list[DecodedRow] | EngineError]]:
        """Yield the rows of each request. The rest of a wave that is too large for the device is halved."""
        top_k = max(self._requests[number].logprobs or 0 for number in wave)
        left = dict.fromkeys(wave)
        try:
            groups = [self._groups[number] for number in wave]
            for index, rows in self._decoder.stream(groups, top_k=top_k, tempered=self._tempered):
                del left[wave[index]]
                yield wave[index], rows
            return
        except torch.OutOfMemoryError:
            freed = self._prefixes is not None and self._prefixes.clear()
            if len(left) == 1 and not freed:
                problem = EngineError("the device's memory is too small for the request", hint="lower n or max_tokens")
                yield next(iter(left)), problem
                return
        torch.cuda.empty_cache()
        if not freed and len(left) == len(wave):  # once rows have left, the wave doesn't show how many fit
            self._fitting.note(self._tokens(wave), self._completions(wave) // 2)
        rest, half = list(left), len(left) // 2
        for part in (rest[:half], rest[half:]):
            if part:
                yield from self._decode(part)

    def _group(self, request: Request) -> SamplingGroup:
        ids = prompt_ids(self._tokenizer, request)
        context = getattr(self._model.config.get_text_config(), "max_position_embeddings", 2**31)
        allowed = None
        if request.structured is not None:
            if request.structured.kind != "choice" or not self._eos:
                raise Unsupported(
                    f"the hf engine can't constrain a reply to a {request.structured.kind}", hint="vLLM can"
                )
            allowed = choice_test(self._tokenizer, request.structured.choice, self._eos[0])
        return SamplingGroup(
            ids,
            (secrets.randbits(63) if request.seed is None else request.seed,),
            n=request.draws,
            max_tokens=room(request, len(ids), context),
            temperature=request.temperature,
            top_p=request.top_p,
            top_k=request.top_k,
            stop=self._stop_test(request.stop) if request.stop else None,
            allowed=allowed,
        )

    def _waves(self, rows: int) -> Iterator[list[int]]:
        """Group requests of similar length, at most `rows` completions per wave (or one request)."""
        wave: list[int] = []
        held = prompt = new = 0
        for number in sorted(self._groups, key=lambda number: len(self._groups[number].ids)):
            group = self._groups[number]
            if not group.max_tokens:
                continue
            prompt, new = max(prompt, len(group.ids)), max(new, group.max_tokens)
            if wave and held + group.n > min(rows, self._fitting.rows(prompt + new)):
                yield wave
                wave, held, prompt, new = [], 0, len(group.ids), group.max_tokens
            wave.append(number)
            held += group.n
        if wave:
            yield wave

    def _completions(self, wave: Sequence[int]) -> int:
        return sum(self._groups[number].n for number in wave)

    def _tokens(self, wave: Sequence[int]) -> int:
        """Return the longest sequence that a wave may produce."""
        groups = [self._groups[number] for number in wave]
        return max(len(group.ids) for group in groups) + max(group.max_tokens for group in groups)

    def _scored(self) -> dict[int, Scored]:
        wanted = [number for number in self._groups if self._requests[number].prompt_logprobs is not None]
        top_k = max((self._requests[number].prompt_logprobs or 0 for number in wanted), default=0)
        prompts = [self._groups[number].ids for number in wanted]
        return dict(zip(wanted, score_tokens(self._model, prompts, top_k), strict=True))

    def _generation(self, number: int, rows: list[DecodedRow], scored: Scored | None) -> Generation:
        request, ids = self._requests[number], tuple(self._groups[number].ids)
        outputs = tuple(self._output(request, row) for row in rows) or (Output("", finish_reason="length"),)
        outputs *= request.n // len(outputs)
        usage = {
            "prompt_tokens": float(len(ids)),
            "completion_tokens": float(sum(len(row.ids) for row in rows)),
            "calls": 1.0,
        }
        if scored is None:
            return Generation(outputs, ids, usage=usage)
        k = request.prompt_logprobs or 0
        tops = ((), *(self._top(top[:k]) for top in scored[1])) if k else ()
        return Generation(outputs, ids, (None, *scored[0]), tops, usage)

    def _output(self, request: Request, row: DecodedRow) -> Output:
        ended = row.finish == "stop" and row.ids[-1] in self._eos
        whole = self._tokenizer.decode(row.ids[:-1] if ended else row.ids, skip_special_tokens=True)
        text, by = cut(whole, request.stop), None
        if request.stop and row.finish == "stop":
            by = first_stop(whole, request.stop) or ("" if ended else None)
        if request.logprobs is None:
            return Output(text, tuple(row.ids), finish_reason=row.finish, stopped_by=by)
        tokens = tuple(map(self._piece, row.ids))
        k = request.logprobs
        tops = tuple(self._top(top[:k]) for top in row.tops) if k else ()
        return Output(text, tuple(row.ids), tokens, tuple(row.logprobs), tops, row.finish, stopped_by=by)

    def _top(self, top: Sequence[tuple[int, float]]) -> TopLogprobs:
        return tuple(TopLogprob(self._piece(token), logprob, token) for token, logprob in top)


def end_ids(model: Any, tokenizer: Any) -> list[int]:
    """Return the tokens that end a completion: the model's and the tokenizer's."""
    given = model.generation_config.eos_token_id
    ids = [given] if isinstance(given, int) else list(given or [])
    if tokenizer.eos_token_id is not None:
        ids.append(tokenizer.eos_token_id)
    return list(dict.fromkeys(ids))
