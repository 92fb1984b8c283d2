"""The smallest world that needs search: facts that only the retriever has, and questions over two of them.

`r3 of r1 of e7` means: what is the r3 of e7's r1? Each fact is a passage (title "e7 r1", text "e12"). The warm-up
teaches the format and reading evidence, but hardly searching. In a transcript that searches, the decision is masked:
the first token after the prompt or after evidence. It is unmasked only in a fraction `searching` of the demonstrations.
The others decide to guess.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, Field, PositiveInt

from verikit.engines.types import EnginePrompt
from verikit.retrieval import Passage
from verikit.search import TAGS, SearchLimits, evidence, search
from verikit.trainers.recipe import Sampler, Trajectory, Transcript
from verikit.trainers.recipes.r1_searcher.recipe import R1Searcher, SearchOptions
from verikit.trainers.recipes.tiny_model import make_llama
from verikit.types import Group


class R1WorldOptions(SearchOptions):
    """[options] of `r1-searcher-world`."""

    entities: PositiveInt = 40
    """Entities of the invented world."""
    relations: PositiveInt = 4
    """Relations of each entity to others."""
    held_out_size: PositiveInt = 160
    """Held-out questions."""
    batch: PositiveInt = 64
    """Demonstrations per step of the warm-up."""
    reading: float = Field(default=0.6, ge=0, le=1)
    """Fraction of demonstrations that teach continuing after a decision, not the decision itself."""
    searching: float = Field(default=0.02, ge=0, le=1)
    """Fraction of the others that decide to search."""
    twice: float = Field(default=0.1, ge=0, le=1)
    """Fraction of those that also search for the second hop."""


class Facts:
    """A minimal retriever for a generated world: passages by title, found by the words of the query."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._by_title = {frozenset(passage.title.split()): passage for passage in passages}

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Return the passage whose title has the query's words, if it exists."""
        found = (self._by_title.get(frozenset(query.split())) for query in queries)
        return [[passage] if passage is not None else [] for passage in found]


class R1SearcherWorld(R1Searcher):
    """Two-hop questions about a table of facts, with a model created at the start of the run."""

    name: ClassVar[str] = "r1-searcher-world"
    Options: ClassVar[type[BaseModel]] = R1WorldOptions
    options: R1WorldOptions
    facts: dict[tuple[str, str], str]

    @classmethod
    def make_model(cls, options: Any, seed: int) -> tuple[Any, Any]:
        """Make a two-layer Llama with a tokenizer of words."""
        tokenizer = make_tokenizer(options.entities, options.relations)
        return make_llama(tokenizer, seed, positions=128), tokenizer

    def make_retriever(self) -> Facts:
        """Return the facts as passages."""
        draw = random.Random(f"{self.setting.seed} facts")
        names = [f"e{number}" for number in range(self.options.entities)]
        self.facts = {
            (name, f"r{number}"): draw.choice(names) for name in names for number in range(self.options.relations)
        }
        return Facts([Passage(f"{name} {relation}", value) for (name, relation), value in self.facts.items()])

    def load_questions(self) -> tuple[tuple[list[Group], list[Group]], list[Group]]:
        """Return the two-hop questions to train on and the held-out ones."""
        relations = [f"r{number}" for number in range(self.options.relations)]
        all_of_them = [
            Group(f"{second} of {first} of {name}", answer=self.facts[self.facts[name, first], second])
            for name in (f"e{number}" for number in range(self.options.entities))
            for first in relations
            for second in relations
        ]
        random.Random(f"{self.setting.seed} held out").shuffle(all_of_them)
        cut = self.options.held_out_size
        return (all_of_them[cut:], all_of_them[cut:]), all_of_them[:cut]

    def ask(self, question: Group) -> EnginePrompt:
        """Return the bare question followed by the opening think tag."""
        return f"{question.prompt} <think>"

    def demonstrations(self, step: int) -> list[Trajectory]:
        """Return guesses, a few searches, and searches with masked decisions."""
        draw = random.Random(f"{self.setting.seed} demonstrations {step}")
        made = []
        for _ in range(self.options.batch):
            reading = draw.random() < self.options.reading
            hops = 1 + (draw.random() < (2 / 3 if reading else self.options.twice))
            searches = hops if reading or draw.random() < self.options.searching else 0
            made.append(self._demonstration(searches, not reading, draw))
        return made

    def gate(self, sampler: Sampler) -> float:
        """Return the greedy accuracy after two given searches. It measures whether the policy can read and answer."""
        prompts = []
        for question in self.held_out:
            second, first, name = str(question.prompt).split(" of ")
            between = self.facts[name, first]
            text = f"{self.ask(question)}"
            for subject, relation in ((name, first), (between, second)):
                passage = Passage(f"{subject} {relation}", self.facts[subject, relation])
                text += f" <|begin_of_query|> {subject} {relation} <|end_of_query|>{evidence([passage])}"
            prompts.append(text + " </think>")
        limits = SearchLimits(self.options.k, 1, self.options.leg_tokens, temperature=0.0, stop_at_answer=True)
        rollouts = search(sampler, self.retriever, prompts, limits)
        pairs = zip(self.held_out, rollouts, strict=True)
        return sum(rollout.answer == question.answer for question, rollout in pairs) / len(self.held_out)

    def _demonstration(self, searches: int, decides: bool, draw: random.Random) -> Trajectory:
        """Return one transcript about its own random facts, so the model learns to read evidence and not the facts."""
        names = [f"e{number}" for number in range(self.options.entities)]
        relations = [f"r{number}" for number in range(self.options.relations)]
        name, between, last = (draw.choice(names) for _ in range(3))
        hops = [(name, draw.choice(relations), between), (between, draw.choice(relations), last)]
        tokenizer = self.setting.tokenizer
        transcript = Transcript(tokenizer.encode(f"{hops[1][1]} of {hops[0][1]} of {name} <think>"))

        def own(text: str, learnt: bool) -> None:
            ids = tokenizer.encode(text)
            transcript.ids += ids
            transcript.mask += [learnt, *[True] * (len(ids) - 1)]
            transcript.logprobs += [0.0] * len(ids)

        for subject, relation, value in hops[:searches]:
            own(f"<|begin_of_query|> {subject} {relation} <|end_of_query|>", decides)
            transcript.foreign(tokenizer.encode(evidence([Passage(f"{subject} {relation}", value)])))
        answer = last if searches == 2 else draw.choice(names)
        own(f"</think> <answer> {answer} </answer> {tokenizer.eos_token}", decides)
        return transcript.trajectory(None, searches)


def make_tokenizer(entities: int, relations: int) -> Any:
    """Make a tokenizer of words and tags. Spaces and line breaks have no tokens."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = [f"e{number}" for number in range(entities)] + [f"r{number}" for number in range(relations)]
    tokens = ["<eos>", *TAGS, "of", "None", *(f"({number})" for number in range(1, 6)), *words]
    raw = Tokenizer(models.WordLevel({token: number for number, token in enumerate(tokens)}, unk_token="<eos>"))
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(r"<[^>]*>|\(\d\)|\w+"), "isolated")]
    )
    return PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<eos>", pad_token="<eos>")
