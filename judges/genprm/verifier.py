"""`genprm`: a model reviews each step several times, with an analysis and code that is run, and answers Yes or No."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, ClassVar

from verikit.engines import Engine
from verikit.engines.usage import added
from verikit.errors import ConfigError, EngineError, EngineTimeout
from verikit.judges.asking.ask import FORCED, connect
from verikit.judges.genprm.known import KnownReviews
from verikit.judges.genprm.notebook import Notebook, Sessions
from verikit.judges.genprm.path import Plan, neutral, walk
from verikit.judges.genprm.protocol import MODES, Mode, Protocol, load_protocol
from verikit.judges.genprm.review import How, Review, Solution, StepReview
from verikit.judges.genprm.stepwise import StepVerifier
from verikit.judges.genprm.waves import Walker, advance_all
from verikit.platform.raised import describe
from verikit.sandbox import ISOLATION, RunLimits, default_sandbox
from verikit.types import PASS_MARK, Sample, Score

HOW: Mapping[How, str] = {
    "verified": "judged after code",
    "analysis": "judged after analysis",
    "direct": "judged at once",
    "at the limit": "judged at the limit, after analysis",
    "forced": "no verdict written: forced to Yes or No",
}
IN_FLIGHT = 512
"""Maximum paths that advance together."""


@dataclass(frozen=True, repr=False)
class GenPRM(StepVerifier):
    """A generative process reward model (Zhao et al., arXiv 2504.00891).

    A step's reward is P(Yes) / (P(Yes) + P(No)) at the token of the verdict, averaged over paths. Each path has its own
    history and its own namespace for code. A path without a verdict is excluded from the mean, and a step without any
    verdict has no score. The reviews are in each step's parts, one per path.
    """

    name = "genprm"
    local_files = ("engine", "protocol")
    tallied: ClassVar[tuple[str, ...]] = (FORCED,)

    engine: str | Engine
    """A spec such as `openai:http://host:8000/v1#genprm`, or an engine."""
    paths: int = 8
    """Reviews per solution. One if the temperature is 0, because all would be identical."""
    _: KW_ONLY
    mode: Mode = "full"
    """`full`, `unexecuted` (the model imagines its code's output), `analysis` (no code) or `direct` (no rationale)."""
    protocol: str = "released"
    """Name of a built-in protocol, or the path of a TOML file."""
    temperature: float | None = None
    """None: the protocol's."""
    top_p: float | None = None
    """None: the protocol's."""
    force: bool = True
    """If a judgement has no verdict, open its box and read Yes or No from the token that follows."""
    fallback: float | None = None
    """The reward of a step on a path without a verdict. None: no reward."""
    seed: int = 0
    """Random seed of the reviews."""
    code_s: float = 5.0
    """Maximum seconds per block of code."""
    max_output: int = 2000
    """Maximum characters of a block's output that the model sees."""
    texts: bool = True
    """Store the text of the reviews."""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Options of the engine, if it is a spec."""
    cache: bool = True
    """Use the user's cache of generations, if the engine is a spec."""
    sandbox: Sessions | None = field(default=None, compare=False)
    """Sandbox that runs the code. None: this process's own sandbox, which must isolate."""
    known: KnownReviews | None = field(default=None, init=False, compare=False)
    """Earlier reviews to continue from, for solutions that grow. `guiding` sets it."""
    file: Protocol = field(init=False, compare=False)
    """The protocol file's content."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode not in MODES:
            raise ConfigError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")
        if not isinstance(self.paths, int) or self.paths < 1:
            raise ConfigError(f"paths must be a number >= 1, got {self.paths!r}")
        if self.fallback is not None and not 0 <= self.fallback <= 1:
            raise ConfigError(f"fallback must be a reward from 0 to 1, got {self.fallback!r}")
        object.__setattr__(self, "file", load_protocol(self.protocol))

    def __repr__(self) -> str:
        """Every option that affects the rewards, with the protocol and a digest of its content."""
        hidden = ("file", "options", "cache", "sandbox", "texts", "known")
        shown = {field_.name: getattr(self, field_.name) for field_ in fields(self) if field_.name not in hidden}
        shown["engine"] = self.engine if isinstance(self.engine, str) and not self.options else self._engine.identity
        shown["protocol"] = f"{self.protocol}#{self.file.digest}"
        return f"GenPRM({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    @property
    def batch(self) -> int:  # type: ignore[override]
        """Samples per batch: enough to fill a wave of paths."""
        return max(1, IN_FLIGHT // self.paths)

    def environment(self) -> dict[str, Any]:
        """The sandbox's properties, if code runs in it."""
        own = self.mode == "full" and self.sandbox is None
        return {"sandbox": default_sandbox(ISOLATION).report.as_dict()} if own else {}

    @property
    def _engine(self) -> Engine:
        if isinstance(self.engine, str):
            return connect(self.engine, self.options, cached=self.cache)
        return self.engine

    @property
    def tokenizer(self) -> Any:
        """The engine's tokenizer, if it has the model in this process."""
        return self._engine.tokenizer

    @property
    def plan(self) -> Plan:
        """The settings of a path."""
        sampling = self.file.sampling
        temperature = sampling.temperature if self.temperature is None else self.temperature
        top_p = sampling.top_p if self.top_p is None else self.top_p
        return Plan(self.file, self.mode, temperature, top_p, sampling.top_k, self.seed)

    def review(self, solutions: Sequence[Solution]) -> list[Review]:
        """Review solutions, with all their paths together.

        Raises:
            SandboxUnavailable: This machine can't isolate programs. The message names the missing parts.
        """
        plan = replace(self.plan, force=self.force, choice=self.force and "choice" in self._engine.structured)
        count = self.paths if plan.temperature > 0 else 1
        sandbox = self.sandbox or (default_sandbox(ISOLATION) if self.mode == "full" else None)
        limits = RunLimits(wall_s=self.code_s)
        known = self.known or KnownReviews()
        walked = [
            [
                _walker(plan, solution, number, known, Notebook(sandbox, limits, self.file.messages, self.max_output))
                for number in range(count)
            ]
            for solution in solutions
        ]
        walkers = [walker for paths in walked for walker in paths]
        advance_all(walkers, self._engine, threads=getattr(sandbox, "workers", 1))
        for solution, paths in zip(solutions, walked, strict=True):
            if self.known is not None:
                self.known.keep(solution, paths)
        return [
            Review(solution, [walker.path for walker in paths])
            for solution, paths in zip(solutions, walked, strict=True)
        ]

    def guiding(self) -> GenPRM:
        """A copy for a search by steps: reviewed steps are not reviewed again when their solution continues.

        Its generations are not cached, since a search stores the reviews, and each token is counted when it is spent.
        """
        made = replace(self, cache=False)
        object.__setattr__(made, "known", KnownReviews())
        return made

    @property
    def incremental(self) -> bool:
        """Whether it reads only the new part of a solution whose start it has already seen."""
        return self.known is not None

    def solution(self, sample: Sample) -> Solution | Score:
        """The steps of a sample, without anything that could pass for the protocol's own strings."""
        found = super().solution(sample)
        if isinstance(found, Score):
            return found
        return Solution(neutral(self.file, found.problem), tuple(neutral(self.file, step) for step in found.steps))

    def score_steps(self, solutions: Sequence[Solution], samples: Sequence[Sample]) -> list[list[Score] | Score]:
        """Review all solutions together.

        If a review failed on verikit's side, neither the solution nor its steps get a value.
        """
        scored: list[list[Score] | Score] = []
        for review in self.review(solutions):
            if review.error is not None:
                make = Score.timeout if isinstance(review.error, EngineTimeout) else Score.error
                usage = added(*(step.usage for path in review.paths for step in path.steps))
                cause = review.error if isinstance(review.error, EngineError) else None
                scored.append(make(describe(review.error), usage=usage, cause=cause))
                continue
            scored.append([self._step(review, index) for index in range(len(review.solution.steps))])
        return scored

    def criticism(self, index: int, score: Score) -> str:
        """The analysis of the path with the lowest reward for the step."""
        parts = [part for part in score.steps[index].parts.values() if part.scored]
        text = min(parts, key=float).text if parts else ""
        begun = self.file.analysis_of(index)
        analysis, found, _ = text.removeprefix(begun).partition(self.file.analysis_end)
        return analysis.strip() if found and text.startswith(begun) else ""

    def _step(self, review: Review, index: int) -> Score:
        reviews = [path.steps[index] for path in review.paths]
        parts = {f"path {number}": self._path(review) for number, review in enumerate(reviews, 1)}
        given = [float(part) for part in parts.values() if part.scored]
        text = review.solution.steps[index] if self.texts else ""
        usage = added(*(review.usage for review in reviews))
        if not given:
            return Score.error(f"{reviews[0].reason} on any path", parts=parts, text=text, usage=usage)
        value = sum(given) / len(given)
        agree = sum((reward >= PASS_MARK) == (value >= PASS_MARK) for reward in given)
        lost = f", {len(reviews) - len(given)} without a verdict" if len(given) < len(reviews) else ""
        label = self.file.yes if value >= PASS_MARK else self.file.no
        forced = sum(review.how == "forced" and review.label is not None for review in reviews)
        told = f", {forced} forced" if forced else ""
        usage = {**usage, FORCED: float(forced)} if forced else usage
        reason = f"{agree} of {len(given)} paths agree{lost}{told}"
        return Score(value, answer=label, reason=reason, parts=parts, text=text, usage=usage)

    def _path(self, review: StepReview) -> Score:
        text = review.text if self.texts else ""
        reward = self.fallback if review.reward is None and review.label is None else review.reward
        if reward is None:
            return Score.error(review.reason, text=text)
        label = None
        if review.label is not None:
            label = self.file.yes if review.label else self.file.no
        return Score(reward, answer=label, reason=review.reason or HOW[review.how], text=text)


def _walker(plan: Plan, solution: Solution, number: int, known: KnownReviews, notebook: Notebook) -> Walker:
    """A started path that continues from its known reviews."""
    path, notebook = known.find(solution, number, notebook)
    return Walker(walk(plan, solution, number, path), path, notebook)
