"""A world for SPICE in minutes: sums of values that documents state and a tiny model must learn.

Each of 40 entities has a value from 0 to 5. A document states four of them (` ala=p3; brm=q1; …`), as words that differ
by the entity's class. A question names one to three entities (` ala brm`). Its answer is their sum modulo 6, as a
number or as one of four options. The Challenger reads the values from its document. The Reasoner has only its weights.
The warm-up teaches it wrong values for most entities, so it learns nearly all values from rewards. Held-out questions
are pairs and triples of entities that never share a document. The Challenger can't generate them.

The vocabulary's tokens are pieces of the paper's JSON, so the parsers are the recipe's. The world adds one rule that
the real corpus has no check for: a gold answer must follow from the quoted facts. Without it (`oracle = false`) only
the paper's guards check a question, and a Challenger may claim anything.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import combinations
from typing import Any, ClassVar

from pydantic import Field, PositiveInt

from verikit.trainers.recipe import Sampler, Setting, Trajectory
from verikit.trainers.recipes.base import demonstration
from verikit.trainers.recipes.spice.formats import LETTERS, AnswerType, CorpusQuestion, InvalidQuestion, QuestionKind
from verikit.trainers.recipes.spice.options import SpiceOptions
from verikit.trainers.recipes.spice.recipe import Spice
from verikit.trainers.recipes.spice.rounds import Challenge
from verikit.trainers.recipes.tiny_model import make_llama, make_tokenizer

MODULUS = 6
CLASSES = "pqrs"
ENTITIES = [
    f" {first}{second}" for first in ("al", "br", "co", "du", "er", "fo", "gi", "hu", "il", "jo") for second in "amex"
]
"""Forty names. An entity's class is its index modulo 4."""
VALUES = [f"={kind}{value};" for kind in CLASSES for value in range(MODULUS)]
TOKENS = [
    *ENTITIES, *VALUES, *map(str, range(10)), ";", '","', "\\boxed{", "}", "answer:", "ask from:", "choose from:",
    '{"relevant_quotes":["', '"],"question":"', '","answer":', ',"answer_type":"Integer"}',
    '{"answer_quote":["', '"],"multiple_choice_question":"', '","identified_answer":"', '","multiple_choice_correct":"',
    '"}', *(f"\\n{letter}) " for letter in LETTERS), *(f"\n{letter}) " for letter in LETTERS), *LETTERS,
]  # fmt: skip
Fact = tuple[str, int]


class SpiceTinyOptions(SpiceOptions):
    """[options] of `spice-tiny`."""

    world_documents: PositiveInt = 40
    """Documents of the invented world."""
    known: int = Field(default=10, ge=0)
    """Number of entities whose right value the warm-up uses, with probability `known_share`."""
    known_share: float = Field(default=0.45, ge=0, le=1)
    """Probability that the warm-up uses a known entity's right value."""
    facts: list[float] = Field(default=[0.15, 0.25, 0.6], min_length=3, max_length=3)
    """Fractions of demonstrated questions about one, two and three entities."""
    demonstrations: PositiveInt = 64
    """Demonstrations per step of the warm-up."""
    reading_steps: int = Field(default=700, ge=0)
    """Number of warm-up steps with 3/4 Challenger demonstrations. After that, half of them are the Challenger's."""
    held_out_size: PositiveInt = 100
    """Number of held-out pairs, and of triples."""
    oracle: bool = True
    """Check that a gold answer follows from its quotes, which real documents don't allow. False: only `checks`."""


class SpiceTiny(Spice):
    """SPICE on sums of a few facts."""

    name: ClassVar[str] = "spice-tiny"
    Options: ClassVar[type[SpiceOptions]] = SpiceTinyOptions
    options: SpiceTinyOptions
    values: list[int]

    def __init__(self, options: SpiceTinyOptions, setting: Setting) -> None:
        draw = random.Random(f"{setting.seed} world")
        self.values = [draw.randrange(MODULUS) for _ in ENTITIES]
        self._known = set(draw.sample(range(len(ENTITIES)), options.known))
        # The members of every class are repeated as a whole, so documents mention all entities equally often.
        classes = [
            [*range(start, len(ENTITIES), 4)] * -(-options.world_documents * 4 // len(ENTITIES)) for start in range(4)
        ]
        for members in classes:
            draw.shuffle(members)
        self._documents = [tuple(members[number] for members in classes) for number in range(options.world_documents)]
        super().__init__(options, setting)

    @classmethod
    def make_model(cls, options: Any, seed: int) -> tuple[Any, Any]:
        """Make a two-layer Llama whose tokens are pieces of documents and replies."""
        tokenizer = make_tokenizer(TOKENS)
        return make_llama(tokenizer, seed, positions=96), tokenizer

    def load_corpus(self) -> Sequence[str]:
        """Write the documents."""
        return [document([(ENTITIES[index], self.values[index]) for index in members]) for members in self._documents]

    def load_held_out(self) -> list[CorpusQuestion]:
        """Sample pairs and triples of entities that never share a document."""
        together = {pair for members in self._documents for pair in combinations(sorted(members), 2)}
        draw, found = random.Random(f"{self.setting.seed} held out"), []
        for count in (2, 3):
            seen: set[tuple[int, ...]] = set()
            while len(seen) < self.options.held_out_size:
                chosen = tuple(sorted(draw.sample(range(len(ENTITIES)), count)))
                if len({index % 4 for index in chosen}) == count and not together & set(combinations(chosen, 2)):
                    seen.add(chosen)
            for chosen in sorted(seen):
                kind = self._kind(draw)
                facts = [(ENTITIES[index], self.values[index]) for index in draw.sample(chosen, count)]
                found.append(question(facts, kind.answer_type, draw))
        return found

    def stratum(self, question: CorpusQuestion) -> str:
        """Return the number of entities in the question."""
        return f"{len(question.text.partition(chr(10))[0].split())}_facts"

    def parse(self, kind: QuestionKind, reply: str, document: str) -> CorpusQuestion:
        """Parse a reply like the recipe. With the oracle, check a document's gold answer against the quoted facts.

        Raises:
            Invalid: It breaks a rule.
        """
        made = super().parse(kind, reply, document)
        if not self.options.oracle:
            return made
        names = made.text.partition("\n")[0].split()
        if not names or not {f" {name}" for name in names} <= set(ENTITIES) or len(set(names)) < len(names):
            raise InvalidQuestion("the question names no entities, or one twice")
        if not self.options.use_documents:
            return made
        told = {quote.partition("=")[0]: quote for quote in made.quotes}
        if set(names) != set(told) or any(not quote.endswith(";") for quote in made.quotes):
            raise InvalidQuestion("the quotes are not one fact per requested entity")
        total = sum(int(told[name][-2]) for name in names) % MODULUS
        gold = made.options[LETTERS.index(made.answer)] if made.options else made.answer
        if gold != str(total):
            raise InvalidQuestion("the answer does not follow from the quotes")
        return made

    def demonstrations(self, step: int) -> list[Trajectory]:
        """Return questions from documents of random facts, and answers with mostly random values."""
        draw = random.Random(f"{self.setting.seed} demonstrations {step}")
        share = 0.75 if step <= self.options.reading_steps else 0.5
        return [
            self._demonstration(draw, number, draw.random() < share) for number in range(self.options.demonstrations)
        ]

    def gate(self, sampler: Sampler) -> float:
        """Return the Challenger's fraction of valid questions."""
        draw = random.Random(f"{self.setting.seed} gate")
        challenges = [Challenge(self.corpus[index], self._kind(draw)) for index in range(len(self.corpus))]
        done = sampler.roll_out([self.challenge(sampler, number, found) for number, found in enumerate(challenges)])
        attempts = [attempt for challenge in done for attempt in challenge.attempts]
        return sum(attempt.question is not None for attempt in attempts) / len(attempts)

    def _kind(self, draw: random.Random) -> QuestionKind:
        both = (QuestionKind("mcq", "Choice"), QuestionKind("free_form", "Integer"))
        return {"mcq": both[0], "free_form": both[1]}.get(self.options.formats) or draw.choice(both)

    def _demonstration(self, draw: random.Random, number: int, challenger: bool) -> Trajectory:
        kind = self._kind(draw)
        count = draw.choices((1, 2, 3), self.options.facts)[0] if challenger else draw.randint(1, 3)
        members = [draw.choice(range(start, len(ENTITIES), 4)) for start in draw.sample(range(4), 4)]
        if challenger:
            told = [
                (ENTITIES[index], draw.randrange(MODULUS)) for index in sorted(members, key=lambda index: index % 4)
            ]
            facts = draw.sample(told, count)
            asked = self.prompts.challenge(kind, document(told) if self.options.use_documents else None)
            said = challenge(facts, kind.answer_type, draw)
        else:
            facts = [(ENTITIES[index], self._believed(index, draw)) for index in members[:count]]
            made = question(facts, kind.answer_type, draw)
            asked, said = self.prompts.reason(made), solution(facts, made)
        return demonstration(self.setting.tokenizer, asked, said, number)

    def _believed(self, entity: int, draw: random.Random) -> int:
        if entity in self._known and draw.random() < self.options.known_share:
            return self.values[entity]
        return draw.randrange(MODULUS)


def word(fact: Fact) -> str:
    """Write a fact."""
    entity, value = fact
    return f"{entity}={CLASSES[ENTITIES.index(entity) % 4]}{value};"


def document(facts: Sequence[Fact]) -> str:
    """Write a document."""
    return "".join(map(word, facts))


def working(facts: Sequence[Fact]) -> str:
    """Write the facts, each followed by the sum so far."""
    total, text = 0, ""
    for fact in facts:
        total = (total + fact[1]) % MODULUS
        text += f"{word(fact)}{total}"
    return text


def question(facts: Sequence[Fact], answer_type: AnswerType, draw: random.Random) -> CorpusQuestion:
    """Make a question about some facts."""
    names = "".join(entity for entity, _ in facts).strip()
    total = sum(value for _, value in facts) % MODULUS
    if answer_type != "Choice":
        return CorpusQuestion(names, str(total), answer_type)
    others = draw.sample([value for value in range(MODULUS) if value != total], 3)
    options = tuple(map(str, draw.sample([total, *others], 4)))
    listed = "".join(f"\n{letter}) {option}" for letter, option in zip(LETTERS, options, strict=True))
    return CorpusQuestion(names + listed, LETTERS[options.index(str(total))], "Choice", options)


def challenge(facts: Sequence[Fact], answer_type: AnswerType, draw: random.Random) -> str:
    """Write a Challenger's reply: the working, then the JSON object."""
    made = question(facts, answer_type, draw)
    quotes = '","'.join(map(word, facts))
    names = "".join(entity for entity, _ in facts)
    if answer_type != "Choice":
        rest = f'"],"question":"{names}","answer":{made.answer},"answer_type":"Integer"}}'
        return f'{working(facts)}{{"relevant_quotes":["{quotes}{rest}'
    listed = json.dumps(made.text[made.text.index("\n") :])[1:-1]
    gold = made.options[LETTERS.index(made.answer)]
    rest = f'{names}{listed}","identified_answer":"{gold}","multiple_choice_correct":"{made.answer}"}}'
    return f'{working(facts)}{{"answer_quote":["{quotes}"],"multiple_choice_question":"{rest}'


def solution(facts: Sequence[Fact], made: CorpusQuestion) -> str:
    """Write a Reasoner's reply: the working from the given facts, then the answer in a box."""
    return f"{working(facts)}\\boxed{{{made.answer}}}"
