"""The recipe: documents to questions, questions to answers, both to one update.

Each document is one rollout. The Challenger samples attempts until a question is valid, twice as many in each round. A
group sampled from its attempts keeps their fraction of valid ones. Each valid question is sent to the Reasoner
immediately, and the Reasoner never sees a document. One random valid question per document trains the Reasoner, with
the answers already sampled.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from verikit.engines.load import load_engine
from verikit.engines.rollouts import Ask, Rollout, Work
from verikit.engines.types import EnginePrompt, Generation, Request
from verikit.errors import EngineError
from verikit.trainers.costs import StepCost
from verikit.trainers.probes import engine_probe
from verikit.trainers.recipe import Probe, Sampler, Setting, Trajectory
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
from verikit.trainers.recipes.spice.rounds import (
    AnsweredQuestion,
    Attempt,
    Challenge,
    DocumentRound,
    round_metrics,
    subsample,
)
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
    """The Challenger, if it is not the policy."""

    def __init__(self, options: SpiceOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.prompts = SpicePrompts.load(options.prompts, setting.folder)
        self.equality = TypedEquality(options.letter_only)
        self.corpus = self.load_corpus()
        self.held_out = self.load_held_out()
        chat = options.chat if options.challenger_chat is None else options.challenger_chat
        self.other = OtherChallenger(load_engine(options.challenger), chat=chat) if options.challenger else None

    def probes(self) -> Iterator[Probe]:
        """Yield probes of the documents, and of the Challenger if it is another model."""
        yield "data", lambda: f"{len(self.corpus):,} documents, {len(self.held_out):,} questions held out"
        if self.other is not None:
            yield "challenger", partial(engine_probe, self.other.engine)

    def step_cost(self) -> StepCost:
        """Return the bounds of one training step."""
        options = self.options
        chosen = options.documents if options.formats == "model" and options.use_documents else 0
        first = options.documents * min(options.group, options.attempts)
        answers = options.documents * options.group * options.group
        asked = options.documents * options.group
        return StepCost(
            (chosen + first, chosen + options.documents * options.attempts + answers),
            options.max_tokens,
            (chosen + options.documents, chosen + options.documents + asked),
            float(options.document_tokens if options.use_documents else 0),
        )

    def close(self) -> None:
        """Close the connections of another Challenger."""
        if self.other is not None:
            self.other.engine.close()

    def load_corpus(self) -> Sequence[str] | Corpus:
        """Open the documents. If documents are disabled, return an empty one.

        Raises:
            ConfigError: There are no documents.
        """
        if not self.options.use_documents:
            return [""]
        return open_corpus(self.options.corpus, self.options.text_key, self.setting.folder)

    def load_held_out(self) -> list[CorpusQuestion]:
        """Return the questions to evaluate on."""
        return read_held_out(self.setting.folder / self.options.held_out) if self.options.held_out else []

    def stratum(self, question: CorpusQuestion) -> str:
        """Return a further key for held-out accuracy; "" for no key."""
        return ""

    def parse(self, kind: QuestionKind, reply: str, document: str) -> CorpusQuestion:
        """Parse a Challenger's reply and check it against the rules.

        Raises:
            Invalid: It breaks one.
        """
        question = parse_mcq(reply) if kind.format == "mcq" else parse_free_form(reply, kind.answer_type)
        if self.options.use_documents:
            check(question, document, self.options)
        return question

    def score(self, question: CorpusQuestion, reply: str) -> Score:
        """Score whether a Reasoner's reply is right."""
        return self.equality.score(question, reply)

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Generate questions and answers."""
        self.judging.reset()
        draw = random.Random(f"{self.setting.seed} {step}")
        documents = [self.draw_document(draw) for _ in range(self.options.documents)]
        kinds = self.drawn_kinds(documents, draw)
        rounds = sampler.roll_out([
            self.play(sampler, number, document, kind, random.Random(f"{self.setting.seed} {step} {number}"))
            for number, (document, kind) in enumerate(zip(documents, kinds, strict=True))
        ])  # fmt: skip
        if self.other is not None:
            self.other.check(rounds)
        self._metrics = round_metrics(rounds) | {"seconds_judging": self.judging.seconds}
        return self._trajectories(sampler, rounds)

    def play(
        self, sampler: Sampler, number: int, document: str, kind: QuestionKind, draw: random.Random
    ) -> Rollout[DocumentRound]:
        """Generate questions from a document, and let the Reasoner answer them."""
        challenge = yield from self.begin(sampler, number, document, kind)
        group = subsample(challenge.attempts, self.options.group, draw)
        answered = yield from self.ask(sampler, number, group)
        valid = [question for question in answered if question is not None]
        return DocumentRound(
            challenge.kind,
            len(challenge.attempts),
            len(challenge.valid),
            challenge.lost,
            group,
            answered,
            draw.choice(valid) if valid else None,
        )

    def draw_document(self, draw: random.Random) -> str:
        """Sample a document, or a segment of it."""
        text = self.corpus[draw.randrange(len(self.corpus))]
        return segment(text, self.setting.tokenizer, self.options.document_tokens, draw)

    def drawn_kinds(self, documents: Sequence[str], draw: random.Random) -> list[QuestionKind]:
        """Select each document's task format at random, if the options don't determine it."""
        formats, both = self.options.formats, (QuestionKind("mcq", "Choice"), QuestionKind("free_form", "Integer"))
        drawn = [draw.choice(both) for _ in documents]
        if formats == "alternate" or (formats == "model" and not self.options.use_documents):
            return [both[index % 2] for index in range(len(documents))]
        return drawn if formats == "model" else [both[formats == "free_form"] for _ in documents]

    def begin(self, sampler: Sampler, number: int, document: str, drawn: QuestionKind) -> Rollout[Challenge]:
        """Determine a document's format, then generate questions."""
        kind = drawn
        if self.options.formats == "model" and self.options.use_documents:
            kind = yield from self.choose_kind(sampler, number, document, drawn)
        return (yield from self.challenge(sampler, number, Challenge(document, kind)))

    def choose_kind(self, sampler: Sampler, number: int, document: str, drawn: QuestionKind) -> Rollout[QuestionKind]:
        """Let the Challenger choose the format. If its reply is invalid, use the random one."""
        prompt = self._to_challenger(sampler, self.prompts.choose(document))
        reply = yield self._of_challenger(self.request(sampler, prompt, "kind", number))
        try:
            return parse_kind(reply.outputs[0].text if reply.outputs else "")
        except InvalidQuestion:
            return drawn

    def challenge(self, sampler: Sampler, number: int, challenge: Challenge) -> Rollout[Challenge]:
        """Sample attempts until one is valid or `attempts` are used up: a group, two groups, four, and so on.

        The number doubles each time, so a document that stays invalid takes few rounds instead of a hundred. Sampling
        ends after two rounds with only failed requests.
        """
        shown = challenge.document if self.options.use_documents else None
        prompt = self._to_challenger(sampler, self.prompts.challenge(challenge.kind, shown))
        first, size, answered = 0, self.options.group, 1
        while first < self.options.attempts and not challenge.valid:
            end = min(first + size, self.options.attempts)
            groups = [
                self._attempts(sampler, number, challenge, prompt, start, min(self.options.group, end - start))
                for start in range(first, end, self.options.group)
            ]
            before = answered
            found = yield groups
            challenge.attempts.extend(attempt for part, _ in found for attempt in part)
            challenge.lost.extend(error for _, error in found if error is not None)
            answered = sum(error is None for _, error in found)
            if not before and not answered:
                break
            first, size = end, 2 * size
        return challenge

    def _attempts(
        self, sampler: Sampler, number: int, challenge: Challenge, prompt: EnginePrompt, first: int, count: int
    ) -> Rollout[tuple[list[Attempt], EngineError | None]]:
        """Sample some attempts and parse them."""
        request = self.request(sampler, prompt, "challenge", number, first, n=count)
        generation = yield self._of_challenger(request)
        key = ("order", number, first)

        def read() -> list[Attempt]:
            with self.judging.running():
                return [
                    self._attempt(challenge, generation, at, sampler.seed(*key, at))
                    for at in range(len(generation.outputs))
                ]

        attempts = yield Work(read)
        return attempts, generation.error

    def ask(self, sampler: Sampler, number: int, attempts: Sequence[Attempt]) -> Rollout[list[AnsweredQuestion | None]]:
        """Send each valid question to the Reasoner `group` times. The result is parallel to the attempts."""
        valid = [(at, attempt.question) for at, attempt in enumerate(attempts) if attempt.question is not None]
        group = self.options.group
        asked = [
            self._answers(question, self._reasoning(sampler, question, "reason", number, at, n=group))
            for at, question in valid
        ]
        found = yield asked
        answered: list[AnsweredQuestion | None] = [None] * len(attempts)
        for (at, _), question in zip(valid, found, strict=True):
            answered[at] = question
        return answered

    def _answers(self, question: CorpusQuestion, request: Request) -> Rollout[AnsweredQuestion]:
        generation = yield request
        scores = yield Work(self._scores, (question, generation))
        return AnsweredQuestion(question, generation, scores)

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return sampled and greedy accuracy on held-out questions, and both by stratum."""
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
        """Return the Challenger's prompt."""
        if self.other is None:
            return self.encode(sampler, question)
        return self.other.prompt(question, self.prompts.text(question))

    def _of_challenger(self, request: Request) -> Request | Ask:
        """Return the rollout step that requests a Challenger's reply, from the policy or another model."""
        return request if self.other is None else self.other.ask(request)

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

    def _trajectories(self, sampler: Sampler, rounds: Sequence[DocumentRound]) -> list[Trajectory]:
        """Make both roles' trajectories, document by document, so a gradient step on some of them has both roles."""
        result = []
        learns = self.options.train_challenger and self.other is None
        for number, found in enumerate(rounds):
            if learns and found.group:
                prompt = sampler.decode(found.group[0].generation.prompt_ids)
                for attempt, question in zip(found.group, found.answered, strict=True):
                    result.append(self._question_trajectory(attempt, question, number, prompt))
            if found.chosen is not None:
                result += self._answer_trajectories(found.chosen, number)
        return result

    def _question_trajectory(
        self, attempt: Attempt, answered: AnsweredQuestion | None, number: int, prompt: str
    ) -> Trajectory:
        """Return an attempt of the Challenger, with a reward from its answers."""
        if attempt.question is None or answered is None:
            reward: float | None = self.options.penalty
            shown = attempt.reason
        else:
            rate = answered.rate
            reward = None if rate is None else challenger_reward(rate, self.options.reward)
            shown = f"{attempt.question.answer}; {rate} right"
        weight, output = self.options.challenger_weight, attempt.generation.outputs[attempt.number]
        others = {"role": "challenger", "weight": weight, "prompt": prompt, "answer": shown}
        return self.reply_trajectory(attempt.generation, output, reward, number, **others)

    def _answer_trajectories(self, question: AnsweredQuestion, number: int) -> list[Trajectory]:
        """Return the trajectories of the Reasoner's answers to a question."""
        result = []
        for output, score in zip(question.generation.outputs, question.scores, strict=True):
            shown = (score.answer if score.scored else score.reason) or ""
            others = {"role": "reasoner", "prompt": self.prompts.reason(question.question), "answer": shown}
            result.append(self.reply_trajectory(question.generation, output, score.value, number, **others))
        return result
