"""Both ends of two-hop questions: BM25, two-step search and the graph side by side, and what a million passages cost.

    PYTHONPATH=. python benchmarks/graph.py FOLDER [--index DIR] [--encoder DIR] [--entities ENGINE] [--passages N]

FOLDER has 2wiki_corpus.jsonl (title, text) and 2wiki_101_gold.jsonl (question, gold_titles, retrieved: stored lists of
fast-graphrag). The graph was developed on half of these questions (by hash) and on questions made here from the corpus,
with 2Wiki's phrasings: whose director, composer, performer or father is read off a text by its own rules. They are made
where the text names the passage wanted by its whole title, which flatters a graph of titles; none shares a gold with
the real questions. `all@n` is with as many passages as there are golds. Intervals are of 95 %, over questions. Times
are CPU milliseconds a query, k = 8, the systems in turn, the least of three rounds.

Rows with vectors want all-MiniLM-L6-v2 (extra `real`, see tests/real/models.py), or `--encoder`; `--index` keeps what
is built. Then the titles are put into the texts, as corpora without titles are, and the graph is made of entities:
those of an ideal model, which names every title that stands in a passage, and those of `--entities`, which reads the
corpus with its titles too. The last part makes passages of 20 words with three titles in each, one of them a frequent
one, and measures each build in a process of its own, beyond what its memory began with.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from retrieval import measured

from tests.real.models import MissingModel, minilm
from verikit.engines import Engine, Generation, Output, Request
from verikit.retrieval import EncoderSettings, Passage, build_index, load_index
from verikit.retrieval.bm25 import BM25, build_bm25
from verikit.retrieval.entities import EntityModel
from verikit.retrieval.graph import Graph
from verikit.retrieval.graph_build import build_graph
from verikit.retrieval.index import Index
from verikit.retrieval.metrics import all_gold
from verikit.retrieval.store import Passages, write_passages
from verikit.retrieval.titles import Finder, collect, spelled, tokens
from verikit.stats import mean_interval
from verikit.types import Message

Question = tuple[str, list[str]]
"""A question and its golds' titles."""
K = 8
BRIDGES = [
    "Where was the {r} of {k} {x} born?",
    "What is the place of birth of the {r} of {k} {x}?",
    "When did the {r} of {k} {x} die?",
    "What nationality is the {r} of {k} {x}?",
    "Who is the father of the {r} of {k} {x}?",
]
FAMILIES = [
    "When did {x}'s {r} die?",
    "What nationality is {x}'s {r}?",
    "Where was the place of death of {x}'s {r}?",
    "Who is the father of {x}'s {r}?",
]
BOTH = ["Which film has the director born later, {a} or {b}?", "Which film whose director is younger, {a} or {b}?"]
COMPARED = ["Who was born first, {a} or {b}?", "Are {a} and {b} located in the same country?"]
_NAME = r"((?:[A-ZÀ-Ž][\w.'’-]+|de|von|van|of|bin)(?: (?:[A-ZÀ-Ž][\w.'’-]*|de|von|van|of|bin|the)){0,8})"
RELATIONS = {
    "director": ("film", r"directed(?: and \w+)? by "),
    "composer": ("film", r"(?:music|composed|score|soundtrack)[^.]{0,40} by "),
    "performer": ("song", r"(?:song|single|recorded|performed)[^.]{0,60} by (?:\w+ (?:singer|rapper|band|artist) )?"),
    "father": ("", r"(?:son|daughter) of (?:King |Duke |Count )?"),
}


def made(passages: Sequence[Passage], left_out: set[str]) -> list[Question]:
    """Questions about passages whose text names another passage's whole title after a relation's words."""
    draw, titles = random.Random(5), {passage.title for passage in passages}
    ends: dict[tuple[str, str], str] = {}
    for passage in passages:
        kind = next((kind for kind in ("film", "song") if kind in passage.text[:150]), "")
        for relation, (of, words) in RELATIONS.items():
            found = re.search(words + _NAME, passage.text) if of == kind else None
            end = _longest_title(found[1], titles) if found else ""
            if end and end != passage.title:
                ends[passage.title, relation] = end
    questions: list[Question] = []
    for (title, relation), end in ends.items():
        form = draw.choice(FAMILIES if relation == "father" else BRIDGES)
        text = form.format(x=_shown(title), r=relation, k=RELATIONS[relation][0])
        questions.append((text, [title, end]))
    films = [title for title, relation in ends if relation == "director"]
    for _ in range(len(films) // 2):
        a, b = draw.sample(films, 2)
        golds = list(dict.fromkeys([a, b, ends[a, "director"], ends[b, "director"]]))
        questions.append((draw.choice(BOTH).format(a=_shown(a), b=_shown(b)), golds))
    for _ in range(150):
        a, b = draw.sample(sorted(titles), 2)
        questions.append((draw.choice(COMPARED).format(a=_shown(a), b=_shown(b)), [a, b]))
    return [(text, golds) for text, golds in questions if not left_out & set(golds)]


def misnamed(text: str, title: str) -> str:
    """Leave the second word of a title out."""
    words = _shown(title).split()
    return text.replace(" ".join(words), " ".join([words[0], *words[2:]]))


def _longest_title(text: str, titles: set[str]) -> str:
    words = text.split()
    starts = (" ".join(words[:count]).rstrip(".,") for count in range(len(words), 0, -1))
    return next((start for start in starts if start in titles), "")


def _shown(title: str) -> str:
    """As 2Wiki writes titles in questions."""
    return " ".join(word[:1].upper() + word[1:] for word in re.sub(r"\s*\([^()]*\)$", "", title).split())


def accuracy(folder: Path, kept: Path | None, encoder: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        home = kept or Path(scratch)
        settings = EncoderSettings(path=encoder) if encoder else None
        build_index([folder / "2wiki_corpus.jsonl"], home, graph=True, settings=settings, tell=print)
        specs = ["bm25", "two-step:bm25", "graph:bm25", "graph:two-step:bm25", "two-step:graph:bm25"]
        specs += ["hybrid", "two-step:hybrid", "graph:hybrid"] if encoder else []
        systems = {spec: load_index(f"{spec}:{home}") for spec in specs}
        rows = [json.loads(line) for line in (folder / "2wiki_101_gold.jsonl").read_text("utf-8").splitlines()]
        rows.sort(key=lambda row: hashlib.sha256(row["question"].encode()).digest()[0] % 2)
        first = sum(hashlib.sha256(row["question"].encode()).digest()[0] % 2 == 0 for row in rows)
        passages = list(systems["bm25"].passages)
        questions = [(row["question"], row["gold_titles"]) for row in rows]
        times = timed(systems, [question for question, _ in questions])
        ranked = {spec: titles(index, questions) for spec, index in systems.items()}
        ranked["stored fast-graphrag"] = [row["retrieved"]["graph"] for row in rows]
        parts = {"developed on": slice(first), "the other half": slice(first, None), "both halves": slice(None)}
        for name, part in parts.items():
            table(name, {spec: found[part] for spec, found in ranked.items()}, questions[part], times)
        generated = made(passages, {title for row in rows for title in row["gold_titles"]})
        cheap = {spec: index for spec, index in systems.items() if "hybrid" not in spec}
        wrong = [(misnamed(text, golds[0]), golds) for text, golds in generated if len(_shown(golds[0]).split()) > 2]
        for name, these in {"made from the corpus": generated, "made, the title without a word": wrong}.items():
            table(name, {spec: titles(index, these) for spec, index in cheap.items()}, these, times)


class Ideal(Engine):
    """Names the corpus's titles that stand in a passage, and nothing else."""

    name = "ideal"
    batched = True

    def __init__(self, titles: Sequence[str]) -> None:
        keys = collect(titles)
        self._finder = Finder(keys.beginnings, keys.numbers, keys.openers, keys.small)

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Answer each request by its passage."""
        return [Generation((Output(self._reply(request)),)) for request in requests]

    def _reply(self, request: Request) -> str:
        asked = str(cast(Message, request.prompt[-1])["content"])
        words = spelled(asked)
        found = self._finder.find(tokens(asked))
        names = [" ".join(words[mention.start : mention.start + mention.length]) for mention in found]
        return json.dumps({"entities": names, "triples": []})


def named(folder: Path, spec: str) -> None:
    """The graph of entities that a model names, without titles and, of `spec`, with them."""
    corpus = [json.loads(line) for line in (folder / "2wiki_corpus.jsonl").read_text("utf-8").splitlines()]
    questions = [json.loads(line) for line in (folder / "2wiki_101_gold.jsonl").read_text("utf-8").splitlines()]
    asked = [(row["question"], row["gold_titles"]) for row in questions]
    generated = made([Passage(**row) for row in corpus], {title for _, golds in asked for title in golds})
    ideal = EntityModel("ideal:titles", engine=Ideal([row["title"] for row in corpus]))
    bare = [{"id": row["title"], "text": f"{row['title']}\n{row['text']}"} for row in corpus]
    runs = [("without titles, entities by an ideal model", bare, ideal)]
    if spec:
        forms = (("without", bare), ("with", corpus))
        runs += [(f"{form} titles, entities by {spec}", rows, EntityModel(spec)) for form, rows in forms]
    for name, rows, model in runs:
        with tempfile.TemporaryDirectory() as scratch:
            source = Path(scratch, "corpus.jsonl")
            source.write_text("".join(json.dumps(row) + "\n" for row in rows))
            build_index([source], Path(scratch, "index"), entities=model)
            systems = {kind: load_index(f"{kind}:{scratch}/index") for kind in ("bm25", "graph:bm25")}
            print(f"\n{name}: {model.counts}")
            times = timed(systems, [question for question, _ in asked])
            for kind, these in {"both halves": asked, "made from the corpus": generated}.items():
                table(kind, {spec: titles(index, these) for spec, index in systems.items()}, these, times)


def titles(index: Index, questions: Sequence[Question]) -> list[list[str]]:
    found = index.retrieve([question for question, _ in questions], K)
    return [[passage.title or passage.id for passage in passages] for passages in found]


def table(
    name: str, ranked: dict[str, list[list[str]]], questions: Sequence[Question], times: dict[str, float]
) -> None:
    print(f"\n{name}: {len(questions)} questions")
    print(f"{'':<22}{'all@n':>7}{f'all@{K}':>7}{'':<14}{'ms':>8}{'x BM25':>8}")
    for spec, found in ranked.items():
        show(spec, found, questions, times.get(spec, 0.0), times["bm25"])


def show(name: str, ranked: Sequence[Sequence[str]], questions: Sequence[Question], ms: float, least: float) -> None:
    tight = [all_gold(found, golds, len(golds)) for found, (_, golds) in zip(ranked, questions, strict=True)]
    wide = mean_interval([all_gold(found, golds, K) for found, (_, golds) in zip(ranked, questions, strict=True)])
    took = f"{ms:>8.2f}{ms / least:>8.1f}" if ms else ""
    sure = f"{wide.low:.3f}-{wide.high:.3f}"
    print(f"{name:<22}{sum(tight) / len(tight):>7.3f}{wide.value:>7.3f}  {sure:<12}{took}", flush=True)


def timed(systems: dict[str, Index], questions: Sequence[str]) -> dict[str, float]:
    least = dict.fromkeys(systems, float("inf"))
    for number in range(3):
        for name, index in systems.items():
            if "hybrid" in name and number:
                continue  # an encoder's time needs no least of three
            start = time.process_time()
            for question in questions:
                index.rank([question], K)
            least[name] = min(least[name], (time.process_time() - start) / len(questions) * 1000)
    return least


def name(number: int) -> str:
    mixed = number * 2654435761
    return f"N{(mixed >> 3) % 5000} N{(mixed >> 9) % 5000} {number % 1000}"


def world(count: int) -> Iterator[Passage]:
    draw = np.random.default_rng(1)
    words = np.minimum(draw.zipf(1.3, size=(count, 20)) - 1, 199_999)
    others = draw.integers(0, count, (count, 3))
    others[:, 2] = np.minimum(draw.zipf(1.5, count) - 1, count - 1)
    for number in range(count):
        text = [f"w{word}" for word in words[number]]
        for at, other in zip((5, 10, 15), others[number], strict=True):
            text[at] = name(int(other))
        yield Passage(name(number), " ".join(text), str(number))


def costs(count: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)

        def silent(line: str) -> None:
            return None

        def ask(index: Index, queries: Sequence[str]) -> None:
            for query in queries:
                index.rank([query], K)

        measured("passages: make and write", lambda: (write_passages(world(count), home, [], silent), None)[1])
        measured("bm25: build", lambda: (build_bm25(Passages(home), silent), None)[1])
        measured("graph: build", lambda: build_graph(Passages(home), silent))
        draw = random.Random(0)
        queries = [f"Where was w3 w17 {name(draw.randrange(count))} w40?" for _ in range(100)]
        measured("bm25: open", lambda: (BM25(home), None)[1])
        measured("graph:bm25: open", lambda: (Graph(BM25(home)), None)[1])
        measured("bm25: open and 100 queries", lambda: ask(BM25(home), queries))
        measured("graph:bm25: open and 100 queries", lambda: ask(Graph(BM25(home)), queries))
        size = sum(file.stat().st_size for file in (home / "graph").iterdir())
        print(f"graph: {size / 2**20:,.0f} MiB on disk")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--encoder", default="", help="a folder of transformers; all-MiniLM-L6-v2 by default")
    parser.add_argument("--index", type=Path, help="where to keep the index of FOLDER's passages")
    parser.add_argument("--entities", metavar="ENGINE", default="", help="a model that names the entities of passages")
    parser.add_argument("--passages", type=int, default=1_000_000)
    arguments = parser.parse_args()
    if arguments.folder:
        accuracy(arguments.folder, arguments.index, arguments.encoder or _minilm())
        named(arguments.folder, arguments.entities)
    if arguments.passages:
        print(f"\n{arguments.passages:,} passages")
        costs(arguments.passages)


def _minilm() -> str:
    try:
        return str(minilm())
    except MissingModel as missing:
        print(f"without vectors: {missing}")
        return ""


if __name__ == "__main__":
    main()
