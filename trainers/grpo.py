"""The training loop: collect, score, compare, train; log, evaluate, save.

Every process runs the same loop on the same trajectories. Only sampling and gradients are divided (see `rollout` and
`learner`). All randomness is keyed by (seed, step), so a resumed run equals an uninterrupted one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from verikit.errors import TrainerError
from verikit.platform.raised import describe
from verikit.trainers import checkpoint
from verikit.trainers.ahead import Ahead
from verikit.trainers.best import BestWeights
from verikit.trainers.config import Config, LossSection, find_recipe
from verikit.trainers.distill import Teacher
from verikit.trainers.distributed import World
from verikit.trainers.experience import Experience, compared, experience, supervised, unscored, with_variance
from verikit.trainers.gold import GoldWatch
from verikit.trainers.learner import Learner
from verikit.trainers.loading import load_in, weight_source
from verikit.trainers.memory import memory_mb
from verikit.trainers.policy import PolicyModel, load_tokenizer
from verikit.trainers.precision import computes_in_bf16, prepare_model
from verikit.trainers.probes import ask_services
from verikit.trainers.recipe import Recipe, Setting, Trajectory
from verikit.trainers.reference import ReferenceModel
from verikit.trainers.rollout import PolicySampler
from verikit.trainers.run import CHECKPOINTS, MODEL, RunFolder, environment, other_arithmetic
from verikit.trainers.warmup import TRAIN, WARMUP, warm_up
from verikit.trainers.weights import SamplingEngine, make_engine, save_shape

Report = Callable[[dict[str, Any]], None]
_log = logging.getLogger(__name__)


class Trainer:
    """One run in one process."""

    config: Config
    folder: RunFolder
    world: World
    report: Report
    policy: PolicyModel
    module: Any
    engine: SamplingEngine
    sampler: PolicySampler
    phase: str
    learner: Learner
    step: int
    unscored_steps: int
    idle_steps: int
    """Steps in a row that trained on no row."""
    seconds: float

    def __init__(
        self,
        config: Config,
        folder: RunFolder,
        world: World,
        report: Report = lambda row: None,
        answered: Callable[[str], None] | None = None,
    ) -> None:
        """Create or load everything; `report` receives each row of metrics.

        With `answered`, judges, retrievers and other services of the recipe are queried early. This is before a model
        is loaded from a folder, or after the recipe has made its own. `answered` receives each answer.

        Raises:
            ConfigError: Model, recipe or options don't fit together.
            TrainerError: A service does not answer.
        """
        self.config, self.folder, self.world, self.report = config, folder, world, report
        kind = find_recipe(config.recipe)
        options = kind.Options.model_validate(config.options)
        # Before the model, so an error in the recipe appears in a second and not after minutes of loading.
        named = load_tokenizer(config) if config.model.path else None
        recipe = kind(options, self._setting(named)) if named is not None else None
        if recipe is not None:
            self._ask_services(recipe, answered)
        model, made = load_in(world, config, kind, options)
        tokenizer = named or made
        if folder.main and not (folder.path / MODEL).exists():
            save_shape(model, tokenizer, folder.path / MODEL)
        self.recipe: Recipe = recipe or kind(options, self._setting(tokenizer))
        if recipe is None:
            self._ask_services(self.recipe, answered)
        self.teacher = Teacher(config.distill, tokenizer, world) if config.distill else None
        bf16 = computes_in_bf16(model, config, world.device)
        self.policy = PolicyModel(prepare_model(model, config, world.device), bf16)
        self.module = world.wrap(self.policy, weight_source(world, config, kind, options, self.policy.model))
        self.engine = make_engine(config, self.policy, tokenizer, world)
        self.sampler = PolicySampler(
            self.engine.engine, tokenizer, world, config.seed, allow_truncated=config.batch.allow_truncated
        )
        self.ahead = Ahead(self._collect, self.recipe.metrics, self.sampler.stop)
        self.phase, self.step, self.seconds, self.unscored_steps, self.idle_steps = TRAIN, 0, 0.0, 0, 0
        self.reference: ReferenceModel | None = None
        self.gold = GoldWatch(config.run.gold, self.recipe) if config.run.gold else None
        self.best = BestWeights(config.run.best, folder.path, self.module, world)
        self.learner = self._learner(WARMUP if config.warmup else TRAIN)

    def _ask_services(self, recipe: Recipe, answered: Callable[[str], None] | None) -> None:
        if answered is None:
            return
        try:
            ask_services(recipe, self.world, answered)
        except TrainerError:
            recipe.close()
            raise

    def _setting(self, tokenizer: Any) -> Setting:
        return Setting(tokenizer, self.config.seed, Path(self.config.folder or "."), self.config.advantage.credit)

    def run(self) -> None:
        """Train to the last step, from the run's current state."""
        if self.phase == WARMUP:
            warm_up(self)
        self._find_reference()
        if self.step == 0:
            self._evaluate()
        while self.step < self.config.run.steps:
            self._train_step(self.step + 1)

    def resume(self) -> bool:
        """Restore the last checkpoint; return False if there isn't one."""
        found = checkpoint.checkpoints(self.folder.path / CHECKPOINTS)
        if not found:
            self.folder.cut({})
            self.best.restore({}, "")
            return False
        state = checkpoint.read_state(found[-1])
        other = other_arithmetic(state["environment"], environment(self.world.size, self.world.device.type))
        if other and self.folder.main:
            _log.warning("resumed on other arithmetic (%s): equal to an unbroken run only up to rounding", other)
        self.learner = self._learner(state["phase"])
        self.engine.rest()  # loading needs the memory that training uses
        checkpoint.load(found[-1], self.module, self.learner.optimizer, self.world)
        self.engine.refresh()
        self.step, self.seconds = state["step"], state["seconds"]
        self.unscored_steps, self.learner.bad_steps = state["unscored_steps"], state["bad_steps"]
        self.idle_steps, self.learner.updates = state["idle_steps"], state["updates"]
        try:
            self.recipe.restore(state["recipe"])
            self.best.restore(state.get("best", {}), found[-1].name)
            if self.gold is not None and state.get("gold") is not None:
                self.gold.restore(state["gold"], self.learner)
            self.folder.cut(state["logs"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TrainerError(f"can't go on from {found[-1]}: its state can't be used ({describe(error)})") from None
        return True

    def close(self) -> None:
        """Release the processes of the recipe and the engine."""
        self.ahead.close()
        self.recipe.close()
        self.sampler.close()
        self.engine.close()
        if self.teacher is not None:
            self.teacher.close()

    def _learner(self, phase: str) -> Learner:
        self.phase, warmup = phase, self.config.warmup
        if phase == WARMUP and warmup is not None:
            supervised = LossSection(kind="likelihood")
            return Learner(self.module, self.world, self.config, warmup.optimizer, supervised, warmup.steps)
        config = self.config
        return Learner(self.module, self.world, config, config.optimizer, config.loss, config.run.steps)

    def _find_reference(self) -> None:
        """Save the model of the first step as the reference, if the KL is used."""
        if self.config.kl.coefficient > 0:
            self.reference = ReferenceModel(self.module, self.policy, self.world, self.config.batch, self.folder.path)

    def _train_step(self, step: int) -> None:
        began = time.perf_counter()
        batch, ahead = self.ahead.batch(step)
        trajectories, collected = batch.trajectories, time.perf_counter()
        if self._goes_ahead(step):
            self.ahead.begin(step + 1)
        else:
            self.engine.rest()
        if self.learner.loss.kind == "likelihood":
            made = supervised(trajectories)
        else:
            made = experience(trajectories, self.config, self.reference)
        if self.teacher is not None:
            self.teacher.add_advantages(made)
        updates = self.learner.updates
        metrics = self._learn(made, step)
        self._watch_mismatch(metrics, step)
        self._watch_idle(made.metrics | metrics, step)
        learnt = time.perf_counter()
        self.ahead.wait()
        self.engine.refresh(changed=self.learner.updates > updates)
        self.step = step
        times = {"seconds_collect": batch.seconds, "seconds_learn": learnt - collected}
        if self.config.batch.ahead:
            times["steps_off"] = float(ahead)
        self._log(made.metrics | metrics | batch.metrics | times, began)
        self._log_samples(trajectories, step)
        if step == self.config.run.steps or self._due(self.config.run.evaluate_every):
            self._evaluate()
        if step == self.config.run.steps or self._due(self.config.run.save_every):
            self._save()

    def _goes_ahead(self, step: int) -> bool:
        """Whether to collect the next batch while training on this one: not past the end or a checkpoint."""
        last = step == self.config.run.steps or step % self.config.run.save_every == 0
        return self.config.batch.ahead and not last

    def _collect(self, step: int) -> list[Trajectory]:
        """Collect one batch. Dynamic sampling continues until as many groups differ as the first try had groups.

        Raises:
            TrainerError: Too few groups differ after the maximum number of tries.
        """
        self.sampler.at(step)
        made = self.recipe.collect(self.sampler, step)
        tries = self.config.batch.dynamic
        if not tries:
            self._watch_unscored(made, step)
            return made
        wanted = len({(trajectory.role, trajectory.group) for trajectory in made})
        names, credit = compared(made, self.config.advantage), self.config.advantage.credit
        kept = with_variance(made, names, credit)
        for attempt in range(1, tries):
            if len({(trajectory.role, trajectory.group) for trajectory in kept}) >= wanted:
                break
            self.sampler.at(step, attempt)
            again = self.recipe.collect(self.sampler, step)
            made, kept = made + again, kept + with_variance(again, names, credit)
        self._watch_unscored(made, step)
        groups = list(dict.fromkeys((trajectory.role, trajectory.group) for trajectory in kept))[:wanted]
        if len(groups) < wanted:
            raise TrainerError(
                f"step {step}: {len(groups)} of {wanted} groups have unequal rewards after {tries} tries",
                hint="the problems are too easy or too hard for the policy. Raise batch.dynamic, or set it to 0",
            )
        return [trajectory for trajectory in kept if (trajectory.role, trajectory.group) in set(groups)]

    def _watch_unscored(self, trajectories: Sequence[Trajectory], step: int) -> None:
        """Warn if too many trajectories of a role are unscored or not sampled; stop after several such steps in a row.

        Otherwise training would use only the others, such as those that never called a failing retriever.

        Raises:
            TrainerError: Too many steps in a row were affected.
        """
        if self.learner.loss.kind == "likelihood":
            return
        limit, steps = self.config.run.max_unscored_share, self.config.run.max_unscored_steps
        told = self._unsampled() or unscored(trajectories, self.config.advantage, limit)
        if not told:
            self.unscored_steps = 0
            return
        self.unscored_steps += 1
        if self.unscored_steps >= steps:
            raise TrainerError(
                f"step {step}: {told}, in {self.unscored_steps} steps in a row",
                hint="fix the verifier (`verikit train --check` tries it), or raise run.max_unscored_share",
            )
        if self.folder.main:
            _log.warning("step %d: %s (run.max_unscored_share = %g, stops after %d)", step, told, limit, steps)

    def _unsampled(self) -> str:
        """Return an error message if the engine failed too many requests of this step."""
        asked, lost = self.sampler.asked, self.sampler.lost
        if lost <= self.config.run.max_unscored_share * asked:
            return ""
        return f"the engine failed {lost} of {asked} requests: {self.sampler.lost_by}"

    def _watch_mismatch(self, metrics: dict[str, float], step: int) -> None:
        """Stop if the sampler's policy differs from the trainer's.

        Raises:
            TrainerError: It does.
        """
        limit = self.config.run.max_mismatch
        if limit and metrics["mismatch"] > limit:
            raise TrainerError(
                f"step {step}: sampler and trainer differ by {metrics['mismatch']:.3g} nats a token on average, above"
                f" run.max_mismatch = {limit:g}",
                hint="they are not the same policy: compare engine.kind = hf in fp32. run.max_mismatch = 0 continues",
            )

    def _watch_idle(self, metrics: dict[str, float], step: int) -> None:
        """Warn of steps that train on no row; stop a run that never trained on any.

        A run that did train may have solved its problems.

        Raises:
            TrainerError: The run has trained on no row for too many steps.
        """
        if metrics["rows_learnt"]:
            self.idle_steps = 0
            return
        self.idle_steps += 1
        equal, limit = metrics.get("zero_variance", 0.0), self.config.run.max_idle_steps
        told = f"no row taught anything; {equal:.0%} of the groups have equal rewards, whose advantage is 0"
        if self.learner.updates == 0 and self.idle_steps >= limit > 0:
            raise TrainerError(
                f"step {step}: {told}, in all {self.idle_steps} steps of this run",
                hint="read samples.jsonl: completions cut off by max_tokens, a reward that is always the same,"
                " or problems that are too hard. run.max_idle_steps = 0 turns this check off",
            )
        if self.folder.main and self.idle_steps <= max(limit, 1):
            _log.warning("step %d: %s", step, told)

    def _learn(self, made: Experience, step: int) -> dict[str, float]:
        """Train on a batch. If the gradient is not finite, save the batch in the folder for inspection."""
        before = self.learner.bad_steps
        try:
            return self.learner.learn(made.rows, step)
        finally:
            if self.learner.bad_steps > before:
                self.folder.bad_batch(step, made.metrics, made.rows)

    def _due(self, every: int) -> bool:
        return every > 0 and self.step % every == 0

    def _evaluate(self) -> None:
        """Log held-out metrics."""
        began = time.perf_counter()
        self.sampler.at(self.step, -1)
        metrics = self.recipe.evaluate(self.sampler, self.step)
        if self.gold is not None:
            metrics |= self.gold.measure(self.sampler)
        self.seconds += time.perf_counter() - began
        unsampled = self._unsampled()
        if metrics and unsampled:
            if self.folder.main:
                _log.warning("step %d: held-out metrics are skipped: %s", self.step, unsampled)
            return
        if self.gold is not None:
            metrics |= self.gold.compare(metrics)
        if metrics:  # written before the alarm stops the run
            self._write({f"held-out/{name}": value for name, value in metrics.items()})
        self.best.offer(metrics, self._name())
        told = self.gold.act(self.learner, self.step) if self.gold is not None else ""
        if told and self.folder.main:
            _log.warning("%s", told)

    def _log(self, metrics: dict[str, float], began: float) -> None:
        took = time.perf_counter() - began
        self.seconds += took
        speed = {"seconds_step": took, "tokens_per_second": metrics["tokens"] / took, "memory_mb": memory_mb()}
        self._write(metrics | speed)

    def _write(self, metrics: dict[str, float]) -> None:
        row = {"phase": self.phase, "step": self.step, "seconds": round(self.seconds, 3)} | metrics
        self.report(row)
        self.folder.metrics(row)

    def _log_samples(self, trajectories: Sequence[Trajectory], step: int) -> None:
        if not self._due(self.config.run.samples_every):
            return
        stride = max(1, len(trajectories) // max(1, self.config.run.samples))
        shown = trajectories[::stride][: self.config.run.samples]
        keys = ("role", "task", "prompt", "completion", "answer", "reward", "finished")
        rows = [
            {"step": step} | {key: getattr(trajectory, key) for key in keys} | {"parts": dict(trajectory.parts)}
            for trajectory in shown
        ]
        self.folder.samples(rows)

    def _save(self) -> None:
        state = {
            "phase": self.phase,
            "step": self.step,
            "seconds": self.seconds,
            "unscored_steps": self.unscored_steps,
            "idle_steps": self.idle_steps,
            "updates": self.learner.updates,
            "bad_steps": self.learner.bad_steps,
            "recipe": self.recipe.state(),
            "best": self.best.state(),
            "gold": self.gold.state() if self.gold is not None else None,
            "logs": self.folder.sizes() if self.folder.main else {},
            "environment": environment(self.world.size, self.world.device.type),
        }
        folder, keep = self.folder.path / CHECKPOINTS, self.config.run.keep
        checkpoint.save(folder, self._name(), self.module, self.learner.optimizer, state, keep, self.world)
        self.best.settle()

    def _name(self) -> str:
        """Return the name of the current step's checkpoint. Names sort by age."""
        return f"{self.phase}-{self.step:08d}"
