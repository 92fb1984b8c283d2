"""Classification heads of transformers: loading one, and running rows of token ids through it in padded batches.

Rows of like length go together, so that little is computed for padding. A head that is read at a row's last token finds
it by the id of the padding (transformers' `...ForSequenceClassification`): rows are filled with the model's own padding
id, and where the model has none, with an id that none of them ends in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from threading import RLock
from typing import Any

from verikit.engines.hf.load import import_transformers
from verikit.errors import SpecError

BATCH_TOKENS = 16_384
"""Most tokens of a batch, padding included; bounds the memory of activations."""
_lock = RLock()


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A text as a model's input."""

    ids: Sequence[int]
    types: Sequence[int] = ()
    """Segments (first text 0, second 1), for models that tell pairs apart so."""


@cache
def load_head(
    path: str, model_class: str, kind: str, device: str = "", dtype: str = "auto", remote_code: bool = False
) -> tuple[Any, Any]:
    """Load a model with its trained head and its tokenizer, once per process.

    Args:
        path: A folder or a hub name.
        model_class: The class of transformers that loads it.
        kind: What the head is called in messages.
        device: `cpu`, `cuda`, …; "" for CUDA where there is one.
        dtype: `auto` (as saved), `float32`, `bfloat16`, …
        remote_code: Run the Python files that come with the model.

    Raises:
        MissingExtra: torch or transformers is not installed.
        SpecError: there is no such model, or it has no weights for such a head.
    """
    transformers = import_transformers(path, "hf")
    import torch

    own = {"trust_remote_code": True} if remote_code else {}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, **own)
        model, loading = getattr(transformers, model_class).from_pretrained(
            path, dtype=dtype, output_loading_info=True, **own
        )
    except (OSError, ValueError, AttributeError) as error:
        raise SpecError(f"can't load {path}: {' '.join(str(error).split())[:300]}") from None
    if missing := sorted(loading["missing_keys"]):
        raise SpecError(
            f"{path} has no weights for {missing[0]}: it is no {kind} of transformers",
            hint="a head that was never trained would give random rewards; is it another kind?",
        )
    return model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval(), tokenizer


def context_of(model: Any) -> int:
    """Most tokens that a model reads."""
    return int(getattr(model.config.get_text_config(), "max_position_embeddings", 2**31))


def forward(
    model: Any, rows: Sequence[EncodedText], *, most: int = 64, tokens: int = BATCH_TOKENS
) -> Iterator[tuple[list[int], Any]]:
    """Run rows through a model, the shortest first, and yield (indices of the batch's rows, the model's output).

    Rows are padded on the right: position p of a row is position p of the output.

    Args:
        model: A model of transformers; calls from several threads take turns.
        rows: None may be empty.
        most: Rows of a batch.
        tokens: Tokens of a batch, padding included; a longer row runs alone.

    Raises:
        torch.OutOfMemoryError: the device can't hold even one row; batches that are too big for it are halved.
    """
    for batch in _batches(rows, most, tokens):
        yield from _halving(model, rows, batch)


def _batches(rows: Sequence[EncodedText], most: int, tokens: int) -> Iterator[list[int]]:
    batch: list[int] = []
    for index in sorted(range(len(rows)), key=lambda i: len(rows[i].ids)):
        if batch and (len(batch) == most or (len(batch) + 1) * len(rows[index].ids) > tokens):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _halving(model: Any, rows: Sequence[EncodedText], batch: list[int]) -> Iterator[tuple[list[int], Any]]:
    import torch

    try:
        output = _run(model, [rows[index] for index in batch])
    except torch.OutOfMemoryError:
        if len(batch) == 1:
            raise
        output = None
    if output is not None:
        yield batch, output
        return
    torch.cuda.empty_cache()
    half = len(batch) // 2
    for part in (batch[:half], batch[half:]):
        yield from _halving(model, rows, part)


def _run(model: Any, rows: Sequence[EncodedText]) -> Any:
    import torch

    with _lock, _padding(model, rows) as pad, torch.inference_mode():
        width = max(len(row.ids) for row in rows)
        inputs = {
            "input_ids": torch.tensor([[*row.ids, *[pad] * (width - len(row.ids))] for row in rows]),
            "attention_mask": torch.tensor([[1] * len(row.ids) + [0] * (width - len(row.ids)) for row in rows]),
        }
        if any(row.types for row in rows):
            inputs["token_type_ids"] = torch.tensor(
                [[*(row.types or [0] * len(row.ids)), *[0] * (width - len(row.ids))] for row in rows]
            )
        return model(**{name: tensor.to(model.device) for name, tensor in inputs.items()})


@contextmanager
def _padding(model: Any, rows: Sequence[EncodedText]) -> Iterator[int]:
    """The id to fill rows with, which the model knows within this block."""
    config = model.config.get_text_config()
    if (given := getattr(config, "pad_token_id", None)) is not None:
        yield given
        return
    ends = {row.ids[-1] for row in rows}
    config.pad_token_id = next(token for token in count() if token not in ends)
    try:
        yield config.pad_token_id
    finally:
        config.pad_token_id = None


def labels_of(model: Any, size: int) -> list[str]:
    """The names of a head's outputs: the config's, or their numbers."""
    named: Mapping[Any, str] = getattr(model.config, "id2label", None) or {}
    return [str(named.get(i, named.get(str(i), i))) for i in range(size)]
