"""Dense retrieval: vectors in one memory-mapped file, searched exactly or through a faiss index.

`Flat` (the default) stores no second copy: faiss multiplies the queries with the mapped file, block by block. Any other
factory string (`IVF4096,PQ64`, `HNSW32`, …) builds that index over inner products. A build proceeds block by block and
resumes where it stopped. Vectors only depend on their block, so the result is the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import faiss
import numpy as np
from pydantic import BaseModel, ConfigDict

from verikit.errors import ConfigError, RetrievalError, UsageError
from verikit.retrieval.encoder import Encoder, EncoderSettings, make_encoder
from verikit.retrieval.index import Hit, Index
from verikit.retrieval.store import Passages, write_json
from verikit.retrieval.types import Passage

FOLDER = "dense"
VECTORS, FAISS, SETTINGS = "vectors.f32", "index.faiss", "dense.json"
BLOCK = 1024
"""Passages encoded and written together. An interrupted build loses at most one block."""
TRAINED_ON = 256 * 4096
"""Most vectors that a faiss index is trained on, evenly spaced."""


class DenseSettings(BaseModel):
    """Settings of the index that was built."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    encoder: EncoderSettings
    factory: str = "Flat"
    parameters: str = ""
    """faiss search parameters, such as `nprobe=32` or `efSearch=128`. May change without a new build."""
    dimension: int = 0
    digest: str = ""
    """Digest of the passages."""


class Dense(Index):
    """A built index."""

    def __init__(self, folder: str | Path, encoder: Encoder | None = None) -> None:
        """Open the index, with the encoder it was built with.

        Raises:
            UsageError: The folder has no index, the index is incomplete, or its encoder is code that was not given.
        """
        passages = Passages(folder)
        self.passages: Sequence[Passage] = passages
        self.settings: DenseSettings = _read(passages.folder / FOLDER / SETTINGS)
        path = passages.folder / FOLDER / VECTORS
        rows, have = len(passages), path.stat().st_size if path.exists() else 0
        if self.settings.digest != passages.digest or have != rows * self.settings.dimension * 4:
            raise UsageError(
                f"the dense index in {folder} is not complete", hint="run `verikit index build` again to resume"
            )
        self.vectors: Any = np.memmap(path, np.float32, "r", shape=(rows, self.settings.dimension))
        self._index: Any = None
        if self.settings.factory != "Flat":
            self._index = _open_faiss(path.with_name(FAISS), self.settings.parameters)
        if encoder is None and ":" in (code := self.settings.encoder.path):
            raise UsageError(
                f"{folder} was made with the encoder {code!r}, which is code, and a folder never names code to run",
                hint=f"name it yourself: dense:{folder}#{code}",
            )
        self._encoder = encoder or make_encoder(self.settings.encoder)

    def rank(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Rank by inner product.

        Raises:
            RetrievalError: The encoder gave vectors of another shape, or not finite.
        """
        k = min(k, len(self.passages))
        if not queries or k < 1:
            return [[] for _ in queries]
        asked = checked(self._encoder.encode(queries, "query"), len(queries), self.settings.dimension)
        if self._index is None:
            scores, rows = faiss.knn(asked, self.vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
        else:
            scores, rows = self._index.search(asked, k)
        return [_hits(*pair) for pair in zip(rows, scores, strict=True)]


def build_dense(
    passages: Passages,
    settings: EncoderSettings,
    tell: Callable[[str], None],
    *,
    factory: str = "Flat",
    parameters: str = "",
    encoder: Encoder | None = None,
) -> Dense:
    """Build the index in the passages' folder, or resume an existing one.

    Raises:
        ConfigError: The existing index has another encoder or factory, or faiss does not support the factory.
        RetrievalError: The encoder returned invalid vectors.
    """
    folder = passages.folder / FOLDER
    folder.mkdir(exist_ok=True)
    encoder = encoder or make_encoder(settings)
    first = checked(encoder.encode([passages[0].content], "passage"), 1, None)[0]
    dimension = len(first)
    wanted = DenseSettings(
        encoder=settings, factory=factory, parameters=parameters, dimension=dimension, digest=passages.digest
    )
    if (folder / SETTINGS).exists():
        before = _read(folder / SETTINGS).model_copy(update={"parameters": parameters})
        if differ := [name for name in DenseSettings.model_fields if getattr(before, name) != getattr(wanted, name)]:
            raise ConfigError(f"{folder} was started with another {', '.join(differ)}", hint=f"delete {folder}")
    _set(_factory(dimension, factory), parameters)
    write_json(folder / SETTINGS, wanted.model_dump())
    _same_vectors(folder / VECTORS, first)
    _encode(passages, encoder, folder / VECTORS, dimension, tell)
    if factory != "Flat" and not (folder / FAISS).exists():
        _build_faiss(folder, len(passages), dimension, factory, tell)
    return Dense(passages.folder, encoder)


def checked(vectors: np.ndarray, count: int, dimension: int | None) -> np.ndarray:
    """Return vectors in faiss's format.

    Raises:
        RetrievalError: They have another shape, or contain values that are not finite.
    """
    made = np.ascontiguousarray(vectors, dtype=np.float32)
    if made.ndim != 2 or len(made) != count or dimension not in (None, made.shape[1]):
        raise RetrievalError(
            f"the encoder returned shape {made.shape} for {count} passages, expected ({count}, {dimension or 'd'})"
        )
    if not np.isfinite(made).all():
        raise RetrievalError("the encoder gave a vector that is not finite")
    return made


def _same_vectors(path: Path, first: np.ndarray) -> None:
    """Reject stored vectors that another encoder of the same name produced.

    Raises:
        ConfigError: The first stored vector differs from the encoder's.
    """
    stored = np.fromfile(path, np.float32, len(first)) if path.exists() else first[:0]
    if len(stored) == len(first) and not np.allclose(stored, first, rtol=1e-2, atol=1e-2 * float(np.abs(first).max())):
        raise ConfigError(
            f"the vectors in {path.parent} were made by a different encoder", hint=f"delete {path.parent}"
        )


def _encode(passages: Passages, encoder: Encoder, path: Path, dimension: int, tell: Callable[[str], None]) -> None:
    """Append the vectors of the blocks that are missing."""
    path.touch()
    done = path.stat().st_size // (4 * dimension)
    done -= done % BLOCK if done < len(passages) else 0
    with open(path, "r+b") as file:
        file.truncate(done * dimension * 4)
        file.seek(0, os.SEEK_END)
        for start in range(done, len(passages), BLOCK):
            texts = [passages[row].content for row in range(start, min(start + BLOCK, len(passages)))]
            file.write(checked(encoder.encode(texts, "passage"), len(texts), dimension).tobytes())
            file.flush()
            tell(f"dense: {start + len(texts):,} / {len(passages):,} passages")


def _build_faiss(folder: Path, rows: int, dimension: int, factory: str, tell: Callable[[str], None]) -> None:
    vectors = np.memmap(folder / VECTORS, np.float32, "r", shape=(rows, dimension))
    index = _factory(dimension, factory)
    if not index.is_trained:
        tell("dense: training the faiss index")
        try:
            index.train(np.ascontiguousarray(vectors[:: max(1, rows // TRAINED_ON)][:TRAINED_ON]))
        except RuntimeError as error:
            raise ConfigError(f"faiss can't train {factory!r} on {rows:,} vectors: {error}") from None
    for start in range(0, rows, BLOCK):
        index.add(np.ascontiguousarray(vectors[start : start + BLOCK]))
        tell(f"dense: {min(start + BLOCK, rows):,} / {rows:,} vectors in the faiss index")
    faiss.write_index(index, str(folder / f"{FAISS}.part"))
    os.replace(folder / f"{FAISS}.part", folder / FAISS)


def _factory(dimension: int, factory: str) -> Any:
    try:
        return faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)
    except RuntimeError as error:
        raise ConfigError(f"faiss can't make {factory!r} of {dimension} dimensions: {error}") from None


def _open_faiss(path: Path, parameters: str) -> Any:
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        raise UsageError(f"{path} can't be read: {error}", hint="run `verikit index build` again to resume") from None
    _set(index, parameters)
    return index


def _set(index: Any, parameters: str) -> None:
    try:
        space: Any = faiss.ParameterSpace()
        space.set_index_parameters(index, parameters)
    except RuntimeError as error:
        raise ConfigError(f"faiss can't set {parameters!r} on this index: {error}", hint="nprobe=32") from None


def _read(path: Path) -> DenseSettings:
    try:
        return DenseSettings.model_validate_json(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path.parent.parent} contains no dense index", hint="build it with --encoder") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is damaged: {error}", hint=f"delete {path.parent} and build it again") from None


def _hits(rows: np.ndarray, scores: np.ndarray) -> list[Hit]:
    found = [Hit(int(row), float(score)) for row, score in zip(rows, scores, strict=True) if row >= 0]
    return sorted(found, key=lambda hit: (-hit.score, hit.row))
