"""transformers as an engine, on CPU or CUDA.

Completions are sampled by verikit's own decoder if it supports the model, otherwise by `generate`. Calls from several
threads take turns. A seeded request gives the same tokens in any batch, up to rounding. An unseeded one gets a new key
from the operating system.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from verikit.engines.hf.load import load_causal
from verikit.engines.prompts import weights_identity
from verikit.engines.traced import traced_stream
from verikit.engines.types import Generation, Request, StreamingEngine, StructuredKind

if TYPE_CHECKING:
    from verikit.engines.hf.batch import Fitting
    from verikit.engines.hf.prefixes import Prefixes


class HF(StreamingEngine):
    """A causal language model of transformers."""

    form = "hf:PATH"
    _prefixes: Prefixes | None = None
    _fitting: Fitting | None = None

    def __init__(
        self, path: str, *, dtype: str = "auto", device: str = "", rows: int = 512, reuse: float = 0.5
    ) -> None:
        """Load a model.

        Args:
            path: A folder, a name on the Hugging Face Hub or a GGUF file: `hf:PATH`.
            dtype: `auto` (as saved; a GGUF file's numbers are unpacked to fp32), `float32`, `bfloat16`, …
            device: `cpu`, `cuda`, …. By default CUDA if available.
            rows: Maximum number of completions decoded together.
            reuse: GiB of keys and values to keep from requests with `stop`, for prompts that continue them (the next
                turn of a review or a search). 0 disables it. Log-probabilities are the same up to rounding.

        Raises:
            MissingExtra: torch, transformers or, for a GGUF file, gguf is not installed.
            SpecError: There is no such model.
        """
        model, tokenizer = load_causal(path, dtype)
        import torch

        model = model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
        self._set(model, tokenizer, rows, f"hf:{path}", f"hf:{weights_identity(path)} {dtype}")
        from verikit.engines.hf.prefixes import Prefixes

        self._prefixes = Prefixes(int(reuse * 2**30)) if reuse > 0 else None

    @classmethod
    def of(cls, model: Any, tokenizer: Any, *, rows: int = 512, tempered: bool = False) -> Self:
        """Use a loaded model.

        Its weights may change between calls, so each engine created this way has its own identity.

        With `tempered`, log-probabilities are those of the distribution sampled from, softmax(logits / temperature).
        """
        engine = cls.__new__(cls)
        name = f"hf:{type(model).__name__}"
        engine._set(model, tokenizer, rows, name, f"{name} {secrets.token_hex(16)}")
        engine.tempered = tempered
        return engine

    def _set(self, model: Any, tokenizer: Any, rows: int, name: str, identity: str) -> None:
        self.name: str = name
        self.model: Any = model
        self.tokenizer: Any = tokenizer
        self.rows: int = rows
        self.tempered: bool = False
        self._identity = identity
        self._lock = threading.RLock()

    @property
    def identity(self) -> str:
        """The weights (by their files' names, sizes and modification times) and the number format."""
        return self._identity

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """Choices."""
        return frozenset({"choice"})

    @traced_stream
    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Decode the requests, at most `rows` completions at a time, and yield each result when it is complete."""
        from verikit.engines.hf.batch import Batch, Fitting

        with self._lock:
            self._fitting = self._fitting or Fitting()
            batch = Batch(
                self.model, self.tokenizer, requests, tempered=self.tempered, prefixes=self._prefixes,
                fitting=self._fitting,
            )  # fmt: skip
            yield from batch.run(self.rows)
