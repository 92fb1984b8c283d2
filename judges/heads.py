"""Classification heads of transformers: load one, and run rows of token ids through it in padded batches.

Rows of similar length go together, to compute little padding. A head that is read at a row's last token finds it by the
padding id (transformers' `...ForSequenceClassification`). So rows are padded with the model's own padding id. If the
model has no padding id, they are padded with an id that no row ends in.

The common start of a batch's rows (a prompt before its candidates) is run once for all of them. This applies to models
whose rows can continue from keys and values.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from threading import RLock
from typing import Any

from verikit.engines.hf.load import import_transformers, require_model
from verikit.errors import SpecError

BATCH_TOKENS = 16_384
"""Maximum tokens of a batch, including padding. It bounds the memory of activations."""
CACHED_TOKENS = 2_048
"""The same limit on a CPU, where activations that exceed its caches cost more than another run."""
SHARED_FROM = 16
"""Minimum tokens at the start of all rows that justify a separate run."""
RUN_TOKENS = 128
"""Overhead of a model run, in tokens."""
SHARING = frozenset({"llama", "qwen2", "qwen3"})
"""Values of `config.model_type` whose rows continue from keys and values."""
_lock = RLock()


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A text as a model's input."""

    ids: Sequence[int]
    types: Sequence[int] = ()
    """Segments (first text 0, second 1), for models that separate pairs this way."""


@cache
def load_head(
    path: str, model_class: str, kind: str, device: str = "", dtype: str = "auto", remote_code: bool = False
) -> tuple[Any, Any]:
    """Load a model with its trained head and its tokenizer, once per process.

    Args:
        path: A folder or a Hugging Face Hub name.
        model_class: The transformers class that loads it.
        kind: The head's name in messages.
        device: `cpu`, `cuda`, …. "" for CUDA if it is available.
        dtype: `auto` (as saved), `float32`, `bfloat16`, …
        remote_code: Run the Python files that come with the model.

    Raises:
        MissingExtra: torch or transformers is not installed.
        SpecError: The model does not exist, or it has no weights for such a head.
    """
    transformers = import_transformers(path, "hf")
    import torch

    require_model(path, path)
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
            f"{path} has no weights for {missing[0]}: it is not a {kind} of transformers",
            hint="a head that was never trained gives random rewards. Check the kind of the model",
        )
    return model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval(), tokenizer


def context_of(model: Any) -> int:
    """Maximum tokens that a model reads."""
    return int(getattr(model.config.get_text_config(), "max_position_embeddings", 2**31))


def forward(
    model: Any, rows: Sequence[EncodedText], *, most: int = 64, tokens: int = BATCH_TOKENS, last: bool = False
) -> Iterator[tuple[list[int], Any]]:
    """Run rows through a model and yield (indices of the batch's rows, the model's output).

    Rows are padded on the right: position p of a row is position p of the output.

    Args:
        model: A transformers model. Calls from several threads take turns.
        rows: Non-empty rows.
        most: Maximum rows per batch.
        tokens: Maximum tokens per batch, including padding. A longer row runs separately.
        last: Only the output at each row's end is needed, so the common start of rows may be shared.

    Raises:
        torch.OutOfMemoryError: the device can't fit even one row. Batches that are too big for it are halved.
    """
    sharing = last and _shares(model) and not any(row.types for row in rows) and not _ends_padded(model, rows)
    for batch in _planned(rows, most, tokens, sharing, CACHED_TOKENS if model.device.type == "cpu" else 0):
        yield from _halving(model, rows, batch, sharing)


def _shares(model: Any) -> bool:
    config = model.config.get_text_config()
    layers = getattr(config, "layer_types", None) or ()
    return config.model_type in SHARING and all(kind == "full_attention" for kind in layers)


def _ends_padded(model: Any, rows: Sequence[EncodedText]) -> bool:
    """Whether a row ends in the model's padding. Its output is read before that, perhaps in the shared part."""
    return any(row.ids[-1] == getattr(model.config.get_text_config(), "pad_token_id", None) for row in rows)


def _planned(rows: Sequence[EncodedText], most: int, tokens: int, sharing: bool, alone: int = 0) -> list[list[int]]:
    """The batches: rows of similar length (at most `alone` tokens), or rows with a similar start if that costs less."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].ids))
    by_length = _batches(rows, order, most, min(tokens, alone) if alone else tokens, False)
    if not sharing:
        return by_length
    by_start = _batches(rows, sorted(range(len(rows)), key=lambda i: list(rows[i].ids)), most, tokens, True)
    costs = [sum(_cost([rows[i] for i in batch], sharing) for batch in plan) for plan in (by_length, by_start)]
    return by_start if costs[1] < costs[0] else by_length


def _batches(
    rows: Sequence[EncodedText], order: Sequence[int], most: int, tokens: int, sharing: bool
) -> list[list[int]]:
    """Batch neighbouring rows. With `sharing`, add a row while it costs less in the batch than in a separate one."""
    batches: list[list[int]] = []
    for index in order:
        length = len(rows[index].ids)
        last = batches[-1] if batches else []
        whole = [rows[i] for i in (*last, index)]
        fits = bool(last) and len(whole) <= most and len(whole) * max(len(row.ids) for row in whole) <= tokens
        if fits and sharing:
            fits = _cost(whole, sharing) < _cost(whole[:-1], sharing) + RUN_TOKENS + length
        if fits:
            last.append(index)
        else:
            batches.append([index])
    return batches


def _cost(rows: Sequence[EncodedText], sharing: bool) -> int:
    """Cost of a batch, in tokens."""
    width, common = max(len(row.ids) for row in rows), _common(rows) if sharing else 0
    return RUN_TOKENS * (2 if common else 1) + common + len(rows) * (width - common)


def _common(rows: Sequence[EncodedText]) -> int:
    """Number of tokens that all rows start with, leaving each at least one more. 0 if too few to be shared."""
    if len(rows) < 2:
        return 0
    texts = [row.ids for row in rows]
    first, last = min(texts, key=list), max(texts, key=list)  # all other rows sort between these two
    shortest = min(map(len, texts))
    differ = (at for at, (left, right) in enumerate(zip(first, last, strict=False)) if left != right)
    found = min(next(differ, shortest), shortest - 1)
    return found if found >= SHARED_FROM else 0


def _halving(
    model: Any, rows: Sequence[EncodedText], batch: list[int], sharing: bool
) -> Iterator[tuple[list[int], Any]]:
    import torch

    try:
        output = _run(model, [rows[index] for index in batch], sharing)
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
        yield from _halving(model, rows, part, sharing)


def _run(model: Any, rows: Sequence[EncodedText], sharing: bool = False) -> Any:
    import torch

    common = _common(rows) if sharing else 0
    with _lock, _padding(model, rows) as pad, torch.inference_mode():
        width = max(len(row.ids) for row in rows)
        ids = torch.tensor([[*row.ids, *[pad] * (width - len(row.ids))] for row in rows])
        inputs = {
            "input_ids": ids[:, common:],
            "attention_mask": torch.tensor([[1] * len(row.ids) + [0] * (width - len(row.ids)) for row in rows]),
        }
        if any(row.types for row in rows):
            inputs["token_type_ids"] = torch.tensor([_padded_types(row, width) for row in rows])
        own: dict[str, Any] = {name: tensor.to(model.device) for name, tensor in inputs.items()}
        if common:
            begun = model(input_ids=ids[:1, :common].to(model.device), use_cache=True).past_key_values
            begun.batch_repeat_interleave(len(rows))
            own[_cache_argument(model)] = begun
        return model(**own)


def _padded_types(row: EncodedText, width: int) -> list[int]:
    return [*(row.types or [0] * len(row.ids)), *[0] * (width - len(row.ids))]


def _cache_argument(model: Any) -> str:
    """The name of the model's argument for earlier keys and values. Transformers 5.2x renamed it."""
    return "cache" if "cache" in inspect.signature(type(model).forward).parameters else "past_key_values"


@contextmanager
def _padding(model: Any, rows: Sequence[EncodedText]) -> Iterator[int]:
    """The padding id for rows, which is set on the model within this block."""
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
    """The names of a head's outputs: the config's names, or their numbers."""
    named: Mapping[Any, str] = getattr(model.config, "id2label", None) or {}
    return [str(named.get(i, named.get(str(i), i))) for i in range(size)]
