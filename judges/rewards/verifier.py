"""`rm`: a reward model's number for a reply."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, get_args

from verikit.base import TextVerifier
from verikit.engines.hf.load import import_transformers, require_model
from verikit.engines.openai.options import check_spec
from verikit.errors import ConfigError, EngineError, SpecError
from verikit.judges.heads import context_of, load_head
from verikit.judges.rewards.encode import Encoded, Form, PairEncoder, Truncation, Unfit
from verikit.judges.rewards.local import CLASS, numbers_of
from verikit.judges.rewards.remote import EndPoint, RewardServer
from verikit.judges.rewards.reward import Activation, HeadReader, Numbers, Output
from verikit.platform.folders import check_code
from verikit.platform.raised import describe
from verikit.types import UNIT, Sample, Score

PARTS = 64
"""Maximum number of a head's outputs that are stored as parts."""


@dataclass(frozen=True, repr=False)
class RewardModel(TextVerifier):
    """A reward model's number for a reply, from a head of transformers or a server's pooling endpoint.

    The number is the head's raw output (for Bradley-Terry heads, compare it only within a prompt). `activation` maps it
    to 0 to 1. Each number of a head with several is a part.
    """

    name = "rm"
    batch = 64
    local_files = ("model", "template")
    tallied: ClassVar[tuple[str]] = ("truncated",)

    model: str
    """`hf:DIR` (or a Hugging Face Hub name), or `openai:http://host:8000#model`, a pooling server of vLLM or SGLang."""
    _: KW_ONLY
    output: Output = ""
    """Which of several numbers is the reward: its name or index, `mean`, or weights by name (`{'help': 0.7, …}`).

    "": the model's own sum (ArmoRM) or its only number.
    """
    activation: Activation = "none"
    """`sigmoid` or `softmax` over the numbers before one is taken. `none` keeps them."""
    form: Form = "auto"
    """Input format of prompt and reply: `chat` (the chat template, also for `auto`), `pair` of strings, `text`."""
    template: str = ""
    """The file of a chat template, instead of the model's own."""
    max_tokens: int = 0
    """Maximum length of the input. 0: the model's context."""
    truncate: Truncation = ""
    """The side cut off a longer input, `left` or `right`, which the score reports. "": nothing is cut.

    With "" a longer input scores 0.0. Without an activation it is unscored, because a 0 could be a reward.
    """
    dtype: str = "auto"
    """`auto` (as saved), `float32`, `bfloat16`, …"""
    device: str = ""
    """`cpu`, `cuda`, …. Default: CUDA if available."""
    remote_code: bool = False
    """Run the Python files that come with the model (ArmoRM needs it)."""
    endpoint: EndPoint = "auto"
    """Endpoint of a server: `classify` (`auto`), `pooling`, or `score` and `rerank`, which are for cross-encoders."""
    tokenizer: str = ""
    """For a server: a folder with the model's tokenizer, to encode locally, which SGLang requires."""
    timeout_s: float = 120.0
    """Seconds per request to a server."""
    concurrency: int = 32
    """Maximum number of parallel requests."""
    loaded: Any = field(default=None, compare=False)
    """A model and its tokenizer, instead of loading `model`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, kind in (("form", Form), ("truncate", Truncation), ("endpoint", EndPoint)):
            if getattr(self, name) not in get_args(kind):
                raise ConfigError(f"{name} is one of {', '.join(map(repr, get_args(kind)))}")
        if self.max_tokens < 0:
            raise ConfigError("max_tokens is 0 or more")
        _ = self._reader
        if self.remote:
            check_spec(self.path)
        elif not self.model.startswith("hf:") and self.loaded is None:
            raise SpecError(f"{self.model!r} is not a reward model", hint="hf:DIR, or openai:http://host:8000#model")
        if self.remote_code:
            check_code(self.model)

    def __repr__(self) -> str:
        """Every option that affects the rewards, with the template and a digest of its text."""
        names = ("model", "output", "activation", "form", "template", "max_tokens", "truncate", "dtype", "endpoint")
        shown: dict[str, Any] = {name: getattr(self, name) for name in (*names, "tokenizer")}
        if self.template:
            shown["template"] = f"{self.template}#{_digest(self.template)}"
        more = [f"{name}=True" for name in ("remote_code",) if getattr(self, name)]
        more += [f"reads={self.reads!r}"] if self.reads != "reply" else []
        return f"RewardModel({', '.join([f'{name}={value!r}' for name, value in shown.items()] + more)})"

    @property
    def remote(self) -> bool:
        """Whether the model is on a server."""
        return self.model.startswith("openai:")

    @property
    def path(self) -> str:
        """The model's folder, or its server's address."""
        return self.model.partition(":")[2]

    @cached_property
    def _reader(self) -> HeadReader:
        return HeadReader(self.output, self.activation)

    @property
    def bounds(self) -> tuple[float, float]:
        """Infinite for the head's raw number. 0 and 1 with an activation."""
        return UNIT if self.activation != "none" else (-math.inf, math.inf)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score all samples together."""
        samples = [replace(sample, completion=_writable(sample.completion)) for sample in samples]
        return self._by_server(samples) if self.remote else self._by_head(samples)

    def _by_head(self, samples: Sequence[Sample]) -> list[Score]:
        model, tokenizer = self.loaded or load_head(
            self.path, CLASS, "reward model", self.device, self.dtype, self.remote_code
        )
        encoded = self._encoded(self._encoder(tokenizer, context_of(model)), samples)
        rows = [row for row in encoded if isinstance(row, Encoded)]
        numbers = iter(numbers_of(model, rows, self.batch))
        return [row if isinstance(row, Score) else self._scored(next(numbers), row) for row in encoded]

    def _by_server(self, samples: Sequence[Sample]) -> list[Score]:
        with RewardServer(self.path, self.endpoint, self.timeout_s, self.concurrency) as server:
            try:
                about = server.about()
            except EngineError as error:
                return [Score.error(describe(error), cause=error)] * len(samples)
            if not self.tokenizer:
                self._need_no_tokenizer(about.sglang)
                replies = server.conversations(samples, self.form)
                return [self._replied(reply, None) for reply in replies]
            encoder = self._encoder(_tokenizer(self.tokenizer), about.max_tokens)
            encoded = self._encoded(encoder, samples)
            rows = [row for row in encoded if isinstance(row, Encoded)]
            answered = iter(server.encoded([row.text for row in rows]))
            return [row if isinstance(row, Score) else self._replied(next(answered), row) for row in encoded]

    def _need_no_tokenizer(self, sglang: bool) -> None:
        needs = self.truncate or self.template or self.max_tokens
        if needs:
            raise ConfigError("template, truncate and max_tokens of a server need the model's tokenizer=DIR")
        if sglang and self.endpoint in ("auto", "classify"):
            raise ConfigError(
                "SGLang puts no conversation of a reward model through a template", hint="tokenizer=DIR, to do it here"
            )

    def _encoder(self, tokenizer: Any, context: int) -> PairEncoder:
        limit = min(context, self.max_tokens) if self.max_tokens else context
        return PairEncoder(tokenizer, self.form, self.template, limit, self.truncate)

    def _encoded(self, encoder: PairEncoder, samples: Sequence[Sample]) -> list[Encoded | Score]:
        found: list[Encoded | Score] = []
        for sample in samples:
            try:
                found.append(encoder(sample))
            except Unfit as error:
                found.append(self._unfit(encoder, sample, describe(error)))
        return found

    def _unfit(self, encoder: PairEncoder, sample: Sample, problem: str) -> Score:
        """The score of a reply that can't be the model's input: 0.0 if a short reply to the prompt can be.

        Without an activation it is unscored: no number is certainly the lowest, and a 0 could be a reward.
        """
        if self.activation == "none":
            return Score.error(problem)
        try:
            encoder(Sample(sample.prompt, "a"))
        except Unfit as error:
            return Score.error(describe(error))
        return Score(0.0, reason=problem)

    def _replied(self, reply: Numbers | EngineError, row: Encoded | None) -> Score:
        if isinstance(reply, EngineError):
            return Score.error(describe(reply), cause=reply)
        return self._scored(reply, row)

    def _scored(self, numbers: Numbers, row: Encoded | None) -> Score:
        reward = self._reader(numbers)
        if not math.isfinite(reward):
            return Score.error(f"the model gave {reward} for a reward", text="does it overflow in its number format?")
        several = len(numbers.values) > 1
        named = zip(numbers.names or map(str, range(PARTS)), numbers.values, strict=False)
        parts = {name: Score(value) for name, value in list(named)[:PARTS] if math.isfinite(value)} if several else {}
        score = Score(reward, reason="by the reward model", parts=parts)
        if row is None or not row.whole:
            return score
        told = f"by the reward model, of {len(row.text.ids)} of {row.whole} tokens: cut on the {self.truncate}"
        return replace(score, reason=told, usage={"truncated": 1.0})


def _writable(text: str) -> str:
    """A text with `?` for lone surrogates, which neither tokenizers nor servers accept."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _digest(path: str) -> str:
    """8 hex digits of a file's content. "" if it can't be read, which scoring reports."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:8]
    except (OSError, ValueError):
        return ""


def _tokenizer(path: str) -> Any:
    transformers = import_transformers(f"rm(tokenizer={path!r})", "hf")
    require_model(path, f"the tokenizer {path}")
    try:
        return transformers.AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise SpecError(f"can't load the tokenizer {path}: {' '.join(str(error).split())[:300]}") from None
