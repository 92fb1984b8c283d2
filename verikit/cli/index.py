"""`verikit index build`, `verikit index search` and `verikit index serve`."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from contextlib import redirect_stdout
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from verikit.cli.command import GroupedCommand, next_step
from verikit.cli.options import PRICES, UNSCORED, json_option, limit_option, quiet_option, read_options
from verikit.errors import MissingExtra, SchemaError, UsageError
from verikit.platform.terminal import Watch, pace, printable
from verikit.readers.parse import JsonRow
from verikit.retrieval.build import build_index
from verikit.retrieval.corpus import read_rows
from verikit.retrieval.encoder import EncoderSettings
from verikit.retrieval.load import load_retriever
from verikit.retrieval.metrics import report
from verikit.retrieval.types import Passage, Retriever
from verikit.sampling.prices import ModelPrices, read_prices

if TYPE_CHECKING:
    from verikit.retrieval.entities import EntityModel

KS = (1, 2, 5, 8, 10, 20, 100)
SHOWN = 300
"""Maximum characters of a passage shown on the terminal."""


@click.group()
def index() -> None:
    """Find passages: build an index over a corpus, search it, serve it."""


@index.command(
    cls=GroupedCommand,
    usual="--out --words --bm25 --graph --encoder --max-tokens",
    purposes={
        "Dense index": "--factory --parameters --pooling --query-prefix --passage-prefix --normalize --dtype",
        "Graph": "--entities --model-args --prices",
    },
)
@click.argument("corpus", nargs=-1, required=True)
@click.option(
    "-o", "--out", metavar="DIR", required=True, help="Folder for the index. An interrupted build resumes there."
)
@click.option("--words", type=click.IntRange(1), help="Split documents into passages of N words. Text files: 100.")
@click.option("--bm25/--no-bm25", default=True, show_default=True, help="Build the BM25 index.")
@click.option("--graph/--no-graph", default=False, help="Build the graph of titles, for graph:bm25:DIR and others.")
@click.option("--entities", metavar="ENGINE", default="", help="Let a model name entities for the graph: hf:PATH, ….")
@click.option("--model-args", multiple=True, metavar="KEY=VALUE", help="Options of the engine for --entities.")
@click.option(
    "--prices", metavar="FILE", help=f"Prices per model, as for `verikit sample`. Or set the file's path in {PRICES}."
)
@click.option("--encoder", metavar="MODEL", default="", help="Build a dense index too: a model, or module:name.")
@click.option("--factory", metavar="TEXT", default="Flat", show_default=True, help="faiss index over the vectors.")
@click.option(
    "--parameters", metavar="TEXT", default="", help="faiss search parameters, such as nprobe=32 or efSearch=128."
)
@click.option(
    "--pooling",
    type=click.Choice(["auto", "cls", "mean"]),
    default="auto",
    help="Pooling of token vectors. auto: as the model defines.",
)
@click.option("--query-prefix", metavar="TEXT", default="", help="Prefix that the encoder expects before a query.")
@click.option("--passage-prefix", metavar="TEXT", default="", help="Prefix that the encoder expects before a passage.")
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="Tokens per passage. Longer passages are truncated.",
)
@click.option("--normalize/--no-normalize", default=True, help="Scale vectors to length 1 (the default).")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    default="float32",
    show_default=True,
    help="Number format of the encoder while it reads passages.",
)
@limit_option
@quiet_option
def build(
    corpus: tuple[str, ...],
    out: str,
    limit: int | None,
    words: int | None,
    bm25: bool,
    graph: bool,
    entities: str,
    model_args: tuple[str, ...],
    prices: str | None,
    encoder: str,
    factory: str,
    parameters: str,
    quiet: bool,
    **how: Any,
) -> int:
    """Build an index of CORPUS: rows with `text` (and `title`, `id`), or text files. Patterns and folders work too.

    \b
    verikit index build corpus.jsonl -o wiki
    verikit index build corpus.jsonl -o wiki --graph
    verikit index build corpus.jsonl -o wiki --entities openai:http://localhost:8000/v1#m
    verikit index build corpus.jsonl -o wiki --encoder BAAI/bge-large-en-v1.5 \\
        --query-prefix "Represent this sentence for searching relevant passages: "
    """  # noqa: D301 - click reads \b as "don't wrap"
    settings = EncoderSettings(path=encoder, **how) if encoder else None
    graph = graph or bool(entities)
    if settings is None and not bm25 and not graph:
        raise click.UsageError("--no-bm25 requires --encoder, --graph or --entities")
    model = _entity_model(entities, model_args)
    seen = BuildProgress(model, _prices(prices, entities))
    try:
        with Watch(quiet=quiet) as watch, redirect_stdout(sys.stderr):  # the engine's own output
            watch.start(seen.describe)
            count = build_index(
                corpus,
                out,
                words=words,
                limit=limit,
                bm25=bm25,
                graph=graph,
                entities=model,
                settings=settings,
                factory=factory,
                parameters=parameters,
                tell=seen.tell,
            )
    except KeyboardInterrupt:
        click.echo(f"Interrupted. Run the command again to resume in {out}.", err=True)
        return 1
    kinds = [*(["bm25"] if bm25 else []), *(["dense"] if settings else [])]
    kinds += ["hybrid"] if len(kinds) == 2 else []
    kinds += [f"graph:{kind}" for kind in kinds] if graph else []
    own = f"#{encoder}" if ":" in encoder else ""
    specs = [f"{kind}:{out}{'' if kind.endswith('bm25') else own}" for kind in kinds]
    click.echo(f"{count:,} passages." + (f" Search with {', '.join(specs)}" if specs else ""), err=True)
    code = _tell_entities(model, seen)
    next_step("verikit", "index", "search", specs[0] if specs else f"graph:bm25:{out}", "QUERY", quiet=quiet)
    return code


def _entity_model(spec: str, model_args: tuple[str, ...]) -> EntityModel | None:
    if not spec:
        if model_args:
            raise click.UsageError("--model-args goes with --entities")
        return None
    try:
        from verikit.retrieval.entities import EntityModel
    except ModuleNotFoundError as error:
        raise MissingExtra(f"a graph ({error.name})", "retrieval") from None
    return EntityModel(spec, read_options(model_args))


def _prices(path: str | None, model: str) -> ModelPrices | None:
    path = path or os.environ.get(PRICES)
    return read_prices(path, model) if path and model else None


def _tell_entities(model: EntityModel | None, seen: BuildProgress) -> int:
    """Report how many passages were read. The exit code is 3 if a passage has no reply."""
    counts = model.counts if model else None
    if counts is None:
        return 0
    click.echo(
        f"{counts.names:,} names of entities in {counts.passages:,} passages{seen.spent()}."
        f" {counts.dropped:,} were dropped: not a name, or not found in the passage.",
        err=True,
    )
    alone = "their passages use the titles found by rules"
    if counts.unread:
        click.echo(f"{counts.unread:,} replies without a list of entities: {alone}", err=True)
    if not counts.failed:
        return 0
    click.echo(f"{counts.failed:,} requests failed: {alone}. Run the command again to retry them.", err=True)
    return UNSCORED


class BuildProgress:
    """A build's last message, with percent and remaining time if the message has a total."""

    _SIZED = re.compile(r"(.*?)([\d,]+) / ([\d,]+) (.*)")

    def __init__(self, model: EntityModel | None = None, prices: ModelPrices | None = None) -> None:
        self._model, self._prices = model, prices
        self._text, self._stage, self._began, self._before = "reading", "", 0.0, 0
        self._counts: tuple[int, int] | None = None
        self._what = ""

    def tell(self, text: str) -> None:
        """Parse a message of the build: `dense: 1,024 / 20,000 passages`."""
        self._text, self._counts = text, None
        if found := self._SIZED.fullmatch(text):
            done, of = (int(found[i].replace(",", "")) for i in (2, 3))
            if self._stage != found[1] + found[4]:
                self._stage, self._began, self._before = found[1] + found[4], time.monotonic(), done
            self._counts, self._text, self._what = (done, of), found[1], found[4]

    def describe(self, seconds: float) -> str:
        """One line. The rate counts from the stage's first message."""
        if self._counts is None:
            return f"{self._text}, {seconds:.0f} s"
        (done, of), took = self._counts, time.monotonic() - self._began
        if self._model is None or self._model.counts is not None or (run := self._model.run) is None:
            return self._text + pace(done, of, self._what, took, new=done - self._before)
        text = self._text + pace(done, of, self._what, took, new=done - run.earlier)
        text += f"{self.spent()} ({run.completion_tokens / max(took, 0.1):,.0f}/s)"
        return text + (f", {run.failed:,} failed" if run.failed else "")

    def spent(self) -> str:
        """Describe the model's usage in this session: `, 12,031 prompt and 2,031 reply tokens, 0.031 spent`."""
        if self._model is None or (run := self._model.run) is None:
            return ""
        told = f", {run.prompt_tokens:,} prompt and {run.completion_tokens:,} reply tokens"
        if self._prices is None:
            return told
        cost = self._prices.cost(run.prompt_tokens, run.completion_tokens, batch=run.engine.batched)
        return f"{told}, {cost:.4g} spent"


@index.command(cls=GroupedCommand)
@click.argument("spec")
@click.argument("query", nargs=-1)
@click.option("-k", type=click.IntRange(1, 1000), default=5, show_default=True, help="Passages per query.")
@click.option("--questions", metavar="FILE", help="JSON lines with `question` and `gold_titles`: print recall instead.")
@limit_option
@json_option
def search(spec: str, query: tuple[str, ...], k: int, questions: str | None, limit: int | None, as_json: bool) -> int:
    """Query a retriever: bm25:DIR, dense:DIR, graph:bm25:DIR, or a server's address (all: `verikit list`).

    \b
    verikit index search bm25:wiki "capital of France"
    verikit index search hybrid:wiki --questions questions.jsonl
    """  # noqa: D301
    if bool(query) == (questions is not None):
        raise click.UsageError("give queries, or --questions FILE")
    if limit and questions is None:
        raise click.UsageError("--limit goes with --questions")
    retriever = load_retriever(spec)
    if questions is not None:
        metrics = _measure(retriever, questions, limit)
        lines = [f"{name:<13} {value:.4f}" for name, value in metrics.items()]
        click.echo(json.dumps(metrics, indent=2) if as_json else "\n".join(lines))
    for asked, found in zip(query, retriever.retrieve(query, k) if query else (), strict=True):
        if as_json:
            rows = [{"id": passage.id, "title": passage.title, "text": passage.text} for passage in found]
            click.echo(json.dumps({"query": asked, "passages": rows}, ensure_ascii=False))
            continue
        click.secho(printable(asked), bold=True)
        click.echo("\n".join(_shown(number, passage) for number, passage in enumerate(found, 1)) or "  None")
    next_step("verikit", "index", "serve", spec, quiet=as_json or spec.startswith("http"))
    return 0


@index.command(cls=GroupedCommand)
@click.argument("spec")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=5004, show_default=True)
def serve(spec: str, host: str, port: int) -> int:
    """Serve a retriever: POST /queries {queries, k} -> {answers}, R1-Searcher's protocol.

    Clients send requests to http://HOST:PORT/queries.
    """
    retriever = load_retriever(spec)
    try:
        import uvicorn

        from verikit.retrieval.server import app
    except ModuleNotFoundError:
        raise MissingExtra("verikit index serve", "serve") from None
    click.echo(f"Serving {spec} at http://{host}:{port}/queries", err=True)
    uvicorn.run(app(retriever), host=host, port=port, log_level="warning")
    return 0


def _shown(number: int, passage: Passage) -> str:
    text = " ".join(passage.content.split())
    return printable(f"  {number}. {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}")


def _measure(retriever: Retriever, path: str, limit: int | None) -> dict[str, float]:
    """Return recall, all-gold and MRR on a file of questions.

    Raises:
        SchemaError: A row has no question or no gold titles.
        UsageError: There are no questions, or the retriever's passages have no titles.
    """
    rows = list(islice(read_rows(path, _question), limit))
    if not rows:
        raise UsageError(f"{path} contains no questions")
    asked, golds = [question for question, _ in rows], [titles for _, titles in rows]
    found = retriever.retrieve(asked, KS[-1])
    if not any(passage.title for passages in found for passage in passages):
        raise UsageError(
            "these passages have no titles to compare",
            hint="passages of a server have no ids: search its index instead",
        )
    return report([[passage.title for passage in passages] for passages in found], golds, KS)


def _question(row: JsonRow, line: int) -> tuple[str, list[str]]:
    question, titles = row.get("question", row.get("prompt")), row.get("gold_titles")
    if not isinstance(question, str):
        raise SchemaError("must be a string", field="question", hint=f"this row has {', '.join(row)}")
    if not isinstance(titles, list) or not titles or not all(isinstance(title, str) for title in titles):
        raise SchemaError(
            "must be a non-empty list of strings", field="gold_titles", hint=f"this row has {', '.join(row)}"
        )
    return question, titles
