"""One prompt, several completions, a verifier's reward for each: plain reinforcement learning from checks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

import verikit
from verikit.base import Verifier
from verikit.engines.types import Generation, Output, Request
from verikit.errors import ConfigError, EngineError, TrainerError
from verikit.readers.problems import read_problems
from verikit.replies.text import accepted
from verikit.scoring.tally import LOST
from verikit.trainers.costs import StepCost, exactly, judge_requests, prompt_length
from verikit.trainers.probes import guarded, judge_probes
from verikit.trainers.recipe import Probe, Sampler, Setting, Trajectory
from verikit.trainers.recipes.base import Epochs, ReplyRecipe
from verikit.trainers.recipes.curriculum import Curriculum
from verikit.types import Group, Message, Prompt, Sample, Score
from verikit.verifiers.echo import echo_guard


class SingleTurnOptions(BaseModel):
    """[options] of `single-turn`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    data: str = ""
    """Problems: JSON lines with a prompt (a string or messages) and its answer. Other keys go to the verifier."""
    map: dict[str, str] = {}
    """Renamed keys of the file: prompt = "problem"."""
    held_out: str = ""
    """Problems to evaluate on; "": the last `held_out_size` problems of `data`."""
    held_out_size: int = Field(default=256, ge=0)
    """Problems at the end of `data` that are only evaluated on, without `held_out`."""
    system: str = ""
    """A system message for problems with a string prompt."""
    chat: bool = True
    """Apply the chat template to string prompts. False: continue them as is."""
    reward: str = "answer"
    """A verifier's spec, as in `verikit score -v`."""
    echoes: bool = False
    """Whether a formula copied from the question, or an uncomputed answer, may be rewarded; see `echo_guard`."""
    reward_timeout: float = Field(default=60.0, ge=0)
    """Time limit per reward of a verifier outside verikit, in seconds. Its process is killed then. 0: no limit."""
    prompts: PositiveInt = 16
    """Problems per step."""
    samples: int = Field(default=16, ge=1)
    """Completions per problem."""
    max_tokens: PositiveInt = 512
    """Maximum sampled tokens per completion."""
    max_prompt_tokens: PositiveInt = 1024
    """Problems with longer prompts are skipped and counted."""
    curriculum: bool = False
    """Replay problems by their success rate as half of each step; see `verikit.trainers.recipes.curriculum`."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling temperature, in training and for sampled held-out completions."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus of sampling in training. Below 1 needs `batch.allow_truncated`."""
    evaluate_samples: int = Field(default=1, ge=0)
    """Sampled completions per held-out problem; 0: only greedy."""


class SingleTurn(ReplyRecipe):
    """Samples groups of completions and scores each with a verifier, in threads, while others are sampled."""

    name: ClassVar[str] = "single-turn"
    Options: ClassVar[type[BaseModel]] = SingleTurnOptions
    reward: Verifier
    problems: list[Group]
    held_out: list[Group]
    position: int
    left_out: int

    def __init__(self, options: SingleTurnOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.options: SingleTurnOptions = options
        reward = verikit.load(options.reward)
        self.reward = guarded(reward if options.echoes else echo_guard(reward), options.reward_timeout)
        self.problems, self.held_out = self.load_problems()
        if not self.problems:
            raise ConfigError("there are no problems to train on", hint="see options.data")
        self.position = 0
        """Problems used so far."""
        self._ids: dict[int, list[int]] = {}
        self._epochs = Epochs(str(setting.seed), len(self.problems))
        self._curriculum = Curriculum(self._epochs) if options.curriculum else None
        self.left_out = 0
        """Number of problems skipped because of their prompts' length."""

    def load_problems(self) -> tuple[list[Group], list[Group]]:
        """Return the problems to train on and the held-out ones.

        Raises:
            ConfigError: There is no file, or a row of it can't be read.
        """
        if not self.options.data:
            raise ConfigError("options.data names no file of problems")
        problems = self._read(self.options.data)
        if self.options.held_out:
            return problems, self._read(self.options.held_out)
        cut = len(problems) - self.options.held_out_size
        if cut <= 0:
            raise ConfigError(
                f"{self.options.data} has {len(problems)} problems, and options.held_out_size keeps all of them apart"
            )
        return problems[:cut], problems[cut:]

    def probes(self) -> Iterator[Probe]:
        """Yield probes of the data, the judges in the reward, and the reward itself on a first problem."""
        yield "data", lambda: f"{len(self.problems):,} problems, {len(self.held_out):,} held out"
        yield from judge_probes("reward", self.reward, self._gold_sample())
        yield "reward", self._try_reward

    def step_cost(self) -> StepCost:
        """Return the bounds of one training step."""
        options, judged = self.options, self.options.prompts * self.options.samples
        return StepCost(
            exactly(judged),
            options.max_tokens,
            exactly(options.prompts),
            prompt_length(self.setting.tokenizer, self.problems),
            {"judge requests": exactly(judged * judge_requests(self.reward))},
        )

    def _gold_sample(self) -> Sample:
        """Return the first problem with its own answer as the completion, to test rewards."""
        problem = self.problems[0]
        gold = next(iter(accepted(problem.answer)), "")
        return Sample(problem.prompt, gold, problem.answer, problem.id, problem.meta)

    def _try_reward(self) -> str:
        """Score a gold answer.

        Raises:
            TrainerError: It has no score.
        """
        # No tokenizer is loaded yet, so one token represents the answer. Only length rewards depend on the tokens.
        (score,) = self.score(self.problems[0], Generation((Output(self._gold_sample().completion, (0,)),)))
        if score.status in LOST:
            raise TrainerError(f"{self.options.reward} can't score: {score.reason}", hint="`verikit explain` shows why")
        return f"{self.options.reward} scores"

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Sample and score the next problems. Each problem is one group."""
        chosen = list(self._next(sampler))
        requests = self.requests(sampler, chosen)

        def score(index: int, generation: Generation) -> list[Score]:
            return self.train_scores(chosen[index][1], generation)

        result = []
        for (number, problem, _), (generation, scores) in zip(
            chosen, sampler.generate_then(requests, score), strict=True
        ):
            for output, given in zip(generation.outputs, scores, strict=True):
                result.append(self._trajectory(number, problem, generation, output, given))
        self._note_rates(result)
        return result

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return the accuracy of sampled and of greedy completions of the held-out problems."""
        metrics = {}
        if self.options.evaluate_samples:
            metrics["sampled"] = self.accuracy(sampler, self.options.temperature, self.options.evaluate_samples)
        return metrics | {"greedy": self.accuracy(sampler, 0.0, 1)}

    def accuracy(self, sampler: Sampler, temperature: float, n: int) -> float:
        """Return the mean score on the held-out problems, excluding unscored completions.

        Raises:
            TrainerError: All completions are unscored.
        """
        requests = self.held_out_requests(sampler, temperature, n)
        done = sampler.generate_then(requests, lambda index, generation: self.score(self.held_out[index], generation))
        given = [score for _, scores in done for score in scores]
        values = [score.value for score in given if score.value is not None]
        if given and not values:
            raise TrainerError(f"the completions of the held-out problems are all unscored: {given[0].reason}")
        return fmean(values) if values else 0.0

    def requests(self, sampler: Sampler, chosen: Sequence[tuple[int, Group, list[int]]]) -> list[Request]:
        """Return the request for a group, for each (draw number, problem, prompt's ids)."""
        n, top_p = self.options.samples, self.options.top_p
        return [self.request(sampler, ids, number, n=n, top_p=top_p) for number, _, ids in chosen]

    def held_out_requests(self, sampler: Sampler, temperature: float, n: int) -> list[Request]:
        """Return the requests for completions of the held-out problems."""
        prompts = [self._encode(sampler, problem) for problem in self.held_out]
        return [
            self.request(sampler, ids, "held-out", number, n=n, temperature=temperature, logprobs=None)
            for number, ids in enumerate(prompts)
        ]

    def gold_rows(self) -> int:
        """Return the number of held-out problems.

        Raises:
            ConfigError: Some of them are also trained on.
        """
        trained = {json.dumps(problem.prompt) for problem in self.problems}
        both = sum(json.dumps(problem.prompt) in trained for problem in self.held_out)
        if both:
            raise ConfigError(
                f"run.gold needs rows that training never sees, and {both} held-out prompts are also trained on",
                hint="remove them from options.data, or set options.held_out to another file",
            )
        return len(self.held_out)

    def gold_scores(self, sampler: Sampler, gold: Verifier, samples: int) -> list[list[tuple[Score, Score]]]:
        """Score sampled completions of the held-out problems with the reward and with `gold`."""

        def score(index: int, generation: Generation) -> list[tuple[Score, Score]]:
            completions = _as_samples(self.held_out[index], generation)
            return list(zip(self.reward.score(completions), gold.score(completions), strict=True))

        requests = self.held_out_requests(sampler, self.options.temperature, samples)
        return [scores for _, scores in sampler.generate_then(requests, score)]

    def score(self, problem: Group, generation: Generation) -> list[Score]:
        """Score each output of one problem."""
        return self.reward.score(_as_samples(problem, generation))

    def train_scores(self, problem: Group, generation: Generation) -> list[Score]:
        """Score each output for a training step, in a worker thread."""
        return self.score(problem, generation)

    def prompt(self, problem: Group) -> Prompt:
        """Return the policy's prompt: a conversation, or the unchanged string."""
        if not isinstance(problem.prompt, str) or not self.options.chat:
            return problem.prompt
        system: list[Message] = [{"role": "system", "content": self.options.system}] if self.options.system else []
        return [*system, {"role": "user", "content": problem.prompt}]

    def state(self) -> dict[str, Any]:
        """Return the number of problems used, and the curriculum's success rates."""
        curriculum = {"curriculum": self._curriculum.state()} if self._curriculum is not None else {}
        return {"position": self.position} | curriculum

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue after the problems already used."""
        self.position = state["position"]
        if self._curriculum is not None and "curriculum" in state:
            self._curriculum.restore(state["curriculum"])

    def metrics(self) -> dict[str, float]:
        """Return the passes over the data, and the number of skipped problems."""
        replayed = {"replayed": self._curriculum.replayed} if self._curriculum is not None else {}
        return {"epoch": self.position / len(self.problems), "prompts_left_out": float(self.left_out)} | replayed

    def _note_rates(self, made: Sequence[Trajectory]) -> None:
        """Give a batch's rewards to the curriculum, if there is one."""
        if self._curriculum is not None:
            self._curriculum.note(made)

    def _draw_index(self) -> int:
        if self._curriculum is not None:
            return self._curriculum.draw(self.position + 1)
        return self._epochs.index(self.position)

    def _next(self, sampler: Sampler) -> Iterator[tuple[int, Group, list[int]]]:
        """Yield (draw number, problem, prompt's ids) of a batch. Each epoch is a shuffle of all problems.

        Raises:
            ConfigError: All prompts are too long, or the tokenizer has no chat template.
        """
        found, passed = 0, 0
        while found < self.options.prompts:
            index = self._draw_index()
            ids = self._encoded(sampler, index)
            self.position += 1
            if len(ids) <= self.options.max_prompt_tokens:
                found += 1
                yield self.position, self.problems[index], ids
                continue
            self.left_out += 1
            passed += 1
            if passed >= len(self.problems):
                raise ConfigError(
                    f"every prompt is longer than options.max_prompt_tokens = {self.options.max_prompt_tokens}"
                )

    def _encoded(self, sampler: Sampler, index: int) -> list[int]:
        if index not in self._ids:
            self._ids[index] = self._encode(sampler, self.problems[index])
        return self._ids[index]

    def _encode(self, sampler: Sampler, problem: Group) -> list[int]:
        try:
            return sampler.encode(self.prompt(problem))
        except EngineError as error:
            hint = "options.chat = false asks a base model, which continues texts"
            raise ConfigError(f"problem {problem.id}: {error}", hint=hint) from None

    def _trajectory(
        self, number: int, problem: Group, generation: Generation, output: Output, score: Score
    ) -> Trajectory:
        return self.reply_trajectory(
            generation,
            output,
            score.value,
            number,
            task=str(problem.meta.get("task", "")),
            parts={name: part.value for name, part in score.parts.items() if part.value is not None},
            prompt=problem.prompt if isinstance(problem.prompt, str) else problem.prompt[-1]["content"],
            answer=(score.answer if score.scored else score.reason) or "",
        )

    def _read(self, name: str) -> list[Group]:
        return read_problems(self.setting.folder / name, self.options.map)


def _as_samples(problem: Group, generation: Generation) -> list[Sample]:
    """Return the outputs as samples. Verifiers of length read the number of tokens from `meta`."""
    return [
        Sample(
            problem.prompt,
            output.text,
            problem.answer,
            problem.id,
            {**problem.meta, "completion_tokens": len(output.ids)},
        )
        for output in generation.outputs
    ]
