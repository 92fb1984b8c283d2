"""Retrieval: recall on 2Wiki beside bm25s and faiss by themselves, and the cost of a million short passages.

    python -m benchmarks.retrieval [FOLDER] [--encoder DIR] [--index DIR] [--passages 1000000]

FOLDER has 2wiki_corpus.jsonl (title, text) and 2wiki_101_gold.jsonl (question, gold_titles); without it only costs are
measured. The dense rows are vectors of all-MiniLM-L6-v2 (extra `real`, see tests/real/models.py) or of the encoder in
`--encoder`; `--index` keeps the index, whose vectors take minutes. Each measurement of the second part runs in a
process of its own: CPU seconds, and the peak of its memory; `--passages 0` leaves it out.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bm25s
import faiss
import numpy as np

from tests.real.models import minilm
from verikit.retrieval import EncoderSettings, Passage, build_index
from verikit.retrieval.bm25 import BM25, build_bm25, words
from verikit.retrieval.dense import Dense, build_dense
from verikit.retrieval.encoder import Role, make_encoder
from verikit.retrieval.hybrid import Hybrid, TwoStep
from verikit.retrieval.index import Index
from verikit.retrieval.metrics import report
from verikit.retrieval.store import Passages, write_passages

KS = (2, 5, 8, 10, 20, 100)
VOCABULARY, LENGTH, DIMENSION = 200_000, 24, 128
QUERIES = 100


class Bags:
    """Sums of random vectors of words: as cheap as an encoder can be."""

    def __init__(self) -> None:
        self._words = np.random.default_rng(0).standard_normal((VOCABULARY, DIMENSION), dtype=np.float32)

    def encode(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Add the words' vectors up."""
        vectors: np.ndarray = np.stack([self._words[[int(word[1:]) for word in text.split()]].sum(0) for text in texts])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


def recall_table(folder: Path, encoder_folder: str, kept: Path | None) -> None:
    rows = [json.loads(line) for line in (folder / "2wiki_101_gold.jsonl").read_text("utf-8").splitlines()]
    questions, golds = [row["question"] for row in rows], [row["gold_titles"] for row in rows]
    settings = EncoderSettings(path=encoder_folder)
    with tempfile.TemporaryDirectory() as scratch:
        home = kept or Path(scratch)
        build_index([folder / "2wiki_corpus.jsonl"], home, settings=settings, tell=print)
        bm25, encoder = BM25(home), make_encoder(settings)
        texts = [passage.content for passage in bm25.passages]
        dense = Dense(home, encoder)
        systems: dict[str, Index] = {"bm25": bm25, "dense": dense, "hybrid": Hybrid(bm25, dense)}
        systems |= {f"two-step:{name}": TwoStep(index) for name, index in list(systems.items())}
        print(f"{len(questions)} questions, {len(texts):,} passages")
        print(f"{'':<22}" + "".join(f"{f'R@{k}':>8}" for k in KS) + f"{'all@8':>8}{'MRR':>8}")
        for name, index in systems.items():
            show(name, [[passage.title for passage in found] for found in index.retrieve(questions, KS[-1])], golds)
        titles = [passage.title for passage in bm25.passages]
        theirs = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
        theirs.index([words(text) for text in texts], show_progress=False)
        ids, _ = theirs.retrieve([words(question) for question in questions], k=KS[-1], show_progress=False)
        show("bm25s by itself", [[titles[row] for row in found] for found in ids], golds)
        stored = dict.fromkeys(name for row in rows for name in row["retrieved"])
        for name in stored:
            show(f"stored {name}", [row["retrieved"][name] for row in rows], golds)
        flat = faiss.IndexFlatIP(dense.vectors.shape[1])
        flat.add(np.array(dense.vectors))
        _, exact = flat.search(encoder.encode(questions, "query"), 20)
        ours = [[hit.row for hit in hits] for hits in dense.rank(questions, 20)]
        print(f"exact search: {sum(a == b for a, b in zip(ours, exact.tolist(), strict=True))} of {len(ours)} top-20")
        print("lists equal those of faiss.IndexFlatIP\n")


def show(name: str, ranked: Sequence[Sequence[str]], golds: Sequence[Sequence[str]]) -> None:
    found = report(ranked, golds, KS)
    shown = [found[f"recall@{k}"] if max(map(len, ranked)) >= k else None for k in KS]
    shown += [found["all-gold@8"], found["mrr"]]
    print(f"{name:<22}" + "".join(f"{'-' if share is None else f'{share:.4f}':>8}" for share in shown))


def measured(name: str, work: Callable[[], Any]) -> Any:
    """Run in a forked process; print its wall and CPU seconds and what its memory peaked at beyond the start."""

    def child(pipe: Any) -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"{name:<44}{wall:>9.2f} s {cpu:>9.2f} CPU s {peak:>8,.0f} MiB", flush=True)
        pipe.send(result)

    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=child, args=(there,))
    process.start()
    there.close()
    result = here.recv()
    process.join()
    return result


def synthetic(count: int) -> list[str]:
    draw = np.random.default_rng(1)
    ranks = np.minimum(draw.zipf(1.3, size=(count, LENGTH)) - 1, VOCABULARY - 1)
    return [" ".join(f"w{word}" for word in row) for row in ranks]


def costs(count: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        print(f"{count:,} passages of {LENGTH} words, {QUERIES} queries of 6, k = 10")

        def silent(line: str) -> None:
            return None

        def write() -> None:
            made = (Passage(f"w{number % 997}", text, str(number)) for number, text in enumerate(synthetic(count)))
            write_passages(made, folder, [], silent)

        measured("passages: make and write", write)
        draw = random.Random(0)
        passages = Passages(folder)
        queries = [" ".join(draw.sample(passages[draw.randrange(count)].text.split(), 6)) for _ in range(QUERIES)]
        settings = EncoderSettings(path="benchmarks.retrieval:Bags")

        def build_of(factory: str) -> Callable[[], None]:
            return lambda: (build_dense(passages, settings, silent, factory=factory, encoder=Bags()), None)[1]

        def ask(open_index: Callable[[], Index]) -> Callable[[], list[list[int]]]:
            return lambda: [[hit.row for hit in hits] for hits in open_index().rank(queries, 10)]

        def theirs() -> list[list[int]]:
            flat = faiss.IndexFlatIP(DIMENSION)
            flat.add(np.fromfile(folder / "dense" / "vectors.f32", np.float32).reshape(count, DIMENSION))
            found: list[list[int]] = flat.search(Bags().encode(queries, "query"), 10)[1].tolist()
            return found

        def bm25s_alone() -> None:
            index = bm25s.BM25.load(str(folder / "bm25"), mmap=True, show_progress=False)
            index.retrieve([words(query) for query in queries], k=10, show_progress=False)

        measured("bm25: build", lambda: (build_bm25(passages, silent), None)[1])
        measured("bm25: open and ask", ask(lambda: BM25(folder)))
        measured("bm25s by itself: open and ask", bm25s_alone)
        measured("dense, Flat: build", build_of("Flat"))
        ours = measured("dense, Flat: open and ask", ask(lambda: Dense(folder, Bags())))
        exact = measured("faiss.IndexFlatIP: load and ask", theirs)
        print(f"  equal top-10 lists: {sum(a == b for a, b in zip(ours, exact, strict=True))} of {QUERIES}")
        (folder / "dense" / "dense.json").unlink()  # the vectors stay; another factory over them
        measured("dense, IVF1024,Flat: faiss index of the vectors", build_of("IVF1024,Flat"))
        near = measured("dense, IVF1024,Flat: open and ask", ask(lambda: Dense(folder, Bags())))
        share = sum(len(set(a) & set(b)) for a, b in zip(near, exact, strict=True)) / (10 * QUERIES)
        print(f"  share of the exact top-10, one cell searched: {share:.3f}")
        for name in ("passages.jsonl", "bm25", "dense/vectors.f32", "dense/index.faiss"):
            size = sum(file.stat().st_size for file in [folder / name, *(folder / name).glob("*")] if file.is_file())
            print(f"  {name:<20}{size / 2**20:>8,.0f} MiB on disk")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--encoder", default="", help="a folder of transformers; all-MiniLM-L6-v2 by default")
    parser.add_argument("--index", type=Path, help="where to keep the index of FOLDER's passages")
    parser.add_argument("--passages", type=int, default=1_000_000)
    arguments = parser.parse_args()
    if arguments.folder:
        recall_table(arguments.folder, arguments.encoder or str(minilm()), arguments.index)
    if arguments.passages:
        costs(arguments.passages)


if __name__ == "__main__":
    main()
