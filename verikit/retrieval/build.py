"""Builds an index's folder: passages, then BM25, a graph and vectors over them. Existing parts are not built again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from verikit.errors import MissingExtra, UsageError
from verikit.platform.folders import refuse_links
from verikit.platform.system import lock_file
from verikit.retrieval.corpus import check_corpus, read_corpus
from verikit.retrieval.encoder import Encoder, EncoderSettings

if TYPE_CHECKING:
    from verikit.retrieval.entities import EntityModel

LOCK = ".lock"


def _sources(corpora: Sequence[str | Path], words: int | None, limit: int | None) -> list[str]:
    """What the passages are made of. An index is only resumed for the same."""
    files = [_identity(Path(name), words) for corpus in corpora for name in check_corpus(corpus, words)]
    return [*files, f"the first {limit} passages"] if limit else files


def build_index(
    corpora: Sequence[str | Path],
    folder: str | Path,
    *,
    words: int | None = None,
    limit: int | None = None,
    bm25: bool = True,
    graph: bool = False,
    entities: EntityModel | None = None,
    settings: EncoderSettings | None = None,
    factory: str = "Flat",
    parameters: str = "",
    encoder: Encoder | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> int:
    """Build the missing parts and return the number of passages.

    Args:
        corpora: Files of passages or text, patterns, folders.
        folder: The index's folder. An existing build is resumed.
        words: Words per passage. By default text files are cut into 100 and rows are not cut.
        limit: Most passages, the first ones. None reads all.
        bm25: Whether to build the BM25 index.
        graph: Whether to build the graph of titles.
        entities: A model that also finds entities for the graph, which implies `graph`. Its `counts` include failures.
        settings: The encoder of the dense index. None builds no dense index.
        factory: The faiss index over the vectors.
        parameters: Search parameters of that index, such as `nprobe=32`.
        encoder: An encoder that is already loaded, which must match the settings.
        tell: Called with progress messages.

    Raises:
        UsageError: A corpus can't be read, or the folder has another corpus, encoder, or replies of another model.
        EngineError: The model's engine is unreachable.
        MissingExtra: numpy, bm25s or faiss is not installed.
    """
    sources = _sources(corpora, words, limit)
    with _locked(Path(folder)):
        try:
            from verikit.retrieval.store import write_passages

            texts = islice(chain.from_iterable(read_corpus(corpus, words) for corpus in corpora), limit)
            passages = write_passages(texts, Path(folder), sources, tell)
            if bm25:
                from verikit.retrieval.bm25 import build_bm25

                build_bm25(passages, tell)
            if graph or entities is not None:
                from verikit.retrieval.graph_build import build_graph

                build_graph(passages, tell, entities)
            if settings is not None:
                from verikit.retrieval.dense import build_dense

                build_dense(passages, settings, tell, factory=factory, parameters=parameters, encoder=encoder)
        except ModuleNotFoundError as error:
            if error.name not in ("numpy", "bm25s", "faiss"):
                raise
            raise MissingExtra(f"an index ({error.name})", "retrieval") from None
    return len(passages)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder during a build. The lock ends with the process.

    Raises:
        UsageError: The folder is not writable, or another process is building in it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        refuse_links(folder)
        lock = open(folder / LOCK, "a+b")  # noqa: SIM115 - held below
    except OSError as error:
        problem = error.strerror or str(error)
        raise UsageError(f"can't write to {folder}: {problem.lower()}", hint="choose another folder") from None
    with lock:
        try:
            lock_file(lock)
        except BlockingIOError:
            hint = "wait for it, or choose another folder"
            raise UsageError(f"another process builds in {folder}", hint=hint) from None
        yield


def _identity(path: Path, words: int | None) -> str:
    try:
        stat = path.stat()
    except OSError as error:
        raise UsageError(f"{path}: can't be read: {(error.strerror or str(error)).lower()}") from None
    return f"{path.name} of {stat.st_size} bytes, {stat.st_mtime_ns}, {words or 'default'} words"
