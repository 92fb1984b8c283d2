"""Encodes texts as vectors, with any transformers encoder or a custom one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, cast

from pydantic import BaseModel, ConfigDict, PositiveInt

from verikit.engines.hf.load import import_transformers, require_model
from verikit.errors import ConfigError, SpecError
from verikit.platform.folders import check_code

if TYPE_CHECKING:
    import numpy as np

Role = Literal["query", "passage"]


class Encoder(Protocol):
    """Encodes texts as vectors whose inner products measure similarity."""

    def encode(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Return float32 vectors, shape (len(texts), dimension)."""
        ...


class EncoderSettings(BaseModel):
    """All settings that affect a vector. The index stores them, so queries are encoded like its passages."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    path: str
    """Folder or Hugging Face name of a transformers model, or `package.module:name` of an `Encoder` factory."""
    pooling: Literal["auto", "cls", "mean"] = "auto"
    """auto: the pooling of the model's sentence-transformers files, or mean without them."""
    query_prefix: str = ""
    """`Represent this sentence for searching relevant passages: ` for BGE, `query: ` for E5."""
    passage_prefix: str = ""
    max_tokens: PositiveInt = 300
    """Longer texts are cut (300 as in R1-Searcher's server). A lower limit of the model takes precedence."""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """Data type of the model's weights and activations. Vectors are stored as float32."""
    normalize: bool = True
    """Scale vectors to length 1: inner products are then cosines."""


def make_encoder(settings: EncoderSettings, *, batch: int = 64) -> Encoder:
    """Load the encoder that settings describe.

    Raises:
        SpecError: The encoder does not exist.
        MissingExtra: torch or transformers is not installed.
    """
    return own_encoder(settings.path) if ":" in settings.path else Transformer(settings, batch=batch)


def own_encoder(name: str) -> Encoder:
    """Call `package.module:name` without arguments and return the encoder.

    Raises:
        SpecError: It does not exist, or only a folder names it.
    """
    check_code(name)
    module, _, attribute = name.partition(":")
    try:
        return cast(Encoder, getattr(import_module(module), attribute)())
    except (ImportError, AttributeError, ValueError) as error:
        raise SpecError(f"can't make the encoder {name!r}: {error}") from None


class Transformer:
    """A transformers encoder, which runs on CUDA if available."""

    def __init__(self, settings: EncoderSettings, *, batch: int = 64) -> None:
        transformers = import_transformers(f"the encoder {settings.path}", "hf")
        import torch

        require_model(settings.path, f"the encoder {settings.path}")
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(settings.path, trust_remote_code=False)
            model: Any = transformers.AutoModel.from_pretrained(
                settings.path, dtype=getattr(torch, settings.dtype), trust_remote_code=False
            )
        except (OSError, ValueError) as error:
            raise SpecError(f"can't load the encoder {settings.path}: {' '.join(str(error).split())[:300]}") from None
        self._tokenizer.padding_side = "right"  # the first position is the text's own
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token  # any will do: the mask hides it
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = model.to(self._device).eval()
        self._settings, self._batch = settings, batch
        self._most = min(settings.max_tokens, self._tokenizer.model_max_length)
        self._pooling = _saved_pooling(settings.path) if settings.pooling == "auto" else settings.pooling

    def encode(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Encode in batches of texts of similar length, and return the vectors in the original order."""
        import numpy as np

        prefix = self._settings.query_prefix if role == "query" else self._settings.passage_prefix
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors = np.empty((len(texts), self._model.config.hidden_size), dtype=np.float32)
        for start in range(0, len(order), self._batch):
            indices = order[start : start + self._batch]
            vectors[indices] = self._encode([prefix + texts[index] for index in indices])
        return vectors

    def _encode(self, texts: list[str]) -> np.ndarray:
        import torch

        tokens = self._tokenizer(texts, padding=True, truncation=True, max_length=self._most, return_tensors="pt").to(
            self._device
        )
        with torch.inference_mode():
            hidden = self._model(**tokens).last_hidden_state.float()
            if self._pooling == "cls":
                pooled = hidden[:, 0]
            else:
                mask = tokens["attention_mask"].unsqueeze(-1)
                pooled = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
            if self._settings.normalize:
                pooled = torch.nn.functional.normalize(pooled, dim=-1)
        vectors: np.ndarray = pooled.cpu().numpy()
        return vectors


def _saved_pooling(path: str) -> str:
    """Return the pooling of a folder's sentence-transformers files, or mean if they set none.

    Raises:
        ConfigError: They set a pooling other than cls or mean.
    """
    try:
        saved = json.loads((Path(path) / "1_Pooling" / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return "mean"
    modes = {name for name, on in saved.items() if name.startswith("pooling_mode_") and on}
    known = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    if len(modes) == 1 and (mode := known.get(next(iter(modes)))):
        return mode
    raise ConfigError(f"{path} pools by {', '.join(sorted(modes)) or 'nothing'}", hint="pass --pooling cls or mean")
