"""One leg of a trace: builds the engine's request, and records the sampled output.

With a tokenizer it is tokens in, tokens out: sampled ids are kept unchanged, and evidence is encoded once, when it is
appended. Without one, a text prompt is continued as text, and a conversation within the assistant's message. The end of
a query is then inferred from the server's report that it stopped, because servers cut off stop strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from verikit.engines.prompts import prompt_ids
from verikit.engines.rollouts import Rollout
from verikit.engines.types import Engine, EnginePrompt, Generation, Request
from verikit.errors import ContextOverflow, EngineError
from verikit.search.format import BEGIN_ANSWER, BEGIN_QUERY, END_ANSWER, END_QUERY, ESCAPE, Escape
from verikit.search.trace import SearchTrace, TracePiece
from verikit.types import Message

Seeds = Callable[[int, int], int]
"""(Index of the prompt, leg) -> seed."""
_OPENED_BY = {END_QUERY: BEGIN_QUERY, END_ANSWER: BEGIN_ANSWER}


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """How traces are sampled and bounded. The defaults are the paper's for training."""

    k: int = 3
    """Passages per search."""
    searches: int = 8
    """Maximum number of searches. The leg after the last one cuts off the rest."""
    leg_tokens: int = 512
    total_tokens: int = 29_000
    """Maximum tokens of prompt, model and evidence together. Counted if there is a tokenizer."""
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    stop_at_answer: bool = False
    """Whether to stop at the answer, as in evaluation. Training continues to the end token."""

    def __post_init__(self) -> None:
        if self.k < 1 or self.searches < 0 or self.leg_tokens < 1:
            raise ValueError(f"k={self.k}, searches={self.searches}, leg_tokens={self.leg_tokens}: too small")


EVALUATION = SearchLimits(k=5, searches=9, temperature=0.0, stop_at_answer=True)
"""The repository's settings for evaluation."""


class Legs:
    """The shared state of every leg of some traces."""

    def __init__(
        self,
        engine: Engine,
        limits: SearchLimits,
        *,
        tokenizer: Any = None,
        seeds: Seeds | None = None,
        logprobs: bool = False,
        turns: bool = False,
    ) -> None:
        self._limits, self._seeds = limits, seeds
        self._logprobs, self._turns = logprobs, turns
        self._tokenizer = engine.tokenizer if tokenizer is None else tokenizer
        added = getattr(self._tokenizer, "added_tokens_decoder", {}).values()
        self.escape: Escape = Escape(token.content for token in added if token.special) if added else ESCAPE

    def begin(self, prompts: Sequence[EnginePrompt]) -> list[SearchTrace]:
        """Create traces from prompts. A prompt that can't be read or leaves no room becomes its trace's error.

        Raises:
            ValueError: A prompt consists of token ids, and there is no tokenizer.
        """
        traces = [SearchTrace(prompt) for prompt in prompts]
        for trace in traces:
            ids: list[int] = []
            try:
                ids = self._encode(trace.prompt)
            except EngineError as error:
                trace.error = error.with_traceback(None)
            trace.pieces.append(TracePiece("prompt", trace.prompt if isinstance(trace.prompt, str) else "", tuple(ids)))
        return traces

    def run(self, index: int, trace: SearchTrace, leg: int, *, queries: bool = True) -> Rollout[None]:
        """Continue a trace up to a closed query, an answer if that ends it, its end, or a limit."""
        if trace.error is not None or self._room(trace) <= 0:
            return
        stop = (END_QUERY,) * queries + (END_ANSWER,) * self._limits.stop_at_answer
        generation = yield Request(
            self._prompt(trace),
            max_tokens=min(self._limits.leg_tokens, self._room(trace)),
            temperature=self._limits.temperature,
            top_p=self._limits.top_p,
            top_k=self._limits.top_k,
            stop=stop,
            seed=self._seeds(index, leg) if self._seeds else None,
            logprobs=0 if self._logprobs else None,
        )
        self._hear(trace, generation, stop)

    def answered(self, index: int, trace: SearchTrace) -> Rollout[SearchTrace]:
        """Continue a trace to its end in one leg, without queries."""
        yield from self.run(index, trace, 0, queries=False)
        return trace

    def append(self, trace: SearchTrace, evidence: str) -> None:
        """Append evidence. Line breaks at the end of the last sampled token are not repeated."""
        overshoot = trace.pieces[-1].text.rpartition(END_QUERY)[2]
        text = evidence.removeprefix(overshoot) if overshoot in ("\n", "\n\n") else evidence
        ids: Sequence[int] = ()
        if self._tokenizer is not None:
            ids = self._tokenizer(text, add_special_tokens=False).input_ids
        trace.pieces.append(TracePiece("evidence", text, tuple(ids)))

    def _encode(self, prompt: EnginePrompt) -> list[int]:
        request = Request(prompt)
        if self._tokenizer is None:
            if request.kind == "ids":
                raise ValueError("a prompt of token ids needs the model's tokenizer, for evidence is appended as ids")
            return []
        ids = prompt_ids(self._tokenizer, request)
        if len(ids) >= self._limits.total_tokens:
            raise ContextOverflow(f"the prompt's {len(ids)} tokens leave no room: raise total_tokens")
        return ids

    def _hear(self, trace: SearchTrace, generation: Generation, stop: Sequence[str]) -> None:
        if isinstance(generation.error, ContextOverflow) and trace.own:
            return  # the request filled the context: cut off, as by any other limit
        if generation.error is not None:
            trace.error = generation.error
            return
        if not generation.outputs:
            trace.error = EngineError("the engine gave 0 outputs of 1")
            return
        output = generation.outputs[0]
        trace.finished = output.finish_reason == "stop"
        if self._tokenizer is None:
            text = output.text + (_cut_off(output.text, stop) if trace.finished else "")
            trace.pieces.append(TracePiece("model", text))
        elif output.ids:
            text = self._tokenizer.decode(list(output.ids), skip_special_tokens=True)
            trace.pieces.append(TracePiece("model", text, output.ids, output.logprobs))
        else:
            trace.error = EngineError("the engine gave no token ids", hint="take one that does, or search by text")

    def _prompt(self, trace: SearchTrace) -> EnginePrompt:
        """Return the text or ids that the next leg continues."""
        if self._tokenizer is not None:
            return trace.ids
        if isinstance(trace.prompt, str):
            return trace.prompt + trace.text
        messages = list(cast(Sequence[Message], trace.prompt))
        if self._turns:
            roles = {"model": "assistant", "evidence": "user"}
            return messages + [
                Message(role=roles[piece.author], content=piece.text.strip()) for piece in trace.pieces[1:]
            ]
        return [*messages, Message(role="assistant", content=trace.text)] if trace.text else messages

    def _room(self, trace: SearchTrace) -> int:
        """Return how many more tokens the trace may have. Without a tokenizer, tokens are not counted."""
        return self._limits.total_tokens - sum(len(piece.ids) for piece in trace.pieces)


def _cut_off(text: str, stop: Sequence[str]) -> str:
    """Return the stop string that a server cut off: the one whose opening tag comes last and is still open."""
    opened = {text.rfind(_OPENED_BY[tag]): tag for tag in stop if text.rfind(_OPENED_BY[tag]) > text.rfind(tag)}
    return opened[max(opened)] if opened else ""
