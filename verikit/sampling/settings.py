"""The request for a prompt's k-th sample, and its result as a candidate of the row."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from verikit.engines.types import Engine, EnginePrompt, Generation, Output, Request, Structured
from verikit.errors import EngineError, UsageError
from verikit.types import Group, JsonObject, Message, Sample

COUNTED = ("prompt_tokens", "completion_tokens", "cached")
"""Keys of a generation's usage to store with a sample: those that a rerun of the same requests would repeat."""


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """Sampling settings. All of them affect the samples.

    Raises:
        UsageError: A value is invalid for requests.
    """

    n: int = 8
    """Samples per prompt."""
    temperature: float = 1.0
    """0 is greedy: all samples are then the same."""
    top_p: float = 1.0
    top_k: int = 0
    """Sample only among this many most likely tokens. 0 disables the limit."""
    max_tokens: int = 1024
    """Maximum tokens of a sample."""
    stop: tuple[str, ...] = ()
    """Strings that end a sample. They are not part of it."""
    seed: int | None = 0
    """Base seed. Each sample's own seed is derived from it, the row's id and the sample's number.

    None sends no seeds.
    """
    logprobs: int | None = None
    """Store log-probabilities of the tokens, and of the `k` most likely at each position (0: sampled tokens only)."""
    system: str = ""
    """A system message to insert before every prompt that has none."""
    chat: bool | None = None
    """Whether to send a string as a user's message or to continue it as is. None: depends on the engine."""
    structured: Structured | None = None
    """A format that replies are constrained to. The engine must support it."""

    def __post_init__(self) -> None:
        if self.n < 1:
            raise UsageError(f"n must be at least 1, got {self.n}")
        if self.system and self.chat is False:
            raise UsageError("a system message needs a conversation", hint="leave --text out")
        try:
            self._request("x", None)
        except ValueError as error:
            raise UsageError(str(error).replace("not a request", "no such settings")) from None

    def request(self, engine: Engine, group: Group, index: int) -> Request:
        """Return the request for a prompt's sample of that number (starting at 0).

        It depends only on these settings, the prompt and the number: the first 8 of 16 are the same as 8.
        """
        seed = None if self.seed is None else sample_seed(self.seed, group.id, index)
        return self._request(self.prompt(engine, group), seed)

    def prompt(self, engine: Engine, group: Group) -> EnginePrompt:
        """Return a row's prompt in the form sent to the engine."""
        chat = speaks_chat(engine) if self.chat is None else self.chat
        if isinstance(group.prompt, str):
            if not chat and not self.system:
                return group.prompt
            turns = [Message(role="user", content=group.prompt)]
        else:
            turns = list(group.prompt)
        if self.system and turns[0].get("role") not in ("system", "developer"):
            turns.insert(0, Message(role="system", content=self.system))
        return turns

    def _request(self, prompt: EnginePrompt, seed: int | None) -> Request:
        return Request(
            prompt,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            stop=self.stop,
            seed=seed,
            logprobs=self.logprobs,
            structured=self.structured,
        )


def speaks_chat(engine: Engine) -> bool:
    """Whether an engine's models take conversations.

    Servers' models do. Models in this process do if their tokenizer has a chat template.
    """
    return engine.tokenizer is None or bool(getattr(engine.tokenizer, "chat_template", None))


def sample_seed(seed: int, id: str, index: int) -> int:
    """Return the seed of one sample, below 2^31: a function of the run's seed, the row's id and the sample's number."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{id}:{index}".encode()).digest()[:4]) >> 1


def candidate_of(generation: Generation, index: int, seed: int | None) -> JsonObject:
    """Return a result as a row's candidate. A failed one has `error` instead of `text`."""
    found: dict[str, Any] = {}
    if generation.error is None and generation.outputs:
        found = _spoken(generation.outputs[0])
    else:
        error = generation.error or EngineError("the engine gave no output")
        found["error"] = {"type": type(error).__name__, "message": str(error)}
    found["index"] = index
    if seed is not None:
        found["seed"] = seed
    if usage := {name: int(generation.usage[name]) for name in COUNTED if generation.usage.get(name)}:
        found["usage"] = usage
    return found


def _spoken(output: Output) -> dict[str, Any]:
    found: dict[str, Any] = {"text": output.text}
    if output.thoughts:
        found["reasoning_content"] = output.thoughts
    if output.finish_reason:
        found["finish_reason"] = output.finish_reason
    if output.logprobs:
        found |= {"tokens": list(output.tokens), "logprobs": list(output.logprobs)}
    if output.top_logprobs:
        found["top_logprobs"] = [[[top.token, top.logprob] for top in tops] for tops in output.top_logprobs]
    return found


def sample_of(group: Group, candidate: JsonObject) -> Sample:
    """Return a candidate that did not fail, as the `Sample` that verifiers receive."""
    own = {key: value for key, value in candidate.items() if key != "text"}
    thoughts = str(candidate.get("reasoning_content", ""))
    return Sample(group.prompt, candidate["text"], group.answer, group.id, {**group.meta, **own}, thoughts)
