"""The recipe: documents to questions, questions to answers, both to one update.

For each document the Challenger is asked until one question is valid, a group of its attempts keeps their share of
valid ones, and each valid question is put to the Reasoner, who never sees a document. One question a document, drawn
among the valid, trains the Reasoner, with the answers that were sampled already.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from verikit.engines.load import load_engine
from verikit.engines.types import EnginePrompt, Generation, Request
from verikit.trainers.probes import engine_probe
from verikit.trainers.recipe import Probe, Result, Sampler, Setting, Trajectory
from verikit.trainers.recipes.base import SelfPlay, stratified
from verikit.trainers.recipes.spice.challengers import OtherChallenger
from verikit.trainers.recipes.spice.checks import TypedEquality, check
from verikit.trainers.recipes.spice.corpus import Corpus, open_corpus, segment
from verikit.trainers.recipes.spice.formats import (
    CorpusQuestion,
    InvalidQuestion,
    QuestionKind,
    parse_free_form,
    parse_kind,
    parse_mcq,
    shuffled,
)
from verikit.trainers.recipes.spice.options import SpiceOptions
from verikit.trainers.recipes.spice.problems import read_held_out
from verikit.trainers.recipes.spice.prompts import SpicePrompts
from verikit.trainers.recipes.spice.rewards import challenger_reward
from verikit.trainers.recipes.spice.rounds import AnsweredQuestion, Attempt, Challenge, round_metrics, subsample
from verikit.types import Score


class Spice(SelfPlay):
    """Self-play from a corpus."""

    name: ClassVar[str] = "spice"
    Options: ClassVar[type[SpiceOptions]] = SpiceOptions
    options: SpiceOptions
    prompts: SpicePrompts
    equality: TypedEquality
    corpus: Sequence[str] | Corpus
    held_out: list[CorpusQuestion]
    other: OtherChallenger | None
    """Who asks, where it is not the policy."""

    def __init__(self, options: SpiceOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.prompts = SpicePrompts.load(options.prompts, setting.folder)
        self.equality = TypedEquality(options.letter_only)
        self.corpus = self.load_corpus()
        self.held_out = self.load_held_out()
        chat = options.chat if options.challenger_chat is None else options.challenger_chat
        self.other = OtherChallenger(load_engine(options.challenger), chat=chat) if options.challenger else None

    def probes(self) -> Iterator[Probe]:
        """Yield the documents, and the Challenger where it is another model."""
        yield "data", lambda: f"{len(self.corpus):,} documents, {len(self.held_out):,} questions held out"
        if self.other is not None:
            yield "challenger", partial(engine_probe, self.other.engine)

    def close(self) -> None:
        """Give back another Challenger's connections."""
        if self.other is not None:
            self.other.engine.close()

    def load_corpus(self) -> Sequence[str] | Corpus:
        """Open the documents; where none is shown, there is an empty one.

        Raises:
            ConfigError: there are none.
        """
        if not self.options.use_documents:
            return [""]
        return open_corpus(self.options.corpus, self.options.text_key, self.setting.folder)

    def load_held_out(self) -> list[CorpusQuestion]:
        """Return the questions to evaluate on."""
        return read_held_out(self.setting.folder / self.options.held_out) if self.options.held_out else []

    def stratum(self, question: CorpusQuestion) -> str:
        """Return what held-out accuracy is also told by; "" for nothing."""
        return ""

    def parse(self, kind: QuestionKind, reply: str, document: str) -> CorpusQuestion:
        """Read a Challenger's reply and hold it to the rules.

        Raises:
            Invalid: it breaks one.
        """
        question = parse_mcq(reply) if kind.format == "mcq" else parse_free_form(reply, kind.answer_type)
        if self.options.use_documents:
            check(question, document, self.options)
        return question

    def score(self, question: CorpusQuestion, reply: str) -> Score:
        """Say whether a Reasoner's reply is right."""
        return self.equality.score(question, reply)

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Ask and answer."""
        self.judging.reset()
        draw = random.Random(f"{self.setting.seed} {step}")
        documents = [self.draw_document(draw) for _ in range(self.options.documents)]
        challenges = [
            Challenge(document, kind, [])
            for document, kind in zip(documents, self.kinds(sampler, documents, draw), strict=True)
        ]
        self.challenge(sampler, challenges)
        groups = [subsample(challenge.attempts, self.options.group, draw) for challenge in challenges]
        asked = self.ask(sampler, [attempt for group in groups for attempt in group if attempt.question is not None])
        chosen = [self._choose(group, asked, draw) for group in groups]
        self._metrics = round_metrics(challenges, list(asked.values())) | {"seconds_judging": self.judging.seconds}
        return self._trajectories(sampler, groups, chosen, asked)

    def draw_document(self, draw: random.Random) -> str:
        """Draw a document, or a segment of it."""
        text = self.corpus[draw.randrange(len(self.corpus))]
        return segment(text, self.setting.tokenizer, self.options.document_tokens, draw)

    def kinds(self, sampler: Sampler, documents: Sequence[str], draw: random.Random) -> list[QuestionKind]:
        """Decide each document's task format; a Challenger that gives no valid one has it drawn."""
        formats, both = self.options.formats, (QuestionKind("mcq", "Choice"), QuestionKind("free_form", "Integer"))
        drawn = [draw.choice(both) for _ in documents]
        if formats == "alternate" or (formats == "model" and not self.options.use_documents):
            return [both[index % 2] for index in range(len(documents))]
        if formats != "model":
            return [both[formats == "free_form"] for _ in documents]
        prompts = [self._to_challenger(sampler, self.prompts.choose(document)) for document in documents]
        requests = [self.request(sampler, prompt, "kind", number) for number, prompt in enumerate(prompts)]
        result = []
        replies = self._challenged(sampler, requests, lambda index, generation: None)
        for (reply, _), other in zip(replies, drawn, strict=True):
            try:
                result.append(parse_kind(reply.outputs[0].text if reply.outputs else ""))
            except InvalidQuestion:
                result.append(other)
        return result

    def challenge(self, sampler: Sampler, challenges: Sequence[Challenge]) -> None:
        """Sample attempts, a group at a time, until a document has a valid one or `attempts` are used up."""
        shown = self.options.use_documents
        prompts = [
            self._to_challenger(sampler, self.prompts.challenge(challenge.kind, challenge.document if shown else None))
            for challenge in challenges
        ]
        for first in range(0, self.options.attempts, self.options.group):
            open_ones = [number for number, challenge in enumerate(challenges) if not challenge.valid]
            count = min(self.options.group, self.options.attempts - first)
            requests = [
                self.request(sampler, prompts[number], "challenge", number, first, n=count) for number in open_ones
            ]

            def judge(
                index: int, generation: Generation, open_ones: Sequence[int] = open_ones, first: int = first
            ) -> list[Attempt]:
                challenge, key = challenges[open_ones[index]], ("order", open_ones[index], first)
                with self.judging.running():
                    return [
                        self._attempt(challenge, generation, number, sampler.seed(*key, number))
                        for number in range(len(generation.outputs))
                    ]

            for number, (_, found) in zip(open_ones, self._challenged(sampler, requests, judge), strict=True):
                challenges[number].attempts.extend(found)
            if all(challenge.valid for challenge in challenges):
                break

    def ask(self, sampler: Sampler, attempts: Sequence[Attempt]) -> dict[int, AnsweredQuestion]:
        """Put each valid question to the Reasoner `group` times; by the attempt's identity."""
        questions = [attempt.question for attempt in attempts if attempt.question is not None]
        requests = [
            self._reasoning(sampler, question, "reason", number, n=self.options.group)
            for number, question in enumerate(questions)
        ]
        done = sampler.generate_then(requests, lambda index, generation: self._scores(questions[index], generation))
        return {
            id(attempt): AnsweredQuestion(question, generation, scores)
            for attempt, question, (generation, scores) in zip(attempts, questions, done, strict=True)
        }

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return the sampled and the greedy accuracy on held-out questions, and the sampled by stratum."""
        if not self.held_out:
            return {}
        sampled = self._held_out("accuracy", sampler, self.options.temperature, self.options.evaluate_samples)
        return sampled | self._held_out("greedy", sampler, 0.0, 1)

    def _held_out(self, name: str, sampler: Sampler, temperature: float, n: int) -> dict[str, float]:
        requests = [
            self._reasoning(sampler, question, "held-out", number, n=n, temperature=temperature, logprobs=None)
            for number, question in enumerate(self.held_out)
        ]
        done = sampler.generate_then(requests, lambda index, generation: self._scores(self.held_out[index], generation))
        strata = [[f"{name}/{stratum}"] if (stratum := self.stratum(question)) else [] for question in self.held_out]
        values = [[score.value for score in scores if score.value is not None] for _, scores in done]
        return stratified(name, zip(strata, values, strict=True))

    def _to_challenger(self, sampler: Sampler, question: str) -> EnginePrompt:
        """Return what the Challenger is sent."""
        if self.other is None:
            return self.encode(sampler, question)
        return self.other.prompt(question, self.prompts.text(question))

    def _challenged(
        self, sampler: Sampler, requests: Sequence[Request], then: Callable[[int, Generation], Result]
    ) -> list[tuple[Generation, Result]]:
        """Let the Challenger reply, the policy or another."""
        if self.other is None:
            return sampler.generate_then(requests, then)
        return self.other.generate_then(sampler, requests, then)

    def _reasoning(self, sampler: Sampler, question: CorpusQuestion, *key: str | int, **others: Any) -> Request:
        return self.request(sampler, self.encode(sampler, self.prompts.reason(question)), *key, **others)

    def _scores(self, question: CorpusQuestion, generation: Generation) -> list[Score]:
        with self.judging.running():
            return [self.score(question, output.text) for output in generation.outputs]

    def _attempt(self, challenge: Challenge, generation: Generation, number: int, seed: int) -> Attempt:
        try:
            question = self.parse(challenge.kind, generation.outputs[number].text, challenge.document)
        except InvalidQuestion as problem:
            return Attempt(generation, number, None, str(problem)[:500])
        if self.options.shuffle and question.format == "mcq":
            question = shuffled(question, random.Random(seed))
        return Attempt(generation, number, question)

    def _choose(
        self, group: Sequence[Attempt], asked: Mapping[int, AnsweredQuestion], draw: random.Random
    ) -> AnsweredQuestion | None:
        """Draw the question of a document that trains the Reasoner."""
        valid = [attempt for attempt in group if attempt.question is not None]
        return asked[id(draw.choice(valid))] if valid else None

    def _trajectories(
        self,
        sampler: Sampler,
        groups: Sequence[Sequence[Attempt]],
        chosen: Sequence[AnsweredQuestion | None],
        asked: Mapping[int, AnsweredQuestion],
    ) -> list[Trajectory]:
        """Make both roles' trajectories, document by document, so that a gradient step on some has both roles."""
        result = []
        learns = self.options.train_challenger and self.other is None
        for number, (group, question) in enumerate(zip(groups, chosen, strict=True)):
            if learns and group:
                prompt = sampler.decode(group[0].generation.prompt_ids)
                result += [self._question_trajectory(attempt, asked, number, prompt) for attempt in group]
            if question is not None:
                result += self._answer_trajectories(question, number)
        return result

    def _question_trajectory(
        self, attempt: Attempt, asked: Mapping[int, AnsweredQuestion], number: int, prompt: str
    ) -> Trajectory:
        """Return an attempt of the Challenger, rewarded by its answers."""
        rate = asked[id(attempt)].rate if attempt.question is not None else None
        reward = None if rate is None else challenger_reward(rate, self.options.reward)
        if attempt.question is None:
            reward = self.options.penalty
        shown = attempt.reason if attempt.question is None else f"{attempt.question.answer}; {rate} right"
        weight, output = self.options.challenger_weight, attempt.generation.outputs[attempt.number]
        others = {"role": "challenger", "weight": weight, "prompt": prompt, "answer": shown}
        return self.reply_trajectory(attempt.generation, output, reward, number, **others)

    def _answer_trajectories(self, question: AnsweredQuestion, number: int) -> list[Trajectory]:
        """Return the Reasoner's answers to a question."""
        result = []
        for output, score in zip(question.generation.outputs, question.scores, strict=True):
            shown = (score.answer if score.scored else score.reason) or ""
            others = {"role": "reasoner", "prompt": self.prompts.reason(question.question), "answer": shown}
            result.append(self.reply_trajectory(question.generation, output, score.value, number, **others))
        return result
