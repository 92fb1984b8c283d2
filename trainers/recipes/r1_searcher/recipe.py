"""The recipe: questions, rollouts that search, and the reward of the step's stage.

Both stages run in one run: `stage1_steps` first. Groups are the samples of one question. The config sets the
advantages: "grpo" with epsilon 1e-9 is the paper's GRPO form, "reinforce++-baseline" (r - mean of the group, whitened)
the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from verikit.engines.load import load_engine
from verikit.engines.types import EnginePrompt
from verikit.errors import ConfigError
from verikit.readers.problems import read_problems
from verikit.replies.text import accepted
from verikit.retrieval.load import load_retriever
from verikit.retrieval.types import Passage, Retriever
from verikit.search import SearchLimits, SearchTrace, search, search_messages, search_metrics, search_prompt
from verikit.search.rules import Preset
from verikit.trainers.costs import StepCost, exactly, prompt_length
from verikit.trainers.probes import engine_probe
from verikit.trainers.recipe import Probe, Recipe, Sampler, Setting, Trajectory
from verikit.trainers.recipes.base import Epochs, Stopwatch
from verikit.trainers.recipes.r1_searcher.accuracy import PredictedAnswer, report
from verikit.trainers.recipes.r1_searcher.difficulty import mixed
from verikit.trainers.recipes.r1_searcher.rewards import Measure, StageReward, stage1_reward, stage2_reward
from verikit.types import Group

UNKNOWN = "I don't know."
"""The answer of a rollout that was truncated in evaluation (repository)."""


class TimedRetriever:
    """A retriever whose seconds are measured."""

    def __init__(self, retriever: Retriever, watch: Stopwatch) -> None:
        self._retriever, self._watch = retriever, watch

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Query the retriever."""
        with self._watch.running():
            return self._retriever.retrieve(queries, k)


class SearchOptions(BaseModel):
    """[options] of `r1-searcher`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    data: str = ""
    """Questions: JSON lines with prompt, answer, and for `mix` source and difficulty."""
    map: dict[str, str] = {}
    """Renamed keys of the file."""
    held_out: str = ""
    """Questions to evaluate on."""
    mix: dict[str, int] = {}
    """Number of stage 2 questions per source/difficulty; {}: all."""
    stage1_mix: dict[str, int] = {}
    """The same for stage 1."""
    retriever: str = ""
    """The retriever: bm25:DIR, hybrid:DIR, graph:bm25:DIR, a server's address, or package.module:name."""
    prompt: Literal["base", "instruct"] = "base"
    """The paper's prompt for base or for instruct models."""
    stage1_steps: int = Field(default=0, ge=0)
    """Steps that reward searching, before the steps that reward answering."""
    preset: Preset = "paper"
    """Rules of format and reward: the paper's, or the repository's."""
    measure: Measure = "f1"
    """Metric of the answer that stage 2 rewards; cover-em leads to padded answers."""
    prompts: PositiveInt = 16
    """Questions per step."""
    samples: int = Field(default=16, ge=1)
    """Completions per question."""
    k: PositiveInt = 3
    """Passages per search."""
    retrievals: PositiveInt = 8
    """Maximum searches per completion."""
    leg_tokens: PositiveInt = 512
    """Maximum sampled tokens between two searches."""
    total_tokens: PositiveInt = 29_000
    """Maximum tokens of prompt, reply and passages together."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling temperature in training."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus of sampling in training. Below 1 needs `batch.allow_truncated`."""
    evaluate_k: PositiveInt = 5
    """Passages per search in evaluation."""
    evaluate_retrievals: PositiveInt = 9
    """Maximum searches per completion in evaluation."""
    judge: str = ""
    """An engine that also judges held-out answers; "": no judge."""


class R1Searcher(Recipe):
    """Rewards searching, then answering, with real search results in the rollout."""

    name: ClassVar[str] = "r1-searcher"
    Options: ClassVar[type[BaseModel]] = SearchOptions
    retriever: Retriever
    stages: tuple[list[Group], list[Group]]
    held_out: list[Group]
    positions: list[int]

    def __init__(self, options: SearchOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.options: SearchOptions = options
        self.retriever = self.make_retriever()
        self.stages, self.held_out = self.load_questions()
        self.positions = [0, 0]
        """Questions used so far in each stage."""
        self._epochs = [
            Epochs(f"{setting.seed} {stage}", len(questions)) for stage, questions in enumerate(self.stages)
        ]
        self._metrics: dict[str, float] = {}
        self._retrieving = Stopwatch()
        self._judge = load_engine(options.judge) if options.judge else None

    def probes(self) -> Iterator[Probe]:
        """Yield probes of the data, the retriever, and the judge if there is one."""
        first, second = self.stages
        yield "data", lambda: f"{len(first):,} and {len(second):,} questions, {len(self.held_out):,} held out"
        yield "retriever", self._try_retriever
        if self._judge is not None:
            judge = self._judge
            yield "judge", lambda: engine_probe(judge)

    def step_cost(self) -> StepCost:
        """Return the bounds of one training step."""
        options = self.options
        rollouts, searches = options.prompts * options.samples, options.prompts * options.samples * options.retrievals
        return StepCost(
            exactly(rollouts),
            min(options.total_tokens, (options.retrievals + 1) * options.leg_tokens),
            exactly(options.prompts),
            prompt_length(self.setting.tokenizer, self.stages[1] or self.stages[0]),
            {"searches": (0, searches)},
        )

    def _try_retriever(self) -> str:
        """Search for passages for the first question.

        Raises:
            RetrievalError: The retriever failed.
        """
        asked = str(next(chain(*self.stages)).prompt)
        (found,) = self.retriever.retrieve([asked], self.options.k)
        return f"{self.options.retriever or type(self.retriever).__name__} found {len(found)} passages"

    def make_retriever(self) -> Retriever:
        """Return the retriever."""
        return load_retriever(self.options.retriever)

    def load_questions(self) -> tuple[tuple[list[Group], list[Group]], list[Group]]:
        """Return the questions of both stages and the held-out ones.

        Raises:
            ConfigError: There is no file, or a question has no answer.
        """
        options = self.options
        if not options.data:
            raise ConfigError("options.data names no file of questions")
        questions = self._read(options.data)
        held_out = self._read(options.held_out) if options.held_out else []
        mixes = {"options.stage1_mix": options.stage1_mix, "options.mix": options.mix}
        drawn: list[list[Group]] = []
        failed: list[ConfigError] = []
        for name, counts in mixes.items():
            try:
                drawn.append(mixed(questions, counts, self.setting.seed, name) if counts else questions)
            except ConfigError as error:
                failed.append(error)
        if failed:  # both settings in one message: a paper's config has both
            raise ConfigError("; ".join(map(str, failed)), hint="; ".join(error.hint for error in failed))
        return (drawn[0], drawn[1]), held_out

    def ask(self, question: Group) -> EnginePrompt:
        """Return the prompt of a question."""
        ask = search_prompt if self.options.prompt == "base" else search_messages
        return ask(str(question.prompt))

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Roll out the next questions and reward them by the step's stage."""
        first = step <= self.options.stage1_steps
        self._retrieving.reset()
        chosen = [pair for pair in self._next(0 if first else 1) for _ in range(self.options.samples)]
        rollouts = self._search(sampler, [question for _, question in chosen], self.limits())
        rewards = [
            self.reward(rollout, accepted(question.answer), first)
            for rollout, (_, question) in zip(rollouts, chosen, strict=True)
        ]
        self._metrics = search_metrics(rollouts) | {
            "stage": 1.0 if first else 2.0,
            "retrieval_seconds": self._retrieving.seconds,
            "format_right": _share_in_format(rewards),
        }
        return [
            self._trajectory(number, question, rollout, reward)
            for (number, question), rollout, reward in zip(chosen, rollouts, rewards, strict=True)
        ]

    def reward(self, rollout: SearchTrace, golds: Sequence[str], first: bool) -> StageReward | None:
        """Reward a rollout; None if an infrastructure failure left it unfinished."""
        if rollout.error is not None:
            return None
        thinks = self.options.prompt == "base"
        if first:
            return stage1_reward(rollout, golds, self.options.preset, thinks=thinks)
        return stage2_reward(rollout, golds, self.options.preset, self.options.measure, thinks=thinks)

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return greedy metrics of the held-out questions, excluding those with a failed retriever."""
        if not self.held_out:
            return {}
        options = self.options
        limits = SearchLimits(
            options.evaluate_k,
            options.evaluate_retrievals,
            options.leg_tokens,
            options.total_tokens,
            temperature=0.0,
            stop_at_answer=True,
        )
        rollouts = self._search(sampler, self.held_out, limits)
        asked = [
            PredictedAnswer(str(question.prompt), accepted(question.answer), rollout.answer or UNKNOWN)
            for question, rollout in zip(self.held_out, rollouts, strict=True)
            if rollout.error is None
        ]
        (found,) = sampler.map(lambda some: report(some, self._judge), [asked])
        return found | search_metrics(rollouts)

    def limits(self) -> SearchLimits:
        """Return the limits of a training rollout."""
        options = self.options
        return SearchLimits(
            options.k,
            options.retrievals,
            options.leg_tokens,
            options.total_tokens,
            temperature=options.temperature,
            top_p=options.top_p,
        )

    def state(self) -> dict[str, Any]:
        """Return the number of questions used in each stage."""
        return {"positions": self.positions}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue after the questions already used."""
        self.positions = list(state["positions"])

    def metrics(self) -> dict[str, float]:
        """Return searches per question, the fraction of evidence, and the stage."""
        return self._metrics

    def close(self) -> None:
        """Close the judge's connections."""
        if self._judge is not None:
            self._judge.close()

    def _search(self, sampler: Sampler, questions: Sequence[Group], limits: SearchLimits) -> list[SearchTrace]:
        return search(
            sampler,
            TimedRetriever(self.retriever, self._retrieving),
            [self.ask(question) for question in questions],
            limits,
            seeds=lambda index, leg: sampler.seed(index, leg),
            logprobs=limits.temperature > 0,
        )

    def _next(self, stage: int) -> list[tuple[int, Group]]:
        """Return the next batch. Each pass over the questions is a shuffle."""
        drawn = []
        for _ in range(self.options.prompts):
            question = self.stages[stage][self._epochs[stage].index(self.positions[stage])]
            self.positions[stage] += 1
            drawn.append((self.positions[stage], question))
        return drawn

    def _trajectory(self, number: int, question: Group, rollout: SearchTrace, reward: StageReward | None) -> Trajectory:
        value, parts, answer = (
            (None, {}, str(rollout.error)) if reward is None else (reward.value, reward.parts, reward.answer)
        )
        return Trajectory(
            rollout.ids,
            rollout.mask,
            rollout.logprobs,
            value,
            number,
            finished=rollout.finished,
            temperature=self.options.temperature,
            parts=parts,
            prompt=str(question.prompt),
            completion=rollout.text,
            answer=answer,
        )

    def _read(self, name: str) -> list[Group]:
        questions = read_problems(self.setting.folder / name, self.options.map)
        if bad := next((question.id for question in questions if not accepted(question.answer)), None):
            raise ConfigError(f"question {bad} of {name} has no answer")
        return questions


def _share_in_format(rewards: Sequence[StageReward | None]) -> float:
    scored = [reward for reward in rewards if reward is not None]
    return sum(not reward.faults for reward in scored) / (len(scored) or 1)
