"""`verikit synth search`: two-hop questions of a corpus, and transcripts that look both up, for initial training.

A transcript is a rollout: `verikit.search` runs it with the real retriever, and an engine that writes dictated text. So
its tokens and its mask are the same as in training. A transcript is written only if it found both passages and follows
the paper's format.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import click

from verikit.cli.command import GroupedCommand, next_step
from verikit.cli.options import quiet_option
from verikit.engines.hf.load import import_transformers
from verikit.engines.types import Engine, Generation, Output, Request
from verikit.errors import UsageError, VerikitError
from verikit.retrieval.corpus import read_corpus
from verikit.retrieval.load import load_retriever
from verikit.retrieval.types import Retriever
from verikit.search import SearchLimits, SearchTrace, faults, search, search_messages, search_prompt
from verikit.trainers.recipes.r1_searcher.hops import TwoHopQuestion, two_hop_questions

Style = Literal["base", "instruct"]
JsonObject = dict[str, Any]


@click.command(
    "search",
    cls=GroupedCommand,
    usual="--retriever --tokenizer --out -k --demonstrations --held-out",
    purposes={
        "Texts": "--words --prompt --guesses",
    },
)
@click.argument("corpus", nargs=-1, required=True)
@click.option("-r", "--retriever", required=True, metavar="SPEC", help="Retriever over CORPUS: bm25:DIR, an address, …")
@click.option("--tokenizer", required=True, metavar="MODEL", help="Tokenizer of the model to train.")
@click.option("-o", "--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Output folder.")
@click.option("--words", type=click.IntRange(1), help="Split documents into passages of N words, as for the index.")
@click.option(
    "--prompt", type=click.Choice(("base", "instruct")), default="base", show_default=True, help="Prompt style."
)
@click.option("-k", default=3, show_default=True, type=click.IntRange(1), help="Passages per search.")
@click.option("--demonstrations", default=200, show_default=True, type=click.IntRange(1), help="Number of transcripts.")
@click.option("--guesses", default=0.0, show_default=True, type=click.FloatRange(0, 1),
              help="Fraction of transcripts that guess a year without searching.")  # fmt: skip
@click.option(
    "--held-out", default=100, show_default=True, type=click.IntRange(1), help="Number of held-out questions."
)
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@quiet_option
def search_data(
    corpus: tuple[str, ...], retriever: str, tokenizer: str, out: Path, words: int | None, prompt: Style, k: int,
    demonstrations: int, guesses: float, held_out: int, seed: int, quiet: bool,
) -> None:  # fmt: skip
    """Make two-hop questions from the passages of CORPUS by rule, and transcripts that search for their answers.

    The files are train.jsonl and held_out.jsonl for `r1-searcher`, and demonstrations.jsonl (`ids` and `mask`, with
    evidence masked) for `sft`. A person appears in one of the files only. The corpus must describe works ("directed by
    NAME") and persons ("(born 12 May 1950)") in English, like Wikipedia.

    \b
    verikit index build wiki.jsonl -o wiki --words 60
    verikit synth search wiki.jsonl --words 60 -r bm25:wiki --tokenizer MODEL --prompt instruct -o questions
    """  # noqa: D301 - click reads \b as "don't wrap"
    passages = [passage for name in corpus for passage in read_corpus(name, words)]
    shown, kept, others = divided(two_hop_questions(passages), (demonstrations, held_out), seed)
    if not others:
        hint = "use fewer --demonstrations and --held-out; docs/recipes-r1-searcher.md describes the corpus"
        raise UsageError(f"{len(shown)} and {len(kept)} questions use up all that the corpus gives", hint=hint)
    transformers = import_transformers("verikit synth search", "train")
    demonstrator = Demonstrator(
        transformers.AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=False), load_retriever(retriever),
        prompt, k,
    )  # fmt: skip
    rows = list(demonstrator.rows(shown, guesses, seed))
    _write(out / "demonstrations.jsonl", rows)
    _write(out / "held_out.jsonl", map(as_row, kept))
    _write(out / "train.jsonl", map(as_row, others))
    click.echo(
        f"{len(rows)} transcripts ({len(shown) - len(rows)} dropped: a passage was not found), {len(kept)} questions "
        f"held out, {len(others)} to train on in {out}",
        err=True,
    )
    data = f"options.data={out / 'demonstrations.jsonl'}"
    next_step("verikit", "train", "sft", "--set", data, "--set", f"model.path={tokenizer}", quiet=quiet)


class Demonstrator:
    """Writes transcripts of questions, in the layout of rollouts."""

    tokenizer: Any
    retriever: Retriever
    prompt: Style

    def __init__(self, tokenizer: Any, retriever: Retriever, prompt: Style = "base", k: int = 3) -> None:
        self.tokenizer, self.retriever, self.prompt = tokenizer, retriever, prompt
        self.limits: SearchLimits = SearchLimits(k=k, searches=2)

    def rows(self, questions: Sequence[TwoHopQuestion], guesses: float = 0.0, seed: int = 0) -> Iterator[JsonObject]:
        """Yield a row for each question whose searches found both passages. A guess is another question's year."""
        draw = random.Random(f"{seed} guesses")
        years = [question.answer for question in questions]
        for question in questions:
            guess = draw.choice(years) if draw.random() < guesses else None
            trace = self.transcript(question, guess)
            if guess is not None or self.is_good(trace, question):
                found = {"ids": trace.ids, "mask": list(map(int, trace.mask)), "completion": trace.text}
                yield as_row(question) | found | {"searches": len(trace.searches)}

    def transcript(self, question: TwoHopQuestion, guess: str | None = None) -> SearchTrace:
        """Look both hops up and answer, or immediately answer a guess.

        Raises:
            VerikitError: The retriever failed.
        """
        thought = "" if self.prompt == "base" else "<think>"
        if guess is None:
            work, person = question.hops[0].title, question.person
            texts = [
                f"{thought} I look for the {question.role} {work}. "
                f"<|begin_of_query|>{question.role} {work}<|end_of_query|>",
                f"It is {person}. <|begin_of_query|>{person} {question.event}<|end_of_query|>",
                f"{person} was {question.event} in {question.answer}." if question.event == "born" else
                f"{person} {question.event} in {question.answer}.",
            ]  # fmt: skip
        else:
            texts = [f"{thought} I answer without looking it up."]
        texts[-1] += f" </think><answer>{guess or question.answer}</answer>"
        ask = search_prompt if self.prompt == "base" else search_messages
        engine = _Dictated(self.tokenizer, texts)
        [trace] = search(engine, self.retriever, [ask(question.prompt)], self.limits)
        if trace.error is not None:
            raise trace.error
        return trace

    def is_good(self, trace: SearchTrace, question: TwoHopQuestion) -> bool:
        """Whether each search found its passage, and the paper's format is followed."""
        if len(trace.searches) != len(question.hops) or faults(trace, thinks=self.prompt == "base"):
            return False
        return all(
            any(hop.content == passage.content for passage in made.passages)
            for made, hop in zip(trace.searches, question.hops, strict=True)
        )


class _Dictated(Engine):
    """Writes one given string per leg, and the end token after the last."""

    def __init__(self, tokenizer: Any, texts: Sequence[str]) -> None:
        self.name: str = "dictated"
        self.tokenizer: Any = tokenizer
        self._texts = list(texts)

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return the next string. There is one request per call."""
        [_] = requests
        text = self._texts.pop(0)
        ids = list(self.tokenizer(text, add_special_tokens=False).input_ids)
        ids += [] if self._texts else [self.tokenizer.eos_token_id]
        return [Generation((Output(text, tuple(ids), finish_reason="stop"),))]


def divided(
    questions: Sequence[TwoHopQuestion], counts: Sequence[int], seed: int
) -> tuple[list[TwoHopQuestion], list[TwoHopQuestion], list[TwoHopQuestion]]:
    """Divide questions into two sets of at most `counts`, and the rest. A person's questions stay together."""
    persons = list(dict.fromkeys(question.person for question in questions))
    random.Random(f"{seed} persons").shuffle(persons)
    by_person: dict[str, list[TwoHopQuestion]] = {person: [] for person in persons}
    for question in questions:
        by_person[question.person].append(question)
    sets: tuple[list[TwoHopQuestion], ...] = ([], [], [])
    for person in persons:
        for number, chosen in enumerate(sets):
            if number == len(counts) or len(chosen) < counts[number]:
                chosen += by_person[person]
                break
    return sets[0][: counts[0]], sets[1][: counts[1]], sets[2]


def as_row(question: TwoHopQuestion) -> JsonObject:
    """Return a question in the format of `r1-searcher`."""
    titles = [passage.title for passage in question.hops]
    return {"prompt": question.prompt, "answer": question.answer, "source": question.event, "gold_titles": titles}


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    except OSError as error:
        raise VerikitError(f"can't write {path}: {error.strerror}") from None
