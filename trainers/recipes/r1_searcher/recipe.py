"""The recipe: questions, rollouts that search, the reward of the stage that the step is in.

Both stages run in one run: `stage_one_steps` first. Groups are the samples of one question. Advantages are the config's:
"grpo" with epsilon 1e-9 is the paper's GRPO form, "reinforce++-baseline" (r - mean of the group, whitened) the other.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from verikit.engines.load import load_engine
from verikit.engines.types import EnginePrompt
from verikit.errors import ConfigError
from verikit.text import accepted
from verikit.trainers.problems import read_problems
from verikit.trainers.recipe import Recipe, Sampler, Setting, Trajectory
from verikit.trainers.recipes.r1_searcher.accuracy import Asked, report
from verikit.trainers.recipes.r1_searcher.difficulty import mixed
from verikit.trainers.recipes.r1_searcher.rewards import Measure, Preset, Reward, stage_one, stage_two
from verikit.trainers.recipes.r1_searcher.search import Limits, Retriever, Rollout, figures, load_retriever, search
from verikit.trainers.recipes.r1_searcher.transcript import answer_of
from verikit.types import Group

PROMPTS = Path(__file__).parent / "prompts"
UNKNOWN = "I don't know."
"""The answer of a rollout that was cut off in evaluation (repository)."""


class SearchOptions(BaseModel):
    """[options] of `r1-searcher`."""

    model_config = ConfigDict(extra="forbid")

    data: str = ""
    """Questions: JSON lines with prompt, answer, and for `mix` source and difficulty."""
    map: dict[str, str] = {}
    """Where the file's keys differ."""
    held_out: str = ""
    """Questions to evaluate on."""
    mix: dict[str, int] = {}
    """How many questions of each source/difficulty of stage 2; {}: all."""
    stage_one_mix: dict[str, int] = {}
    """The same for stage 1."""
    retriever: str = ""
    """A server's URL (POST {queries, k}), or package.module:name of what makes a `Retriever`."""
    prompt: Literal["base", "instruct"] = "base"
    stage_one_steps: int = Field(default=0, ge=0)
    """Steps that reward searching, before those that reward answering."""
    preset: Preset = "paper"
    measure: Measure = "f1"
    """What stage 2 rewards of the answer; cover-em breeds padded answers."""
    prompts: PositiveInt = 16
    samples: int = Field(default=16, ge=1)
    k: PositiveInt = 3
    retrievals: PositiveInt = 8
    leg_tokens: PositiveInt = 512
    temperature: float = Field(default=1.0, gt=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    evaluate_k: PositiveInt = 5
    evaluate_retrievals: PositiveInt = 9
    judge: str = ""
    """An engine that judges held-out answers too; "": none."""
    mask_evidence: bool = True
    """False learns retrieved tokens as if the policy had written them: an ablation, and a bad one."""


class R1Searcher(Recipe):
    """Rewards searching, then answering, with real search results in the rollout."""

    name: ClassVar[str] = "r1-searcher"
    Options: ClassVar[type[BaseModel]] = SearchOptions

    def __init__(self, options: SearchOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.options: SearchOptions = options
        self.retriever = self.make_retriever()
        self.stages, self.held_out = self.load_questions()
        self.positions = [0, 0]
        """Questions drawn so far in each stage."""
        self._figures: dict[str, float] = {}
        self._judge = load_engine(options.judge) if options.judge else None

    def make_retriever(self) -> Retriever:
        """Return what finds passages."""
        return load_retriever(self.options.retriever)

    def load_questions(self) -> tuple[tuple[list[Group], list[Group]], list[Group]]:
        """Return the questions of both stages and those held out.

        Raises:
            ConfigError: there is no file, or a question has no answer.
        """
        options = self.options
        if not options.data:
            raise ConfigError("options.data names no file of questions")
        questions = self._read(options.data)
        held_out = self._read(options.held_out) if options.held_out else []
        one, two = (
            mixed(questions, mix, self.setting.seed) if mix else questions
            for mix in (options.stage_one_mix, options.mix)
        )
        return (one, two), held_out

    def ask(self, question: Group) -> EnginePrompt:
        """Return the prompt of a question."""
        if self.options.prompt == "base":
            text = (PROMPTS / "base.txt").read_text("utf-8")
            return text.replace("{question}", str(question.prompt))
        system = (PROMPTS / "instruct.txt").read_text("utf-8")
        return [{"role": "system", "content": system}, {"role": "user", "content": str(question.prompt)}]

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Roll out the next questions and reward them by the stage that the step is in."""
        first = step <= self.options.stage_one_steps
        questions = self._next(0 if first else 1)
        chosen = [(number, one) for number, one in questions for _ in range(self.options.samples)]
        prompts = [
            (ids, (number, sample))
            for number, one in questions
            for ids in [sampler.encode(self.ask(one))]
            for sample in range(self.options.samples)
        ]
        rollouts = search(sampler, self.retriever, prompts, self.limits())
        rewards = [
            self.reward(one, accepted(question.answer), first)
            for one, (_, question) in zip(rollouts, chosen, strict=True)
        ]
        self._figures = figures(rollouts) | {
            "stage": 1.0 if first else 2.0,
            "format_right": sum(reward is not None and not reward.faults for reward in rewards) / len(rewards),
        }
        return [
            self._trajectory(number, str(question.prompt), one, reward)
            for (number, question), one, reward in zip(chosen, rollouts, rewards, strict=True)
        ]

    def reward(self, one: Rollout, golds: Sequence[str], first: bool) -> Reward | None:
        """Reward a rollout; None where a failure of ours left it unfinished."""
        if one.said.error:
            return None
        thinks = self.options.prompt == "base"
        if first:
            return stage_one(one.said, golds, self.options.preset, thinks=thinks)
        return stage_two(one.said, golds, self.options.preset, self.options.measure, thinks=thinks)

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return greedy figures of the held-out questions; what the retriever failed on is left out."""
        if not self.held_out:
            return {}
        options = self.options
        limits = Limits(
            options.evaluate_k, options.evaluate_retrievals, options.leg_tokens, temperature=0.0, stop_at_answer=True
        )
        prompts = [(sampler.encode(self.ask(one)), ("held-out", n)) for n, one in enumerate(self.held_out)]
        rollouts = search(sampler, self.retriever, prompts, limits)
        asked = [
            Asked(str(question.prompt), accepted(question.answer), answer_of(one.said.text) or UNKNOWN)
            for question, one in zip(self.held_out, rollouts, strict=True)
            if not one.said.error
        ]
        return report(asked, self._judge) | figures(rollouts)

    def limits(self) -> Limits:
        """Return the limits of a training rollout."""
        options = self.options
        return Limits(options.k, options.retrievals, options.leg_tokens, options.temperature, options.top_p)

    def state(self) -> dict[str, Any]:
        """Return how many questions were drawn in each stage."""
        return {"positions": self.positions}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on after the questions that were drawn."""
        self.positions = list(state["positions"])

    def metrics(self) -> dict[str, float]:
        """Return searches a question, share of evidence, and the stage."""
        return self._figures

    def _next(self, stage: int) -> list[tuple[int, Group]]:
        """Draw a batch; each pass over the questions is a shuffle."""
        questions, drawn = self.stages[stage], []
        for _ in range(self.options.prompts):
            passes, place = divmod(self.positions[stage], len(questions))
            order = random.Random(f"{self.setting.seed} {stage} {passes}").sample(range(len(questions)), len(questions))
            self.positions[stage] += 1
            drawn.append((self.positions[stage], questions[order[place]]))
        return drawn

    def _trajectory(self, number: int, question: str, one: Rollout, reward: Reward | None) -> Trajectory:
        said = one.said
        value, parts, answer = (None, {}, said.error) if reward is None else (reward.value, reward.parts, reward.answer)
        if not self.options.mask_evidence:
            start = one.transcript.mask.index(True) if any(one.transcript.mask) else 0
            one.transcript.mask[start:] = [True] * (len(one.transcript.mask) - start)
        return one.transcript.trajectory(
            value,
            number,
            finished=said.finished,
            temperature=self.options.temperature,
            parts=parts,
            prompt=question,
            completion=said.text,
            answer=answer,
        )

    def _read(self, name: str) -> list[Group]:
        questions = read_problems(self.setting.folder / name, self.options.map)
        if bad := next((one.id for one in questions if not accepted(one.answer)), None):
            raise ConfigError(f"question {bad} of {name} has no answer")
        return questions
